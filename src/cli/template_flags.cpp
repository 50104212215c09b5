#include "cli/template_flags.h"

#include "base/error.h"

namespace colugo {

void TemplateFlags::add(CLI::App& app) {
    app.add_option("--chat-template", template_path_, "A Jinja file instead of the checkpoint's chat template")
        ->type_name("FILE");
    app.add_option("--reasoning", reasoning_,
                   "Whether the model may think first: on, off, or auto as its template has it")
        ->check(CLI::IsMember({"on", "off", "auto"}))
        ->capture_default_str();
}

void TemplateFlags::apply(ChatInput& input, const ModelText& text) const {
    if (wants_reasoning() && !text.template_mentions("enable_thinking", input)) {
        fail(ErrorCode::invalid_argument, "--reasoning on: the chat template does not look at enable_thinking");
    }
    if (choice()) input.extra["enable_thinking"] = *choice();
}

}  // namespace colugo
