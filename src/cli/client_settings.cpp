#include "cli/client_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;
using Handler = ordered_json::error_handler_t;

constexpr std::string_view kKeyVariable = "COLUGO_API_KEY";
// Where a client insists on some key and the server wants none.
constexpr std::string_view kNoKey = "none";

// A reply's share of the context, for clients that have to be told and make room for it: more of it makes them shorten
// conversations sooner, and few replies are longer than 16,384 tokens.
int64_t most_reply(const ServedEndpoint& endpoint) {
    return std::clamp<int64_t>(endpoint.context / 4, 1, 16384);
}

// A JSON string, which is one of YAML and Python too.
std::string quoted(const std::string& text) {
    return ordered_json(text).dump(-1, ' ', false, Handler::replace);
}

// One word of a shell's command.
std::string shell_word(const std::string& text) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=/.,:@%";
    if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
    std::string word = "'";
    for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

std::string shell_key(const ServedEndpoint& endpoint) {
    return endpoint.wants_key ? fmt::format("\"${}\"", kKeyVariable) : std::string(kNoKey);
}

std::string document(const ordered_json& json) {
    return json.dump(2, ' ', false, Handler::replace) + "\n";
}

// Something to say first, to which the model that comes with the program has an answer too: a call of
// the tool, which it knows by this description.
struct FirstRequest {
    std::string words;
    ordered_json tools;  // null: none
};

FirstRequest first_request(const ServedEndpoint& endpoint) {
    if (endpoint.model != "nano" && endpoint.model != "nano-bf16") return {"Hello", nullptr};
    const ordered_json parameters = {{"type", "object"}, {"properties", {{"command", {{"type", "string"}}}}}};
    const ordered_json function = {
        {"name", "bash"}, {"description", "Execute a bash command"}, {"parameters", parameters}};
    const ordered_json tool = {{"type", "function"}, {"function", function}};
    return {"Where under src/planner is `close_orbit` defined? Show 20 lines of it.", ordered_json::array({tool})};
}

std::string aider(const ServedEndpoint& endpoint) {
    return fmt::format("export OPENAI_API_BASE={} OPENAI_API_KEY={}\naider --model {} --no-show-model-warnings\n",
                       shell_word(endpoint.url), shell_key(endpoint), shell_word("openai/" + endpoint.model));
}

std::string cline(const ServedEndpoint& endpoint) {
    return fmt::format("cline auth --provider openai --baseurl {} --modelid {} --apikey {}\n", shell_word(endpoint.url),
                       shell_word(endpoint.model), shell_key(endpoint));
}

std::string continue_dev(const ServedEndpoint& endpoint) {
    std::string text = "name: colugo\nversion: 0.0.1\nschema: v1\nmodels:\n";
    text += fmt::format("  - name: {0}\n    provider: openai\n    model: {0}\n    apiBase: {1}\n    apiKey: {2}\n",
                        quoted(endpoint.model), quoted(endpoint.url),
                        endpoint.wants_key ? fmt::format("${{{{ secrets.{} }}}}", kKeyVariable) : std::string(kNoKey));
    text += "    roles: [chat, edit, apply]\n    capabilities: [tool_use]\n";
    if (endpoint.context > 0) {
        text += fmt::format("    defaultCompletionOptions:\n      contextLength: {}\n      maxTokens: {}\n",
                            endpoint.context, most_reply(endpoint));
    }
    return text;
}

std::string curl(const ServedEndpoint& endpoint) {
    const FirstRequest first = first_request(endpoint);
    const ordered_json message = {{"role", "user"}, {"content", first.words}};
    ordered_json body = {{"model", endpoint.model}, {"messages", ordered_json::array({message})}};
    if (!first.tools.is_null()) body["tools"] = first.tools;
    std::string text =
        fmt::format("curl {} -H 'Content-Type: application/json'", shell_word(endpoint.url + "/chat/completions"));
    if (endpoint.wants_key) text += fmt::format(" -H \"Authorization: Bearer ${}\"", kKeyVariable);
    return text + fmt::format(" \\\n    -d {}\n", shell_word(body.dump(-1, ' ', false, Handler::replace)));
}

std::string goose(const ServedEndpoint& endpoint) {
    // Goose takes the server and the path apart.
    const std::string host = endpoint.url.substr(0, endpoint.url.rfind("/v1"));
    std::string text = fmt::format("export GOOSE_PROVIDER=openai GOOSE_MODEL={}\n", shell_word(endpoint.model));
    text += fmt::format("export OPENAI_HOST={} OPENAI_BASE_PATH=v1/chat/completions OPENAI_API_KEY={}\n",
                        shell_word(host), shell_key(endpoint));
    if (endpoint.context > 0) text += fmt::format("export GOOSE_CONTEXT_LIMIT={}\n", endpoint.context);
    return text + "goose session\n";
}

std::string openai_python(const ServedEndpoint& endpoint) {
    const std::string key = endpoint.wants_key ? fmt::format("os.environ[\"{}\"]", kKeyVariable) : quoted("none");
    std::string text = endpoint.wants_key ? "import os\n\n" : "";
    text += fmt::format("from openai import OpenAI\n\nclient = OpenAI(base_url={}, api_key={})\n", quoted(endpoint.url),
                        key);
    const FirstRequest first = first_request(endpoint);
    const bool has_tools = !first.tools.is_null();
    text += fmt::format("messages = [{{\"role\": \"user\", \"content\": {}}}]\n", quoted(first.words));
    if (has_tools) text += fmt::format("tools = {}\n", first.tools.dump());  // of objects and strings: Python as well
    text += fmt::format("reply = client.chat.completions.create(model={}, messages=messages{})\n",
                        quoted(endpoint.model), has_tools ? ", tools=tools" : "");
    return text + fmt::format("print({}reply.choices[0].message.content)\n",
                              has_tools ? "reply.choices[0].message.tool_calls or " : "");
}

std::string opencode(const ServedEndpoint& endpoint) {
    ordered_json model = {{"name", endpoint.model}};
    if (endpoint.context > 0) model["limit"] = {{"context", endpoint.context}, {"output", most_reply(endpoint)}};
    ordered_json options = {{"baseURL", endpoint.url}};
    if (endpoint.wants_key) options["apiKey"] = fmt::format("{{env:{}}}", kKeyVariable);
    const ordered_json provider = {{"npm", "@ai-sdk/openai-compatible"},
                                   {"name", "colugo"},
                                   {"options", options},
                                   {"models", {{endpoint.model, model}}}};
    return document({{"$schema", "https://opencode.ai/config.json"},
                     {"provider", {{"colugo", provider}}},
                     {"model", "colugo/" + endpoint.model}});
}

std::string qwen_code(const ServedEndpoint& endpoint) {
    ordered_json model = {{"id", endpoint.model},
                          {"name", endpoint.model},
                          {"baseUrl", endpoint.url},
                          {"envKey", std::string(kKeyVariable)}};
    if (endpoint.context > 0) model["generationConfig"] = {{"contextWindowSize", endpoint.context}};
    ordered_json settings = {{"modelProviders", {{"openai", ordered_json::array({model})}}},
                             {"security", {{"auth", {{"selectedType", "openai"}}}}},
                             {"model", {{"name", endpoint.model}}}};
    if (!endpoint.wants_key) settings["env"] = {{std::string(kKeyVariable), std::string(kNoKey)}};
    return document(settings);
}

std::string roo(const ServedEndpoint& endpoint) {
    ordered_json profile = {{"apiProvider", "openai"},
                            {"openAiBaseUrl", endpoint.url},
                            {"openAiApiKey", endpoint.wants_key ? "" : std::string(kNoKey)},
                            {"openAiModelId", endpoint.model},
                            {"id", "colugo"}};
    if (endpoint.context > 0) {
        profile["openAiCustomModelInfo"] = {{"contextWindow", endpoint.context},
                                            {"maxTokens", most_reply(endpoint)},
                                            {"supportsImages", false},
                                            {"supportsPromptCache", false}};
    }
    return document({{"providerProfiles", {{"currentApiConfigName", "colugo"}, {"apiConfigs", {{"colugo", profile}}}}},
                     {"globalSettings", ordered_json::object()}});
}

std::string zed(const ServedEndpoint& endpoint) {
    // Zed asks for a context; where it is unknown, the smallest that an agent can work with. The key's variable is the
    // provider's name with _API_KEY.
    constexpr int64_t kSmall = 32768;
    const ordered_json model = {
        {"name", endpoint.model},
        {"max_tokens", endpoint.context > 0 ? endpoint.context : kSmall},
        {"capabilities",
         {{"tools", true}, {"images", false}, {"parallel_tool_calls", true}, {"prompt_cache_key", false}}}};
    const ordered_json provider = {{"api_url", endpoint.url}, {"available_models", ordered_json::array({model})}};
    return document({{"language_models", {{"openai_compatible", {{"colugo", provider}}}}}});
}

struct Client {
    std::string_view name;
    std::string_view where;
    std::string (*text)(const ServedEndpoint&);
};

constexpr std::array kClients = {
    Client{"aider", "Run this in a shell, in the folder of the work.", aider},
    Client{
        "cline",
        "Run this in a shell for Cline's command; in the editor it is the provider \"OpenAI Compatible\" with the same "
        "values.",
        cline},
    Client{"continue", "This is ~/.continue/config.yaml (a key that is wanted stands in ~/.continue/.env).",
           continue_dev},
    Client{"curl", "Run this in a shell.", curl},
    Client{"goose", "Run this in a shell, in the folder of the work.", goose},
    Client{"openai-python", "This is a program with the package openai.", openai_python},
    Client{"opencode", "This is opencode.json in the folder of the work, or ~/.config/opencode/opencode.json.",
           opencode},
    Client{"qwen-code", "This belongs in ~/.qwen/settings.json.", qwen_code},
    Client{"roo", "Save this as a file and import it in Roo Code's settings, which then has room for a key.", roo},
    Client{
        "zed",
        "This belongs in Zed's settings.json (max_tokens is the context, and 32768 where that is not known); the key, "
        "any word where none is wanted, in Zed's settings of language models or in COLUGO_API_KEY.",
        zed},
};

struct OtherApi {
    std::string_view client, api;
};

// Known not to work, which is better said at once.
constexpr std::array kOtherApis = {OtherApi{"codex", "Responses API"}, OtherApi{"claude-code", "Messages API"}};

}  // namespace

std::string client_names() {
    std::string names;
    for (const Client& client : kClients) names += fmt::format("{}{}", names.empty() ? "" : ", ", client.name);
    return names;
}

ClientSettings client_settings(std::string_view name, const ServedEndpoint& endpoint) {
    for (const Client& client : kClients) {
        if (client.name == name) return {std::string(client.where), client.text(endpoint)};
    }
    for (const OtherApi& other : kOtherApis) {
        if (other.client != name) continue;
        fail(ErrorCode::unsupported, "{} asks for the {} only, which colugo serve does not have", name, other.api);
    }
    fail(ErrorCode::invalid_argument, "there are no settings for a client {}: expected one of {}", name,
         client_names());
}

std::string key_setting(const std::string& key_file) {
    return fmt::format("export {}=\"$(cat {})\"\n", kKeyVariable, shell_word(key_file));
}

std::string endpoint_url(std::string_view host, uint16_t port) {
    const bool is_v6 = host.find(':') != std::string_view::npos;
    return fmt::format("http://{}{}{}:{}/v1", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

}  // namespace colugo
