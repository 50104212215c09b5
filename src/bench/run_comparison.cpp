#include "bench/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>

#include "base/error.h"
#include "bench/json_member.h"
#include "bench/run_results.h"
#include "bench/statistics.h"
#include "text/compact_json.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr int kResamples = 2000;
constexpr size_t kFewConversations = 4;
constexpr int64_t kBandTurns = 10, kBands = 5;  // of a conversation; the last has all that come later

// A turn of a run, or the same turn of two.
struct PairedTurn {
    std::string conversation;
    int64_t index;
    const ordered_json* first;   // lines of turns.jsonl
    const ordered_json* second;  // of a run by itself the same one
};

std::optional<double> number(const ordered_json& line, const char* name) {
    const ordered_json& value = member(line, name);
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::optional<double> server_ms(const ordered_json& line, const char* name) {
    return number(member(line, "server"), name);
}

bool has_reply(const ordered_json& line) {
    return member(line, "failure").is_null();
}

// Milliseconds of a turn's prefill and decoding: the server's, else as the client saw it.
double prefill_ms(const ordered_json& line) {
    return server_ms(line, "prefill_ms").value_or(number(line, "ttft_ms").value_or(number(line, "latency_ms").value()));
}
double decode_ms(const ordered_json& line) {
    const double latency = number(line, "latency_ms").value();
    return server_ms(line, "decode_ms").value_or(latency - number(line, "ttft_ms").value_or(latency));
}

// Its arguments are a JSON object.
bool is_valid_call(const ordered_json& call) {
    const ordered_json& arguments = member(member(call, "function"), "arguments");
    if (!arguments.is_string()) return arguments.is_object();
    return parse_json(arguments.get_ref<const std::string&>()).is_object();
}

// What a reply says, its calls' ids left out.
std::string reply_text(const ordered_json& line) {
    std::string text = member(line, "content").dump();
    for (const ordered_json& call : line.at("tool_calls")) {
        const ordered_json& function = member(call, "function");
        text += member(function, "name").dump() + member(function, "arguments").dump();
    }
    return text;
}

// How much of the first reply the second begins with.
double agreement(const PairedTurn& turn) {
    const std::string first = reply_text(*turn.first), second = reply_text(*turn.second);
    if (first.empty()) return second.empty() ? 1.0 : 0.0;
    const auto differs = std::mismatch(first.begin(), first.end(), second.begin(), second.end()).first;
    return static_cast<double>(differs - first.begin()) / static_cast<double>(first.size());
}

// A quantity of turns (a ratio of sums, a mean), with an interval from resampled groups of them.
class Estimate {
 public:
    struct Term {
        double above, below;
    };
    using TermOf = std::function<std::optional<Term>(const PairedTurn&)>;

    Estimate(const std::vector<PairedTurn>& turns, const TermOf& term_of) {
        std::map<std::string, size_t> conversations;
        for (const PairedTurn& turn : turns) conversations.try_emplace(turn.conversation, conversations.size());
        const bool by_turn = conversations.size() < kFewConversations;
        std::vector<Term> groups(by_turn ? turns.size() : conversations.size(), Term{0.0, 0.0});
        for (size_t i = 0; i < turns.size(); ++i) {
            const std::optional<Term> term = term_of(turns[i]);
            if (!term) continue;
            Term& group = groups[by_turn ? i : conversations[turns[i].conversation]];
            group.above += term->above;
            group.below += term->below;
            ++count_;
        }
        std::erase_if(groups, [](const Term& group) { return group.below == 0.0; });
        if (groups.empty()) return;
        value_ = ratio(groups, [](size_t i) { return i; });
        resample(groups);
    }

    // {"value", "low", "high", "turns"}; null where nothing is told.
    ordered_json json() const {
        if (count_ == 0 || ratios_.empty()) return nullptr;
        return {{"value", value_},
                {"low", percentile(ratios_, 2.5)},
                {"high", percentile(ratios_, 97.5)},
                {"turns", count_}};
    }

 private:
    template <typename Pick>
    static double ratio(const std::vector<Term>& groups, const Pick& pick) {
        double above = 0.0, below = 0.0;
        for (size_t i = 0; i < groups.size(); ++i) {
            const Term& group = groups[pick(i)];
            above += group.above;
            below += group.below;
        }
        return above / below;
    }

    void resample(const std::vector<Term>& groups) {
        std::mt19937 random(7);  // the same interval every time
        for (int i = 0; i < kResamples; ++i) {
            ratios_.push_back(ratio(groups, [&](size_t) { return random() % groups.size(); }));
        }
        std::sort(ratios_.begin(), ratios_.end());
    }

    size_t count_ = 0;
    double value_ = 0.0;
    std::vector<double> ratios_;
};

// Of the first's milliseconds by the second's: how many times as fast the second is.
template <typename Of>
ordered_json speed_up(const std::vector<PairedTurn>& turns, const Of& of) {
    return Estimate(turns,
                    [&](const PairedTurn& turn) -> std::optional<Estimate::Term> {
                        const std::optional<double> first = of(*turn.first), second = of(*turn.second);
                        if (!first || !second) return std::nullopt;
                        return Estimate::Term{*first, *second};
                    })
        .json();
}

template <typename Of>
ordered_json mean(const std::vector<PairedTurn>& turns, const Of& of) {
    return Estimate(turns,
                    [&](const PairedTurn& turn) -> std::optional<Estimate::Term> {
                        const std::optional<double> value = of(turn);
                        if (!value) return std::nullopt;
                        return Estimate::Term{*value, 1.0};
                    })
        .json();
}

// The share of calls that are valid; of turns without a call there is none.
ordered_json valid_calls(const std::vector<PairedTurn>& turns) {
    return Estimate(turns,
                    [](const PairedTurn& turn) -> std::optional<Estimate::Term> {
                        const ordered_json& calls = turn.second->at("tool_calls");
                        if (calls.empty()) return std::nullopt;
                        const auto valid = std::count_if(calls.begin(), calls.end(), is_valid_call);
                        return Estimate::Term{static_cast<double>(valid), static_cast<double>(calls.size())};
                    })
        .json();
}

// Turns that both runs have a reply of.
std::vector<PairedTurn> pair_turns(const RecordedRun& first, const RecordedRun& second,
                                   const ConversationFilter& filter) {
    std::map<std::pair<std::string, int64_t>, const ordered_json*> others;
    const auto key = [](const ordered_json& line) {
        return std::pair(line.at("conversation").get<std::string>(), line.at("turn").get<int64_t>());
    };
    for (const ordered_json& line : second.turns) {
        if (has_reply(line)) others[key(line)] = &line;
    }
    std::vector<PairedTurn> pairs;
    for (const ordered_json& line : first.turns) {
        const auto other = others.find(key(line));
        if (!has_reply(line) || other == others.end() || !filter.takes(key(line).first)) continue;
        pairs.push_back({key(line).first, line.at("index").get<int64_t>(), &line, other->second});
    }
    return pairs;
}

double has_call(const PairedTurn& turn) {
    return turn.second->at("tool_calls").empty() ? 0.0 : 1.0;
}

// Of the second run by the turn's place in its conversation: IoU, calls, and agreement with the first run.
ordered_json bands_json(const std::vector<PairedTurn>& turns) {
    ordered_json bands = ordered_json::array();
    for (int64_t band = 0; band < kBands; ++band) {
        const int64_t begin = band * kBandTurns + 1;
        const bool last = band == kBands - 1;
        std::vector<PairedTurn> within;
        std::copy_if(turns.begin(), turns.end(), std::back_inserter(within), [&](const PairedTurn& turn) {
            return turn.index >= begin && (last || turn.index < begin + kBandTurns);
        });
        bands.push_back(
            {{"from", begin},
             {"to", last ? ordered_json() : ordered_json(begin + kBandTurns - 1)},
             {"turns", within.size()},
             {"iou", mean(within, [](const PairedTurn& turn) { return number(*turn.second, "iou"); })},
             {"with_call", mean(within, [](const PairedTurn& turn) { return std::optional(has_call(turn)); })},
             {"valid_calls", valid_calls(within)},
             {"agreement", mean(within, [](const PairedTurn& turn) { return std::optional(agreement(turn)); })}});
    }
    return bands;
}

ordered_json run_json(const RecordedRun& run, const ConversationFilter& filter) {
    double latency = 0.0, prefill = 0.0, decode = 0.0;
    int64_t prompt = 0, cached = 0, output = 0, passes = 0, accepted = 0;
    bool cache_told = true, passes_told = true;
    const std::vector<PairedTurn> turns = pair_turns(run, run, filter);
    for (const PairedTurn& turn : turns) {
        const ordered_json& line = *turn.first;
        latency += number(line, "latency_ms").value() * 1e-3;
        prefill += prefill_ms(line) * 1e-3;
        decode += decode_ms(line) * 1e-3;
        prompt += static_cast<int64_t>(number(line, "prompt_tokens").value_or(0.0));
        output += static_cast<int64_t>(number(line, "output_tokens").value_or(0.0));
        cached += static_cast<int64_t>(number(line, "cached_tokens").value_or(0.0));
        cache_told = cache_told && number(line, "cached_tokens");
        passes += static_cast<int64_t>(server_ms(line, "passes").value_or(0.0));
        accepted += static_cast<int64_t>(server_ms(line, "accepted").value_or(0.0));
        passes_told = passes_told && server_ms(line, "passes");
    }
    const auto iou = mean(turns, [](const PairedTurn& turn) { return number(*turn.second, "iou"); });
    return {{"name", run.name},
            {"valid", run.results.at("valid")},
            {"simulation", run.results.value("simulation", ordered_json())},
            {"turns", turns.size()},
            {"iou", iou},
            {"wall_s", run.results.at("wall_s")},
            {"latency_s", latency},
            {"prefill_s", prefill},
            {"decode_s", decode},
            {"wait_s", latency - prefill - decode},
            {"prompt_tokens", prompt},
            {"computed_tokens", cache_told ? ordered_json(prompt - cached) : ordered_json()},
            {"output_tokens", output},
            {"tokens_per_pass", passes_told && passes > 0
                                    ? ordered_json(1.0 + static_cast<double>(accepted) / static_cast<double>(passes))
                                    : ordered_json()},
            {"bands", bands_json(turns)}};
}

ordered_json pair_json(const RecordedRun& first, const RecordedRun& second, const ConversationFilter& filter) {
    const std::vector<PairedTurn> turns = pair_turns(first, second, filter);
    if (turns.empty() && !pair_turns(first, second, {}).empty()) {
        fail(ErrorCode::invalid_argument, "no turn that {} and {} have in common is left: {}", first.name, second.name,
             filter.text());
    }
    if (turns.empty()) {
        fail(ErrorCode::invalid_argument, "{} and {} have no turn in common that both have a reply of", first.name,
             second.name);
    }
    const auto field = [](const char* name) { return [name](const ordered_json& line) { return number(line, name); }; };
    return {
        {"name", second.name},
        {"turns", turns.size()},
        {"faster", speed_up(turns, field("latency_ms"))},
        {"ttft_faster", speed_up(turns, field("ttft_ms"))},
        {"tpot_faster", speed_up(turns, field("tpot_ms"))},
        {"prefill_faster", speed_up(turns, [](const ordered_json& line) { return std::optional(prefill_ms(line)); })},
        {"decode_faster", speed_up(turns, [](const ordered_json& line) { return std::optional(decode_ms(line)); })},
        {"iou_difference", mean(turns,
                                [](const PairedTurn& turn) -> std::optional<double> {
                                    const auto a = number(*turn.first, "iou"), b = number(*turn.second, "iou");
                                    return a && b ? std::optional(*b - *a) : std::nullopt;
                                })},
        {"same_replies", mean(turns,
                              [](const PairedTurn& turn) {
                                  return std::optional(reply_text(*turn.first) == reply_text(*turn.second) ? 1.0 : 0.0);
                              })},
        {"bands", bands_json(turns)}};
}

// With the fields that are read without asking.
ordered_json parse_object(const std::string& text, const std::string& where,
                          std::initializer_list<std::pair<const char*, bool (ordered_json::*)() const>> fields) {
    ordered_json value = parse_json(text);
    if (!value.is_object()) fail(ErrorCode::invalid_file, "{} is no JSON object", where);
    for (const auto& [name, is_right] : fields) {
        const auto at = value.find(name);
        if (at == value.end() || !((*at).*is_right)()) {
            fail(ErrorCode::invalid_file, "{} has {} {}; expected what colugo bench agentic writes", where, name,
                 at == value.end() ? "absent" : at->dump());
        }
    }
    return value;
}

}  // namespace

std::string ConversationFilter::text() const {
    std::string text = "conversations count";
    if (!only.empty()) text += fmt::format(" with {} in their ids", fmt::join(only, " or "));
    if (!without.empty()) text += fmt::format("{} without {}", only.empty() ? "" : " and", fmt::join(without, " and "));
    return text;
}

bool ConversationFilter::takes(const std::string& id) const {
    const auto has_any = [&](const std::vector<std::string>& parts) {
        return std::any_of(parts.begin(), parts.end(),
                           [&](const std::string& part) { return id.find(part) != id.npos; });
    };
    return (only.empty() || has_any(only)) && !has_any(without);
}

RecordedRun read_run(const std::string& folder) {
    const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
    RecordedRun run;
    run.name = path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
    const auto open = [&](const char* name) {
        std::ifstream file(path / name);
        if (!file) {
            fail(ErrorCode::not_found, "{} has no {}; expected a folder that colugo bench agentic wrote", folder, name);
        }
        return file;
    };
    std::ifstream results = open("results.json");
    const std::string text((std::istreambuf_iterator<char>(results)), {});
    using Json = ordered_json;
    run.results = parse_object(text, (path / "results.json").string(),
                               {{"valid", &Json::is_boolean}, {"wall_s", &Json::is_number}});
    if (run.results.value("format", ordered_json()) != kResultsFormat) {
        fail(ErrorCode::invalid_file, "{} has format {}; expected {}", (path / "results.json").string(),
             run.results.value("format", ordered_json()).dump(), kResultsFormat);
    }
    std::ifstream turns = open("turns.jsonl");
    for (std::string line; std::getline(turns, line);) {
        run.turns.push_back(
            parse_object(line, fmt::format("{}, line {},", (path / "turns.jsonl").string(), run.turns.size() + 1),
                         {{"conversation", &Json::is_string},
                          {"turn", &Json::is_number_integer},
                          {"index", &Json::is_number_integer},
                          {"latency_ms", &Json::is_number},
                          {"tool_calls", &Json::is_array}}));
    }
    return run;
}

ordered_json compare_runs(const std::vector<RecordedRun>& runs, const ConversationFilter& filter) {
    ordered_json comparison = {{"runs", ordered_json::array()}, {"pairs", ordered_json::array()}};
    for (const RecordedRun& run : runs) {
        comparison["runs"].push_back(run_json(run, filter));
        if (&run != &runs.front()) comparison["pairs"].push_back(pair_json(runs.front(), run, filter));
    }
    return comparison;
}

}  // namespace colugo
