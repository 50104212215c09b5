#include "engine/sequence.h"

#include <algorithm>

namespace colugo {
namespace {

// Adds the time that it is there.
struct FormTime {
    double& seconds;
    Sequence::Clock::time_point begin = Sequence::Clock::now();
    ~FormTime() { seconds += std::chrono::duration<double>(Sequence::Clock::now() - begin).count(); }
};

}  // namespace

Sequence::Sequence(RequestId id, Request request, std::shared_ptr<RequestListener> listener, int64_t vocab_size,
                   int64_t ctx_size, const SpecParams& spec_limits)
    : id_(id),
      request_(std::move(request)),
      listener_(std::move(listener)),
      tokens_(request_.prompt),
      vocab_size_(vocab_size),
      snapshots_(request_.branch_points),
      spec_(within(request_.spec.value_or(spec_limits), spec_limits)),
      seen_(vocab_size),
      stop_strings_(request_.stop_strings) {
    const int64_t room = ctx_size - prompt_len();
    const bool context_first = request_.max_tokens < 0 || request_.max_tokens > room;
    limit_ = context_first ? room : request_.max_tokens;
    at_limit_ = context_first ? FinishReason::context : FinishReason::length;
    if (request_.grammar) grammar_state_ = request_.grammar->start();
    seen_.add(request_.prompt);
    result_.prompt_tokens = prompt_len();
}

void Sequence::want_snapshot(int64_t position) {
    const auto at = std::lower_bound(snapshots_.begin(), snapshots_.end(), position);
    if (position > fed() && (at == snapshots_.end() || *at != position)) snapshots_.insert(at, position);
}

int64_t Sequence::snapshot_below(int64_t position) const {
    const auto at = std::lower_bound(snapshots_.begin(), snapshots_.end(), position);
    return std::max(fed(), at == snapshots_.begin() ? 0 : *(at - 1));
}

std::span<const int64_t> Sequence::snapshots_within(int64_t count) {
    const auto begin = std::upper_bound(snapshots_.begin(), snapshots_.end(), fed());
    const auto end = std::upper_bound(begin, snapshots_.end(), fed() + count);
    return {begin, end};
}

void Sequence::start(std::unique_ptr<Lease> lease) {
    lease_ = std::move(lease);
    tokens_.reserve(static_cast<size_t>(worst_length()));
    history_.emplace(vocab_size_);
    history_->add_prompt(request_.prompt);
    for (const int32_t token : std::span(tokens_).subspan(request_.prompt.size())) history_->add_output(token);
    if (spec_.uses_lookup() && limit_ > 1) {
        lookup_.emplace(worst_length() + static_cast<int64_t>(request_.prediction.size()));
        lookup_->append(request_.prediction);
        lookup_->begin_text();
        lookup_->append(tokens_);
    }
    if (has_started_) return;  // it goes on after an interruption
    has_started_ = true;
    result_.cached_tokens = lease_->cached_len();
    result_.matched_tokens = lease_->matched_len();
    result_.queue_seconds = seconds_since_submission();
}

std::unique_ptr<Lease> Sequence::stop() {
    history_.reset();
    lookup_.reset();
    return std::move(lease_);
}

void Sequence::append(int32_t token) {
    tokens_.push_back(token);
    history_->add_output(token);
    seen_.add(token);
    if (lookup_) lookup_->append(token);
    if (!request_.grammar) return;
    const FormTime time{result_.form_seconds};
    grammar_state_ = request_.grammar->after(grammar_state_, token).value();
}

const TokenMask* Sequence::allowed() {
    if (!request_.grammar) return nullptr;
    const FormTime time{result_.form_seconds};
    return &request_.grammar->allowed(grammar_state_);
}

std::optional<int32_t> Sequence::only_choice() {
    if (!request_.grammar) return std::nullopt;
    const FormTime time{result_.form_seconds};
    return request_.grammar->only_choice(grammar_state_);
}

int Sequence::most_draft_depth() const {
    if (spec_.mode == SpecMode::off) return 0;
    // Of what is still to be generated, one comes without a draft.
    const int64_t useful = limit_ - result_.generated_tokens - 1;
    return static_cast<int>(std::clamp<int64_t>(useful, 0, spec_.nodes - 1));
}

}  // namespace colugo
