#include "cli/run_prompt.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"
#include "cli/input_text.h"
#include "cli/messages_file.h"

namespace colugo {

namespace {

// The argument itself, or what standard input holds where it is "-".
std::string argument_or_input(const std::string& argument) {
    return argument == "-" ? read_standard_input() : argument;
}

}  // namespace

PromptFlags::PromptFlags(CLI::App& app) {
    prompt_option_ = app.add_option("prompt", prompt_, "The user's message (- reads standard input)");
    messages_option_ = app.add_option("--messages", messages_,
                                      "A conversation instead: a JSON file (- reads standard input) with messages, "
                                      "tools, chat_template_kwargs")
                           ->type_name("FILE")
                           ->configurable(false);
    ids_option_ =
        app.add_option("--prompt-ids", prompt_ids_, "Token ids instead, separated by commas (- reads standard input)")
            ->configurable(false);
    app.add_flag("--raw", raw_, "Feed the prompt as it is, without the chat template")->configurable(false);
    app.add_option("--system", system_, "A system message before the prompt")->configurable(false);
    template_.add(app);
}

void PromptFlags::check() const {
    const bool has_prompt = prompt_option_->count() > 0;
    const int sources =
        static_cast<int>(has_prompt) + static_cast<int>(messages_option_->count() > 0) + static_cast<int>(is_ids());
    if (sources != 1) {
        throw CLI::ValidationError(
            "run", fmt::format("needs one of a prompt (- reads standard input), --messages or --prompt-ids, and has {}",
                               sources));
    }
    if (!system_.empty() && (!has_prompt || raw_)) {
        throw CLI::ValidationError("--system", "goes with a prompt that the chat template wraps");
    }
    if (raw_ && !has_prompt) throw CLI::ValidationError("--raw", "goes with a prompt");
    if (template_.wants_reasoning() && (raw_ || is_ids())) {
        throw CLI::ValidationError("--reasoning", "goes with a prompt that the chat template wraps");
    }
}

std::vector<int32_t> PromptFlags::ids() const {
    const std::string list = argument_or_input(prompt_ids_);
    std::vector<int32_t> ids;
    const char* next = list.data();
    const char* const end = next + list.size();
    const auto skip_space = [&] {
        while (next != end && (*next == ' ' || *next == '\n' || *next == '\t' || *next == '\r')) ++next;
    };
    while (true) {
        skip_space();
        int32_t id = 0;
        const auto [stop, error] = std::from_chars(next, end, id);
        if (error != std::errc() || id < 0) {
            fail(ErrorCode::invalid_argument, "--prompt-ids has {:?} where a token id was expected, as in 5,17,2",
                 std::string(next, std::min(end, next + 20)));
        }
        ids.push_back(id);
        next = stop;
        skip_space();
        if (next == end) return ids;
        if (*next == ',') ++next;
    }
}

RenderedPrompt PromptFlags::render(const ModelText& text) const {
    if (raw_) return {argument_or_input(prompt_), {}};
    ChatInput input;
    if (messages_option_->count() > 0) {
        input = messages_ == "-" ? parse_conversation(read_standard_input(), "standard input")
                                 : read_messages_file(messages_);
    } else {
        if (!system_.empty()) input.messages.push_back({{"role", "system"}, {"content", system_}});
        input.messages.push_back({{"role", "user"}, {"content", argument_or_input(prompt_)}});
    }
    template_.apply(input, text);
    return text.render(std::move(input));
}

}  // namespace colugo
