// The fields of a chat request: what acts, what is ignored at its neutral value, and what is refused.
#include <gtest/gtest.h>

#include "server/request_harness.h"

namespace colugo::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void expect_refused_chat(const std::string& fields, const std::string& param, const std::string& words) {
    SCOPED_TRACE(fields);
    expect_refused(param, words, [&] { chat(fields); });
}

TEST(ChatFields, WithoutAnyTheLaunchsDefaultsHold) {
    for (const char* fields :
         {"{}", R"({"temperature": null, "top_p": null, "top_k": null, "presence_penalty": null, "seed": null,
                    "stop": null, "max_tokens": null, "stream": null, "tools": null, "tool_choice": null,
                    "logit_bias": null, "response_format": null, "speculation": null, "logprobs": null,
                    "top_logprobs": null, "n": null, "chat_template_kwargs": null, "reasoning_effort": null,
                    "stream_options": null, "priority": null, "prompt_cache_key": null, "cache_salt": null, "prediction": null, "parallel_tool_calls": null})"}) {
        const ChatRequest request = chat(fields);
        EXPECT_EQ(request.generation.model, "m");
        EXPECT_EQ(request.generation.sampling, test_defaults().sampling);
        EXPECT_FALSE(request.generation.seed);
        EXPECT_EQ(request.generation.max_tokens, -1);
        EXPECT_EQ(request.generation.top_logprobs, -1);
        EXPECT_FALSE(request.generation.stream);
        EXPECT_FALSE(request.generation.include_usage);
        EXPECT_FALSE(request.generation.speculation);
        EXPECT_EQ(request.generation.priority, 0);
        EXPECT_EQ(request.generation.cache_scope, "");
        EXPECT_TRUE(request.generation.stop.empty());
        EXPECT_TRUE(request.generation.prediction.empty());
        EXPECT_EQ(request.generation.response_format.kind, ResponseFormat::Kind::text);
        EXPECT_TRUE(request.tools.tools.is_null());
        EXPECT_EQ(request.tools.choice.kind, ToolChoice::Kind::automatic);
        EXPECT_TRUE(request.tools.parallel_calls);
        EXPECT_EQ(request.template_variables.dump(), "{}");
        EXPECT_EQ(request.start, ChatRequest::Start::new_turn);
        EXPECT_THAT(request.unknown_fields, IsEmpty());
    }
}

TEST(ChatFields, SamplingActs) {
    const SamplingParams params =
        chat(R"({"temperature": 1.2, "top_p": 0.5, "top_k": 7, "min_p": 0.1, "repetition_penalty": 1.1,
                 "presence_penalty": -0.5, "frequency_penalty": 0.25, "logit_bias": {"5": -100, "999": 2.5}})")
            .generation.sampling;
    EXPECT_EQ(params.temperature, 1.2);
    EXPECT_EQ(params.top_p, 0.5);
    EXPECT_EQ(params.top_k, 7);
    EXPECT_EQ(params.min_p, 0.1);
    EXPECT_EQ(params.repetition_penalty, 1.1);
    EXPECT_EQ(params.presence_penalty, -0.5);
    EXPECT_EQ(params.frequency_penalty, 0.25);
    EXPECT_EQ(params.logit_bias, (std::vector<LogitBias>{{5, -100.0f}, {999, 2.5f}}));
}

// Values at the borders of a range are what the sampler takes.
TEST(ChatFields, SamplingAtItsBordersIsWhatTheSamplerTakes) {
    for (const char* fields :
         {R"({"temperature": 0})", R"({"temperature": 1e-9})", R"({"temperature": 1000000})", R"({"top_p": 0})",
          R"({"top_p": 1})", R"({"top_k": -1})", R"({"top_k": 0})", R"({"top_k": 40.0})", R"({"min_p": 1})",
          R"({"repetition_penalty": 0.000001})", R"({"presence_penalty": -1e6})", R"({"logit_bias": {}})"}) {
        SCOPED_TRACE(fields);
        EXPECT_NO_THROW(check_sampling_params(chat(fields).generation.sampling, 1000));
    }
    EXPECT_EQ(chat(R"({"temperature": 1e-9})").generation.sampling.temperature, 0.0);
    EXPECT_EQ(chat(R"({"top_k": -1})").generation.sampling.top_k, 0);
    EXPECT_EQ(chat(R"({"top_k": 40.0})").generation.sampling.top_k, 40);
}

TEST(ChatFields, SamplingOutOfRangeIsRefused) {
    expect_refused_chat(R"({"temperature": "hot"})", "temperature",
                        "temperature is \"hot\"; expected a number from 0 to 1000000");
    expect_refused_chat(R"({"temperature": -0.1})", "temperature", "temperature is -0.1;");
    expect_refused_chat(R"({"temperature": 2e6})", "temperature", "expected a number");
    expect_refused_chat(R"({"top_p": 1.5})", "top_p", "from 0 to 1");
    expect_refused_chat(R"({"top_p": true})", "top_p", "top_p is true");
    expect_refused_chat(R"({"top_k": 1.5})", "top_k", "a whole number from -1");
    expect_refused_chat(R"({"top_k": 18446744073709551615})", "top_k", "a whole number");
    expect_refused_chat(R"({"min_p": [0.1]})", "min_p", "min_p is a list of 1");
    expect_refused_chat(R"({"repetition_penalty": 0})", "repetition_penalty", "is 0;");
    expect_refused_chat(R"({"presence_penalty": "1"})", "presence_penalty", "is \"1\"");
    expect_refused_chat(R"({"frequency_penalty": {}})", "frequency_penalty", "is an object");
    expect_refused_chat(R"({"logit_bias": [[5, 1]]})", "logit_bias", "expected an object");
    expect_refused_chat(R"({"logit_bias": {"1000": 1}})", "logit_bias", "expected ids from 0 to 999");
    for (const char* key : {"x", "", "-1", "1.0", "99999999999999999999"}) {
        expect_refused_chat(R"({"logit_bias": {")" + std::string(key) + R"(": 1}})", "logit_bias", "names the token");
    }
    expect_refused_chat(R"({"logit_bias": {"1": "x"}})", "logit_bias", "is \"x\"; expected a number");
    expect_refused_chat(R"({"logit_bias": {"1": 1e7}})", "logit_bias", "expected a number");
}

TEST(ChatFields, SeedsAreAll64Bits) {
    const std::pair<const char*, std::optional<uint64_t>> cases[] = {
        {"42", 42}, {"0", 0}, {"18446744073709551615", UINT64_MAX}, {"-2", UINT64_MAX - 1}, {"-1", std::nullopt},
    };
    for (const auto& [text, seed] : cases) {
        EXPECT_EQ(chat("{\"seed\": " + std::string(text) + "}").generation.seed, seed) << text;
    }
    expect_refused_chat(R"({"seed": "42"})", "seed", "expected a whole number");
    expect_refused_chat(R"({"seed": 1.5})", "seed", "expected a whole number");
    expect_refused_chat(R"({"seed": 99999999999999999999})", "seed", "expected a whole number");
}

TEST(ChatFields, StopIsAStringOrAFew) {
    EXPECT_THAT(chat(R"({"stop": "\n\n"})").generation.stop, ElementsAre("\n\n"));
    EXPECT_THAT(chat(R"({"stop": ["a", "b"]})").generation.stop, ElementsAre("a", "b"));
    EXPECT_THAT(chat(R"({"stop": []})").generation.stop, IsEmpty());
    ordered_json many = ordered_json::array();
    for (int i = 0; i < 16; ++i) many.push_back(std::to_string(i));
    EXPECT_EQ(chat(ordered_json{{"stop", many}}.dump()).generation.stop.size(), 16u);
    many.push_back("x");
    expect_refused_chat(ordered_json{{"stop", many}}.dump(), "stop", "at most 16");
    for (const char* stop : {"\"\"", "[\"a\", \"\"]", "5", "[5]", "{}", "[[\"a\"]]"}) {
        expect_refused_chat("{\"stop\": " + std::string(stop) + "}", "stop", "a string, or a list");
    }
}

TEST(ChatFields, TheSmallerBoundOfNewTokensCounts) {
    const std::pair<const char*, int64_t> cases[] = {
        {R"({"max_tokens": 5})", 5},
        {R"({"max_completion_tokens": 6})", 6},
        {R"({"max_tokens": 5, "max_completion_tokens": 6})", 5},
        {R"({"max_tokens": 7, "max_completion_tokens": 6})", 6},
        {R"({"max_tokens": -1, "max_completion_tokens": 6})", 6},
        {R"({"max_tokens": -1})", -1},
        {R"({"max_tokens": 0})", 0},
    };
    for (const auto& [fields, count] : cases) EXPECT_EQ(chat(fields).generation.max_tokens, count) << fields;
    expect_refused_chat(R"({"max_tokens": -2})", "max_tokens", "is -2; expected a whole number from -1");
    expect_refused_chat(R"({"max_tokens": "many"})", "max_tokens", "is \"many\"");
    expect_refused_chat(R"({"max_completion_tokens": 0.5})", "max_completion_tokens", "is 0.5");
}

TEST(ChatFields, LogprobsActs) {
    EXPECT_EQ(chat(R"({"logprobs": true})").generation.top_logprobs, 0);
    EXPECT_EQ(chat(R"({"logprobs": true, "top_logprobs": 20})").generation.top_logprobs, 20);
    EXPECT_EQ(chat(R"({"logprobs": false, "top_logprobs": 0})").generation.top_logprobs, -1);
    expect_refused_chat(R"({"logprobs": true, "top_logprobs": 21})", "top_logprobs", "from 0 to 20");
    expect_refused_chat(R"({"top_logprobs": 2})", "top_logprobs", "logprobs is not true");
    expect_refused_chat(R"({"logprobs": 2})", "logprobs", "true or false");
}

TEST(ChatFields, StreamAndItsOptionsAct) {
    const GenerationFields asked = chat(R"({"stream": true, "stream_options": {"include_usage": true}})").generation;
    EXPECT_TRUE(asked.stream);
    EXPECT_TRUE(asked.include_usage);
    EXPECT_FALSE(chat(R"({"stream": true, "stream_options": {"include_usage": false}})").generation.include_usage);
    EXPECT_FALSE(chat(R"({"stream": true, "stream_options": {}})").generation.include_usage);
    expect_refused_chat(R"({"stream": "yes"})", "stream", "true or false");
    expect_refused_chat(R"({"stream_options": true})", "stream_options", "expected an object");
    expect_refused_chat(R"({"stream_options": {"include_usage": 1}})", "stream_options.include_usage", "true or false");
    expect_refused_chat(R"({"stream_options": {"continuous_usage_stats": true}})",
                        "stream_options.continuous_usage_stats", "expected false");
}

TEST(ChatFields, ResponseFormatActs) {
    using Kind = ResponseFormat::Kind;
    const auto format = [](const std::string& text) {
        return chat("{\"response_format\": " + text + "}").generation.response_format;
    };
    EXPECT_EQ(format(R"({"type": "text"})").kind, Kind::text);
    EXPECT_EQ(format(R"({"type": "json_object"})").kind, Kind::json_object);
    const ResponseFormat schema = format(
        R"({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": true}})");
    EXPECT_EQ(schema.kind, Kind::json_schema);
    EXPECT_EQ(schema.name, "n");
    EXPECT_EQ(schema.schema.dump(), R"({"type":"object"})");
    EXPECT_TRUE(schema.strict);
    EXPECT_EQ(format(R"({"type": "json_object", "schema": {"a": 1}})").schema.dump(), R"({"a":1})");

    const std::tuple<const char*, const char*, const char*> refused[] = {
        {R"("json")", "response_format", "expected an object"},
        {R"({})", "response_format.type", "is missing"},
        {R"({"type": "xml"})", "response_format.type", "text, json_object or json_schema"},
        {R"({"type": "json_schema"})", "response_format.json_schema", "is missing"},
        {R"({"type": "json_schema", "json_schema": {}})", "response_format.json_schema.schema", "is missing"},
        {R"({"type": "json_schema", "json_schema": {"schema": "x"}})", "response_format.json_schema.schema",
         "is \"x\""},
        {R"({"type": "json_schema", "json_schema": {"schema": {}, "strict": 1}})", "response_format.json_schema.strict",
         "true or false"},
        {R"({"type": "json_schema", "json_schema": {"schema": {}, "name": 1}})", "response_format.json_schema.name",
         "a string"},
    };
    for (const auto& [text, param, words] : refused) {
        expect_refused_chat("{\"response_format\": " + std::string(text) + "}", param, words);
    }
}

TEST(ChatFields, SpeculationActsWithinWhatThereIs) {
    const auto spec = [](const std::string& text) {
        return *chat("{\"speculation\": " + text + "}").generation.speculation;
    };
    const SpecParams params = spec(R"({"mode": "mtp", "depth": 4, "topk": 1, "nodes": 5})");
    EXPECT_EQ(params.mode, SpecMode::mtp);
    EXPECT_EQ(params.depth, 4);
    EXPECT_EQ(params.top_k, 1);
    EXPECT_EQ(params.nodes, 5);
    EXPECT_EQ(spec(R"({"mode": "off"})").mode, SpecMode::off);
    EXPECT_EQ(spec(R"({"depth": 3})").mode, SpecMode::tree);  // the launch's
    EXPECT_EQ(spec(R"({"depth": 3})").nodes, 12);

    const std::tuple<const char*, const char*, const char*> refused[] = {
        {R"("off")", "speculation", "expected an object"},
        {R"({"mode": "fast"})", "speculation.mode", "off, mtp, lookup, tree or auto"},
        {R"({"depth": 17})", "speculation.depth", "from 1 to 16"},
        {R"({"depth": 0})", "speculation.depth", "from 1 to 16"},
        {R"({"topk": 9})", "speculation.topk", "from 1 to 8"},
        {R"({"nodes": 33})", "speculation.nodes", "from 2 to 32"},
        {R"({"nodes": "x"})", "speculation.nodes", "a whole number"},
        {R"({"depth": 16, "topk": 8})", "speculation", "rows of the MTP head"},
        {R"({"width": 3})", "speculation", "has the field \"width\""},
    };
    for (const auto& [text, param, words] : refused) {
        expect_refused_chat("{\"speculation\": " + std::string(text) + "}", param, words);
    }
}

TEST(ChatFields, PredictionAndPriorityAct) {
    EXPECT_EQ(chat(R"({"prediction": {"type": "content", "content": "def f():"}})").generation.prediction, "def f():");
    EXPECT_EQ(chat(R"({"prediction": {"type": "content", "content": [{"type": "text", "text": "a"},
                                                                    {"type": "text", "text": "b"}]}})")
                  .generation.prediction,
              "ab");
    EXPECT_EQ(chat(R"({"priority": -3})").generation.priority, -3);
    expect_refused_chat(R"({"prediction": "x"})", "prediction", "expected an object");
    expect_refused_chat(R"({"prediction": {"type": "tokens"}})", "prediction.type", "\"content\"");
    expect_refused_chat(R"({"prediction": {"type": "content", "content": 5}})", "prediction.content", "is 5");
    expect_refused_chat(R"({"prediction": {"type": "content", "content": [{"type": "image"}]}})",
                        "prediction.content[0].type", "is \"image\"");
    expect_refused_chat(R"({"priority": "high"})", "priority", "a whole number");
    expect_refused_chat(R"({"priority": 3000000000})", "priority", "a whole number");
    expect_refused_chat(R"({"model": 5})", "model", "a string");
}

TEST(ChatFields, ToolsAreKeptAsTheyWereSent) {
    const std::string tool = R"({"type":"function","function":{"name":"f.g_h-1","description":"\u4f60/<>","x":[1],)"
                             R"("parameters":{"type":"object","properties":{"b":{},"a":{}}},"strict":true}})";
    const ChatRequest request = chat("{\"tools\": [" + tool + R"(, {"function": {"description": null, "name": "g",
        "parameters": null}, "type": "function"}], "parallel_tool_calls": false})");
    EXPECT_EQ(request.tools.tools[0].dump(), parse_json_text(tool)->dump());
    EXPECT_EQ(request.tools.tools[1].dump(), R"({"function":{"name":"g"},"type":"function"})");
    EXPECT_FALSE(request.tools.parallel_calls);
    EXPECT_TRUE(chat(R"({"tools": []})").tools.tools.is_null());

    const std::string named = "{\"type\": \"function\", \"function\": {\"name\": \"f\"}}";
    const std::string long_name(129, 'a');
    const std::tuple<std::string, const char*, const char*> refused[] = {
        {"{}", "tools", "expected a list"},
        {"[5]", "tools[0]", "tools[0] is 5; expected an object"},
        {"[{\"function\": {\"name\": \"f\"}}]", "tools[0].type", "is missing"},
        {"[" + named + R"(, {"type": "web_search"}])", "tools[1].type", "is \"web_search\"; expected \"function\""},
        {R"([{"type": "function"}])", "tools[0].function", "is missing"},
        {R"([{"type": "function", "name": "f"}])", "tools[0].function", "is missing"},
        {R"([{"type": "function", "function": "f"}])", "tools[0].function", "expected an object"},
        {R"([{"type": "function", "function": {}}])", "tools[0].function.name", "is missing"},
        {R"([{"type": "function", "function": {"name": "a b"}}])", "tools[0].function.name", "1 to 128"},
        {R"([{"type": "function", "function": {"name": ""}}])", "tools[0].function.name", "1 to 128"},
        {R"([{"type": "function", "function": {"name": ")" + long_name + "\"}}]", "tools[0].function.name", "1 to 128"},
        {R"([{"type": "function", "function": {"name": "x\ud83d"}}])", "tools[0].function.name", "1 to 128"},
        {"[" + named + ", " + named + "]", "tools[1].function.name", "every name once"},
        {R"([{"type": "function", "function": {"name": "f", "parameters": "x"}}])", "tools[0].function.parameters",
         "expected an object"},
        {R"([{"type": "function", "function": {"name": "f", "parameters": []}}])", "tools[0].function.parameters",
         "expected an object"},
        {R"([{"type": "function", "function": {"name": "f", "strict": 1}}])", "tools[0].function.strict",
         "true or false"},
        {R"([{"type": "function", "function": {"name": "f", "description": 1}}])", "tools[0].function.description",
         "a string"},
    };
    for (const auto& [text, param, words] : refused) expect_refused_chat("{\"tools\": " + text + "}", param, words);
    expect_refused_chat(R"({"parallel_tool_calls": "no"})", "parallel_tool_calls", "true or false");
}

TEST(ChatFields, ToolChoiceActs) {
    using Kind = ToolChoice::Kind;
    const std::string tools = R"("tools": [{"type": "function", "function": {"name": "f"}}])";
    const auto choice = [&](const std::string& text) {
        return chat("{" + tools + ", \"tool_choice\": " + text + "}").tools.choice;
    };
    EXPECT_EQ(choice("\"auto\"").kind, Kind::automatic);
    EXPECT_EQ(choice("\"none\"").kind, Kind::none);
    EXPECT_EQ(choice("\"required\"").kind, Kind::required);
    const ToolChoice named = choice(R"({"type": "function", "function": {"name": "f"}})");
    EXPECT_EQ(named.kind, Kind::named);
    EXPECT_EQ(named.name, "f");
    EXPECT_NO_THROW(chat(R"({"tool_choice": "none"})"));
    EXPECT_NO_THROW(chat(R"({"tool_choice": "auto", "tools": []})"));

    const std::tuple<const char*, const char*, const char*> refused[] = {
        {"\"any\"", "tool_choice", "auto, none, required"},
        {"5", "tool_choice", "is 5; expected auto"},
        {"{}", "tool_choice.type", "is missing"},
        {R"({"type": "allowed_tools"})", "tool_choice.type", "\"function\""},
        {R"({"type": "function"})", "tool_choice.function", "is missing"},
        {R"({"type": "function", "function": {"name": "g"}})", "tool_choice.function.name", "one of the tools"},
    };
    for (const auto& [text, param, words] : refused) {
        expect_refused_chat("{" + tools + ", \"tool_choice\": " + std::string(text) + "}", param, words);
    }
    expect_refused_chat(R"({"tool_choice": "required"})", "tool_choice", "without tools");
    expect_refused_chat(R"({"tool_choice": {"type": "function", "function": {"name": "f"}}})",
                        "tool_choice.function.name", "one of the tools");
}

TEST(ChatFields, ThinkingIsWhatTheRequestSaysBeforeTheLaunch) {
    RequestDefaults defaults = test_defaults();
    const std::pair<const char*, const char*> cases[] = {
        {"{}", "{}"},
        {R"({"chat_template_kwargs": {"enable_thinking": false}})", R"({"enable_thinking":false})"},
        {R"({"chat_template_kwargs": {"enable_thinking": null, "x": [1]}})", R"({"x":[1]})"},
        {R"({"enable_thinking": false})", R"({"enable_thinking":false})"},
        {R"({"reasoning_effort": "none"})", R"({"enable_thinking":false})"},
        {R"({"reasoning_effort": "minimal"})", R"({"enable_thinking":true,"reasoning_effort":"minimal"})"},
        {R"({"reasoning_effort": "high"})", R"({"enable_thinking":true,"reasoning_effort":"high"})"},
        {R"({"reasoning": {"effort": "none"}})", R"({"enable_thinking":false})"},
        {R"({"reasoning": {"enabled": false}})", R"({"enable_thinking":false})"},
        {R"({"thinking": {"type": "disabled"}})", R"({"enable_thinking":false})"},
        {R"({"thinking": {"type": "enabled"}, "reasoning_effort": "none"})", R"({"enable_thinking":true})"},
        {R"({"thinking": {"type": "adaptive"}})", "{}"},
        {R"({"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": true}})",
         R"({"enable_thinking":true})"},
        {R"({"enable_thinking": true, "chat_template_kwargs": {"enable_thinking": false}})",
         R"({"enable_thinking":false})"},
        {R"({"reasoning_effort": "low", "chat_template_kwargs": {"reasoning_effort": "high"}})",
         R"({"reasoning_effort":"high","enable_thinking":true})"},
    };
    for (const auto& [fields, variables] : cases) {
        SCOPED_TRACE(fields);
        EXPECT_EQ(chat(fields).template_variables.dump(), variables);
        defaults.thinking = ordered_json::parse(variables).value("enable_thinking", true) == false;
        if (std::string(variables).find("enable_thinking") != std::string::npos) {
            EXPECT_EQ(chat(fields, defaults).template_variables.dump(), variables);
        }
    }
    defaults.thinking = false;
    EXPECT_EQ(chat("{}", defaults).template_variables.dump(), R"({"enable_thinking":false})");

    expect_refused_chat(R"({"reasoning_effort": "lots"})", "reasoning_effort", "none, minimal, low");
    expect_refused_chat(R"({"reasoning_effort": 5})", "reasoning_effort", "a string");
    expect_refused_chat(R"({"reasoning": {"effort": "lots"}})", "reasoning.effort", "none, minimal, low");
    expect_refused_chat(R"({"reasoning": {"max_tokens": 5}})", "reasoning.max_tokens", "no limit of its own");
    expect_refused_chat(R"({"thinking": {"type": "enabled", "budget_tokens": 5}})", "thinking.budget_tokens", "is 5");
    expect_refused_chat(R"({"thinking": {"type": "on"}})", "thinking.type", "enabled, disabled or adaptive");
    expect_refused_chat(R"({"enable_thinking": "no"})", "enable_thinking", "true or false");
    expect_refused_chat(R"({"chat_template_kwargs": []})", "chat_template_kwargs", "expected an object");
    expect_refused_chat(R"({"chat_template_kwargs": {"enable_thinking": "no"}})",
                        "chat_template_kwargs.enable_thinking", "true or false");
    for (const char* name : {"messages", "tools", "documents", "add_generation_prompt"}) {
        expect_refused_chat("{\"chat_template_kwargs\": {\"" + std::string(name) + "\": true}}",
                            "chat_template_kwargs." + std::string(name), "the request's own field");
    }
}

// name, values that are ignored, a value that is refused.
const std::tuple<const char*, const char*, const char*> kNeutral[] = {
    {"n", "[1]", "3"},
    {"n", "[1.0]", "0"},
    {"best_of", "[1]", "2"},
    {"store", "[false]", "true"},
    {"service_tier", R"(["auto", "default"])", "\"flex\""},
    {"modalities", R"([["text"]])", R"(["text", "audio"])"},
    {"audio", "[]", R"({"voice": "x"})"},
    {"verbosity", R"(["medium"])", "\"high\""},
    {"web_search_options", "[]", "{}"},
    {"functions", "[[]]", R"([{"name": "f"}])"},
    {"function_call", R"(["none"])", "\"auto\""},
    {"suffix", R"([""])", "\"x\""},
    {"echo", "[false]", "true"},
    {"min_tokens", "[0]", "5"},
    {"ignore_eos", "[false]", "true"},
    {"stop_token_ids", "[[]]", "[5]"},
    {"repeat_penalty", "[1, 1.0]", "1.1"},
    {"typical_p", "[1]", "0.9"},
    {"mirostat", "[0]", "2"},
    {"grammar", R"([""])", "\"root ::= x\""},
    {"json_schema", "[]", "{}"},
    {"guided_json", "[]", "{}"},
    {"structured_outputs", "[]", "{}"},
    {"chat_template", "[]", "\"x\""},
    {"documents", "[[]]", "[{}]"},
    {"truncate_prompt_tokens", "[]", "10"},
    {"include_reasoning", "[true]", "false"},
    {"reasoning_format", R"(["auto", "deepseek"])", "\"none\""},
    {"cache_prompt", "[true]", "false"},
    {"thinking_budget", "[]", "100"},
};

TEST(ChatFields, WhatDoesNotActIsNeutralOrRefused) {
    for (const auto& [name, neutral, refused] : kNeutral) {
        ordered_json values = ordered_json::parse(neutral);
        values.push_back(nullptr);
        for (const ordered_json& value : values) {
            const std::string fields = ordered_json{{name, value}}.dump();
            SCOPED_TRACE(fields);
            EXPECT_THAT(chat(fields).unknown_fields, IsEmpty());
            EXPECT_THAT(completion(fields).unknown_fields, IsEmpty());
        }
        const std::string fields = "{\"" + std::string(name) + "\": " + refused + "}";
        expect_refused_chat(fields, name, std::string(name) + " is ");
        expect_refused(name, "expected", [&] { completion(fields); });
    }
}

TEST(ChatFields, EachPairOfCacheNamesIsItsOwnScope) {
    std::set<std::string> scopes;
    for (const char* key : {"", "a", "1", "1:a", "a1:", ":"}) {
        for (const char* salt : {"", "a", "1", "1:a", "a1:", ":"}) {
            const std::string fields = ordered_json{{"prompt_cache_key", key}, {"cache_salt", salt}}.dump();
            const std::string scope = chat(fields).generation.cache_scope;
            EXPECT_EQ(completion(fields).generation.cache_scope, scope);
            EXPECT_EQ(scope.empty(), *key == 0 && *salt == 0);
            scopes.insert(scope);
        }
    }
    EXPECT_EQ(scopes.size(), 36u);
    EXPECT_EQ(chat(R"({"prompt_cache_key": "x"})").generation.cache_scope,
              chat(R"({"prompt_cache_key": "x", "cache_salt": ""})").generation.cache_scope);
    RequestDefaults without_keys = test_defaults();
    without_keys.cache_keys = false;
    EXPECT_EQ(chat(R"({"prompt_cache_key": "x"})", without_keys).generation.cache_scope, "");
    EXPECT_EQ(chat(R"({"prompt_cache_key": "x", "cache_salt": "y"})", without_keys).generation.cache_scope,
              chat(R"({"cache_salt": "y"})").generation.cache_scope);
    for (const std::string name : {"prompt_cache_key", "cache_salt"}) {
        EXPECT_NO_THROW(chat(ordered_json{{name, std::string(512, 'x')}}.dump()));
        expect_refused_chat(ordered_json{{name, std::string(513, 'x')}}.dump(), name, "at most 512 bytes");
        expect_refused_chat("{\"" + name + "\": 5}", name, "a string");
    }
}

TEST(ChatFields, NotesAboutTheClientMaySayAnything) {
    for (const char* name : {"user", "metadata", "safety_identifier", "prompt_cache_retention"}) {
        for (const char* value : {"\"x\"", "{\"a\": 1}", "5"}) {
            EXPECT_THAT(chat("{\"" + std::string(name) + "\": " + value + "}").unknown_fields, IsEmpty()) << name;
        }
    }
}

TEST(ChatFields, UnknownFieldsAreListed) {
    EXPECT_THAT(chat(R"({"zeta": 1, "temprature": null, "messages": [
                        {"role": "user", "content": "x", "cache_control": {}},
                        {"role": "user", "content": "x", "cache_control": {}, "mood": 1}]})")
                    .unknown_fields,
                ElementsAre("messages[].cache_control", "messages[].mood", "temprature", "zeta"));
    ordered_json many = ordered_json::object();
    for (int i = 0; i < 100; ++i) many[std::string(1000, 'x') + std::to_string(i)] = 1;
    const std::vector<std::string> names = chat(many.dump()).unknown_fields;
    EXPECT_LE(names.size(), 16u);
    for (const std::string& name : names) EXPECT_LT(name.size(), 100u);
}

TEST(ChatFields, APromptBelongsToCompletions) {
    expect_refused_chat(R"({"prompt": "x"})", "prompt", "/v1/completions");
}

TEST(ChatFields, WhereTheReplyBegins) {
    using Start = ChatRequest::Start;
    const std::string user = R"({"role": "user", "content": "Q"})", text = R"({"role": "assistant", "content": "A"})",
                      open = R"({"role": "assistant", "content": "<think>so"})",
                      call = R"({"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]})";
    const auto start = [&](const std::string& last, const std::string& fields) {
        return conversation("[" + user + ", " + last + "]", fields).start;
    };
    const std::string go_on = R"({"continue_final_message": true})", no = R"({"continue_final_message": false})";
    const std::string header = R"({"add_generation_prompt": true})", bare = R"({"add_generation_prompt": false})";
    EXPECT_EQ(start(text, "{}"), Start::in_last_text);
    EXPECT_EQ(start(text, go_on), Start::in_last_text);
    EXPECT_EQ(start(text, bare), Start::in_last_text);
    EXPECT_EQ(start(text, no), Start::new_turn);
    EXPECT_EQ(start(text, header), Start::new_turn);
    EXPECT_EQ(start(text, R"({"continue_final_message": false, "add_generation_prompt": false})"),
              Start::without_header);
    EXPECT_EQ(start(open, "{}"), Start::in_last_reasoning);
    EXPECT_EQ(start(call, "{}"), Start::new_turn);
    EXPECT_EQ(start(user, "{}"), Start::new_turn);
    EXPECT_EQ(start(user, bare), Start::without_header);
    for (const std::string& last : {user, call}) {
        expect_refused("continue_final_message", "no text of the assistant", [&] { start(last, go_on); });
    }
    expect_refused("add_generation_prompt", "beside continue_final_message",
                   [&] { start(text, R"({"continue_final_message": true, "add_generation_prompt": true})"); });
    expect_refused("continue_final_message", "true or false", [&] { start(text, R"({"continue_final_message": 1})"); });
}

}  // namespace
}  // namespace colugo::testing
