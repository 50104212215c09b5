// How a conversation becomes a prompt: by which template, and whether the model may think first.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "engine/model_text.h"

namespace colugo {

class TemplateFlags {
 public:
    // Adds --chat-template, --reasoning.
    void add(CLI::App& app);

    // A Jinja file instead of the checkpoint's template; empty for that one.
    const std::string& template_path() const { return template_path_; }
    bool wants_reasoning() const { return reasoning_ == "on"; }
    // Absent: as the template has it.
    std::optional<bool> choice() const {
        return reasoning_ == "auto" ? std::nullopt : std::optional(wants_reasoning());
    }

    // Tells the template. Throws invalid_argument where --reasoning on could not act, and what template_mentions
    // throws.
    void apply(ChatInput& input, const ModelText& text) const;

 private:
    std::string template_path_;
    std::string reasoning_ = "auto";
};

}  // namespace colugo
