#include "server/http_server.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/error.h"
#include "server/request_log.h"

namespace colugo {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using ErrorCodeOf = boost::system::error_code;

struct HttpServer::Connection {
    explicit Connection(tcp::socket socket, uint32_t most_header)
        : stream(std::move(socket)), buffer(most_header + 8192) {}
    beast::tcp_stream stream;
    beast::flat_buffer buffer;
    bool is_answered = false;  // the request that came; under the server's mutex
};

namespace {

std::string_view text_of(const boost::core::string_view& text) {
    return {text.data(), text.size()};
}

// As far as a message was read.
HttpRequest beginning_of(const http::request<http::string_body>& message) {
    HttpRequest request;
    request.method = text_of(message.method_string());
    const std::string_view target = text_of(message.target());
    const size_t mark = std::min(target.find('?'), target.size());
    request.path = target.substr(0, mark);
    request.query = target.substr(std::min(mark + 1, target.size()));
    return request;
}

HttpRequest request_of(http::request<http::string_body>&& message) {
    HttpRequest request = beginning_of(message);
    request.authorization = text_of(message[http::field::authorization]);
    request.api_key = text_of(message["x-api-key"]);
    request.origin = text_of(message[http::field::origin]);
    request.content_encoding = text_of(message[http::field::content_encoding]);
    request.keep_alive = message.keep_alive();
    request.chunks = message.version() >= 11;
    request.body = std::move(message.body());
    return request;
}

// What is still on its way from a client whose request was refused is read for a moment: a connection that is reset
// under it may lose the answer.
asio::awaitable<void> linger(beast::tcp_stream& stream) {
    constexpr size_t kMostBytes = 1 << 20;
    ErrorCodeOf error;
    stream.socket().shutdown(tcp::socket::shutdown_send, error);
    std::array<char, 4096> rest;
    stream.expires_after(std::chrono::seconds(1));
    for (size_t read = 0; !error && read < kMostBytes;) {
        read += co_await stream.async_read_some(asio::buffer(rest), asio::redirect_error(asio::use_awaitable, error));
    }
}

}  // namespace

namespace {

void listen(tcp::acceptor& acceptor, const std::string& host, uint16_t port) {
    try {
        const auto found =
            tcp::resolver(acceptor.get_executor()).resolve(host, std::to_string(port), tcp::resolver::passive);
        const tcp::endpoint endpoint = *found.begin();
        acceptor.open(endpoint.protocol());
        acceptor.set_option(tcp::acceptor::reuse_address(true));
        acceptor.bind(endpoint);
        acceptor.listen();
    } catch (const boost::system::system_error& error) {
        fail(ErrorCode::io, "cannot listen at {} port {}: {}", host, port, error.code().message());
    }
}

}  // namespace

bool check_listening(const std::string& host, uint16_t port) {
    asio::io_context context;
    tcp::acceptor acceptor(context);
    listen(acceptor, host, port);
    return acceptor.local_endpoint().address().is_loopback();
}

HttpServer::HttpServer(asio::io_context& context, const std::string& host, uint16_t port, const HttpLimits& limits,
                       Handler handler, Refusal refusal)
    : context_(context),
      acceptor_(context),
      limits_(limits),
      handler_(std::move(handler)),
      refusal_(std::move(refusal)) {
    listen(acceptor_, host, port);
    port_ = acceptor_.local_endpoint().port();
    asio::co_spawn(context_, accept(), asio::detached);
}

int HttpServer::connections() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(connections_.size());
}

asio::awaitable<void> HttpServer::accept() {
    while (acceptor_.is_open()) {
        ErrorCodeOf error;
        tcp::socket socket(asio::make_strand(context_));
        co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
        if (error == asio::error::operation_aborted) co_return;
        if (error) {
            // No file descriptor is left, most likely: others end soon.
            asio::steady_timer pause(context_, std::chrono::milliseconds(50));
            co_await pause.async_wait(asio::use_awaitable);
            continue;
        }
        socket.set_option(tcp::no_delay(true), error);
        const auto executor = socket.get_executor();
        auto connection = std::make_shared<Connection>(std::move(socket), limits_.header_bytes);
        asio::co_spawn(executor, serve(std::move(connection)), asio::detached);
    }
}

asio::awaitable<void> HttpServer::serve(std::shared_ptr<Connection> connection) {
    bool too_many = false;
    {
        const std::lock_guard lock(mutex_);
        too_many = static_cast<int>(connections_.size()) >= limits_.connections;
        connections_.insert(connection);
    }
    try {
        if (too_many) {
            co_await refuse(
                *connection, HttpRequest(), 503,
                fmt::format("{} connections are open already, which is all there may be", limits_.connections));
        } else {
            while (co_await serve_one(*connection)) {
            }
        }
        co_await linger(connection->stream);
    } catch (const std::exception&) {
        // The client is gone.
    }
    ErrorCodeOf error;
    connection->stream.socket().close(error);
    const std::lock_guard lock(mutex_);
    connections_.erase(connection);
}

// Whether there may be another request.
asio::awaitable<bool> HttpServer::serve_one(Connection& connection) {
    beast::tcp_stream& stream = connection.stream;
    {
        const std::lock_guard lock(mutex_);
        if (draining_) co_return false;
        connection.is_answered = false;
    }
    ErrorCodeOf error;
    if (connection.buffer.size() == 0) {
        stream.expires_after(limits_.idle_time);
        const size_t read = co_await stream.async_read_some(connection.buffer.prepare(4096),
                                                            asio::redirect_error(asio::use_awaitable, error));
        if (error) co_return false;
        connection.buffer.commit(read);
    }
    http::request_parser<http::string_body> parser;
    parser.header_limit(limits_.header_bytes);
    parser.body_limit(limits_.body_bytes);
    stream.expires_after(limits_.head_time);
    co_await http::async_read_header(stream, connection.buffer, parser,
                                     asio::redirect_error(asio::use_awaitable, error));
    if (!error && text_of(parser.get()[http::field::expect]) == "100-continue") {
        constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
        co_await asio::async_write(stream, asio::buffer(kContinue), asio::use_awaitable);
    }
    if (!error) {
        stream.expires_after(limits_.body_time);
        co_await http::async_read(stream, connection.buffer, parser, asio::redirect_error(asio::use_awaitable, error));
    }
    if (error == http::error::body_limit || error == http::error::buffer_overflow) {
        co_await refuse(connection, beginning_of(parser.get()), 413,
                        fmt::format("the body has more than {} bytes, the most it may have", limits_.body_bytes));
        co_return false;
    }
    if (error == http::error::header_limit) {
        co_await refuse(
            connection, beginning_of(parser.get()), 431,
            fmt::format("the headers have more than {} bytes, the most they may have", limits_.header_bytes));
        co_return false;
    }
    if (error == beast::error::timeout) {  // which has closed the connection
        refusal_(beginning_of(parser.get()), kClientLeft, "the request did not come to its end in time");
        co_return false;
    }
    if (error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
        co_await refuse(connection, beginning_of(parser.get()), 400,
                        fmt::format("this is no HTTP request: {}", error.message()));
        co_return false;
    }
    bool ends = false;
    {
        const std::lock_guard lock(mutex_);
        ends = draining_;
        connection.is_answered = !ends;
    }
    if (error || ends) {
        refusal_(beginning_of(parser.get()), kClientLeft,
                 ends ? "the server ended before the request had come" : "the client left before its request had come");
        co_return false;
    }
    HttpExchange exchange(stream, request_of(parser.release()), limits_);
    co_await handler_(exchange);
    const std::lock_guard lock(mutex_);
    co_return exchange.has_ended() && exchange.request().keep_alive && !draining_;
}

asio::awaitable<void> HttpServer::refuse(Connection& connection, HttpRequest request, int status,
                                         std::string_view sentence) {
    std::string body = refusal_(request, status, sentence);
    request.keep_alive = false;
    HttpExchange exchange(connection.stream, std::move(request), limits_);
    co_await exchange.reply(status, "application/json", std::move(body));
}

void HttpServer::drain() {
    asio::post(acceptor_.get_executor(), [this] {
        ErrorCodeOf error;
        acceptor_.close(error);
    });
    const std::lock_guard lock(mutex_);
    draining_ = true;
    for (const auto& connection : connections_) {
        if (connection->is_answered) continue;
        asio::post(connection->stream.get_executor(), [connection] { connection->stream.cancel(); });
    }
}

void HttpServer::close() {
    drain();
    const std::lock_guard lock(mutex_);
    for (const auto& connection : connections_) {
        asio::post(connection->stream.get_executor(), [connection] {
            ErrorCodeOf error;
            connection->stream.socket().close(error);
        });
    }
}

}  // namespace colugo
