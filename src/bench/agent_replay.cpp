#include "bench/agent_replay.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "base/error.h"
#include "bench/command_score.h"
#include "bench/ideal_cache.h"

namespace colugo {

using nlohmann::ordered_json;
using Clock = Endpoint::Clock;

namespace {

constexpr auto kLook = std::chrono::milliseconds(50);

double seconds_between(Clock::time_point begin, Clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
}

Clock::time_point after(Clock::time_point begin, double seconds) {
    return begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// A figure is told as long as every reply tells it.
void add_told(std::optional<int64_t>& sum, const std::optional<int64_t>& value) {
    if (sum && value) {
        *sum += *value;
    } else {
        sum.reset();
    }
}

}  // namespace

ordered_json ReplayRules::json() const {
    return {{"max_tokens", max_tokens},
            {"temperature", temperature},
            {"seed", seed},
            {"reasoning", "off"},
            {"stream", true},
            {"turn_timeout_s", turn_timeout},
            {"concurrency", concurrency},
            {"interleave", interleave},
            {"delays", delays},
            {"cold", cold},
            {"replay_output", replay_output},
            {"lengths_given", !lengths.empty()}};
}

std::string ReplayRules::simulation() const {
    if (replay_output) return "the server is told what its replies are";
    return lengths.empty() ? "" : "replies are as long as another run's, whatever they say";
}

ordered_json ReplayRules::request(const std::string& model, ordered_json messages, const ordered_json& tools) const {
    ordered_json body = ordered_json::object();
    if (!model.empty()) body["model"] = model;
    body["messages"] = std::move(messages);
    if (!tools.empty()) body["tools"] = tools;
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
    body["max_completion_tokens"] = max_tokens;
    body["temperature"] = temperature;
    body["seed"] = seed;
    body["chat_template_kwargs"] = {{"enable_thinking", false}};
    return body;
}

struct AgentReplay::Slot {
    size_t conversation;
    size_t turn = 0;
    Clock::time_point last_end;  // of its last reply
};

AgentReplay::AgentReplay(const std::vector<AgentConversation>& conversations, const ReplayRules& rules,
                         std::string model, Callbacks callbacks)
    : conversations_(conversations),
      rules_(rules),
      model_(std::move(model)),
      callbacks_(std::move(callbacks)),
      run_tag_(std::random_device()()) {
    progress_.prompt_tokens = progress_.cached_tokens = progress_.output_tokens = 0;
    for (const AgentConversation& conversation : conversations) progress_.turns += conversation.turns.size();
}

ordered_json AgentReplay::request(size_t conversation, size_t turn) const {
    const AgentConversation& record = conversations_[conversation];
    ordered_json body = rules_.request(model_, record.history(record.turns[turn]), record.tools);
    if (rules_.cold) body["cache_salt"] = fmt::format("{:08x} {} {}", run_tag_, conversation, turn);
    if (rules_.replay_output) {
        body["replay_output"] = record.messages[record.turns[turn].history];
        body["replay_output"].erase("reasoning_content");  // reasoning is off
    }
    if (!rules_.lengths.empty()) {
        body["max_completion_tokens"] = body["max_tokens"] = rules_.lengths.at({record.id, record.turns[turn].row});
        body["ignore_eos"] = true;
    }
    return body;
}

std::vector<TurnRecord> AgentReplay::run() {
    begin_ = Clock::now();
    if (rules_.interleave || rules_.concurrency == 1) {
        run_interleaved();
    } else {
        std::vector<std::thread> threads;
        for (int i = 0; i < rules_.concurrency; ++i) threads.emplace_back([this] { run_alone(); });
        for (std::thread& thread : threads) thread.join();
    }
    Clock::time_point last = begin_;
    for (const TurnRecord& record : records_) last = std::max(last, record.reply.end);
    seconds_ = seconds_between(begin_, last);
    std::sort(records_.begin(), records_.end(),
              [](const TurnRecord& a, const TurnRecord& b) { return a.reply.begin < b.reply.begin; });
    return std::move(records_);
}

std::optional<AgentReplay::Slot> AgentReplay::next_slot() {
    const std::lock_guard lock(mutex_);
    if (next_ == conversations_.size()) return std::nullopt;
    return Slot{.conversation = next_++, .turn = 0, .last_end = Clock::now()};
}

// One conversation after the other, beside other threads.
void AgentReplay::run_alone() {
    const std::unique_ptr<Endpoint> endpoint = callbacks_.connect();
    while (std::optional<Slot> slot = next_slot()) {
        while (run_turn(*endpoint, *slot)) {
        }
    }
}

// `concurrency` conversations take turns; where one ends, the next takes its place.
void AgentReplay::run_interleaved() {
    const std::unique_ptr<Endpoint> endpoint = callbacks_.connect();
    std::vector<std::optional<Slot>> slots(static_cast<size_t>(rules_.concurrency));
    for (std::optional<Slot>& slot : slots) slot = next_slot();
    for (bool any = true; any;) {
        any = false;
        for (std::optional<Slot>& slot : slots) {
            if (!slot) continue;
            any = true;
            if (!run_turn(*endpoint, *slot)) slot = next_slot();
        }
    }
}

void AgentReplay::wait_for_tools(const Slot& slot, double delay) const {
    const Clock::time_point ready = after(slot.last_end, delay);
    while (Clock::now() < ready && !should_stop()) {
        std::this_thread::sleep_for(std::min<Clock::duration>(kLook, ready - Clock::now()));
    }
}

bool AgentReplay::run_turn(Endpoint& endpoint, Slot& slot) {
    const AgentConversation& conversation = conversations_[slot.conversation];
    if (slot.turn == conversation.turns.size() || should_stop()) return false;
    const AgentTurn& turn = conversation.turns[slot.turn];
    const std::string body = request(slot.conversation, slot.turn).dump();
    if (rules_.delays) wait_for_tools(slot, turn.delay_seconds);
    if (should_stop()) return false;
    TurnRecord record{.conversation = slot.conversation, .turn = slot.turn};
    record.reply = endpoint.chat(body, after(Clock::now(), rules_.turn_timeout), record.failure);
    record.begin_seconds = seconds_between(begin_, record.reply.begin);
    record.expected = call_programs(turn.recorded);
    if (!record.failure) record.got = call_programs(record.reply.calls);
    record.iou = program_iou(record.expected, record.got);
    slot.last_end = record.reply.end;
    ++slot.turn;
    const bool failed = record.failure.has_value();
    keep(std::move(record));
    return !failed && slot.turn < conversation.turns.size();
}

void AgentReplay::keep(TurnRecord record) {
    const std::lock_guard lock(mutex_);
    ++progress_.requests;
    progress_.seconds = seconds_between(begin_, record.reply.end);
    progress_.conversation = &conversations_[record.conversation];
    progress_.turn = record.turn;
    if (!record.failure) {
        add_told(progress_.prompt_tokens, record.reply.server.prompt_tokens);
        add_told(progress_.cached_tokens, record.reply.server.cached_tokens);
        add_told(progress_.output_tokens, record.reply.server.output_tokens);
    }
    records_.push_back(std::move(record));
    callbacks_.progress(progress_);
}

std::string AgentReplay::count_ideal(std::vector<TurnRecord>& records, const std::function<void(size_t)>& progress) {
    const std::unique_ptr<Endpoint> endpoint = callbacks_.connect();
    IdealCache cache;
    std::vector<int64_t> ideal;
    for (const TurnRecord& record : records) {
        const auto tokens = endpoint->prompt_tokens(request(record.conversation, record.turn));
        if (should_stop()) return "interrupted";
        if (!tokens) return "the server does not tell the tokens of a prompt";
        const auto count = static_cast<int64_t>(tokens->size());
        const std::optional<int64_t>& told = record.reply.server.prompt_tokens;
        if (told && *told != count) {
            return fmt::format("the server counts {} tokens in a prompt for which it gives {}", *told, count);
        }
        ideal.push_back(cache.add(*tokens));
        progress(ideal.size());
    }
    for (size_t i = 0; i < records.size(); ++i) records[i].ideal_cached = ideal[i];
    return {};
}

}  // namespace colugo
