#include "text/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "base/error.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

std::string render(std::string_view source, ordered_json variables = ordered_json::object()) {
    ChatInput input;
    input.extra = std::move(variables);
    return ChatTemplate(source).render(input).text;
}

// The code and the sentence of what loading and rendering throws.
struct Refusal {
    std::optional<ErrorCode> code;
    std::string sentence;
    bool at_load = false;
};

Refusal refusal(std::string_view source, const ChatInput& input = {}) {
    std::optional<ChatTemplate> loaded;
    try {
        loaded.emplace(source);
    } catch (const Error& error) {
        return {error.code(), error.what(), true};
    }
    try {
        loaded->render(input);
    } catch (const Error& error) {
        return {error.code(), error.what(), false};
    }
    return {};
}

ordered_json message(const char* role, const char* content) {
    return {{"role", role}, {"content", content}};
}

TEST(ChatTemplate, EqualsJinja2OnTheCorpus) {
    std::ifstream file(COLUGO_SOURCE_DIR "/tests/golden/chat_template/corpus.jsonl");
    ASSERT_TRUE(file) << "tools/make_template_goldens.py writes it";
    std::string line;
    ASSERT_TRUE(std::getline(file, line));
    const ordered_json variables = ordered_json::parse(line);
    int cases = 0;
    while (std::getline(file, line)) {
        const ordered_json golden = ordered_json::parse(line);
        const std::string source = golden[0];
        SCOPED_TRACE(source);
        ++cases;
        std::optional<std::string> text;
        std::string problem;
        try {
            text = render(source, variables);
        } catch (const Error& error) {
            problem = error.what();
        }
        EXPECT_EQ(text.has_value(), !golden[1].is_null()) << problem;
        if (text && !golden[1].is_null()) {
            EXPECT_EQ(*text, golden[1].get<std::string>());
        }
    }
    EXPECT_GT(cases, 400);
}

// Clients drop the reasoning of past turns, or send it as null or empty: the prompt must not drift, or its cache is
// lost.
TEST(ChatTemplate, MissingNullAndEmptyReasoningRenderTheSame) {
    const char* shared = std::getenv("COLUGO_SHARED");
    const std::string folder = shared != nullptr ? shared : COLUGO_SOURCE_DIR "/../shared";
    std::ifstream file(folder + "/templates/Qwen3.5-4B.jinja");
    if (!file) GTEST_SKIP() << "no " << folder << "/templates/Qwen3.5-4B.jinja";
    const ChatTemplate chat(std::string(std::istreambuf_iterator<char>(file), {}));
    const auto prompt = [&chat](std::optional<ordered_json> reasoning) {
        ChatInput input;
        for (int turn = 0; turn < 3; ++turn) {
            input.messages.push_back(message("user", "Hi"));
            input.messages.push_back(message("assistant", "Hello!"));
            if (reasoning) input.messages.back()["reasoning_content"] = *reasoning;
        }
        input.messages.push_back(message("user", "Bye"));
        return chat.render(input).text;
    };
    const std::string missing = prompt(std::nullopt);
    EXPECT_EQ(missing, prompt(ordered_json(nullptr)));
    EXPECT_EQ(missing, prompt(ordered_json("")));
    EXPECT_EQ(missing, prompt(ordered_json("thoughts of a past turn")));
    EXPECT_EQ(missing.find("<think>"), missing.rfind("<think>"));  // only the generation prompt opens one
}

TEST(ChatTemplate, GivesTheTemplateItsVariables) {
    ChatInput input;
    input.messages = ordered_json::array({message("user", "Hi")});
    input.tools = ordered_json::array({{{"b", 1}, {"a", 2}}});
    input.add_generation_prompt = false;
    input.special_tokens = {{"bos_token", "<s>"}};
    input.extra = {{"enable_thinking", false}};
    const ChatTemplate chat(
        "{{ bos_token }}{{ messages[0].content }}{{ tools|tojson }}{{ add_generation_prompt }}{{ enable_thinking }}"
        "{{ documents }}{{ eos_token is defined }}");
    EXPECT_EQ(chat.render(input).text, "<s>Hi[{\"b\": 1, \"a\": 2}]FalseFalseNoneFalse");
    EXPECT_TRUE(chat.mentions("enable_thinking"));
    EXPECT_FALSE(chat.mentions("preserve_thinking"));
}

TEST(ChatTemplate, WithoutToolsTheyAreNone) {
    EXPECT_EQ(render("{{ tools is defined }} {{ tools is none }} {{ tools|tojson }}"), "True True null");
}

TEST(ChatTemplate, PrintsTheGivenTime) {
    ChatInput input;
    input.now = 0;
    const std::string day = ChatTemplate("{{ strftime_now('%Y') }}").render(input).text;
    EXPECT_TRUE(day == "1970" || day == "1969") << day;
}

TEST(ChatTemplate, RaiseExceptionIsTheRequestsFault) {
    const Refusal found = refusal("{{ raise_exception('Roles must ' ~ 'alternate') }}");
    EXPECT_FALSE(found.at_load);
    EXPECT_EQ(found.code, ErrorCode::invalid_argument);
    EXPECT_EQ(found.sentence, "the chat template refuses the request: Roles must alternate");
}

TEST(ChatTemplate, UnknownBuiltinsFailAtLoadWithTheirPlace) {
    struct Case {
        const char* source;
        const char* place;
        const char* name;
    };
    const Case cases[] = {
        {"a\n  {{ x | frobnicate }}", "line 2, column 10", "'frobnicate'"},
        {"{% if false %}{{ tools | urlize(true) }}{% endif %}", "line 1, column 26", "'urlize'"},
        {"{{ x is frobnicated }}", "line 1, column 9", "'frobnicated'"},
        {"{{ x | map('frobnicate') | list }}", "line 1, column 12", "'frobnicate'"},
        {"{{ x | selectattr('a', 'frobnicate') | list }}", "line 1, column 24", "'frobnicate'"},
        {"\n\n{% include 'other' %}", "line 3, column 4", "'include'"},
        {"{% extends 'other' %}", "line 1, column 4", "'extends'"},
        {"{% from 'other' import x %}", "line 1, column 4", "'from'"},
        {"{% import 'other' as x %}", "line 1, column 4", "'import'"},
        {"{% trans %}x{% endtrans %}", "line 1, column 4", "'trans'"},
        {"{% do x %}", "line 1, column 4", "'do'"},
        {"{% frobnicate %}", "line 1, column 4", "'frobnicate'"},
        {"{{ x.encode('utf8') }}", "line 1, column 6", "'encode'"},
        {"{% filter frobnicate %}{% endfilter %}", "line 1, column 11", "'frobnicate'"},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.source);
        const Refusal found = refusal(c.source);
        EXPECT_TRUE(found.at_load);
        EXPECT_EQ(found.code, ErrorCode::unsupported);
        EXPECT_THAT(found.sentence, HasSubstr(c.place));
        EXPECT_THAT(found.sentence, HasSubstr(c.name));
    }
}

TEST(ChatTemplate, SyntaxErrorsNameTheirPlace) {
    struct Case {
        const char* source;
        const char* sentence;
    };
    const Case cases[] = {
        {"{% if x %}\n{% endfor %}",
         "line 2, column 4: the tag 'endfor' is not supported, expected 'elif' or 'else' or 'endif'"},
        {"é{% if x %}", "line 1, column 5: the tag 'if' is never closed"},
        {"{{ 'abc }}", "line 1, column 4: the string has no end"},
        {"{{ x ", "line 1, column 1: the tag has no end"},
        {"{# x", "line 1, column 1: the comment has no end"},
        {"{{ (1] }}", "line 1, column 6: unexpected ']', expected ')'"},
        {"{{ 1 2 }}", "line 1, column 6: expected '}}', got a number"},
        {"{% break %}", "line 1, column 4: 'break' outside a loop"},
        {"{{ x + }}", "line 1, column 8: expected an expression, got '}}'"},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.source);
        const Refusal found = refusal(c.source);
        EXPECT_TRUE(found.at_load);
        EXPECT_EQ(found.code, ErrorCode::unsupported);
        EXPECT_THAT(found.sentence, HasSubstr(c.sentence));
    }
}

TEST(ChatTemplate, FaultsWhileRenderingNameTheirPlace) {
    struct Case {
        const char* source;
        const char* sentence;
    };
    const Case cases[] = {
        {"ab\n{{ nope.field }}", "line 2, column 9: 'nope' is undefined"},
        {"{{ nope() }}", "line 1, column 4: 'nope' is undefined"},
        {"{{ {}.x.y }}", "line 1, column 9: 'dict object' has no attribute 'x'"},
        {"{{ 'a' + 1 }}", "line 1, column 8: 'str' and 'int' cannot be combined with +"},
        {"{{ 1 / 0 }}", "line 1, column 6: division by zero"},
        {"{{ 'x'.frob() }}", "line 1, column 8: 'str object' has no attribute 'frob'"},
        {"{{ [].append(1) }}", "line 1, column 7: access to attribute 'append' of 'list' object is unsafe"},
        {"{% for a in 5 %}{% endfor %}", "line 1, column 13: 'int' object is not iterable"},
        {"{{ nope | tojson }}", "line 1, column 11: Object of type Undefined is not JSON serializable"},
        {"{% set d = {} %}{% set d.x = 1 %}", "line 1, column 24: 'd' is not a namespace"},
        {"{{ 'x'.upper.lower() }}", "line 1, column 14: 'function object' has no attribute 'lower'"},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.source);
        const Refusal found = refusal(c.source);
        EXPECT_FALSE(found.at_load);
        EXPECT_EQ(found.code, ErrorCode::invalid_argument);
        EXPECT_THAT(found.sentence, HasSubstr(c.sentence));
    }
}

TEST(ChatTemplate, ParsesJsonThatAFilterIsGiven) {
    EXPECT_EQ(render("{{ ('{\"b\": [1, 2.0, null]}' | from_json).b }}"), "[1, 2.0, None]");
    EXPECT_EQ(refusal("{{ '{' | from_json }}").code, ErrorCode::invalid_argument);
    EXPECT_EQ(render("{{ 'from_json' is filter }}"), "False");
}

TEST(ChatTemplate, RefusesMessagesThatAreNotAList) {
    ChatInput input;
    input.messages = ordered_json::object();
    EXPECT_EQ(refusal("{{ messages }}", input).code, ErrorCode::invalid_argument);
    input.messages = ordered_json::array();
    input.extra = ordered_json::array();
    EXPECT_EQ(refusal("{{ messages }}", input).code, ErrorCode::invalid_argument);
}

TEST(PrepareMessages, ParsesArgumentsAndNothingElse) {
    const auto messages = ordered_json::parse(R"([
        {"role": "user", "content": "{\"arguments\": 1}"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "1", "function": {"name": "f", "arguments": "{\"b\": 1, \"a\": [true, 1.50], \"b\": 2}"}},
            {"id": "2", "function": {"name": "g", "arguments": ""}},
            {"id": "3", "function": {"name": "h", "arguments": {"kept": "{}"}}}]},
        {"role": "assistant", "tool_calls": null}])");
    const auto wanted = ordered_json::parse(R"([
        {"role": "user", "content": "{\"arguments\": 1}"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "1", "function": {"name": "f", "arguments": {"b": 2, "a": [true, 1.50]}}},
            {"id": "2", "function": {"name": "g", "arguments": {}}},
            {"id": "3", "function": {"name": "h", "arguments": {"kept": "{}"}}}]},
        {"role": "assistant", "tool_calls": null}])");
    EXPECT_EQ(prepare_messages(messages).dump(), wanted.dump());
}

TEST(PrepareMessages, NamesTheCallWhoseArgumentsAreNotAnObject) {
    for (const char* arguments : {"{\"a\": ", "[1]", "5", "null", "hello"}) {
        SCOPED_TRACE(arguments);
        ordered_json messages = ordered_json::parse(R"([{"role": "user"}, {"role": "assistant", "tool_calls": [
                {"function": {"name": "f"}}, {"function": {"name": "g"}}]}])");
        messages[1]["tool_calls"][1]["function"]["arguments"] = arguments;
        try {
            prepare_messages(messages);
            FAIL() << "no error";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            EXPECT_THAT(error.what(), HasSubstr("messages[1].tool_calls[1].function.arguments"));
        }
    }
}

TEST(PrepareMessages, RefusesWhatTheApiDoesNotHave) {
    const struct {
        const char* message;
        const char* sentence;
    } cases[] = {
        {"5", "messages[0] is number; expected an object with a role"},
        {R"({"content": "x"})", "messages[0].role is missing; expected text"},
        {R"({"role": null})", "messages[0].role is missing; expected text"},
        {R"({"role": 1})", "messages[0].role is number; expected text"},
        {R"({"role": "user", "content": 5})", "messages[0].content is number; expected text, a list of parts, or null"},
        {R"({"role": "user", "content": ["x"]})", "messages[0].content[0] is string; expected an object with a type"},
        {R"({"role": "user", "content": [{}]})", "messages[0].content[0].type is missing; expected text"},
        {R"({"role": "assistant", "reasoning_content": []})", "messages[0].reasoning_content is array; expected text"},
        {R"({"role": "tool", "tool_call_id": 7})", "messages[0].tool_call_id is number; expected text"},
        {R"({"role": "assistant", "tool_calls": {}})", "messages[0].tool_calls is object; expected a list of calls"},
        {R"({"role": "assistant", "tool_calls": [null]})", "messages[0].tool_calls[0] is null; expected an object"},
        {R"({"role": "assistant", "tool_calls": [{"function": 1}]})", "tool_calls[0].function is number; expected"},
        {R"({"role": "assistant", "tool_calls": [{}]})", "messages[0].tool_calls[0].name is missing; expected text"},
        {R"({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 5}}]})",
         "messages[0].tool_calls[0].function.arguments is number; expected an object, or its JSON text"},
        {R"({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": []}}]})",
         "function.arguments is array"},
    };
    for (const auto& c : cases) {
        const auto messages = ordered_json::array({ordered_json::parse(c.message)});
        EXPECT_ERROR(ErrorCode::invalid_argument, c.sentence, prepare_messages(messages));
    }
    EXPECT_ERROR(ErrorCode::invalid_argument, "messages is object", prepare_messages(ordered_json::object()));
}

TEST(ChatTemplate, RefusesWhatIsNotUtf8) {
    EXPECT_ERROR(ErrorCode::unsupported, "byte 2 is not UTF-8", ChatTemplate("ab\xff"));
}

}  // namespace
}  // namespace colugo
