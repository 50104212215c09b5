// Where the tokens of `run` come from: ids, raw text, one question, or a conversation in a file.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/template_flags.h"
#include "engine/model_text.h"

namespace colugo {

class PromptFlags {
 public:
    explicit PromptFlags(CLI::App& app);

    // Throws CLI::ValidationError unless there is exactly one source.
    void check() const;
    bool is_ids() const { return ids_option_->count() > 0; }
    const std::string& chat_template_path() const { return template_.template_path(); }

    // The ids of --prompt-ids. Throws invalid_argument for what is no list of ids.
    std::vector<int32_t> ids() const;
    // The text a model reads, with the template applied unless --raw.
    RenderedPrompt render(const ModelText& text) const;

 private:
    // Given or not: a prompt may be empty. Not taken from the environment or a file, where it would get in the way of
    // one on the command line.
    const CLI::Option* prompt_option_;
    const CLI::Option* messages_option_;
    const CLI::Option* ids_option_;
    std::string prompt_;
    std::string prompt_ids_;
    std::string messages_;
    std::string system_;
    TemplateFlags template_;
    bool raw_ = false;
};

}  // namespace colugo
