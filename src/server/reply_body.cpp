#include "server/reply_body.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <random>

#include "text/compact_json.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

ordered_json bytes_json(std::string_view bytes) {
    ordered_json list = ordered_json::array();
    for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
    return list;
}

ordered_json logprob_json(const Tokenizer& tokenizer, int32_t token, float logprob) {
    const std::string_view bytes = tokenizer.token_bytes(token);
    std::string storage;
    return {{"token", to_valid_utf8(bytes, storage)}, {"logprob", logprob}, {"bytes", bytes_json(bytes)}};
}

OutputParser::Options parser_options(const ReplyBody::Options& options) {
    if (options.api == ReplyBody::Api::chat) return options.parser;
    return {.thought = OutputParser::Thought::plain};
}

}  // namespace

std::string unique_id(std::string_view prefix) {
    std::random_device random;
    return fmt::format("{}{:08x}{:08x}{:08x}", prefix, random(), random(), random());
}

std::string event_text(const ordered_json& data) {
    return "data: " + compact_json(data) + "\n\n";
}

ordered_json timings_json(const RequestResult& result) {
    const auto per = [](double amount, double of) { return of > 0.0 ? amount / of : 0.0; };
    const double prompt_n = static_cast<double>(result.prompt_tokens - result.cached_tokens);
    const double predicted_n = static_cast<double>(result.generated_tokens);
    const double prompt_ms = 1e3 * result.prefill_seconds, predicted_ms = 1e3 * result.decode_seconds;
    const auto rounded = [](double value) { return std::round(1e3 * value) / 1e3; };
    return {{"cache_n", result.cached_tokens},
            {"prompt_n", result.prompt_tokens - result.cached_tokens},
            {"prompt_ms", rounded(prompt_ms)},
            {"prompt_per_token_ms", rounded(per(prompt_ms, prompt_n))},
            {"prompt_per_second", rounded(per(1e3 * prompt_n, prompt_ms))},
            {"predicted_n", result.generated_tokens},
            {"predicted_ms", rounded(predicted_ms)},
            {"predicted_per_token_ms", rounded(per(predicted_ms, predicted_n))},
            {"predicted_per_second", rounded(result.generated_tokens_per_second())},
            {"draft_n", result.drafts.all.drafted},
            {"draft_n_accepted", result.drafts.all.accepted},
            {"passes_n", result.decode_passes},
            {"queue_ms", rounded(1e3 * result.queue_seconds)},
            {"ttft_ms", rounded(1e3 * result.ttft_seconds)}};
}

ReplyBody::ReplyBody(const Tokenizer& tokenizer, Options options)
    : tokenizer_(tokenizer),
      options_(std::move(options)),
      reader_(tokenizer, parser_options(options_)),
      id_(unique_id(options_.api == Api::chat ? "chatcmpl-" : "cmpl-")),
      created_(std::time(nullptr)),
      logprobs_(ordered_json::array()),
      new_logprobs_(ordered_json::array()) {}

ordered_json ReplyBody::head(bool is_chunk) const {
    const char* object = "text_completion";
    if (options_.api == Api::chat) object = is_chunk ? "chat.completion.chunk" : "chat.completion";
    return {{"id", id_}, {"object", object}, {"created", created_}, {"model", options_.model}};
}

// delta: of a chat's message, or a piece of text. finish_reason: null before the end. It has the log-probabilities no
// event has had.
ordered_json ReplyBody::chunk(ordered_json delta, ordered_json finish_reason) {
    ordered_json body = head(true);
    ordered_json choice = {{"index", 0}};
    choice[options_.api == Api::chat ? "delta" : "text"] = std::move(delta);
    choice["logprobs"] = nullptr;
    if (!new_logprobs_.empty()) {
        choice["logprobs"] = logprobs_of(std::exchange(new_logprobs_, ordered_json::array()));
    }
    choice["finish_reason"] = std::move(finish_reason);
    body["choices"] = ordered_json::array({std::move(choice)});
    return body;
}

ordered_json ReplyBody::no_delta() const {
    return options_.api == Api::chat ? ordered_json::object() : ordered_json("");
}

std::string ReplyBody::begin() {
    return options_.api == Api::chat ? event_text(chunk({{"role", "assistant"}, {"content", ""}}, nullptr)) : "";
}

std::string ReplyBody::keep_alive() {
    return event_text(chunk(no_delta(), nullptr));
}

// Takes pieces into the whole, and adds what an event each is to say.
void ReplyBody::take(std::vector<ReplyPiece>& pieces, ordered_json& deltas) {
    const auto add_call = [&](ordered_json call) {
        ordered_json entry = {{"index", calls_.size() - 1}};
        entry.update(call);
        deltas.push_back({{"tool_calls", ordered_json::array({std::move(entry)})}});
    };
    for (ReplyPiece& piece : pieces) {
        switch (piece.kind) {
            case ReplyPiece::Kind::reasoning:
                reasoning_ += piece.text;
                deltas.push_back({{"reasoning_content", piece.text}});
                break;
            case ReplyPiece::Kind::content:
                content_ += piece.text;
                deltas.push_back(options_.api == Api::chat ? ordered_json{{"content", piece.text}}
                                                           : ordered_json(piece.text));
                break;
            case ReplyPiece::Kind::call:
                calls_.push_back({unique_id("call_"), piece.text, ""});
                add_call({{"id", calls_.back().id},
                          {"type", "function"},
                          {"function", {{"name", piece.text}, {"arguments", ""}}}});
                break;
            case ReplyPiece::Kind::arguments:
                calls_.back().arguments += piece.text;
                add_call({{"function", {{"arguments", piece.text}}}});
                break;
            case ReplyPiece::Kind::call_end:
                break;
        }
    }
    pieces.clear();
}

ordered_json ReplyBody::logprobs_json(const ReplyToken& token) const {
    ordered_json entry = logprob_json(tokenizer_, token.token, token.logprob);
    entry["top_logprobs"] = ordered_json::array();
    for (const TokenLogprob& top : token.top_logprobs) {
        entry["top_logprobs"].push_back(logprob_json(tokenizer_, top.token, top.logprob));
    }
    return entry;
}

// In the form of the endpoint; those of plain completions are given out in order.
ordered_json ReplyBody::logprobs_of(const ordered_json& entries) {
    if (options_.api == Api::chat) return {{"content", entries}};
    ordered_json lists = {{"tokens", ordered_json::array()},
                          {"token_logprobs", ordered_json::array()},
                          {"top_logprobs", ordered_json::array()},
                          {"text_offset", ordered_json::array()}};
    for (const ordered_json& entry : entries) {
        ordered_json top = ordered_json::object();
        for (const ordered_json& one : entry["top_logprobs"]) top[one["token"].get<std::string>()] = one["logprob"];
        lists["tokens"].push_back(entry["token"]);
        lists["token_logprobs"].push_back(entry["logprob"]);
        lists["top_logprobs"].push_back(std::move(top));
        lists["text_offset"].push_back(text_offset_);
        text_offset_ += entry["bytes"].size();
    }
    return lists;
}

void ReplyBody::add_logprobs(const ReplyToken& token) {
    if (options_.logprobs) (options_.stream ? new_logprobs_ : logprobs_).push_back(logprobs_json(token));
}

std::string ReplyBody::events(const ordered_json& deltas) {
    std::string text;
    for (const ordered_json& delta : deltas) text += event_text(chunk(delta, nullptr));
    return text;
}

std::string ReplyBody::feed(const std::vector<ReplyToken>& tokens) {
    std::vector<ReplyPiece> pieces;
    for (const ReplyToken& token : tokens) {
        if (is_done()) break;
        ++tokens_;
        reader_.feed(token.token, token.held_bytes, pieces);
        if (reader_.parser().is_thinking()) ++reasoning_tokens_;
        add_logprobs(token);
    }
    ordered_json deltas = ordered_json::array();
    take(pieces, deltas);
    return options_.stream ? events(deltas) : "";
}

void ReplyBody::finish(const RequestResult& result, ordered_json& deltas) {
    std::vector<ReplyPiece> pieces;
    reader_.finish(result.cut_bytes, result.finish != FinishReason::stop, pieces);
    take(pieces, deltas);
}

std::string ReplyBody::finish_reason(const RequestResult& result) const {
    if (is_done()) return "tool_calls";
    if (result.finish != FinishReason::stop) return "length";
    return calls_.empty() ? "stop" : "tool_calls";
}

std::string ReplyBody::end(const RequestResult& result) {
    ordered_json deltas = ordered_json::array();
    finish(result, deltas);
    std::string text = events(deltas);
    ordered_json body = chunk(no_delta(), finish_reason(result));
    body["seed"] = options_.seed;
    body["timings"] = timings_json(result);
    text += event_text(body);
    if (options_.include_usage) {
        ordered_json last = head(true);
        last["choices"] = ordered_json::array();
        last["usage"] = usage(result);
        text += event_text(last);
    }
    return text + "data: [DONE]\n\n";
}

ordered_json ReplyBody::message() const {
    ordered_json message = {{"role", "assistant"}};
    const bool only_calls = content_.empty() && !calls_.empty();
    message["content"] = only_calls ? ordered_json() : ordered_json(content_);
    if (!reasoning_.empty()) message["reasoning_content"] = reasoning_;
    if (calls_.empty()) return message;
    message["tool_calls"] = ordered_json::array();
    for (const Call& call : calls_) {
        message["tool_calls"].push_back({{"id", call.id},
                                         {"type", "function"},
                                         {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    }
    return message;
}

ordered_json ReplyBody::usage(const RequestResult& result) const {
    ordered_json details = {{"reasoning_tokens", reasoning_tokens_}};
    if (options_.has_prediction) {
        const SpecCounters::Tokens& lookup = result.drafts.lookup;
        details["accepted_prediction_tokens"] = lookup.accepted;
        details["rejected_prediction_tokens"] = lookup.drafted - lookup.accepted;
    }
    return {{"prompt_tokens", result.prompt_tokens},
            {"completion_tokens", tokens_},
            {"total_tokens", result.prompt_tokens + tokens_},
            {"prompt_tokens_details", {{"cached_tokens", result.cached_tokens}}},
            {"completion_tokens_details", std::move(details)}};
}

ordered_json ReplyBody::whole(const RequestResult& result) {
    ordered_json deltas = ordered_json::array();
    finish(result, deltas);
    ordered_json body = head(false);
    ordered_json entry = {{"index", 0}};
    if (options_.api == Api::chat) {
        entry["message"] = message();
    } else {
        entry["text"] = content_;
    }
    entry["logprobs"] = options_.logprobs ? logprobs_of(logprobs_) : ordered_json();
    entry["finish_reason"] = finish_reason(result);
    body["choices"] = ordered_json::array({std::move(entry)});
    body["usage"] = usage(result);
    body["seed"] = options_.seed;
    body["timings"] = timings_json(result);
    return body;
}

}  // namespace colugo
