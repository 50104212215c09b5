// A reply on its way from the engine's thread to the coroutine that answers with it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/request.h"

namespace colugo {

struct ReplyToken {
    int32_t token;
    int64_t held_bytes;
    float logprob;
    std::vector<TokenLogprob> top_logprobs;
};

struct ReplyNews {
    int64_t prefilled = 0;  // of the prompt's tokens, as far as is known
    std::vector<ReplyToken> tokens = {};
    std::optional<RequestResult> result = {};

    bool empty() const { return tokens.empty() && !result; }
};

class ReplyChannel : public RequestListener, public std::enable_shared_from_this<ReplyChannel> {
 public:
    // executor: the coroutine's, on which one thing runs at a time.
    explicit ReplyChannel(const boost::asio::any_io_executor& executor) : timer_(executor) {}

    void prefilled(int64_t done, int64_t total) override;
    void token(const DrawnToken& drawn) override;
    void finished(const RequestResult& result) override;

    // What has come since the last call; waits for something, but no longer than this. Called by one coroutine.
    boost::asio::awaitable<ReplyNews> wait(std::chrono::milliseconds longest);

 private:
    void wake();

    std::mutex mutex_;  // of what follows
    ReplyNews news_;
    bool waking_ = false;

    boost::asio::steady_timer timer_;
};

}  // namespace colugo
