// Replays recorded agent conversations turn by turn, as an agent sends them, and counts the prompt rows that are
// computed against the fewest there can be: of each prompt, what no earlier prompt of the run begins with too.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/agent_workload.h"
#include "engine/branch_points.h"
#include "engine/engine.h"
#include "text/detokenizer.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;

struct Options {
    std::string model, data, json_path, replies_path, cache_disk, spec_mode = "off", kv_type = "auto";
    SpecParams spec;
    std::vector<std::string> only, without;  // conversations
    std::string cost_of;
    int interleaved = 1;
    int64_t new_tokens = 1;
    size_t most_turns = 1 << 20;
    size_t chosen_turns = 0;
    double cache_gib = 4.0;
    int threads = 2;
};

bool names_any(const std::vector<std::string>& parts, const std::string& id) {
    return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) { return id.find(part) != id.npos; });
}

void choose_conversations(std::vector<AgentConversation>& conversations, const Options& options) {
    std::erase_if(conversations, [&](const AgentConversation& one) {
        return (!options.only.empty() && !names_any(options.only, one.id)) || names_any(options.without, one.id);
    });
    if (conversations.empty()) fail(ErrorCode::not_found, "{} has no such conversation", options.data);
}

// Keeps `count` turns of each conversation, evenly; all where it is 0.
void choose_turns(std::vector<AgentConversation>& conversations, size_t count) {
    for (AgentConversation& conversation : conversations) {
        if (count == 0 || conversation.turns.size() <= count) continue;
        std::vector<AgentTurn> chosen;
        for (size_t i = 0; i < count; ++i) {
            chosen.push_back(conversation.turns[i * (conversation.turns.size() - 1) / std::max<size_t>(count - 1, 1)]);
        }
        conversation.turns = std::move(chosen);
    }
}

// (conversation, turn) of every request, `interleaved` conversations taking turns.
std::vector<std::pair<size_t, size_t>> order_of(const std::vector<AgentConversation>& conversations,
                                                const Options& options) {
    std::vector<std::pair<size_t, size_t>> order;
    const auto group = static_cast<size_t>(options.interleaved);
    for (size_t begin = 0; begin < conversations.size(); begin += group) {
        const size_t end = std::min(begin + group, conversations.size());
        for (size_t turn = 0; turn < options.most_turns; ++turn) {
            bool any = false;
            for (size_t i = begin; i < end; ++i) {
                if (turn >= conversations[i].turns.size()) continue;
                order.emplace_back(i, turn);
                any = true;
            }
            if (!any) break;
        }
    }
    return order;
}

class Quiet : public RequestListener {
 public:
    void token(const DrawnToken& drawn) override { tokens.push_back(drawn.token); }
    void finished(const RequestResult& finished_result) override { result = finished_result; }
    std::optional<RequestResult> result;
    std::vector<int32_t> tokens;
};

class ConversationReplay {
 public:
    explicit ConversationReplay(const Options& options)
        : options_(options), text_(options.model), conversations_(read_agent_workload(options.data).conversations) {
        choose_conversations(conversations_, options);
        choose_turns(conversations_, options.chosen_turns);
        if (!options.replies_path.empty()) replies_.open(options.replies_path);
        LaunchOptions launch;
        launch.spec = options.spec;
        launch.spec.mode = spec_mode(options.spec_mode).value();
        launch.model = options.model;
        launch.kv_type = find_kv_type(options.kv_type);
        launch.threads = options.threads;
        launch.cache_bytes = static_cast<uint64_t>(options.cache_gib * 1024 * 1024 * 1024);
        model_ = std::make_unique<LoadedModel>(launch);
        if (!options.cost_of.empty()) cost_ = cost_of(options);
        start_engine();
        stop_ids_ = text_.stop_ids(model_->config());
    }

    void run() {
        const std::vector<std::pair<size_t, size_t>> order = order_of(conversations_, options_);
        const auto start = std::chrono::steady_clock::now();
        size_t done = 0;
        for (const auto& [conversation, turn] : order) {
            request(conversations_[conversation], turn);
            if (++done % 100 == 0) fmt::print(stderr, "{} of {} turns\n", done, order.size());
        }
        seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        report(order.size());
        if (!options_.cache_disk.empty()) restart();
        if (!options_.json_path.empty()) std::ofstream(options_.json_path) << json_.dump(1) << "\n";
    }

 private:
    // What passes cost of a model at another shape.
    static PassCost cost_of(const Options& options) {
        LaunchOptions launch;
        launch.spec = {.mode = SpecMode::automatic, .nodes = 32};
        launch.model = options.cost_of;
        launch.threads = options.threads;
        launch.ctx_size = 64;
        LoadedModel model(launch);
        return PassCost(model.model(), launch.spec.nodes);
    }

    void start_engine() {
        Engine::Options engine;
        engine.pass_cost = cost_;
        engine.cache_disk = options_.cache_disk;
        engine.cache_disk_bytes = uint64_t{1} << 40;
        engine.log = [](const std::string& sentence) { fmt::print(stderr, "{}\n", sentence); };
        engine_ = std::make_unique<Engine>(*model_, text_.token_mask(model_->config()), engine);
    }

    RequestResult run_request(Request request) {
        const auto listener = std::make_shared<Quiet>();
        engine_->submit(std::move(request), listener);
        while (step()) {
        }
        tokens_ = std::move(listener->tokens);
        return listener->result.value();
    }

    // A step, and what it would have cost at the other shape.
    bool step() {
        if (!cost_) return engine_->step();
        const EngineMetrics before = engine_->metrics();
        const bool fed = engine_->step();
        const EngineMetrics after = engine_->metrics();
        if (after.prefill_rows != before.prefill_rows || after.decode_rows == before.decode_rows) return fed;
        const int64_t drafts = after.drafts.all.drafted - before.drafts.all.drafted;
        const int64_t levels = after.head.levels - before.head.levels;
        const int64_t head_rows = after.head.rows - before.head.rows;
        projected_seconds_ += cost_->pass(static_cast<double>(after.decode_rows - before.decode_rows + drafts)) +
                              static_cast<double>(levels) * cost_->draft(0) +
                              static_cast<double>(head_rows) * (cost_->draft(1) - cost_->draft(0));
        return fed;
    }

    void request(const AgentConversation& conversation, size_t turn) {
        ChatInput input;
        input.messages = prepare_messages(conversation.history(conversation.turns[turn]));
        if (!conversation.tools.empty()) input.tools = conversation.tools;
        input.extra["enable_thinking"] = false;
        Request request;
        request.prompt = text_.encode(text_.render(input));
        request.branch_points = branch_points(text_, input, request.prompt);
        request.max_tokens = options_.new_tokens;
        request.stop_ids = stop_ids_;
        count_ideal(request.prompt);
        last_prompts_[&conversation] = request.prompt;
        const RequestResult result = run_request(std::move(request));
        prompt_tokens_ += result.prompt_tokens;
        computed_ += result.prompt_tokens - result.cached_tokens;
        prefill_seconds_ += result.prefill_seconds;
        decode_seconds_ += result.decode_seconds;
        generated_ += result.generated_tokens;
        passes_ += result.decode_passes;
        write_reply(conversation, turn, result);
        ttft_.push_back(result.ttft_seconds);
        most_used_ = std::max(most_used_, engine_->metrics().used_bytes);
    }

    void write_reply(const AgentConversation& conversation, size_t turn, const RequestResult& result) {
        if (!replies_.is_open()) return;
        Detokenizer detokenizer(text_.tokenizer());
        std::string reply;
        for (const int32_t token : tokens_) detokenizer.feed(token, reply);
        detokenizer.flush(reply);
        replies_ << ordered_json{{"conversation_id", conversation.id},
                                 {"message", conversation.turns[turn].history},
                                 {"reply", reply},
                                 {"tokens", tokens_.size()},
                                 {"finish", finish_reason_name(result.finish)},
                                 {"recorded", conversation.turns[turn].recorded}}
                        .dump(-1, ' ', false, ordered_json::error_handler_t::replace)
                 << "\n";
    }

    void count_ideal(const std::vector<int32_t>& prompt) {
        const auto length = static_cast<int64_t>(prompt.size());
        ideal_ += length - std::min(seen_.match({prompt}, length).length, length - 1);
        PrefixTree::Node& node = seen_.insert({prompt});
        if (!node.snapshot) seen_.attach(node, {.position = length, .pages = {}, .border = {}, .rows = {}, .tail = {}});
    }

    // Asks once more for each conversation's last prompt, of an engine that has only the disk. Those that were still in
    // memory are written at the end; of the others, what is there is what was written in time.
    void restart() {
        std::map<const AgentConversation*, int64_t> in_memory;
        for (const auto& [conversation, prompt] : last_prompts_) {
            in_memory[conversation] = engine_->in_memory({prompt}).cached_len;
        }
        const DiskCounters written = engine_->metrics().disk;
        engine_.reset();
        start_engine();
        int64_t left = 0, hit = 0, left_tokens = 0, hit_tokens = 0;
        for (const auto& [conversation, prompt] : last_prompts_) {
            Request request;
            request.prompt = prompt;
            request.max_tokens = 0;
            const RequestResult result = run_request(std::move(request));
            const int64_t lost = result.prompt_tokens - in_memory[conversation];
            if (lost < kFar) continue;
            ++left;
            hit += result.prompt_tokens - result.cached_tokens < kFar;
            left_tokens += lost;
            hit_tokens += std::max<int64_t>(result.cached_tokens - in_memory[conversation], 0);
        }
        fmt::print(
            "{} snapshots written while it ran; after a restart, of {} conversations {} had left memory, and {} of "
            "these were found; of their {} tokens {}\n",
            written.writes, last_prompts_.size(), left, hit, left_tokens, hit_tokens);
        json_["restart"] = {{"conversations", last_prompts_.size()},
                            {"left_memory", left},
                            {"found", hit},
                            {"left_tokens", left_tokens},
                            {"found_tokens", hit_tokens}};
    }

    void report(size_t turns) {
        std::sort(ttft_.begin(), ttft_.end());
        const EngineMetrics metrics = engine_->metrics();
        json_ = {{"turns", turns},
                 {"interleaved", options_.interleaved},
                 {"cache_gib", options_.cache_gib},
                 {"prompt_tokens", prompt_tokens_},
                 {"computed_tokens", computed_},
                 {"ideal_tokens", ideal_},
                 {"prefill_rows", metrics.prefill_rows},
                 {"evictions", metrics.cache.evictions},
                 {"snapshots", metrics.snapshots},
                 {"most_used_bytes", most_used_},
                 {"prefill_seconds", prefill_seconds_},
                 {"decode_seconds", decode_seconds_},
                 {"generated_tokens", generated_},
                 {"decode_passes", passes_},
                 {"projected_decode_seconds", projected_seconds_},
                 {"spec", options_.spec_mode},
                 {"spec_depth", options_.spec.depth},
                 {"spec_topk", options_.spec.top_k},
                 {"spec_nodes", options_.spec.nodes},
                 {"drafts", drafts_json(metrics.drafts)},
                 {"ttft_seconds_median", ttft_[ttft_.size() / 2]},
                 {"seconds", seconds_}};
        fmt::print("{} turns, {} conversations at a time, cache {:.2f} GiB\n", turns, options_.interleaved,
                   options_.cache_gib);
        fmt::print("prompt tokens {}, computed {}, ideal {}: {:.4f} x ideal\n", prompt_tokens_, computed_, ideal_,
                   static_cast<double>(computed_) / static_cast<double>(ideal_));
        fmt::print("{} evictions, {} snapshots left, {:.2f} GiB used at most\n", metrics.cache.evictions,
                   metrics.snapshots, static_cast<double>(most_used_) / (1 << 30));
        fmt::print("prefill {:.1f} s, {:.0f} tok/s; median time to the first token {:.0f} ms; {:.0f} s in all\n",
                   prefill_seconds_, static_cast<double>(computed_) / prefill_seconds_, 1e3 * ttft_[ttft_.size() / 2],
                   seconds_);
        fmt::print("{} new tokens in {} decoding passes, {:.1f} s, of which drafting {:.1f}\n", generated_, passes_,
                   decode_seconds_, metrics.drafts.draft_seconds);
        print_drafts(metrics.drafts);
        if (cost_) {
            fmt::print(
                "a projection, from what passes cost with {}: {:.2f} tok/s in decoding, one token a pass {:.2f}\n",
                options_.cost_of, static_cast<double>(generated_) / projected_seconds_, 1.0 / cost_->pass(1));
        }
    }

    void print_drafts(const SpecCounters& drafts) const {
        if (drafts.passes == 0) return;
        fmt::print(
            "{} passes with drafts; {:.2f} drafts and {:.2f} accepted for each; accepted {} of {} by the head, {} of "
            "{} by lookup\n",
            drafts.passes, static_cast<double>(drafts.all.drafted) / static_cast<double>(drafts.passes),
            static_cast<double>(drafts.all.accepted) / static_cast<double>(drafts.passes), drafts.head.accepted,
            drafts.head.drafted, drafts.lookup.accepted, drafts.lookup.drafted);
        fmt::print("passes that reached each depth, accepted to there:");
        for (const SpecCounters::Tokens& tokens : drafts.by_depth) {
            if (tokens.drafted > 0) fmt::print(" {}/{}", tokens.accepted, tokens.drafted);
        }
        fmt::print("\n");
    }

    static constexpr int64_t kFar = 256;  // tokens from a prompt's end at which a snapshot counts as another one's

    Options options_;
    ModelText text_;
    std::vector<AgentConversation> conversations_;
    std::unique_ptr<LoadedModel> model_;
    std::unique_ptr<Engine> engine_;
    std::optional<PassCost> cost_;
    double projected_seconds_ = 0.0;
    PrefixTree seen_;
    int64_t prompt_tokens_ = 0, computed_ = 0, ideal_ = 0;
    uint64_t most_used_ = 0;
    double prefill_seconds_ = 0.0, decode_seconds_ = 0.0, seconds_ = 0.0;
    int64_t generated_ = 0, passes_ = 0;
    std::vector<int32_t> stop_ids_;
    std::ofstream replies_;
    std::vector<double> ttft_;
    std::vector<int32_t> tokens_;  // of the last reply
    std::map<const AgentConversation*, std::vector<int32_t>> last_prompts_;
    ordered_json json_;
};

}  // namespace
}  // namespace colugo

int main(int argc, char** argv) {
    colugo::Options options;
    CLI::App app("Replays recorded conversations and counts what is computed.");
    app.add_option("--model", options.model, "A checkpoint folder")->required();
    app.add_option("--data", options.data, "Recorded conversations, a JSON row a turn")->required();
    app.add_option("--interleaved", options.interleaved, "Conversations that take turns")->check(CLI::PositiveNumber);
    app.add_option("--new-tokens", options.new_tokens, "Of each reply, at most")->capture_default_str();
    app.add_option("--most-turns", options.most_turns, "Of each conversation");
    app.add_option("--chosen-turns", options.chosen_turns, "Of each conversation, evenly (0: all)");
    app.add_option("--only", options.only, "Conversations whose ids have one of these in them")->delimiter(',');
    app.add_option("--without", options.without, "Not those whose ids have one of these in them")->delimiter(',');
    app.add_option("--cost-of", options.cost_of,
                   "A checkpoint folder of another shape: what pays is chosen, and time projected, by its passes");
    app.add_option("--replies", options.replies_path, "Write every reply to this file, a JSON object a line");
    app.add_option("--spec", options.spec_mode)
        ->check(CLI::IsMember({"off", "mtp", "lookup", "tree", "auto"}))
        ->capture_default_str();
    app.add_option("--spec-depth", options.spec.depth)->capture_default_str();
    app.add_option("--spec-topk", options.spec.top_k)->capture_default_str();
    app.add_option("--spec-nodes", options.spec.nodes)->capture_default_str();
    app.add_option("--cache-gib", options.cache_gib)->capture_default_str();
    app.add_option("--cache-disk", options.cache_disk,
                   "Keep snapshots in this folder too, and see what a restart finds there");
    app.add_option("--kv-type", options.kv_type)
        ->check(CLI::IsMember({"auto", "f32", "bf16", "fp8", "int8"}))
        ->capture_default_str();
    app.add_option("--threads", options.threads)->capture_default_str();
    app.add_option("--json", options.json_path, "Write the figures to this file");
    CLI11_PARSE(app, argc, argv);
    try {
        colugo::ConversationReplay(options).run();
    } catch (const std::exception& error) {
        fmt::print(stderr, "replay_benchmark: {}\n", error.what());
        return 1;
    }
    return 0;
}
