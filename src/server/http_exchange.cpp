#include "server/http_exchange.h"

#include <sys/socket.h>

#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>
#include <charconv>

namespace colugo {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

template <typename Body>
http::response<Body> response(int status, const HttpRequest& request, const HttpHeaders& headers,
                              std::string_view content_type) {
    http::response<Body> answer(static_cast<http::status>(status), request.chunks ? 11 : 10);
    answer.set(http::field::server, "colugo");
    if (!content_type.empty()) answer.set(http::field::content_type, content_type);
    for (const auto& [name, value] : headers) answer.set(name, value);
    answer.keep_alive(request.keep_alive);
    return answer;
}

}  // namespace

std::string percent_decoded(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        unsigned char byte = 0;
        const char* const digits = text.data() + i + 1;
        if (text[i] == '%' && text.size() - i > 2 && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
            out += static_cast<char>(byte);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

asio::awaitable<void> HttpExchange::reply(int status, std::string_view content_type, std::string body) {
    begun_ = true;
    auto answer = response<http::string_body>(status, request_, headers_, content_type);
    answer.body() = std::move(body);
    const bool bodyless = status == 204 || status == 304;
    if (!bodyless) answer.prepare_payload();
    http::response_serializer<http::string_body> serializer(answer);
    stream_.expires_after(limits_.write_time);
    if (request_.method == "HEAD") {
        co_await http::async_write_header(stream_, serializer, asio::use_awaitable);
    } else {
        // Piece by piece, so that a reader who takes some has the time to take more.
        while (!serializer.is_done()) {
            stream_.expires_after(limits_.write_time);
            co_await http::async_write_some(stream_, serializer, asio::use_awaitable);
        }
    }
    ended_ = true;
}

asio::awaitable<void> HttpExchange::begin_events() {
    begun_ = true;
    if (!request_.chunks) close();  // its end is the answer's
    auto answer = response<http::empty_body>(200, request_, headers_, "text/event-stream; charset=utf-8");
    answer.set(http::field::cache_control, "no-cache");
    answer.set("X-Accel-Buffering", "no");
    answer.chunked(request_.chunks);
    http::response_serializer<http::empty_body> serializer(answer);
    stream_.expires_after(limits_.write_time);
    co_await http::async_write_header(stream_, serializer, asio::use_awaitable);
}

asio::awaitable<void> HttpExchange::send(std::string text) {
    if (text.empty()) co_return;
    stream_.expires_after(limits_.write_time);
    if (request_.chunks) {
        co_await asio::async_write(stream_, http::make_chunk(asio::buffer(text)), asio::use_awaitable);
    } else {
        co_await asio::async_write(stream_, asio::buffer(text), asio::use_awaitable);
    }
}

asio::awaitable<void> HttpExchange::end_events() {
    stream_.expires_after(limits_.write_time);
    if (request_.chunks) co_await asio::async_write(stream_, http::make_chunk_last(), asio::use_awaitable);
    ended_ = true;
}

bool HttpExchange::is_closed() {
    char byte = 0;
    const ssize_t read = ::recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return read == 0 || (read < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace colugo
