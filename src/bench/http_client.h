// One kept connection to an HTTP server: requests one after the other, their answers read as they come.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace colugo {

// http://HOST[:PORT][/PATH]
struct HttpUrl {
    std::string host;
    uint16_t port = 80;
    std::string path;  // without a slash at the end

    // Throws invalid_argument for what is none, unsupported for https.
    static HttpUrl parse(std::string_view url);
    std::string authority() const;  // HOST:PORT
    std::string text() const;
};

// Why there is no whole answer.
class HttpFailure : public std::runtime_error {
 public:
    enum class Kind {
        connect,      // nobody listens there
        closed,       // the connection ended before the answer did
        timeout,      // the answer did not end in time
        protocol,     // it is no HTTP
        interrupted,  // we were asked to end
    };
    HttpFailure(Kind kind, const std::string& sentence) : std::runtime_error(sentence), kind_(kind) {}
    Kind kind() const { return kind_; }

 private:
    Kind kind_;
};

class HttpClient {
 public:
    using Clock = std::chrono::steady_clock;
    struct Options {
        std::string api_key;                // sent as a bearer token; empty: none
        std::function<bool()> should_stop;  // asked some times a second while something is awaited
    };
    struct Answer {
        int status = 0;
        std::string content_type;
        std::string body;  // empty where it was given in pieces
    };
    // Of the body of an answer with status 200 and events, as it comes.
    using OnBytes = std::function<void(std::string_view)>;

    HttpClient(HttpUrl url, Options options);
    ~HttpClient();

    // `target` begins with a slash and is below the server's root, not the URL's path. A connection that the server
    // closed since the last answer is made anew, once. Throws HttpFailure; the connection is closed then.
    Answer get(const std::string& target, Clock::time_point deadline);
    Answer post(const std::string& target, const std::string& body, Clock::time_point deadline,
                const OnBytes& on_events = {});

 private:
    class Connection;
    Answer request(std::string_view method, const std::string& target, const std::string& body,
                   Clock::time_point deadline, const OnBytes& on_events);

    HttpUrl url_;
    Options options_;
    std::unique_ptr<Connection> connection_;
};

}  // namespace colugo
