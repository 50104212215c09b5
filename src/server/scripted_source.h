// Replies from a file instead of a model, to test servers and agents with. What is simulated: the model. The prompt is
// read at once, nothing is cached or drafted, and every token has the log-probability 0.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/reply_source.h"
#include "text/stop_strings.h"
#include "text/tokenizer.h"

namespace colugo {

// A line of the file: {"text": TEXT, "delay_ms": before the first token, "step_ms": between two steps, "chunk": tokens
// of a step, "finish": "stop" or "length"}; all but the text may be absent. In the text the names of control tokens are
// these tokens.
struct ScriptedReply {
    std::vector<int32_t> tokens;
    std::chrono::milliseconds delay{0}, step{0};
    size_t chunk = 1;
    FinishReason finish = FinishReason::stop;
};

// Throws not_found, or invalid_file naming the line.
std::vector<ScriptedReply> read_script(const std::string& path, const Tokenizer& tokenizer);

class ScriptedSource : public ReplySource {
 public:
    struct Options {
        int64_t ctx_size = 32768;
        int64_t vocab_size = 0;
        int max_running = 1024;  // requests; one more is refused
    };
    // Requests get the replies in turn, over and over. The tokenizer outlives the source.
    ScriptedSource(std::vector<ScriptedReply> replies, const Tokenizer& tokenizer, const Options& options);
    ~ScriptedSource() override;
    ScriptedSource(const ScriptedSource&) = delete;
    ScriptedSource& operator=(const ScriptedSource&) = delete;

    RequestId submit(Request request, std::shared_ptr<RequestListener> listener) override;
    void cancel(RequestId id) override;
    std::future<CacheManager::Lookup> look_up(OwnedPrefix prompt) override;
    EngineMetrics metrics() const override;

 private:
    using Clock = std::chrono::steady_clock;
    struct Running {
        RequestId id;
        Request request;
        std::shared_ptr<RequestListener> listener;
        const ScriptedReply* reply;
        StopStrings stops;
        int64_t limit;  // new tokens
        FinishReason at_limit;
        Clock::time_point begin, due;
        RequestResult result = {};
        bool cancelled = false;
    };

    void run();
    bool advance(Running& running);
    bool give(Running& running);
    bool end(Running& running, FinishReason reason);

    const std::vector<ScriptedReply> replies_;
    const Tokenizer& tokenizer_;
    const Options options_;

    mutable std::mutex mutex_;  // of what follows
    std::condition_variable wake_;
    std::deque<Running> arrived_;
    std::vector<RequestId> cancelled_;
    bool stopping_ = false;
    RequestId next_id_ = 1;
    EngineMetrics metrics_;

    std::deque<Running> running_;  // the thread's own
    std::thread thread_;
};

}  // namespace colugo
