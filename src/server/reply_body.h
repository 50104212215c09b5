// What an answer says: a reply as the bodies of OpenAI's API, whole or as the events of a stream.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/reply_channel.h"
#include "text/reply_reader.h"

namespace colugo {

class ReplyBody {
 public:
    enum class Api : uint8_t { chat, completion };
    struct Options {
        Api api = Api::chat;
        std::string model;             // as it is named in the answer
        OutputParser::Options parser;  // of a chat
        bool stream = false;
        bool include_usage = false;  // a last event of a stream has it
        bool logprobs = false;
        bool has_prediction = false;
        uint64_t seed = 0;  // of the draws; told
    };
    // The tokenizer outlives it.
    ReplyBody(const Tokenizer& tokenizer, Options options);

    const std::string& id() const { return id_; }
    // That were fed.
    int64_t tokens() const { return tokens_; }

    // Events of a stream: before the first token, for new tokens (none where it is no stream), and to keep a connection
    // alive.
    std::string begin();
    std::string feed(const std::vector<ReplyToken>& tokens);
    std::string keep_alive();
    // The reply has ended: its last events, "[DONE]" among them.
    std::string end(const RequestResult& result);
    // All of an answer that is no stream, where everything was fed.
    nlohmann::ordered_json whole(const RequestResult& result);

    // "stop", "length" or "tool_calls".
    std::string finish_reason(const RequestResult& result) const;
    // No more of the reply is wanted: the one call that was asked for is there.
    bool is_done() const { return reader_.parser().is_done(); }

 private:
    struct Call {
        std::string id, name, arguments;
    };

    void take(std::vector<ReplyPiece>& pieces, nlohmann::ordered_json& deltas);
    void add_logprobs(const ReplyToken& token);
    nlohmann::ordered_json logprobs_json(const ReplyToken& token) const;
    nlohmann::ordered_json logprobs_of(const nlohmann::ordered_json& entries);
    nlohmann::ordered_json head(bool is_chunk) const;
    nlohmann::ordered_json chunk(nlohmann::ordered_json delta, nlohmann::ordered_json finish_reason);
    nlohmann::ordered_json no_delta() const;
    std::string events(const nlohmann::ordered_json& deltas);
    nlohmann::ordered_json message() const;
    nlohmann::ordered_json usage(const RequestResult& result) const;
    void finish(const RequestResult& result, nlohmann::ordered_json& deltas);

    const Tokenizer& tokenizer_;
    Options options_;
    ReplyReader reader_;
    std::string id_;
    int64_t created_;
    std::string reasoning_, content_;
    std::vector<Call> calls_;
    int64_t tokens_ = 0, reasoning_tokens_ = 0;
    size_t text_offset_ = 0;               // bytes of the tokens whose log-probabilities were given out
    nlohmann::ordered_json logprobs_;      // of all tokens, where it is no stream
    nlohmann::ordered_json new_logprobs_;  // of those no event has had yet, where it is one
};

// "chatcmpl-" and the like, with what no other has.
std::string unique_id(std::string_view prefix);

// An event of a stream.
std::string event_text(const nlohmann::ordered_json& data);

// What a request took, with llama.cpp's names.
nlohmann::ordered_json timings_json(const RequestResult& result);

}  // namespace colugo
