// A template and the variables it is given, both arbitrary: it is refused, or renders within its limits, to the same
// text each time. Input: the template, a zero byte, and JSON of an object with "messages", "tools" and others.
#include "text/chat_template.h"
#include "base/error.h"
#include "fuzz/fuzz_input.h"
#include "text/jinja_evaluator.h"
#include "text/jinja_fault.h"
#include "text/utf8.h"

namespace colugo::fuzz {
namespace {

using nlohmann::ordered_json;

// Steps and bytes are a part of what a rendering may have, so that one takes milliseconds.
constexpr jinja::RenderLimits kLimits = {.steps = 200'000, .bytes = size_t{1} << 20, .depth = 900};
constexpr std::time_t kNow = 1'700'000'000;

// A character for private use, behind every text of the request. The template has none, so one in the prompt came from
// the request, and has to lie in a content span.
constexpr std::string_view kMark = "\xEE\x84\xA3";

constexpr const char* kConversation = R"({"messages": [{"role": "system", "content": "S"}, {"role": "user", "content":
    "Q"}, {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "f",
    "arguments": {"a": 1, "b": [true, null, 2.5]}}}]}, {"role": "tool", "content": "R"}], "tools": [{"type":
    "function", "function": {"name": "f", "parameters": {"type": "object"}}}], "n": 3, "x": -1.5, "s": "text"})";

ordered_json marked(const ordered_json& value) {
    if (value.is_string()) return value.get<std::string>() + std::string(kMark);
    ordered_json out = value;
    if (value.is_structured()) {
        for (auto& entry : out) entry = marked(entry);
    }
    return out;
}

ChatInput input_of(const ordered_json& variables) {
    ChatInput input;
    input.now = kNow;
    for (const auto& [name, value] : variables.items()) {
        if (name == "messages" && value.is_array()) {
            input.messages = value;
        } else if (name == "tools" || name == "documents") {
            (name == "tools" ? input.tools : input.documents) = value;
        } else if (name != "messages" && name != "add_generation_prompt") {
            input.extra[name] = value;
        }
    }
    return input;
}

// The rendering with few steps; nothing where it ends in an Error.
std::optional<jinja::Text> render_shortly(const jinja::Template& tree, const ChatInput& input) {
    jinja::Evaluator evaluator(tree, kLimits, kNow);
    try {
        evaluator.define("messages", jinja::Value::from_json(input.messages));
        evaluator.define("tools", jinja::Value::from_json(input.tools));
        evaluator.define("documents", jinja::Value::from_json(input.documents));
        evaluator.define("add_generation_prompt", jinja::Value::boolean(true));
        for (const auto& [name, value] : input.extra.items()) evaluator.define(name, jinja::Value::from_json(value));
        return evaluator.render();
    } catch (const Error& error) {
        COLUGO_CHECK(error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::resource_exhausted);
    } catch (const jinja::Fault&) {  // the variables nest too deep
    }
    return std::nullopt;
}

void check_text(std::string_view text, const std::vector<TextSpan>& spans, bool mark_tells) {
    std::string storage;
    COLUGO_CHECK(to_valid_utf8(text, storage).data() == text.data());
    size_t end = 0;
    for (const TextSpan& span : spans) {
        const std::string_view between = text.substr(end, span.begin - end);
        COLUGO_CHECK(span.begin >= end && span.begin < span.end && span.end <= text.size());
        COLUGO_CHECK(!mark_tells || between.find(kMark) == between.npos);
        end = span.end;
    }
    COLUGO_CHECK(!mark_tells || text.find(kMark, end) == text.npos);
}

void render(std::string_view source, std::string_view variables) {
    const ChatTemplate chat_template(source);
    ordered_json given = ordered_json::parse(variables, nullptr, false);
    if (!given.is_object()) given = ordered_json::parse(kConversation);
    const ChatInput input = input_of(marked(given));
    const std::optional<jinja::Text> text = render_shortly(jinja::parse_template(source), input);
    if (!text) return;
    const bool mark_tells = source.find(kMark) == source.npos && source.find('\\') == source.npos;
    check_text(text->bytes(), text->content_spans(), mark_tells);
    // What ends within few steps ends within many; a role is the one thing that is read otherwise, and none is known.
    const RenderedPrompt prompt = chat_template.render(input);
    COLUGO_CHECK(prompt.text == text->bytes() && prompt.content_spans == text->content_spans());
}

}  // namespace
}  // namespace colugo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colugo;
    fuzz::FuzzInput input(data, size);
    const std::string_view source = input.text();
    try {
        fuzz::render(source, input.rest());
    } catch (const Error& error) {
        COLUGO_CHECK(error.code() == ErrorCode::unsupported);
    }
    return 0;
}
