// The endpoints: which paths there are, who may use them, and what they answer.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/model_text.h"
#include "server/api_error.h"
#include "server/generation_fields.h"
#include "server/http_exchange.h"
#include "server/reply_body.h"
#include "server/reply_form.h"
#include "server/server_metrics.h"

namespace colugo {

// What the endpoints say of the model that is served.
struct ServedModel {
    std::string name;  // as clients call it; a request may name any
    std::time_t loaded = 0;
    int64_t ctx_size = 0;
    std::vector<int32_t> stop_ids;
    nlohmann::ordered_json properties = nlohmann::ordered_json::object();  // of GET /props
};

class ApiServer {
 public:
    struct Options {
        RequestDefaults defaults;
        std::optional<uint64_t> seed;                  // of requests without one; absent: each gets its own
        std::string api_key;                           // empty: none is asked for
        std::vector<std::string> cors_origins;         // that a browser's page may come from; "*": any
        std::chrono::milliseconds keep_alive{10'000};  // a stream that has nothing to say says so
        std::chrono::seconds stuck{120};               // without a step of the engine, that has something to do
        int text_threads = 2;                          // that render and tokenize
        std::function<void(std::string)> log = [](std::string) {};  // a line; from any thread
    };
    // All outlive it.
    ApiServer(const ModelText& text, const ServedModel& model, ReplySource& source, Options options);
    ~ApiServer();

    boost::asio::awaitable<void> handle(HttpExchange& exchange);
    // For what came to be no request to handle (HttpServer::Refusal): the body that says a status and a sentence.
    std::string turn_away(const HttpRequest& request, int status, std::string_view sentence);

    // New requests for replies are refused.
    void drain() { draining_ = true; }
    // Replies that are being written are ended.
    void interrupt() { interrupted_ = true; }
    // Replies being written.
    int active() const { return active_; }

 private:
    struct Reply;
    class Submission;
    // A whole answer.
    struct Answer {
        std::string body;
        int status = 200;
        std::string_view content_type = "application/json";
    };
    struct Route;

    static std::span<const Route> routes();
    static const Route* find_route(const HttpRequest& request, std::string& allowed);
    static std::string path_list();
    const Route& route_of(HttpExchange& exchange) const;
    boost::asio::awaitable<void> answer(HttpExchange& exchange);
    bool is_allowed(const HttpRequest& request) const;
    void add_cors_headers(HttpExchange& exchange) const;

    Answer get_page(const HttpRequest& request);
    Answer get_health(const HttpRequest& request);
    Answer get_ready(const HttpRequest& request);
    Answer get_models(const HttpRequest& request);
    Answer get_model(const HttpRequest& request);
    Answer get_properties(const HttpRequest& request);
    Answer get_metrics(const HttpRequest& request);
    Answer post_tokenize(const HttpRequest& request);
    Answer post_detokenize(const HttpRequest& request);

    Reply chat_reply(std::string_view body);
    Reply completion_reply(std::string_view body);
    boost::asio::awaitable<void> give_prompt(HttpExchange& exchange);
    boost::asio::awaitable<void> give(HttpExchange& exchange, Reply reply);
    boost::asio::awaitable<void> end(HttpExchange& exchange, bool stream, ReplyBody& body, const RequestResult& result,
                                     const std::optional<ApiError>& fault);
    boost::asio::awaitable<std::optional<RequestResult>> follow(HttpExchange& exchange, bool stream, ReplyBody& body,
                                                                Submission& submission, ReplyChannel& channel,
                                                                int64_t& read);
    void log_failure(const HttpRequest& request, int status, std::string_view reason);
    void note_unknown_fields(const std::string& path, const std::vector<std::string>& names);
    // Runs a function where rendering and tokenizing delay nobody's bytes.
    template <typename Body>
    boost::asio::awaitable<std::invoke_result_t<Body>> on_text_thread(Body body);
    bool makes_progress();

    const ModelText& text_;
    const ServedModel& model_;
    ReplySource& source_;
    const Options options_;
    ServerMetrics metrics_;
    ReplyForms forms_;
    EncodingMemo memo_;
    boost::asio::thread_pool text_threads_;
    std::atomic<bool> draining_ = false, interrupted_ = false;
    std::atomic<int> active_ = 0;

    std::mutex unknown_mutex_;
    std::set<std::string> unknown_names_;  // that the log has had
    std::mutex progress_mutex_;            // of what follows
    int64_t last_steps_ = -1;
    std::chrono::steady_clock::time_point last_progress_ = std::chrono::steady_clock::now();
};

}  // namespace colugo
