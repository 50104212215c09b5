// Renders a conversation to the text a model reads, with the chat template its checkpoint ships: a Jinja2 program, run
// here in a sandbox with transformers' settings and the same bytes as result.
#pragma once

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/text_span.h"

namespace colugo {

struct ChatInput {
    nlohmann::ordered_json messages = nlohmann::ordered_json::array();  // see prepare_messages
    nlohmann::ordered_json tools;                                       // array, or null for none
    nlohmann::ordered_json documents;                                   // array, or null for none
    bool add_generation_prompt = true;
    nlohmann::ordered_json extra = nlohmann::ordered_json::object();  // further variables: enable_thinking, ...
    // The tokenizer's special strings by name: {"bos_token", "<s>"}. They are trusted like the template's own text.
    std::vector<std::pair<std::string, std::string>> special_tokens;
    std::optional<std::time_t> now;  // for strftime_now, printed as local time; the clock when absent
};

struct RenderedPrompt {
    std::string text;
    // The bytes that came from messages, tools, documents or extra, sorted and disjoint. A control token spelled inside
    // is plain text, never the token. A message's role counts as the template's own when it is one of the known role
    // names, because some templates build a control token around it.
    std::vector<TextSpan> content_spans;
};

class ChatTemplate {
 public:
    // Throws Error (unsupported) where it is not UTF-8, and, with line and column, on syntax errors and on tags,
    // filters and tests that do not exist here, so that a template that loads does not fail on them in the middle of a
    // conversation.
    explicit ChatTemplate(std::string_view source);
    ~ChatTemplate();
    ChatTemplate(ChatTemplate&&) noexcept;
    ChatTemplate& operator=(ChatTemplate&&) noexcept;

    // Safe to call from several threads. Throws Error: invalid_argument when the template refuses the messages
    // (raise_exception, with its sentence) or faults on them (line and column), resource_exhausted when it runs, writes
    // or nests without end.
    RenderedPrompt render(const ChatInput& input) const;

    // Whether the template's code names a variable: "enable_thinking", "tools".
    bool mentions(std::string_view variable) const;

 private:
    struct Program;
    std::unique_ptr<const Program> program_;
};

// What OpenAI's API sends and what templates read differ in one place: tool_calls[].function.arguments is JSON text
// there and a mapping here. Returns the messages with such text parsed (an empty one is an empty object), all else
// untouched. Throws Error (invalid_argument) naming the message and field where one is missing or of a type the API
// does not have: templates skip such fields silently.
nlohmann::ordered_json prepare_messages(nlohmann::ordered_json messages);

}  // namespace colugo
