#include "server/reply_channel.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace colugo {

namespace asio = boost::asio;

void ReplyChannel::prefilled(int64_t done, int64_t /*total*/) {
    const std::lock_guard lock(mutex_);
    news_.prefilled = done;
}

void ReplyChannel::token(const DrawnToken& drawn) {
    const std::lock_guard lock(mutex_);
    news_.tokens.push_back(
        {drawn.token, drawn.held_bytes, drawn.logprob, {drawn.top_logprobs.begin(), drawn.top_logprobs.end()}});
    wake();
}

void ReplyChannel::finished(const RequestResult& result) {
    const std::lock_guard lock(mutex_);
    news_.result = result;
    wake();
}

// Under the mutex.
void ReplyChannel::wake() {
    if (std::exchange(waking_, true)) return;
    asio::post(timer_.get_executor(), [self = shared_from_this()] { self->timer_.cancel(); });
}

asio::awaitable<ReplyNews> ReplyChannel::wait(std::chrono::milliseconds longest) {
    const auto take = [this] {
        const std::lock_guard lock(mutex_);
        waking_ = false;
        return std::exchange(news_, {.prefilled = news_.prefilled});
    };
    ReplyNews news = take();
    if (!news.empty()) co_return news;
    timer_.expires_after(longest);
    boost::system::error_code cancelled;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    co_return take();
}

}  // namespace colugo
