#include "bench/endpoint.h"

#include <charconv>
#include <cstdlib>
#include <thread>

#include "bench/event_reader.h"
#include "text/compact_json.h"
#include "text/utf8.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr auto kSmallRequest = std::chrono::seconds(60);
constexpr auto kRetry = std::chrono::milliseconds(200);

HttpUrl root_of(const std::string& url) {
    HttpUrl root = HttpUrl::parse(url);
    if (root.path.ends_with("/v1")) root.path.resize(root.path.size() - 3);
    return root;
}

std::string_view kind_name(HttpFailure::Kind kind) {
    switch (kind) {
        case HttpFailure::Kind::connect:
            return "connect";
        case HttpFailure::Kind::closed:
            return "closed";
        case HttpFailure::Kind::timeout:
            return "timeout";
        case HttpFailure::Kind::protocol:
            return "protocol";
        case HttpFailure::Kind::interrupted:
            return "interrupted";
    }
    return "protocol";
}

// The sentence in an error's body, or the body.
std::string error_text(const std::string& body) {
    const ordered_json parsed = parse_json(body);
    if (parsed.is_object()) {
        const ordered_json error = parsed.value("error", parsed);
        if (error.is_object() && error.contains("message") && error["message"].is_string()) {
            return error["message"].get<std::string>();
        }
        if (error.is_string()) return error.get<std::string>();
    }
    std::string storage;
    return std::string(to_valid_utf8(std::string_view(body).substr(0, 300), storage));
}

// A line of Prometheus' text: NAME{LABELS} VALUE.
struct Sample {
    std::string_view name, labels;
    double value = 0.0;
};

std::optional<Sample> parse_sample(std::string_view line) {
    const size_t space = line.rfind(' ');
    if (line.starts_with('#') || space == line.npos) return std::nullopt;
    Sample sample;
    const std::string value(line.substr(space + 1));
    sample.value = std::strtod(value.c_str(), nullptr);
    const std::string_view head = line.substr(0, space);
    const size_t brace = std::min(head.find('{'), head.size());
    sample.name = head.substr(0, brace);
    sample.labels = head.substr(brace);
    if (const size_t colon = sample.name.find(':'); colon != head.npos) sample.name.remove_prefix(colon + 1);
    if (sample.name.ends_with("_total")) sample.name.remove_suffix(6);
    return sample;
}

std::optional<int> position_label(std::string_view labels) {
    constexpr std::string_view kLabel = "position=\"";
    const size_t at = labels.find(kLabel);
    if (at == labels.npos) return std::nullopt;
    int position = 0;
    const char* const begin = labels.data() + at + kLabel.size();
    const auto [end, error] = std::from_chars(begin, labels.data() + labels.size(), position);
    if (error != std::errc()) return std::nullopt;
    return position;
}

std::optional<std::vector<int32_t>> token_list(const ordered_json& answer) {
    if (!answer.is_object() || !answer.contains("tokens") || !answer["tokens"].is_array()) return std::nullopt;
    std::vector<int32_t> tokens;
    tokens.reserve(answer["tokens"].size());
    for (const ordered_json& token : answer["tokens"]) {
        if (!token.is_number_integer()) return std::nullopt;
        tokens.push_back(token.get<int32_t>());
    }
    return tokens;
}

}  // namespace

Endpoint::Endpoint(const std::string& url, HttpClient::Options options)
    : root_(root_of(url)), client_(root_, std::move(options)) {}

TurnReply Endpoint::chat(const std::string& body, Clock::time_point deadline, std::optional<TurnFailure>& failure) {
    ReplyAssembler assembler;
    EventReader events([&](std::string_view data) { assembler.add_event(data, Clock::now()); });
    TurnReply& reply = assembler.reply();
    reply.begin = Clock::now();
    try {
        const HttpClient::Answer answer = client_.post(root_.path + "/v1/chat/completions", body, deadline,
                                                       [&](std::string_view bytes) { events.feed(bytes); });
        if (answer.status != 200) {
            failure = {"status", fmt::format("status {}: {}", answer.status, error_text(answer.body))};
        } else if (reply.finish_reason.empty()) {
            failure = {"stream", answer.body.empty() ? "the stream ended without a finish_reason"
                                                     : "the answer is no stream of events"};
        }
    } catch (const HttpFailure& error) {
        failure = {std::string(kind_name(error.kind())), error.what()};
    } catch (const Error& error) {
        failure = {"stream", error.what()};
    }
    if (!assembler.is_done()) reply.end = Clock::now();
    return reply;
}

std::optional<HttpClient::Answer> Endpoint::try_get(const std::string& path) {
    try {
        return client_.get(root_.path + path, Clock::now() + kSmallRequest);
    } catch (const HttpFailure&) {
        return std::nullopt;
    }
}

ordered_json Endpoint::ask(const std::string& path, const ordered_json& body) {
    try {
        const Clock::time_point deadline = Clock::now() + kSmallRequest;
        const HttpClient::Answer answer = body.is_null() ? client_.get(root_.path + path, deadline)
                                                         : client_.post(root_.path + path, body.dump(), deadline);
        if (answer.status != 200) return nullptr;
        ordered_json parsed = parse_json(answer.body);
        return parsed.is_discarded() ? ordered_json() : parsed;
    } catch (const HttpFailure&) {
        return nullptr;
    }
}

void Endpoint::wait_until_ready(double seconds) {
    const Clock::time_point end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::string reason;
    while (true) {
        try {
            const HttpClient::Answer answer = client_.get(root_.path + "/v1/models", Clock::now() + kSmallRequest);
            if (answer.status == 200) return;
            reason =
                fmt::format("GET /v1/models is answered with status {}: {}", answer.status, error_text(answer.body));
            if (answer.status == 401 || answer.status == 403) {
                fail(ErrorCode::invalid_argument, "{} wants another key: {}", root_.text(), error_text(answer.body));
            }
            if (answer.status < 500) fail(ErrorCode::io, "{} is no server of the API: {}", root_.text(), reason);
        } catch (const HttpFailure& failure) {
            reason = failure.what();
            if (failure.kind() == HttpFailure::Kind::interrupted) throw;
        }
        if (Clock::now() + kRetry > end) fail(ErrorCode::io, "{} takes no requests: {}", root_.text(), reason);
        std::this_thread::sleep_for(kRetry);
    }
}

ServerFacts Endpoint::facts() {
    ServerFacts facts{.models = ask("/v1/models", nullptr), .props = ask("/props", nullptr), .model = {}};
    if (facts.props.is_object()) {
        facts.props.erase("chat_template");
        facts.props.erase("chat_template_tool_use");
    }
    if (!facts.models.is_object() || !facts.models.contains("data") || !facts.models["data"].is_array()) return facts;
    for (const ordered_json& model : facts.models["data"]) {
        if (!model.is_object() || !model.contains("id") || !model["id"].is_string()) continue;
        facts.model = model["id"].get<std::string>();
        break;
    }
    return facts;
}

std::optional<DraftCounters> Endpoint::draft_counters() {
    const std::optional<HttpClient::Answer> answer = try_get("/metrics");
    if (!answer || answer->status != 200) return std::nullopt;
    DraftCounters counters;
    bool told = false;
    for (std::string_view text = answer->body; !text.empty();) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::optional<Sample> sample = parse_sample(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!sample) continue;
        if (sample->name == "spec_decode_num_drafts") {
            counters.passes += sample->value;
            told = true;
        } else if (sample->name == "spec_decode_num_accepted_tokens_per_pos") {
            if (const auto position = position_label(sample->labels)) counters.by_position[*position] += sample->value;
        }
    }
    return told ? std::optional(counters) : std::nullopt;
}

std::optional<std::vector<int32_t>> Endpoint::prompt_tokens(const ordered_json& request) {
    const ordered_json rendered = ask("/apply-template", request);
    if (const auto tokens = token_list(rendered)) return tokens;
    if (rendered.is_object() && rendered.contains("prompt") && rendered["prompt"].is_string()) {
        return token_list(
            ask("/tokenize", {{"content", rendered["prompt"]}, {"add_special", true}, {"parse_special", true}}));
    }
    return token_list(ask("/tokenize", request));
}

}  // namespace colugo
