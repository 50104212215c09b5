// The HTTP side of the server: connections, limits, and requests handed to one handler. HTTP/1.1 with keep-alive.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "server/http_exchange.h"

namespace colugo {

// Listens there for a moment. Returns whether no other machine reaches it. Throws Error (io) where it cannot.
bool check_listening(const std::string& host, uint16_t port);

class HttpServer {
 public:
    // Answers the exchange. What it throws ends the connection.
    using Handler = std::function<boost::asio::awaitable<void>(HttpExchange&)>;
    // What is answered where there is no request to hand on: a status, and a sentence. request: what was read of it,
    // which may be nothing. With kClientLeft (server/request_log.h) nobody is there to read the answer.
    using Refusal = std::function<std::string(const HttpRequest& request, int status, std::string_view sentence)>;

    // Listens at once; serves while somebody runs the context. Throws Error (io, invalid_argument) where it cannot
    // listen there. port 0: any free one.
    HttpServer(boost::asio::io_context& context, const std::string& host, uint16_t port, const HttpLimits& limits,
               Handler handler, Refusal refusal);
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    uint16_t port() const { return port_; }
    int connections() const;

    // Takes no more connections, and ends those where nothing is being answered; the others end with their answer.
    void drain();
    // Ends all connections.
    void close();

 private:
    struct Connection;

    boost::asio::awaitable<void> accept();
    boost::asio::awaitable<void> serve(std::shared_ptr<Connection> connection);
    boost::asio::awaitable<bool> serve_one(Connection& connection);
    boost::asio::awaitable<void> refuse(Connection& connection, HttpRequest request, int status,
                                        std::string_view sentence);

    boost::asio::io_context& context_;
    boost::asio::ip::tcp::acceptor acceptor_;
    HttpLimits limits_;
    Handler handler_;
    Refusal refusal_;
    uint16_t port_ = 0;
    mutable std::mutex mutex_;  // of what follows
    std::set<std::shared_ptr<Connection>> connections_;
    bool draining_ = false;
};

}  // namespace colugo
