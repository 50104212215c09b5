#include "server/scripted_source.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace colugo {

namespace {

constexpr int64_t kMostMilliseconds = 3'600'000;

int64_t number(const nlohmann::json& line, const char* key, int64_t absent, int64_t least, int64_t most) {
    if (!line.contains(key)) return absent;
    const nlohmann::json& value = line[key];
    if (!value.is_number_integer() || value < least || value > most) {
        fail(ErrorCode::invalid_file, "\"{}\" is {}; expected a whole number from {} to {}", key, value.dump(), least,
             most);
    }
    return value.get<int64_t>();
}

ScriptedReply parse_reply(const nlohmann::json& line, const Tokenizer& tokenizer) {
    if (!line.is_object() || !line.contains("text") || !line["text"].is_string()) {
        fail(ErrorCode::invalid_file, "expected an object with a string \"text\"");
    }
    for (const auto& [key, value] : line.items()) {
        constexpr std::string_view kKnown[] = {"text", "delay_ms", "step_ms", "chunk", "finish"};
        if (std::find(std::begin(kKnown), std::end(kKnown), key) == std::end(kKnown)) {
            fail(ErrorCode::invalid_file,
                 "\"{}\" is no key of a reply: expected text, delay_ms, step_ms, chunk, finish", key);
        }
    }
    ScriptedReply reply;
    reply.tokens = tokenizer.encode(line["text"].get<std::string>(), ControlTokens::recognised);
    reply.delay = std::chrono::milliseconds(number(line, "delay_ms", 0, 0, kMostMilliseconds));
    reply.step = std::chrono::milliseconds(number(line, "step_ms", 0, 0, kMostMilliseconds));
    reply.chunk = static_cast<size_t>(number(line, "chunk", 1, 1, 1 << 20));
    const nlohmann::json finish = line.value("finish", nlohmann::json("stop"));
    if (finish != "stop" && finish != "length") {
        fail(ErrorCode::invalid_file, "\"finish\" is {}; expected stop or length", finish.dump());
    }
    if (finish == "length") reply.finish = FinishReason::length;
    return reply;
}

}  // namespace

std::vector<ScriptedReply> read_script(const std::string& path, const Tokenizer& tokenizer) {
    std::ifstream file(path);
    if (!file) fail(ErrorCode::not_found, "there is no script {}", path);
    std::vector<ScriptedReply> replies;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.find_first_not_of(" \t\r") == line.npos) continue;
        try {
            replies.push_back(parse_reply(nlohmann::json::parse(line), tokenizer));
        } catch (const std::exception& error) {
            fail(ErrorCode::invalid_file, "{}, line {}: {}", path, number, error.what());
        }
    }
    if (replies.empty()) fail(ErrorCode::invalid_file, "{} has no replies", path);
    return replies;
}

ScriptedSource::ScriptedSource(std::vector<ScriptedReply> replies, const Tokenizer& tokenizer, const Options& options)
    : replies_(std::move(replies)), tokenizer_(tokenizer), options_(options), thread_([this] { run(); }) {}

ScriptedSource::~ScriptedSource() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        wake_.notify_one();
    }
    thread_.join();
}

RequestId ScriptedSource::submit(Request request, std::shared_ptr<RequestListener> listener) {
    check_request(request, options_.vocab_size, options_.ctx_size);
    const auto prompt_len = static_cast<int64_t>(request.prompt.size());
    const int64_t room = options_.ctx_size - prompt_len;
    const bool context_first = request.max_tokens < 0 || request.max_tokens > room;
    Running running{.id = 0,
                    .request = std::move(request),
                    .listener = std::move(listener),
                    .reply = nullptr,
                    .stops = StopStrings({}),
                    .limit = 0,
                    .at_limit = context_first ? FinishReason::context : FinishReason::length,
                    .begin = Clock::now(),
                    .due = {}};
    running.stops = StopStrings(running.request.stop_strings);
    running.limit = context_first ? room : running.request.max_tokens;
    running.result.prompt_tokens = prompt_len;
    const std::lock_guard lock(mutex_);
    if (metrics_.submitted - metrics_.finished >= options_.max_running) {
        fail(ErrorCode::resource_exhausted, "{} requests wait already; expected at most {}",
             metrics_.submitted - metrics_.finished, options_.max_running);
    }
    running.id = next_id_++;
    running.reply = &replies_[static_cast<size_t>(metrics_.submitted) % replies_.size()];
    running.due = running.begin + running.reply->delay;
    ++metrics_.submitted;
    arrived_.push_back(std::move(running));
    wake_.notify_one();
    return next_id_ - 1;
}

void ScriptedSource::cancel(RequestId id) {
    const std::lock_guard lock(mutex_);
    cancelled_.push_back(id);
    wake_.notify_one();
}

std::future<CacheManager::Lookup> ScriptedSource::look_up(OwnedPrefix) {
    std::promise<CacheManager::Lookup> nothing;
    nothing.set_value({});
    return nothing.get_future();
}

EngineMetrics ScriptedSource::metrics() const {
    const std::lock_guard lock(mutex_);
    return metrics_;
}

void ScriptedSource::run() {
    std::vector<RequestId> cancelled;
    for (bool stopping = false; !stopping || !running_.empty();) {
        auto due = Clock::now() + std::chrono::hours(1);
        for (const Running& one : running_) due = std::min(due, one.due);
        {
            std::unique_lock lock(mutex_);
            wake_.wait_until(lock, due, [&] { return stopping_ || !arrived_.empty() || !cancelled_.empty(); });
            stopping = stopping_;
            std::move(arrived_.begin(), arrived_.end(), std::back_inserter(running_));
            arrived_.clear();
            cancelled.swap(cancelled_);
        }
        for (Running& one : running_) {
            const bool wanted = std::find(cancelled.begin(), cancelled.end(), one.id) == cancelled.end();
            one.cancelled = one.cancelled || stopping || !wanted;
        }
        cancelled.clear();
        std::erase_if(running_, [this](Running& one) { return advance(one); });
        const std::lock_guard lock(mutex_);
        ++metrics_.steps;
        metrics_.running = static_cast<int64_t>(running_.size());
    }
}

// What is due of a reply. True: it has ended.
bool ScriptedSource::advance(Running& running) {
    if (running.cancelled) return end(running, FinishReason::cancelled);
    if (Clock::now() < running.due) return false;
    if (running.result.ttft_seconds == 0.0) {
        const double seconds = std::chrono::duration<double>(Clock::now() - running.begin).count();
        running.result.ttft_seconds = running.result.prefill_seconds = seconds;
        running.listener->prefilled(running.result.prompt_tokens, running.result.prompt_tokens);
    }
    ++running.result.decode_passes;
    for (size_t i = 0; i < running.reply->chunk; ++i) {
        if (give(running)) return true;
    }
    running.due += running.reply->step;
    return false;
}

bool ScriptedSource::give(Running& running) {
    int64_t& given = running.result.generated_tokens;
    if (given == running.limit) return end(running, running.at_limit);
    if (given == static_cast<int64_t>(running.reply->tokens.size())) return end(running, running.reply->finish);
    const int32_t token = running.reply->tokens[static_cast<size_t>(given)];
    const std::vector<int32_t>& stop_ids = running.request.stop_ids;
    if (std::find(stop_ids.begin(), stop_ids.end(), token) != stop_ids.end()) return end(running, FinishReason::stop);
    ++given;
    const bool stopped = running.stops.feed(tokenizer_.token_bytes(token));
    running.listener->token({.token = token, .held_bytes = running.stops.held(), .logprob = 0.0f, .top_logprobs = {}});
    if (!stopped) return false;
    running.result.cut_bytes = running.stops.held();
    return end(running, FinishReason::stop);
}

bool ScriptedSource::end(Running& running, FinishReason reason) {
    const double seconds = std::chrono::duration<double>(Clock::now() - running.begin).count();
    running.result.decode_seconds = seconds - running.result.prefill_seconds;
    running.result.finish = reason;
    running.result.fed_tokens = running.result.prompt_tokens + running.result.generated_tokens;
    running.listener->finished(running.result);
    const std::lock_guard lock(mutex_);
    ++metrics_.finished;
    metrics_.generated_tokens += running.result.generated_tokens;
    return true;
}

}  // namespace colugo
