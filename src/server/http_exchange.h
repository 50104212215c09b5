// One HTTP request and its answer, on one connection.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colugo {

struct HttpLimits {
    uint32_t header_bytes = 64 << 10;
    uint64_t body_bytes = uint64_t{64} << 20;
    int connections = 1024;               // at a time; one more is told so and closed
    std::chrono::seconds head_time{30};   // from a request's first byte to its last header
    std::chrono::seconds body_time{120};  // from there to its last byte
    std::chrono::seconds write_time{30};  // in which a reader takes some of what is sent
    std::chrono::seconds idle_time{900};  // between two requests
};

struct HttpRequest {
    std::string method;
    std::string path;   // without the query
    std::string query;  // behind the question mark
    std::string authorization, api_key, origin, content_encoding;
    std::string body;
    bool keep_alive = true;
    bool chunks = true;  // the client knows chunked answers
};

// A part of a path as it was meant: "a%20b" is "a b". What is no such escape stays as it is.
std::string percent_decoded(std::string_view text);

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Its coroutines throw boost::system::system_error when the client is gone or takes nothing for too long.
class HttpExchange {
 public:
    HttpExchange(boost::beast::tcp_stream& stream, HttpRequest request, const HttpLimits& limits)
        : stream_(stream), request_(std::move(request)), limits_(limits) {}

    const HttpRequest& request() const { return request_; }
    // Go with every answer.
    void add_header(std::string name, std::string value) { headers_.emplace_back(std::move(name), std::move(value)); }
    // The connection ends with this answer, which says so.
    void close() { request_.keep_alive = false; }

    // All of the answer.
    boost::asio::awaitable<void> reply(int status, std::string_view content_type, std::string body);
    // An answer of server-sent events, one text after the other.
    boost::asio::awaitable<void> begin_events();
    boost::asio::awaitable<void> send(std::string text);
    boost::asio::awaitable<void> end_events();

    // Something was answered, or at least begun.
    bool has_begun() const { return begun_; }
    bool has_ended() const { return ended_; }
    // Looks whether the client has closed the connection.
    bool is_closed();

 private:
    boost::beast::tcp_stream& stream_;
    HttpRequest request_;
    const HttpLimits& limits_;
    HttpHeaders headers_;
    bool begun_ = false, ended_ = false;
};

}  // namespace colugo
