// A request on its way through the engine. Its tokens are the prompt and what was drawn; those the model has not seen
// yet are pending, so that reading a prompt, decoding, and going on after an interruption are one thing.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "cache/cache_manager.h"
#include "engine/request.h"
#include "sampling/token_history.h"
#include "spec/draft_tree.h"
#include "spec/lookup_drafter.h"
#include "spec/token_groups.h"
#include "text/stop_strings.h"

namespace colugo {

class Sequence {
 public:
    using Clock = std::chrono::steady_clock;

    Sequence(RequestId id, Request request, std::shared_ptr<RequestListener> listener, int64_t vocab_size,
             int64_t ctx_size, const SpecParams& spec_limits);

    const Request& request() const { return request_; }
    RequestId id() const { return id_; }
    const std::vector<int32_t>& tokens() const { return tokens_; }
    Prefix prefix() const { return {tokens_, request_.cache_scope}; }  // all of its tokens
    int64_t prompt_len() const { return static_cast<int64_t>(request_.prompt.size()); }
    // The most positions it will ever have.
    int64_t worst_length() const { return prompt_len() + limit_; }
    // New tokens it may have, and why it ends there.
    int64_t limit() const { return limit_; }
    FinishReason at_limit() const { return at_limit_; }

    bool running() const { return lease_ != nullptr; }
    Lease& lease() { return *lease_; }
    int64_t fed() const { return lease_ ? lease_->length() : 0; }
    int64_t pending() const { return static_cast<int64_t>(tokens_.size()) - fed(); }
    // One token at a time is drawn and fed.
    bool decoding() const { return running() && pending() == 1 && fed() >= prompt_len(); }
    std::span<const int32_t> fed_tokens() const { return std::span(tokens_).first(static_cast<size_t>(fed())); }
    std::span<const int32_t> next_tokens(int64_t count) const {
        return std::span(tokens_).subspan(static_cast<size_t>(fed()), static_cast<size_t>(count));
    }

    // A pass is about to feed some of what is pending; whether it is one that decodes.
    void begin_pass() { decodes_ = decoding(); }
    bool decodes() const { return decodes_; }

    // Snapshots to be taken at positions that are still ahead.
    void want_snapshot(int64_t position);
    // Where the last one below a position is to be taken, or where it began.
    int64_t snapshot_below(int64_t position) const;
    // Those within the next `count` positions.
    std::span<const int64_t> snapshots_within(int64_t count);

    // What drawing and drafting look at is there from start() to stop(): many may wait, and few run.
    void start(std::unique_ptr<Lease> lease);
    std::unique_ptr<Lease> stop();
    void append(int32_t token);

    // How it drafts, and with what.
    const SpecParams& spec() const { return spec_; }
    const LookupDrafter* lookup() const { return lookup_ ? &*lookup_ : nullptr; }
    const TokenGroups& seen() const { return seen_; }
    DraftTree& drafts() { return drafts_; }
    // Drafts that may be of use behind the token that is fed next.
    int most_draft_depth() const;

    // It has waited for another one to read what it begins with.
    bool has_waited() const { return has_waited_; }
    void set_waited() { has_waited_ = true; }

    const TokenHistory& history() const { return *history_; }
    // Fed all that was given so far.
    StopStrings& stop_strings() { return stop_strings_; }
    // The tokens that may come next; nullptr: all.
    const TokenMask* allowed();
    // The only one that may, if there is such a one.
    std::optional<int32_t> only_choice();
    RequestListener& listener() { return *listener_; }
    RequestResult& result() { return result_; }
    double seconds_since_submission() const { return std::chrono::duration<double>(Clock::now() - submitted_).count(); }

 private:
    RequestId id_;
    Request request_;
    std::shared_ptr<RequestListener> listener_;
    std::vector<int32_t> tokens_;
    int64_t vocab_size_;
    int64_t limit_;
    FinishReason at_limit_;
    std::vector<int64_t> snapshots_;  // ascending
    SpecParams spec_;
    std::optional<LookupDrafter> lookup_;
    TokenGroups seen_;
    DraftTree drafts_;
    std::unique_ptr<Lease> lease_;
    bool decodes_ = false;
    bool has_started_ = false;
    bool has_waited_ = false;
    std::optional<TokenHistory> history_;
    StopStrings stop_strings_;
    GrammarState grammar_state_;  // of the request's grammar
    RequestResult result_;
    Clock::time_point submitted_ = Clock::now();
};

}  // namespace colugo
