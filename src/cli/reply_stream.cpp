#include "cli/reply_stream.h"

#include <utility>

namespace colugo {

void ReplyStream::prefilled(int64_t done, int64_t total) {
    const std::lock_guard lock(mutex_);
    news_.prefilled = done;
    news_.prompt_tokens = total;
    fresh_ = true;
    wake_.notify_one();
}

void ReplyStream::token(const DrawnToken& drawn) {
    const std::lock_guard lock(mutex_);
    news_.tokens.push_back(drawn.token);
    fresh_ = true;
    wake_.notify_one();
}

void ReplyStream::finished(const RequestResult& result) {
    const std::lock_guard lock(mutex_);
    news_.result = result;
    fresh_ = true;
    wake_.notify_one();
}

ReplyStream::News ReplyStream::wait(std::chrono::milliseconds longest) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, longest, [this] { return fresh_; });
    fresh_ = false;
    News news{.prefilled = news_.prefilled, .prompt_tokens = news_.prompt_tokens};
    news.tokens = std::exchange(news_.tokens, {});
    news.result = news_.result;
    return news;
}

}  // namespace colugo
