#include "server/api_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/string.hpp>

#include "engine/branch_points.h"
#include "server/api_error.h"
#include "server/chat_prompt.h"
#include "server/completion_request.h"
#include "server/divergence.h"
#include "server/index_page.h"
#include "server/json_text.h"
#include "server/prompt_report.h"
#include "server/request_log.h"
#include "text/compact_json.h"
#include "text/detokenizer.h"
#include "text/terminal_text.h"

namespace colugo {

namespace asio = boost::asio;
namespace beast = boost::beast;
using nlohmann::ordered_json;

namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kModels = "/v1/models/";
constexpr size_t kMostQuoted = 200;                         // bytes of a header, a path or a name, in a sentence
constexpr size_t kMemoBytes = size_t{32} << 20;             // some hundred conversations' texts with their ids
constexpr auto kGlance = std::chrono::milliseconds(100);    // at a connection that may be gone
constexpr auto kStepGlance = std::chrono::milliseconds(5);  // at a step that may be over

// In a time that does not depend on where the two differ.
bool same_secret(std::string_view given, std::string_view expected) {
    unsigned difference = static_cast<unsigned>(given.size() ^ expected.size());
    for (size_t i = 0; i < given.size(); ++i) {
        difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(expected[i % expected.size()]);
    }
    return difference == 0;
}

ordered_json model_json(const ServedModel& model) {
    return {{"id", model.name},
            {"object", "model"},
            {"created", model.loaded},
            {"owned_by", "colugo"},
            {"context_length", model.ctx_size},
            {"max_model_len", model.ctx_size}};
}

}  // namespace

// What a request for a reply comes to.
struct ApiServer::Reply {
    Request request;
    ReplyBody::Options body;
    std::unique_ptr<const std::vector<ToolTypes>> tools;  // that `body` looks at
    std::vector<std::string> unknown_fields;
    std::chrono::steady_clock::time_point arrived = std::chrono::steady_clock::now();
};

struct ApiServer::Route {
    enum class Kind : uint8_t {
        quick,
        text,    // renders or tokenizes
        prompt,  // and asks what is cached of it
        reply,   // by the model
    };
    std::string_view method, path;
    Kind kind;
    Answer (ApiServer::*answer)(const HttpRequest&) = nullptr;
    Reply (ApiServer::*reply)(std::string_view body) = nullptr;
    bool is_open = false;    // without a key
    bool is_folder = false;  // of names that follow its path

    bool matches(std::string_view target) const {
        return is_folder ? target.starts_with(path) && target.size() > path.size() : target == path;
    }
};

ApiServer::ApiServer(const ModelText& text, const ServedModel& model, ReplySource& source, Options options)
    : text_(text),
      model_(model),
      source_(source),
      options_(std::move(options)),
      metrics_(source, model.name),
      forms_(text.tokenizer(), options_.defaults.vocab_size, model.stop_ids),
      memo_(kMemoBytes),
      text_threads_(static_cast<size_t>(options_.text_threads)) {}

ApiServer::~ApiServer() {
    text_threads_.join();
}

template <typename Body>
asio::awaitable<std::invoke_result_t<Body>> ApiServer::on_text_thread(Body body) {
    const auto run = [](Body work) -> asio::awaitable<std::invoke_result_t<Body>> { co_return work(); };
    co_return co_await asio::co_spawn(text_threads_.get_executor(), run(std::move(body)), asio::use_awaitable);
}

std::span<const ApiServer::Route> ApiServer::routes() {
    using Kind = Route::Kind;
    static const Route kRoutes[] = {
        {.method = "GET", .path = "/", .kind = Kind::quick, .answer = &ApiServer::get_page, .is_open = true},
        {.method = "GET", .path = "/health", .kind = Kind::quick, .answer = &ApiServer::get_health, .is_open = true},
        {.method = "GET",
         .path = "/health/ready",
         .kind = Kind::quick,
         .answer = &ApiServer::get_ready,
         .is_open = true},
        {.method = "GET", .path = "/v1/models", .kind = Kind::quick, .answer = &ApiServer::get_models},
        {.method = "GET", .path = kModels, .kind = Kind::quick, .answer = &ApiServer::get_model, .is_folder = true},
        {.method = "GET", .path = "/props", .kind = Kind::quick, .answer = &ApiServer::get_properties},
        {.method = "GET", .path = "/metrics", .kind = Kind::quick, .answer = &ApiServer::get_metrics},
        {.method = "POST", .path = "/tokenize", .kind = Kind::text, .answer = &ApiServer::post_tokenize},
        {.method = "POST", .path = "/detokenize", .kind = Kind::text, .answer = &ApiServer::post_detokenize},
        {.method = "POST", .path = "/apply-template", .kind = Kind::prompt},
        {.method = "POST", .path = "/v1/chat/completions", .kind = Kind::reply, .reply = &ApiServer::chat_reply},
        {.method = "POST", .path = "/v1/completions", .kind = Kind::reply, .reply = &ApiServer::completion_reply},
    };
    return kRoutes;
}

const ApiServer::Route* ApiServer::find_route(const HttpRequest& request, std::string& allowed) {
    const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
    for (const Route& route : routes()) {
        if (!route.matches(request.path)) continue;
        if (route.method == method) return &route;
        allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
    }
    return nullptr;
}

// "/, /health, ..., /v1/models/NAME, ..."
std::string ApiServer::path_list() {
    std::string list;
    for (const Route& route : routes()) {
        list += fmt::format("{}{}{}", list.empty() ? "" : ", ", route.path, route.is_folder ? "NAME" : "");
    }
    return list;
}

std::string ApiServer::turn_away(const HttpRequest& request, int status, std::string_view sentence) {
    log_failure(request, status, sentence);
    return compact_json(ApiError(status, "", "", std::string(sentence)).body());
}

void ApiServer::log_failure(const HttpRequest& request, int status, std::string_view reason) {
    options_.log(failure_line(request, status, reason));
}

void ApiServer::add_cors_headers(HttpExchange& exchange) const {
    const std::string& origin = exchange.request().origin;
    const auto& origins = options_.cors_origins;
    const bool any = std::find(origins.begin(), origins.end(), "*") != origins.end();
    if (origin.empty() || (!any && std::find(origins.begin(), origins.end(), origin) == origins.end())) return;
    exchange.add_header("Access-Control-Allow-Origin", any ? "*" : origin);
    exchange.add_header("Vary", "Origin");
    if (exchange.request().method != "OPTIONS") return;
    exchange.add_header("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
    exchange.add_header("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Api-Key");
    exchange.add_header("Access-Control-Max-Age", "600");
}

bool ApiServer::is_allowed(const HttpRequest& request) const {
    if (options_.api_key.empty()) return true;
    constexpr std::string_view kBearer = "Bearer ";
    const std::string_view given = request.authorization;
    if (given.starts_with(kBearer)) return same_secret(given.substr(kBearer.size()), options_.api_key);
    return same_secret(request.api_key, options_.api_key);
}

asio::awaitable<void> ApiServer::handle(HttpExchange& exchange) {
    add_cors_headers(exchange);
    if (exchange.request().method == "OPTIONS") {
        co_await exchange.reply(204, "", std::string());
        co_return;
    }
    std::optional<ApiError> refused;
    try {
        co_await answer(exchange);
    } catch (const ApiError& error) {
        refused = error;
    } catch (const Error& error) {
        refused = api_error(error);
    } catch (const boost::system::system_error&) {
        log_failure(exchange.request(), kClientLeft, "the client left before its answer");
        throw;
    } catch (const std::bad_alloc&) {
        refused = ApiError(503, "", "", "there is not enough memory for this request");
    } catch (const std::exception& error) {
        refused = ApiError(500, "", "", fmt::format("this should not have happened: {}", error.what()));
    }
    if (!refused) co_return;
    log_failure(exchange.request(), refused->status(), refused->what());
    if (exchange.has_begun()) throw *refused;  // nothing can be said any more
    if (const auto seconds = refused->retry_after_seconds()) {
        exchange.add_header("Retry-After", std::to_string(*seconds));
    }
    if (refused->status() == 401) exchange.add_header("WWW-Authenticate", "Bearer");
    co_await exchange.reply(refused->status(), kJson, compact_json(refused->body()));
}

// The endpoint that a request is for, if the request may have it.
const ApiServer::Route& ApiServer::route_of(HttpExchange& exchange) const {
    const HttpRequest& request = exchange.request();
    std::string allowed;
    const Route* route = find_route(request, allowed);
    if ((route == nullptr || !route->is_open) && !is_allowed(request)) {
        throw ApiError(401, "invalid_api_key", "",
                       "the API key is missing or wrong; expected the header \"Authorization: Bearer KEY\" or "
                       "\"X-Api-Key: KEY\"");
    }
    if (route == nullptr && !allowed.empty()) {
        exchange.add_header("Allow", allowed);
        throw ApiError(405, "method_not_allowed", "",
                       fmt::format("{} is for {}, not for {}", clipped(request.path, kMostQuoted), allowed,
                                   clipped(request.method, kMostQuoted)));
    }
    if (route == nullptr) {
        throw ApiError(
            404, "not_found", "",
            fmt::format("there is no {} here; there are {}", clipped(request.path, kMostQuoted), path_list()));
    }
    const std::string& encoding = request.content_encoding;
    if (!encoding.empty() && !beast::iequals(encoding, "identity")) {
        exchange.add_header("Accept-Encoding", "identity");
        throw ApiError(
            415, "unsupported_content_encoding", "",
            fmt::format("the header Content-Encoding is \"{}\"; expected a body as it is, and no such header",
                        clipped(encoding, kMostQuoted)));
    }
    return *route;
}

asio::awaitable<void> ApiServer::answer(HttpExchange& exchange) {
    const HttpRequest& request = exchange.request();
    const Route* const route = &route_of(exchange);
    if (route->kind == Route::Kind::reply) {
        Reply reply = co_await on_text_thread([&] { return (this->*route->reply)(request.body); });
        co_await give(exchange, std::move(reply));
        co_return;
    }
    if (route->kind == Route::Kind::prompt) {
        co_await give_prompt(exchange);
        co_return;
    }
    Answer answer;
    if (route->kind == Route::Kind::text) {
        answer = co_await on_text_thread([&] { return (this->*route->answer)(request); });
    } else {
        answer = (this->*route->answer)(request);
    }
    co_await exchange.reply(answer.status, answer.content_type, std::move(answer.body));
}

ApiServer::Answer ApiServer::get_page(const HttpRequest&) {
    return {.body = std::string(index_page()), .content_type = "text/html; charset=utf-8"};
}

ApiServer::Answer ApiServer::get_health(const HttpRequest&) {
    return {compact_json({{"status", "ok"}})};
}

// Healthy is an engine that has nothing to do, or does some of it.
bool ApiServer::makes_progress() {
    const EngineMetrics metrics = source_.metrics();
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(progress_mutex_);
    if (metrics.submitted == metrics.finished || metrics.steps != last_steps_) {
        last_steps_ = metrics.steps;
        last_progress_ = now;
    }
    return now - last_progress_ < options_.stuck;
}

ApiServer::Answer ApiServer::get_ready(const HttpRequest&) {
    if (draining_) return {compact_json({{"status", "shutting down"}}), 503};
    if (!makes_progress()) return {compact_json({{"status", "stuck"}}), 503};
    return {compact_json({{"status", "ok"}})};
}

ApiServer::Answer ApiServer::get_models(const HttpRequest&) {
    return {compact_json({{"object", "list"}, {"data", ordered_json::array({model_json(model_)})}})};
}

ApiServer::Answer ApiServer::get_model(const HttpRequest& request) {
    const std::string name = percent_decoded(std::string_view(request.path).substr(kModels.size()));
    if (name == model_.name) return {compact_json(model_json(model_))};
    throw ApiError(
        404, "model_not_found", "model",
        fmt::format("there is no model {} here; there is {}", clipped(on_one_line(name), kMostQuoted), model_.name));
}

ApiServer::Answer ApiServer::get_properties(const HttpRequest&) {
    return {compact_json(model_.properties)};
}

ApiServer::Answer ApiServer::get_metrics(const HttpRequest&) {
    return {.body = metrics_.text(), .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

ApiServer::Answer ApiServer::post_tokenize(const HttpRequest& request) {
    const ordered_json body = parse_request_body(request.body);
    RequestFields fields(body, "");
    const std::string text = fields.required_string("content");
    const bool controls = fields.boolean("parse_special").value_or(true);
    const std::vector<int32_t> tokens =
        text_.tokenizer().encode(text, controls ? ControlTokens::recognised : ControlTokens::plain_text);
    return {compact_json({{"tokens", tokens}, {"count", tokens.size()}})};
}

ApiServer::Answer ApiServer::post_detokenize(const HttpRequest& request) {
    const ordered_json body = parse_request_body(request.body);
    RequestFields fields(body, "");
    const ordered_json* tokens = fields.list("tokens");
    if (tokens == nullptr) fields.refuse_value("tokens", "a list of token ids");
    std::string text;
    Detokenizer detokenizer(text_.tokenizer(), Detokenizer::SpecialTokens::shown);
    const int32_t last = text_.tokenizer().id_limit() - 1;
    for (const ordered_json& token : *tokens) {
        const auto id = whole_number(token, 0, last);
        if (!id) {
            refuse("invalid_value", "tokens", "tokens has {}; expected ids from 0 to {}", excerpt(token), last);
        }
        detokenizer.feed(static_cast<int32_t>(*id), text);
    }
    detokenizer.flush(text);
    return {compact_json({{"content", text}})};
}

// What is cached only the engine's thread knows, which may be in the middle of a step.
asio::awaitable<void> ApiServer::give_prompt(HttpExchange& exchange) {
    const std::optional<PromptReport> report = co_await on_text_thread([&] {
        return std::make_optional<PromptReport>(
            text_, read_chat_request(parse_request_body(exchange.request().body), options_.defaults));
    });
    std::future<CacheManager::Lookup> found = source_.look_up(report->prefix());
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (found.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
        if (exchange.is_closed()) {
            log_failure(exchange.request(), kClientLeft, "the client left before its answer");
            co_return;
        }
        if (interrupted_) throw ApiError(503, "server_shutting_down", "", "the server is shutting down");
        timer.expires_after(kStepGlance);
        co_await timer.async_wait(asio::use_awaitable);
    }
    const CacheManager::Lookup lookup = found.get();
    std::string body = co_await on_text_thread([&] { return compact_json(report->body(lookup)); });
    co_await exchange.reply(200, kJson, std::move(body));
}

namespace {

// What both kinds of requests say alike.
void take_generation(const GenerationFields& fields, const ServedModel& model, std::optional<uint64_t> seed,
                     Request& request, ReplyBody::Options& body) {
    request.max_tokens = fields.max_tokens;
    request.sampling = fields.sampling;
    request.sampling.seed = fields.seed ? *fields.seed : seed ? *seed : make_seed();
    request.stop_ids = model.stop_ids;
    request.stop_strings = fields.stop;
    request.top_logprobs = fields.top_logprobs;
    request.spec = fields.speculation;
    request.cache_scope = fields.cache_scope;
    request.priority = fields.priority;
    body.model = fields.model.empty() ? model.name : fields.model;
    body.include_usage = fields.include_usage;
    body.logprobs = fields.top_logprobs >= 0;
    body.seed = request.sampling.seed;
    body.has_prediction = !fields.prediction.empty();
}

}  // namespace

ApiServer::Reply ApiServer::chat_reply(std::string_view body) {
    const ChatRequest chat = read_chat_request(parse_request_body(body), options_.defaults);
    Reply reply;
    take_generation(chat.generation, model_, options_.seed, reply.request, reply.body);
    reply.body.stream = chat.generation.stream;
    reply.unknown_fields = chat.unknown_fields;
    const Tokenizer& tokenizer = text_.tokenizer();
    const ChatInput input = chat_input(chat);
    // How long a request takes must not tell one scope what another has sent.
    const ScopedMemo memo{memo_, chat.generation.cache_scope};
    reply.request.prompt = text_.encode(render_prompt(text_, chat), &memo);
    check_context_length(std::ssize(reply.request.prompt), 1, model_.ctx_size);
    reply.request.branch_points = branch_points(text_, input, reply.request.prompt, &memo);
    reply.request.prediction = tokenizer.encode(chat.generation.prediction, ControlTokens::plain_text);
    reply.body.parser.thought =
        forms_.hold_reply(text_, chat, input, options_.defaults.replay_acceptance, reply.request);
    reply.body.parser.parallel_calls = chat.tools.parallel_calls && chat.tools.choice.kind != ToolChoice::Kind::named;
    if (!chat.tools.tools.empty() && chat.tools.choice.kind != ToolChoice::Kind::none) {
        reply.tools = std::make_unique<const std::vector<ToolTypes>>(tool_types(chat.tools.tools));
        reply.body.parser.tools = reply.tools.get();
    }
    return reply;
}

ApiServer::Reply ApiServer::completion_reply(std::string_view body) {
    const CompletionRequest completion = read_completion_request(parse_request_body(body), options_.defaults);
    Reply reply;
    take_generation(completion.generation, model_, options_.seed, reply.request, reply.body);
    reply.body.api = ReplyBody::Api::completion;
    reply.body.stream = completion.generation.stream;
    reply.unknown_fields = completion.unknown_fields;
    const Tokenizer& tokenizer = text_.tokenizer();
    reply.request.prompt = completion.prompt_ids.empty()
                               ? tokenizer.encode(completion.prompt, ControlTokens::recognised)
                               : completion.prompt_ids;
    check_context_length(std::ssize(reply.request.prompt), 1, model_.ctx_size);
    reply.request.prediction = tokenizer.encode(completion.generation.prediction, ControlTokens::plain_text);
    return reply;
}

// A reply that the source works on, cancelled where nobody waits for its end any more.
class ApiServer::Submission {
 public:
    Submission(ReplySource& source, std::atomic<int>& active, Request request, std::shared_ptr<ReplyChannel> channel)
        : source_(source), active_(active), id_(submit(source, std::move(request), std::move(channel))) {
        ++active_;
    }
    ~Submission() {
        --active_;
        if (!ended_) source_.cancel(id_);
    }
    Submission(const Submission&) = delete;
    Submission& operator=(const Submission&) = delete;

    void cancel() {
        if (!cancelled_) source_.cancel(id_);
        cancelled_ = true;
    }
    void set_ended() { ended_ = true; }

 private:
    static RequestId submit(ReplySource& source, Request request, std::shared_ptr<ReplyChannel> channel) {
        try {
            return source.submit(std::move(request), std::move(channel));
        } catch (const Error& error) {
            if (error.code() != ErrorCode::resource_exhausted) throw;
            throw ApiError(429, "rate_limit_exceeded", "", error.what());
        }
    }

    ReplySource& source_;
    std::atomic<int>& active_;
    RequestId id_;
    bool cancelled_ = false, ended_ = false;
};

namespace {

std::string error_events(const ApiError& error) {
    return event_text(error.body()) + "data: [DONE]\n\n";
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Why a reply that ended is none, if so.
std::optional<ApiError> fault_of(const RequestResult& result, bool interrupted) {
    if (result.error) return api_error(*result.error);
    if (interrupted) return ApiError(503, "server_shutting_down", "", "the server is shutting down");
    return std::nullopt;
}

}  // namespace

asio::awaitable<void> ApiServer::give(HttpExchange& exchange, Reply reply) {
    if (draining_) throw ApiError(503, "server_shutting_down", "", "the server is shutting down");
    note_unknown_fields(exchange.request().path, reply.unknown_fields);
    const auto channel = std::make_shared<ReplyChannel>(co_await asio::this_coro::executor);
    const bool stream = reply.body.stream;
    ReplyBody body(text_.tokenizer(), std::move(reply.body));
    const std::vector<int32_t> prompt = reply.request.prompt;
    Submission submission(source_, active_, std::move(reply.request), channel);
    std::optional<RequestResult> result;
    int64_t read = 0;
    std::string_view left = "the client left";
    try {
        result = co_await follow(exchange, stream, body, submission, *channel, read);
    } catch (const boost::system::system_error& error) {
        if (error.code() == beast::error::timeout) left = "the client took nothing for too long";
    }
    const double seconds = seconds_since(reply.arrived);
    if (!result) {
        metrics_.record_abort();
        log_failure(exchange.request(), kClientLeft,
                    fmt::format("{} after {:.2f} s: {}, {} of {} prompt tokens read, {} new", left, seconds, body.id(),
                                read, prompt.size(), body.tokens()));
        co_return;
    }
    const std::optional<ApiError> fault =
        fault_of(*result, result->finish == FinishReason::cancelled && !body.is_done());
    const std::string reason = fault ? "error" : body.finish_reason(*result);
    metrics_.record(*result, reason, seconds);
    if (fault && !stream) throw *fault;
    const std::string& path = exchange.request().path;
    options_.log(reply_line(path, body.id(), *result, fault ? fault->what() : reason, seconds));
    const std::string note = divergence_note(text_.tokenizer(), prompt, result->matched_tokens);
    if (!note.empty()) options_.log(fmt::format("{}: {}", body.id(), note));
    co_await end(exchange, stream, body, *result, fault);
}

// What is left to send of a reply that has ended.
asio::awaitable<void> ApiServer::end(HttpExchange& exchange, bool stream, ReplyBody& body, const RequestResult& result,
                                     const std::optional<ApiError>& fault) {
    try {
        if (stream) {
            std::string events = fault ? error_events(*fault) : body.end(result);
            co_await exchange.send(std::move(events));
            co_await exchange.end_events();
        } else {
            std::string whole = compact_json(body.whole(result));
            co_await exchange.reply(200, kJson, std::move(whole));
        }
    } catch (const boost::system::system_error&) {
        // The client is gone; the log has how its reply ended.
    }
}

// Until the reply has ended; a stream's events are sent meanwhile. Nothing: the client is gone. read: tokens of the
// prompt that are, so far.
asio::awaitable<std::optional<RequestResult>> ApiServer::follow(HttpExchange& exchange, bool stream, ReplyBody& body,
                                                                Submission& submission, ReplyChannel& channel,
                                                                int64_t& read) {
    if (stream) {
        co_await exchange.begin_events();
        co_await exchange.send(body.begin());
    }
    auto told = std::chrono::steady_clock::now();
    while (true) {
        const ReplyNews news = co_await channel.wait(kGlance);
        read = std::max(read, news.prefilled);
        std::string events = body.feed(news.tokens);
        if (news.result) submission.set_ended();
        if (exchange.is_closed()) co_return std::nullopt;
        if (interrupted_ || body.is_done()) submission.cancel();
        const auto now = std::chrono::steady_clock::now();
        if (stream && events.empty() && !news.result && now - told > options_.keep_alive) events = body.keep_alive();
        if (stream && !events.empty()) {
            co_await exchange.send(std::move(events));
            told = now;
        }
        if (news.result) co_return news.result;
    }
}

// Once for each name, of the first that there are.
void ApiServer::note_unknown_fields(const std::string& path, const std::vector<std::string>& names) {
    constexpr size_t kMostNames = 256;
    std::string news;
    {
        const std::lock_guard lock(unknown_mutex_);
        for (const std::string& whole : names) {
            const std::string name = clipped(whole, kMostQuoted);
            if (unknown_names_.size() < kMostNames && unknown_names_.insert(name).second) news += " " + name;
        }
    }
    if (!news.empty()) options_.log(fmt::format("{}: fields that mean nothing here:{}", path, news));
}

}  // namespace colugo
