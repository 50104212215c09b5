// What a checkpoint says about text beside its weights: sampling defaults, control tokens, the chat template, where the
// tokenizer lies. Raw material: nothing here is interpreted, and every part may be absent; whoever needs it says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colugo {

struct GenerationConfig {
    std::vector<int64_t> eos_token_id;  // ids that end a reply; may be empty
    std::optional<bool> do_sample;      // false: the publisher's default is greedy
    std::optional<double> temperature;  // from 0
    std::optional<int64_t> top_k;       // from 0; 0 means no limit
    std::optional<double> top_p;        // (0, 1]
    std::optional<double> min_p;        // [0, 1]
    std::optional<double> repetition_penalty, presence_penalty, frequency_penalty;
};

struct TokenizerConfig {
    std::optional<std::string> bos_token, eos_token, pad_token, unk_token;  // token texts
    std::optional<bool> add_bos_token;
};

struct ChatTemplateSource {
    std::string name;  // "default", or the name a list of templates gives it ("tool_use")
    std::string source;
};

struct TextFiles {
    std::string directory;
    GenerationConfig generation;
    TokenizerConfig tokenizer;
    std::vector<ChatTemplateSource> chat_templates;  // may be empty
    std::string chat_template_origin;                // the file they come from

    // nullptr when there is no template of that name.
    const ChatTemplateSource* chat_template(const std::string& name = "default") const;
    // The text of tokenizer.json. Throws not_found, saying what it is needed for.
    std::string read_tokenizer_json() const;
};

// generation_config.json, tokenizer_config.json, and the chat template: chat_template.jinja before chat_template.json
// before the one inside tokenizer_config.json. Throws invalid_file for a file that is there and malformed.
TextFiles read_text_files(const std::string& directory);

GenerationConfig parse_generation_config(const std::string& text, const std::string& source);

}  // namespace colugo
