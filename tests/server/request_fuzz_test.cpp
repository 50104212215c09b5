// Whatever a client sends, it is served or refused with 400: nothing else is thrown, and what is accepted is what the
// sampler, the drafter and the template take.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "server/request_harness.h"

namespace colugo::testing {
namespace {

const char* const kBodies[] = {
    R"({"model": "m", "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": [{"type": "text",
        "text": "Q"}]}, {"role": "assistant", "content": null, "reasoning_content": "T", "tool_calls": [{"id": "1",
        "type": "function", "function": {"name": "f", "arguments": "{\"a\": [1, {\"b\": null}]}"}}]}, {"role": "tool",
        "tool_call_id": "1", "content": "R"}, {"role": "assistant", "content": "<think>x</think>A"}],
        "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object",
        "properties": {"a": {"type": "string"}}}, "strict": false}}], "tool_choice": {"type": "function", "function":
        {"name": "f"}}, "parallel_tool_calls": true, "temperature": 1, "top_p": 0.9, "top_k": 5, "min_p": 0.1,
        "repetition_penalty": 1.1, "presence_penalty": 1, "frequency_penalty": 1, "logit_bias": {"5": 1}, "seed": 1,
        "stop": ["x"], "max_tokens": 5, "max_completion_tokens": 6, "logprobs": true, "top_logprobs": 2, "n": 1})",
    R"({"model": "m", "prompt": [1, 2], "stream": true, "stream_options": {"include_usage": true}, "response_format":
        {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": true}},
        "reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": false, "x": {"y": 1}},
        "continue_final_message": false, "add_generation_prompt": true, "priority": 1, "prediction": {"type": "content",
        "content": "x"}, "speculation": {"mode": "tree", "depth": 4, "topk": 2, "nodes": 8}, "user": "u", "messages":
        [{"role": "user", "content": "Q"}], "thinking": {"type": "enabled"}, "reasoning": {"effort": "low"}})",
};

class Mutator {
 public:
    explicit Mutator(uint32_t seed) : random_(seed) {}

    size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }

    ordered_json value(int depth = 0) {
        switch (below(depth < 3 ? 9 : 7)) {
            case 0:
                return nullptr;
            case 1:
                return below(2) == 0;
            case 2:
                return static_cast<int64_t>(below(40)) - 20;
            case 3:
                return below(2) == 0 ? UINT64_MAX : static_cast<uint64_t>(1) << below(64);
            case 4:
                return std::ldexp(static_cast<double>(below(7)) - 3.0, static_cast<int>(below(2000)) - 1000);
            case 5:
                return word();
            case 6:
                return std::string(below(2) == 0 ? 300 : 3, 'x') + "\uFFFD";
            case 7: {
                ordered_json list = ordered_json::array();
                for (size_t i = below(4); i > 0; --i) list.push_back(value(depth + 1));
                return list;
            }
            default: {
                ordered_json object = ordered_json::object();
                for (size_t i = below(4); i > 0; --i) object[word()] = value(depth + 1);
                return object;
            }
        }
    }

    // Changes, adds or drops something at a random place.
    void change(ordered_json& at) {
        if (at.is_structured() && !at.empty() && below(5) != 0) {
            auto entry = at.begin();
            std::advance(entry, below(at.size()));
            if (below(12) == 0) {
                at.erase(entry);
            } else {
                change(*entry);
            }
        } else if (at.is_object() && below(3) == 0) {
            at[word()] = value();
        } else if (at.is_array() && below(3) == 0) {
            at.push_back(at.empty() ? value() : at[below(at.size())]);
        } else {
            at = value();
        }
    }

    void change(std::string& text) {
        for (size_t i = 1 + below(4); i > 0; --i) {
            const size_t at = below(text.size());
            switch (below(3)) {
                case 0:
                    text[at] = static_cast<char>(below(256));
                    break;
                case 1:
                    text.insert(at, std::string("\"\\ud83d,{}[]:0\xff\xed\xa0\x80").substr(below(16)));
                    break;
                default:
                    text.erase(at, 1 + below(5));
                    if (text.empty()) text.push_back('{');
            }
        }
    }

 private:
    std::string word() {
        static const char* const words[] = {
            "role",        "user",       "assistant",
            "tool",        "system",     "developer",
            "content",     "text",       "type",
            "function",    "name",       "f",
            "id",          "tool_calls", "arguments",
            "reasoning",   "required",   "none",
            "auto",        "tree",       "null",
            "{\"a\":",     "<think>x",   "<tool_response>",
            "json",        "5",          "1000",
            "-1",          "refusal",    "schema",
            "json_object", "",           "tools",
            "strict",      "messages",   "prompt",
            "<think>",     "</think>",   "</tool_response>",
            "image_url",
        };
        return words[below(std::size(words))];
    }

    std::mt19937 random_;
};

void expect_acceptable(const GenerationFields& generation) {
    EXPECT_NO_THROW(check_sampling_params(generation.sampling, test_defaults().vocab_size));
    if (generation.speculation) {
        EXPECT_NO_THROW(check_spec_params(*generation.speculation));
    }
    EXPECT_GE(generation.max_tokens, -1);
}

struct Counts {
    int accepted = 0, refused = 0, rendered = 0;
};

void feed(const std::string& text, const ChatTemplate& chat_template, Counts& counts) {
    SCOPED_TRACE(text);
    try {
        const ordered_json body = parse_request_body(text);
        const bool is_chat = !body.contains("prompt");
        if (is_chat) {
            const ChatRequest request = read_chat_request(body, test_defaults());
            expect_acceptable(request.generation);
            ++counts.accepted;
            cut_at_start(chat_template.render(chat_input(request)), request);
            ++counts.rendered;
        } else {
            expect_acceptable(read_completion_request(body, test_defaults()).generation);
            ++counts.accepted;
        }
    } catch (const ApiError& error) {
        EXPECT_EQ(error.status(), 400);
        EXPECT_NO_THROW(error.body().dump());
        EXPECT_LT(std::string(error.what()).size(), 500u);
        ++counts.refused;
    } catch (const Error& error) {
        ADD_FAILURE() << "the template: " << error.what();
    } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
    }
}

TEST(RequestFuzz, EveryBodyIsServedOrRefused) {
    const ChatTemplate nano = *template_file(COLUGO_SOURCE_DIR "/models/nano/chat_template.jinja");
    Counts counts;
    for (uint32_t seed = 0; seed < 6000; ++seed) {
        Mutator mutator(seed);
        ordered_json body = parse_request_body(kBodies[seed % 2]);
        if (seed % 4 == 1) body.erase("prompt");
        if (seed % 4 == 3) {
            for (const char* name : {"messages", "chat_template_kwargs", "continue_final_message"}) body.erase(name);
        }
        for (size_t i = mutator.below(4); i > 0; --i) mutator.change(body);
        std::string text = body.dump(-1, ' ', mutator.below(2) == 0);
        if (mutator.below(3) == 0) mutator.change(text);
        feed(text, nano, counts);
        if (HasFailure()) return;
    }
    EXPECT_GT(counts.refused, 1000);
    EXPECT_GT(counts.rendered, 500);
    EXPECT_GT(counts.accepted - counts.rendered, 100);
}

}  // namespace
}  // namespace colugo::testing
