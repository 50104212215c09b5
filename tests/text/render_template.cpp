// Renders chat templates for compare_templates.py. Each line of standard input is a JSON object: template, and
// optionally messages, tools, documents, add_generation_prompt, extra, special_tokens, now, prepare. Each line of
// standard output is
// {"text", "spans"} or {"error", "code"}.
#include <iostream>
#include <string>

#include "base/error.h"
#include "text/chat_template.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;

ordered_json render_case(const ordered_json& request) {
    ChatInput input;
    input.messages = request.value("messages", ordered_json::array());
    if (request.value("prepare", false)) input.messages = prepare_messages(input.messages);
    if (request.contains("tools")) input.tools = request["tools"];
    if (request.contains("documents")) input.documents = request["documents"];
    input.add_generation_prompt = request.value("add_generation_prompt", true);
    input.extra = request.value("extra", ordered_json::object());
    const ordered_json special_tokens = request.value("special_tokens", ordered_json::object());
    for (const auto& [name, text] : special_tokens.items()) {
        input.special_tokens.emplace_back(name, text.get<std::string>());
    }
    input.now = request.value("now", std::time_t{1700000000});
    const RenderedPrompt prompt = ChatTemplate(request.at("template").get<std::string>()).render(input);
    ordered_json spans = ordered_json::array();
    for (const TextSpan& span : prompt.content_spans) spans.push_back({span.begin, span.end});
    return {{"text", prompt.text}, {"spans", spans}};
}

}  // namespace
}  // namespace colugo

int main() {
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);) {
        nlohmann::ordered_json answer;
        try {
            answer = colugo::render_case(nlohmann::ordered_json::parse(line));
        } catch (const colugo::Error& error) {
            answer = {{"error", error.what()}, {"code", colugo::error_code_name(error.code())}};
        }
        std::cout << answer.dump() << '\n';
    }
}
