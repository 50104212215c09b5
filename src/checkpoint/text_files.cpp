#include "checkpoint/text_files.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/json_reader.h"

namespace colugo {

using nlohmann::json;

namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxTemplateBytes = uint64_t{4} << 20;
constexpr uint64_t kMaxTokenizerBytes = uint64_t{512} << 20;

// Either a token's text or an object that holds it as "content".
std::optional<std::string> token_text(const JsonFields& config, const char* key) {
    const json* value = config.get(key);
    if (!value) return std::nullopt;
    if (value->is_object() && value->contains("content")) return config.object(key)->string("content");
    return config.string(key);
}

// One template, or a list of named ones.
std::vector<ChatTemplateSource> inline_templates(const JsonFields& config) {
    const json* value = config.get("chat_template");
    if (!value) return {};
    if (value->is_string()) return {{"default", value->get<std::string>()}};
    std::vector<ChatTemplateSource> templates;
    if (!value->is_array()) config.refuse("chat_template", "a string or a list of {name, template}");
    for (const json& entry : *value) {
        if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string() ||
            !entry.contains("template") || !entry["template"].is_string()) {
            config.refuse("chat_template", "a string or a list of {name, template}");
        }
        templates.push_back({entry["name"].get<std::string>(), entry["template"].get<std::string>()});
    }
    return templates;
}

void read_templates(TextFiles& files, const std::optional<JsonFields>& tokenizer_config) {
    const std::string jinja_path = files.directory + "/chat_template.jinja";
    const std::string json_path = files.directory + "/chat_template.json";
    if (auto source = read_text_file(jinja_path, kMaxTemplateBytes)) {
        files.chat_templates = {{"default", std::move(*source)}};
        files.chat_template_origin = jinja_path;
    } else if (auto text = read_text_file(json_path, kMaxTemplateBytes)) {
        const json document = parse_json_object(*text, json_path);
        files.chat_templates = inline_templates(JsonFields(document, json_path));
        files.chat_template_origin = json_path;
    } else if (tokenizer_config) {
        files.chat_templates = inline_templates(*tokenizer_config);
        if (!files.chat_templates.empty()) files.chat_template_origin = tokenizer_config->source();
    }
}

}  // namespace

GenerationConfig parse_generation_config(const std::string& text, const std::string& source) {
    constexpr int64_t kMaxId = INT32_MAX;
    constexpr double kMinTemperature = 1e-6, kMaxTemperature = 100.0;
    const json document = parse_json_object(text, source);
    const JsonFields fields(document, source);
    GenerationConfig config;
    if (const json* eos = fields.get("eos_token_id"); eos && eos->is_array()) {
        for (const json& id : *eos) {
            if (!id.is_number_unsigned() || id.get<uint64_t>() > static_cast<uint64_t>(kMaxId)) {
                fields.refuse("eos_token_id", "a token id or a list of token ids");
            }
            config.eos_token_id.push_back(id.get<int64_t>());
        }
    } else if (eos) {
        config.eos_token_id.push_back(fields.required_integer("eos_token_id", 0, kMaxId));
    }
    config.do_sample = fields.boolean("do_sample");
    config.temperature = fields.number("temperature", 0.0, kMaxTemperature);
    if (config.temperature > 0.0 && config.temperature < kMinTemperature) {
        fields.refuse("temperature", "0, or a number from 1e-6 to 100");
    }
    config.top_k = fields.integer("top_k", 0, kMaxId);
    config.top_p = fields.number("top_p", 0.0, 1.0);
    if (config.top_p == 0.0) fields.refuse("top_p", "a number above 0, up to 1");
    config.min_p = fields.number("min_p", 0.0, 1.0);
    config.repetition_penalty = fields.number("repetition_penalty", 1e-3, 1e3);
    config.presence_penalty = fields.number("presence_penalty", -1e3, 1e3);
    config.frequency_penalty = fields.number("frequency_penalty", -1e3, 1e3);
    return config;
}

const ChatTemplateSource* TextFiles::chat_template(const std::string& name) const {
    for (const ChatTemplateSource& entry : chat_templates) {
        if (entry.name == name) return &entry;
    }
    return nullptr;
}

std::string TextFiles::read_tokenizer_json() const {
    auto text = read_text_file(directory + "/tokenizer.json", kMaxTokenizerBytes);
    if (!text) {
        fail(ErrorCode::not_found, "{}/tokenizer.json does not exist: without it no text can be read or written",
             directory);
    }
    return std::move(*text);
}

TextFiles read_text_files(const std::string& directory) {
    TextFiles files;
    files.directory = directory;
    const std::string generation_path = directory + "/generation_config.json";
    if (const auto text = read_text_file(generation_path, kMaxConfigBytes)) {
        files.generation = parse_generation_config(*text, generation_path);
    }
    const std::string tokenizer_path = directory + "/tokenizer_config.json";
    json document;
    std::optional<JsonFields> fields;
    if (const auto text = read_text_file(tokenizer_path, kMaxConfigBytes)) {
        document = parse_json_object(*text, tokenizer_path);
        fields.emplace(document, tokenizer_path);
        files.tokenizer = {.bos_token = token_text(*fields, "bos_token"),
                           .eos_token = token_text(*fields, "eos_token"),
                           .pad_token = token_text(*fields, "pad_token"),
                           .unk_token = token_text(*fields, "unk_token"),
                           .add_bos_token = fields->boolean("add_bos_token")};
    }
    read_templates(files, fields);
    return files;
}

}  // namespace colugo
