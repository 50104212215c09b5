#include "server/warm_up.h"

#include <atomic>
#include <future>
#include <set>
#include <sstream>

#include "engine/branch_points.h"
#include "server/chat_prompt.h"
#include "server/json_text.h"
#include "server/reply_form.h"

namespace colugo {

namespace {

constexpr auto kGlance = std::chrono::milliseconds(50);

class WarmListener : public RequestListener {
 public:
    void prefilled(int64_t done, int64_t /*total*/) override { done_ = done; }
    void token(const DrawnToken&) override {}
    void finished(const RequestResult& result) override { result_.set_value(result); }

    int64_t done() const { return done_; }
    std::future<RequestResult> result() { return result_.get_future(); }

 private:
    std::atomic<int64_t> done_ = 0;
    std::promise<RequestResult> result_;
};

class WarmReader {
 public:
    WarmReader(const ModelText& text, const RequestDefaults& defaults, const std::vector<int32_t>& stop_ids)
        : text_(text), defaults_(defaults), forms_(text.tokenizer(), defaults.vocab_size, stop_ids) {}

    WarmPrompt read(int line, const std::string& body) {
        const ChatRequest chat = read_chat_request(parse_request_body(body), defaults_);
        const ChatInput input = chat_input(chat);
        WarmPrompt prompt{.line = line, .request = {}, .unknown_fields = {}};
        Request& request = prompt.request;
        request.prompt = text_.encode(render_prompt(text_, chat));
        request.branch_points = branch_points(text_, input, request.prompt);
        request.cache_scope = chat.generation.cache_scope;
        request.max_tokens = 0;
        forms_.hold_reply(text_, chat, input, defaults_.replay_acceptance, request);
        request.grammar = nullptr;  // was judged; there is no reply
        request.replay.reset();
        for (const std::string& name : chat.unknown_fields) {
            if (unknown_.insert(name).second) prompt.unknown_fields.push_back(name);
        }
        return prompt;
    }

 private:
    const ModelText& text_;
    const RequestDefaults& defaults_;
    ReplyForms forms_;
    std::set<std::string> unknown_;
};

}  // namespace

std::vector<WarmPrompt> read_warm_lines(const std::string& lines, const std::string& name, const ModelText& text,
                                        const RequestDefaults& defaults, const std::vector<int32_t>& stop_ids) {
    std::istringstream file(lines);
    WarmReader reader(text, defaults, stop_ids);
    std::vector<WarmPrompt> prompts;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.find_first_not_of(" \t\r") == line.npos) continue;
        try {
            prompts.push_back(reader.read(number, line));
        } catch (const std::exception& error) {
            fail(ErrorCode::invalid_file, "{}, line {}: {}", name, number, error.what());
        }
    }
    return prompts;
}

WarmUp warm_up(ReplySource& source, std::vector<WarmPrompt> prompts, int64_t ctx_size,
               const std::function<void(uint64_t done, uint64_t total)>& progress) {
    WarmUp done;
    for (const WarmPrompt& prompt : prompts) {
        if (prompt.unknown_fields.empty()) continue;
        done.notes.push_back(fmt::format("line {} has fields that mean nothing here: {}", prompt.line,
                                         fmt::join(prompt.unknown_fields, " ")));
    }
    std::erase_if(prompts, [&](const WarmPrompt& prompt) {
        const int64_t length = std::ssize(prompt.request.prompt);
        if (length < ctx_size) return false;
        done.notes.push_back(fmt::format("line {} was not read: its {} tokens leave no room in a context of {}",
                                         prompt.line, length, ctx_size));
        return true;
    });
    uint64_t total = 0;
    for (const WarmPrompt& prompt : prompts) total += prompt.request.prompt.size();
    for (const WarmPrompt& prompt : prompts) {
        const auto listener = std::make_shared<WarmListener>();
        std::future<RequestResult> ended = listener->result();
        source.submit(prompt.request, listener);
        do {
            progress(static_cast<uint64_t>(done.tokens + listener->done()), total);
        } while (ended.wait_for(kGlance) != std::future_status::ready);
        const RequestResult result = ended.get();
        if (result.error) throw *result.error;
        ++done.prompts;
        done.tokens += result.prompt_tokens;
        done.cached += result.cached_tokens;
    }
    for (const WarmPrompt& prompt : prompts) {
        const OwnedPrefix prefix(prompt.request.prompt, prompt.request.cache_scope);
        const std::vector<int64_t>& points = prompt.request.branch_points;
        const int64_t length = std::ssize(prefix.tokens), kept = source.look_up(prefix).get().cached_len;
        if (kept >= (points.empty() ? length - 1 : points.back())) continue;
        done.notes.push_back(fmt::format("of line {}, {} of {} tokens are in the cache, which has no room for the rest",
                                         prompt.line, kept, length));
    }
    return done;
}

}  // namespace colugo
