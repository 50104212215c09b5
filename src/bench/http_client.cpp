#include "bench/http_client.h"

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <optional>

namespace colugo {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

namespace {

constexpr auto kLook = std::chrono::milliseconds(50);  // how often should_stop is asked
constexpr uint64_t kMostBytes = uint64_t{1} << 30;     // of an answer
constexpr uint32_t kMostHeaderBytes = 64 << 10;

}  // namespace

HttpUrl HttpUrl::parse(std::string_view url) {
    constexpr std::string_view kScheme = "http://";
    if (url.starts_with("https://")) {
        fail(ErrorCode::unsupported, "{} asks for TLS, which is a proxy's business here; expected http://HOST:PORT",
             url);
    }
    const auto refuse = [&] {
        fail(ErrorCode::invalid_argument, "{} is no address of a server; expected http://HOST:PORT", url);
    };
    if (!url.starts_with(kScheme)) refuse();
    const std::string_view rest = url.substr(kScheme.size());
    const size_t slash = std::min(rest.find('/'), rest.size());
    std::string_view host = rest.substr(0, slash);
    HttpUrl parsed;
    const size_t colon = host.rfind(':');
    if (colon != host.npos && host.find(']', colon) == host.npos) {
        const std::string_view port = host.substr(colon + 1);
        const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), parsed.port);
        if (error != std::errc() || end != port.data() + port.size() || parsed.port == 0) refuse();
        host = host.substr(0, colon);
    }
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host.empty() || host.find_first_of("@?# ") != host.npos) refuse();
    parsed.host = host;
    std::string_view path = rest.substr(slash);
    while (path.ends_with('/')) path.remove_suffix(1);
    parsed.path = path;
    return parsed;
}

std::string HttpUrl::authority() const {
    const bool is_v6 = host.find(':') != host.npos;
    return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

std::string HttpUrl::text() const {
    return "http://" + authority() + path;
}

// Operations wait here, each until its deadline or until someone wants an end.
class HttpClient::Connection {
 public:
    Connection(const HttpUrl& url, const std::function<bool()>& should_stop, Clock::time_point deadline)
        : url_(url), should_stop_(should_stop), stream_(context_) {
        asio::ip::tcp::resolver resolver(context_);
        beast::error_code error;
        const auto addresses = resolver.resolve(url.host, std::to_string(url.port), error);
        if (!error) {
            stream_.expires_at(deadline);
            error = wait([&](auto done) {
                stream_.async_connect(addresses, [done](beast::error_code e, const auto&) { done(e, 0); });
            });
        }
        if (error) refuse(HttpFailure::Kind::connect, "cannot connect to", error);
        stream_.socket().set_option(asio::ip::tcp::no_delay(true), error);
    }

    // Whether the last answer left it open.
    bool is_open() const { return open_; }

    // True when the connection had ended before this request came through.
    bool send(http::request<http::string_body>& message, Clock::time_point deadline) {
        const bool reused = std::exchange(used_, true);
        deadline_ = deadline;
        stream_.expires_at(deadline);
        beast::error_code error = wait([&](auto done) { http::async_write(stream_, message, done); });
        if (!error) {
            parser_.emplace();
            parser_->body_limit(kMostBytes);
            parser_->header_limit(kMostHeaderBytes);
            error = wait([&](auto done) { http::async_read_header(stream_, buffer_, *parser_, done); });
        }
        if (!error && parser_->get().result_int() < 200) {
            throw HttpFailure(HttpFailure::Kind::protocol, fmt::format("{} answered {} before its answer", url_.text(),
                                                                       parser_->get().result_int()));
        }
        if (!error) return false;
        if (reused && !parser_started() && error != beast::error::timeout && !stopped_) return true;
        refuse(HttpFailure::Kind::closed, "no answer from", error);
    }

    Answer read(const OnBytes& on_events) {
        Answer answer;
        answer.status = parser_->get().result_int();
        answer.content_type = std::string(parser_->get()[http::field::content_type]);
        const bool in_pieces =
            on_events && answer.status == 200 && answer.content_type.starts_with("text/event-stream");
        std::array<char, 16384> bytes;
        while (!parser_->is_done()) {
            parser_->get().body().data = bytes.data();
            parser_->get().body().size = bytes.size();
            const beast::error_code error =
                wait([&](auto done) { http::async_read_some(stream_, buffer_, *parser_, done); });
            if (error && error != http::error::need_buffer) {
                refuse(HttpFailure::Kind::closed, "the answer broke off from", error);
            }
            if (is_over()) refuse(HttpFailure::Kind::closed, "the answer broke off from", beast::error::timeout);
            const std::string_view part(bytes.data(), bytes.size() - parser_->get().body().size);
            if (in_pieces) {
                on_events(part);
            } else {
                answer.body += part;
            }
        }
        open_ = parser_->keep_alive();
        return answer;
    }

 private:
    // Looked at where pieces come so fast that no wait for one ever ends by its deadline.
    bool is_over() {
        const Clock::time_point now = Clock::now();
        if (now < next_look_) return false;
        next_look_ = now + kLook;
        stopped_ = stopped_ || (should_stop_ && should_stop_());
        return stopped_ || now >= deadline_;
    }

    bool parser_started() const { return parser_ && parser_->got_some(); }

    // Starts an operation and waits for its end.
    template <typename Start>
    beast::error_code wait(Start start) {
        std::optional<beast::error_code> result;
        start([&result](beast::error_code error, size_t) { result = error; });
        context_.restart();
        while (!result) {
            context_.run_for(kLook);
            if (result || stopped_ || !should_stop_ || !should_stop_()) continue;
            stopped_ = true;
            stream_.close();  // what is awaited ends with an error
        }
        return *result;
    }

    [[noreturn]] void refuse(HttpFailure::Kind kind, std::string_view what, beast::error_code error) {
        const std::string where = url_.text();
        if (stopped_) throw HttpFailure(HttpFailure::Kind::interrupted, "interrupted");
        if (error == beast::error::timeout) {
            throw HttpFailure(HttpFailure::Kind::timeout, fmt::format("{} {}: it took too long", what, where));
        }
        const bool is_http = error.category() == http::make_error_code(http::error::bad_version).category();
        const bool is_end = error == http::error::end_of_stream || error == http::error::partial_message;
        if (is_http && !is_end) kind = HttpFailure::Kind::protocol;
        throw HttpFailure(kind, fmt::format("{} {}: {}", what, where, error.message()));
    }

    const HttpUrl& url_;
    const std::function<bool()>& should_stop_;
    asio::io_context context_;
    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    std::optional<http::response_parser<http::buffer_body>> parser_;
    Clock::time_point deadline_, next_look_;
    bool used_ = false, open_ = true, stopped_ = false;
};

HttpClient::HttpClient(HttpUrl url, Options options) : url_(std::move(url)), options_(std::move(options)) {}
HttpClient::~HttpClient() = default;

HttpClient::Answer HttpClient::get(const std::string& target, Clock::time_point deadline) {
    return request("GET", target, "", deadline, {});
}

HttpClient::Answer HttpClient::post(const std::string& target, const std::string& body, Clock::time_point deadline,
                                    const OnBytes& on_events) {
    return request("POST", target, body, deadline, on_events);
}

HttpClient::Answer HttpClient::request(std::string_view method, const std::string& target, const std::string& body,
                                       Clock::time_point deadline, const OnBytes& on_events) {
    http::request<http::string_body> message(http::string_to_verb(method), target, 11);
    message.set(http::field::host, url_.authority());
    message.set(http::field::user_agent, "colugo-bench");
    if (!options_.api_key.empty()) message.set(http::field::authorization, "Bearer " + options_.api_key);
    if (!body.empty()) message.set(http::field::content_type, "application/json");
    message.body() = body;
    message.prepare_payload();
    try {
        if (connection_ && !connection_->is_open()) connection_.reset();
        for (bool again = true; again;) {
            if (!connection_) {
                connection_ = std::make_unique<Connection>(url_, options_.should_stop, deadline);
            }
            again = connection_->send(message, deadline);
            if (again) connection_.reset();
        }
        return connection_->read(on_events);
    } catch (...) {
        connection_.reset();
        throw;
    }
}

}  // namespace colugo
