#include "cli/served_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/http_client.h"
#include "text/terminal_text.h"

namespace colugo {

namespace {

using nlohmann::json;

constexpr std::chrono::seconds kPatience{3};
constexpr std::string_view kTls = "https://";

// Of what a stranger answers, only what has the form is taken.
std::optional<ServedModelAnswer> answer_of(const json& body, const std::string& url, const std::string& name) {
    if (!body.is_object() || !body.contains("data") || !body["data"].is_array()) return std::nullopt;
    std::string names;
    for (const json& model : body["data"]) {
        if (!model.is_object() || !model.contains("id") || !model["id"].is_string()) continue;
        const std::string id = model["id"];
        names += (names.empty() ? "" : ", ") + id;
        if (!name.empty() && id != name) continue;
        if (name.empty() && on_one_line(id) != id) {
            fail(ErrorCode::invalid_argument,
                 "the server at {} calls its model {}, a name with control characters; expected another by --model",
                 url, id);
        }
        ServedModelAnswer answer{.name = id};
        for (const char* const field : {"context_length", "max_model_len"}) {
            if (answer.context == 0 && model.contains(field) && model[field].is_number_integer()) {
                answer.context = std::max<int64_t>(0, model[field]);
            }
        }
        return answer;
    }
    if (names.empty()) return std::nullopt;
    fail(ErrorCode::not_found, "the server at {} has no model {}: it has {}", url, name, names);
}

}  // namespace

bool wants_tls(const std::string& url) {
    return url.starts_with(kTls);
}

std::string with_api_path(const std::string& url) {
    // What is written is the same with TLS.
    const HttpUrl parsed = HttpUrl::parse(wants_tls(url) ? "http://" + url.substr(kTls.size()) : url);
    std::string plain = url;
    while (plain.ends_with('/')) plain.pop_back();
    return parsed.path.empty() ? plain + "/v1" : plain;
}

std::optional<ServedModelAnswer> ask_served_model(const std::string& url, const std::string& key,
                                                  const std::string& name) {
    if (wants_tls(url)) return std::nullopt;
    const HttpUrl parsed = HttpUrl::parse(url);
    HttpClient::Answer answer;
    try {
        HttpClient client(parsed, {.api_key = key, .should_stop = {}});
        answer = client.get(parsed.path + "/models", HttpClient::Clock::now() + kPatience);
    } catch (const HttpFailure&) {
        return std::nullopt;
    }
    if (answer.status == 401) return ServedModelAnswer{.wants_key = true};
    return answer.status == 200 ? answer_of(json::parse(answer.body, nullptr, false), url, name) : std::nullopt;
}

}  // namespace colugo
