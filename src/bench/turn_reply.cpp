#include "bench/turn_reply.h"

#include "base/error.h"
#include "bench/json_member.h"
#include "text/compact_json.h"
#include "text/utf8.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr size_t kMostCalls = 4096;  // of a reply

double milliseconds(TurnReply::Clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

// A count; what cannot be one is not told.
std::optional<int64_t> count_of(const ordered_json& from) {
    constexpr double kMost = 1e15;  // thousands of these can be added
    if (!from.is_number()) return std::nullopt;
    const auto number = from.get<double>();
    return number >= 0.0 && number <= kMost ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
}

void take(std::optional<int64_t>& value, const ordered_json& from) {
    if (const std::optional<int64_t> count = count_of(from)) value = count;
}

void take(std::optional<double>& value, const ordered_json& from) {
    if (from.is_number()) value = from.get<double>();
}

// Whether it is text that is not empty, which is then appended.
bool append(std::string& text, const ordered_json& from) {
    if (!from.is_string() || from.get_ref<const std::string&>().empty()) return false;
    text += from.get_ref<const std::string&>();
    return true;
}

}  // namespace

void ServerFigures::add_usage(const ordered_json& usage) {
    take(prompt_tokens, member(usage, "prompt_tokens"));
    take(output_tokens, member(usage, "completion_tokens"));
    take(cached_tokens, member(member(usage, "prompt_tokens_details"), "cached_tokens"));
    const ordered_json& details = member(usage, "completion_tokens_details");
    const std::optional<int64_t> right = count_of(member(details, "accepted_prediction_tokens"));
    const std::optional<int64_t> wrong = count_of(member(details, "rejected_prediction_tokens"));
    if (drafted || !right || !wrong) return;
    accepted = right;
    drafted = *right + *wrong;
}

void ServerFigures::add_timings(const ordered_json& timings) {
    if (!timings.is_object()) return;
    const ordered_json& cached = member(timings, "cache_n");
    if (!cached_tokens) take(cached_tokens, cached);
    if (!output_tokens) take(output_tokens, member(timings, "predicted_n"));
    if (!prompt_tokens && cached.is_number() && member(timings, "prompt_n").is_number()) {
        prompt_tokens = cached.get<int64_t>() + member(timings, "prompt_n").get<int64_t>();
    }
    take(queue_ms, member(timings, "queue_ms"));
    take(prefill_ms, member(timings, "prompt_ms"));
    take(decode_ms, member(timings, "predicted_ms"));
    take(ttft_ms, member(timings, "ttft_ms"));
    drafted = accepted = 0;
    take(drafted, member(timings, "draft_n"));
    take(accepted, member(timings, "draft_n_accepted"));
    take(passes, member(timings, "passes_n"));
    // Each pass gives one token besides the drafts that were right.
    if (!passes && member(timings, "predicted_n").is_number()) {
        passes = member(timings, "predicted_n").get<int64_t>() - *accepted;
    }
}

double TurnReply::latency_ms() const {
    return milliseconds(end - begin);
}

std::optional<double> TurnReply::ttft_ms() const {
    if (!has_first) return std::nullopt;
    return milliseconds(first - begin);
}

std::optional<double> TurnReply::tpot_ms() const {
    if (!has_first || server.output_tokens.value_or(0) < 2) return std::nullopt;
    return milliseconds(end - first) / static_cast<double>(*server.output_tokens - 1);
}

void ReplyAssembler::add_event(std::string_view data, TurnReply::Clock::time_point now) {
    if (data == "[DONE]") {
        done_ = true;
        reply_.end = now;
        return;
    }
    const ordered_json event = parse_json(data);
    if (!event.is_object()) {
        std::string storage;
        fail(ErrorCode::invalid_file, "the stream has an event that is no JSON object: {}",
             to_valid_utf8(std::string_view(data).substr(0, 200), storage));
    }
    const ordered_json& error = member(event, "error");
    if (!error.is_null()) {
        const ordered_json& message = member(error, "message");
        fail(ErrorCode::invalid_file, "the server ended its reply with an error: {}",
             message.is_string() ? message.get<std::string>() : error.dump());
    }
    reply_.server.add_usage(member(event, "usage"));
    reply_.server.add_timings(member(event, "timings"));
    const ordered_json& choices = member(event, "choices");
    if (!choices.is_array() || choices.empty()) return;
    add_delta(member(choices[0], "delta"), now);
    const ordered_json& reason = member(choices[0], "finish_reason");
    if (reason.is_string()) reply_.finish_reason = reason.get<std::string>();
}

void ReplyAssembler::add_delta(const ordered_json& delta, TurnReply::Clock::time_point now) {
    bool written = append(reply_.content, member(delta, "content"));
    written |= append(reply_.reasoning, member(delta, "reasoning_content"));
    written |= append(reply_.reasoning, member(delta, "reasoning"));
    const ordered_json& parts = member(delta, "tool_calls");
    if (parts.is_array()) {
        for (const ordered_json& part : parts) written |= add_call(part);
    }
    if (!written || reply_.has_first) return;
    reply_.has_first = true;
    reply_.first = now;
}

bool ReplyAssembler::add_call(const ordered_json& part) {
    const ordered_json& place = member(part, "index");
    const size_t index = place.is_number_unsigned() ? place.get<size_t>() : 0;
    if (index >= kMostCalls) fail(ErrorCode::invalid_file, "the stream has a call with index {}", index);
    while (reply_.calls.size() <= index) {
        reply_.calls.push_back({{"id", ""}, {"type", "function"}, {"function", {{"name", ""}, {"arguments", ""}}}});
    }
    ordered_json& call = reply_.calls[index];
    if (member(part, "id").is_string()) call["id"] = part["id"];
    const ordered_json& function = member(part, "function");
    const bool named = append(call["function"]["name"].get_ref<std::string&>(), member(function, "name"));
    return append(call["function"]["arguments"].get_ref<std::string&>(), member(function, "arguments")) || named;
}

}  // namespace colugo
