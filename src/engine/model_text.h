// The text side of a checkpoint: its tokenizer, its chat template, which tokens end a reply and which ids are none, and
// how its publisher samples. Parts that are absent are missed only where they are needed.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/model_config.h"
#include "checkpoint/text_files.h"
#include "sampling/sampling_params.h"
#include "sampling/token_mask.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace colugo {

class ModelText {
 public:
    // template_file: a Jinja file instead of the checkpoint's template; empty for the checkpoint's. Throws what the
    // readers of the files throw.
    explicit ModelText(const std::string& directory, const std::string& template_file = "");

    // Reads tokenizer.json on first use. Throws not_found when the checkpoint has none.
    const Tokenizer& tokenizer() const;
    bool has_tokenizer() const;

    // The prompt of a conversation; from any thread. special_tokens are filled in here. Throws not_found when there is
    // no template, and what ChatTemplate throws, naming the template's file.
    RenderedPrompt render(ChatInput input) const;
    // Whether the template that would render `input` looks at a variable.
    bool template_mentions(std::string_view variable, const ChatInput& input) const;
    std::vector<int32_t> encode(const RenderedPrompt& prompt, const ScopedMemo* memo = nullptr) const {
        return tokenizer().encode(prompt.text, prompt.content_spans, memo);
    }

    // Ids that end a reply, ascending: those of generation_config.json and config.json, the tokenizer's end of
    // sequence, and the control token the template puts behind an assistant's message.
    std::vector<int32_t> stop_ids(const ModelConfig& config) const;
    // Sentences about what is left aside in the files: by the tokenizer, and end tokens that are none.
    std::vector<std::string> notices(const ModelConfig& config) const;
    // Ids that have a token; without a tokenizer, all. Throws invalid_file when the tokenizer has ids the model lacks.
    TokenMask token_mask(const ModelConfig& config) const;
    // generation_config.json's values: without a temperature in it, greedy unless it asks to sample.
    SamplingParams default_sampling() const;

 private:
    const std::string& template_source(bool with_tools, std::string& origin) const;
    const ChatTemplate& chat_template(bool with_tools, std::string& origin) const;
    std::optional<int32_t> end_of_turn() const;

    TextFiles files_;
    std::optional<std::string> template_override_;
    std::string template_override_path_;
    mutable std::mutex templates_mutex_;
    // Of prompts without tools, and with them; parsed on first use.
    mutable std::array<std::optional<const ChatTemplate>, 2> templates_;
    mutable std::unique_ptr<const Tokenizer> tokenizer_;
};

}  // namespace colugo
