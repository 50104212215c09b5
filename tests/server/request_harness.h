// Bodies of requests, and what they are read to or refused with.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "server/api_error.h"
#include "server/chat_prompt.h"
#include "server/chat_request.h"
#include "server/completion_request.h"
#include "server/json_text.h"

namespace colugo::testing {

using nlohmann::ordered_json;

inline RequestDefaults test_defaults() {
    RequestDefaults defaults;
    defaults.sampling.temperature = 0.6;
    defaults.sampling.top_k = 20;
    defaults.sampling.top_p = 0.95;
    defaults.sampling.presence_penalty = 1.5;
    defaults.spec = {SpecMode::tree, 6, 2, 12};
    defaults.vocab_size = 1000;
    return defaults;
}

// A small request for a chat, with `fields` (JSON of an object) over it.
inline ordered_json chat_body(const std::string& fields = "{}") {
    ordered_json body = parse_request_body(R"({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})");
    body.update(parse_request_body(fields));
    return body;
}
inline ordered_json completion_body(const std::string& fields = "{}") {
    ordered_json body = parse_request_body(R"({"model": "m", "prompt": "Hi"})");
    body.update(parse_request_body(fields));
    return body;
}

inline ChatRequest chat(const std::string& fields = "{}", const RequestDefaults& defaults = test_defaults()) {
    return read_chat_request(chat_body(fields), defaults);
}
inline CompletionRequest completion(const std::string& fields = "{}") {
    return read_completion_request(completion_body(fields), test_defaults());
}
// messages: JSON of a list.
inline ChatRequest conversation(const std::string& messages, const std::string& fields = "{}",
                                const RequestDefaults& defaults = test_defaults()) {
    ordered_json body = parse_request_body(fields);
    body["messages"] = *parse_json_text(messages);
    return read_chat_request(body, defaults);
}

// The ApiError that `body` throws; a failure of the test when it throws none.
template <typename Body>
std::optional<ApiError> refusal_of(Body&& body) {
    try {
        body();
    } catch (const ApiError& error) {
        return error;
    }
    ADD_FAILURE() << "nothing was refused";
    return std::nullopt;
}

// With status 400, by a sentence with `words`, about the field `field`.
template <typename Body>
void expect_refused(const std::string& field, const std::string& words, Body&& body) {
    const std::optional<ApiError> error = refusal_of(body);
    if (!error) return;
    EXPECT_EQ(error->status(), 400);
    EXPECT_EQ(error->param(), field);
    EXPECT_THAT(error->what(), ::testing::HasSubstr(words));
}

// The folder of shared data beside the repository.
inline std::string shared_folder() {
    const char* named = std::getenv("COLUGO_SHARED");
    return named != nullptr ? named : COLUGO_SOURCE_DIR "/../shared";
}

inline std::optional<ChatTemplate> template_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) return std::nullopt;
    return ChatTemplate(std::string(std::istreambuf_iterator<char>(file), {}));
}

inline std::string prompt_of(const ChatTemplate& chat_template, const ChatRequest& request) {
    return cut_at_start(chat_template.render(chat_input(request)), request).text;
}

}  // namespace colugo::testing
