// colugo bench agentic: recorded agent conversations against a server, and what came of it.
#include <fmt/format.h>

#include <ctime>
#include <fstream>

#include "base/error.h"
#include "bench/bfcl_folder.h"
#include "bench/bfcl_run.h"
#include "bench/json_member.h"
#include "bench/machine_record.h"
#include "bench/mlperf_files.h"
#include "bench/report_page.h"
#include "bench/result_folder.h"
#include "bench/run_comparison.h"
#include "bench/run_results.h"
#include "cli/bench_command.h"
#include "cli/bench_progress.h"
#include "cli/bench_server.h"
#include "cli/interrupt.h"
#include "cli/shipped_file.h"
#include "cli/text_output.h"
#include "cli/whole_number.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr int64_t kMostConversations = 1'000'000;
constexpr int64_t kMostQuestions = 1'000'000;
constexpr int64_t kLongestReply = 1 << 24;  // tokens; far above any context
constexpr const char* kSample = "workloads/sample.jsonl";

std::string time_text(const char* format) {
    const std::time_t now = std::time(nullptr);
    std::tm utc = {};
    gmtime_r(&now, &utc);
    char text[64];
    return std::string(text, std::strftime(text, sizeof(text), format, &utc));
}

// What this process was started with.
std::vector<std::string> command_line() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    return words;
}

std::string workload_path(const std::string& data) {
    if (data != "sample") return data;
    const std::optional<std::string> path = shipped_file(kSample);
    if (!path) fail(ErrorCode::not_found, "{} is missing beside the program", kSample);
    return *path;
}

class BenchAgenticCommand {
 public:
    explicit BenchAgenticCommand(CLI::App& app);
    Outcome execute();

 private:
    AgentWorkload read_workload() const;
    std::map<std::pair<std::string, int64_t>, int64_t> reply_lengths(const AgentWorkload& workload) const;
    void refuse_colugo_for_lengths() const;
    void refuse_server_without_replies() const;
    void replay(AgentRun& run);
    void ask_bfcl(AgentRun& run, BfclPhase phase);
    void publish(AgentRun& run, ResultFolder& folder, const std::string& server_log) const;

    BenchServer server_;
    std::string data_ = "sample", bfcl_, out_, lengths_of_;
    bool accuracy_only_ = false;
    std::string bfcl_lines_;  // of bfcl.jsonl
    int64_t limit_ = kMostConversations, limit_questions_ = kMostQuestions;
    const CLI::Option* limit_questions_option_;
    ReplayRules rules_;
    bool mlperf_ = false;
};

BenchAgenticCommand::BenchAgenticCommand(CLI::App& app) : server_(app) {
    app.add_option("--data", data_, "The conversations: a file of JSON lines, or sample, which comes with colugo")
        ->type_name("FILE")
        ->capture_default_str();
    app.add_option("--limit-conversations", limit_, "Take no more than the first so many")
        ->check(whole_number(1, kMostConversations))
        ->default_str("all");
    app.add_option("--bfcl", bfcl_,
                   "Ask the questions of BFCL too: the folder of its data, or auto, for where Python has bfcl-eval")
        ->type_name("DIR");
    app.add_flag("--accuracy-only", accuracy_only_, "Ask nothing else (--bfcl auto)");
    limit_questions_option_ = app.add_option("--limit-questions", limit_questions_,
                                             "Take no more than so many of these, evenly over their subsets")
                                  ->check(whole_number(1, kMostQuestions))
                                  ->default_str("all");
    app.add_option("--concurrency", rules_.concurrency, "Conversations at a time")
        ->check(whole_number(1, 1024))
        ->capture_default_str();
    app.add_flag("--interleave", rules_.interleave, "These take turns, one request at a time");
    app.add_flag("--delays", rules_.delays, "Wait before a request as long as the recorded tools took");
    app.add_flag("--cold", rules_.cold,
                 "Let nothing be found in the server's cache: each request has a cache_salt of its own (colugo, vLLM)");
    app.add_option("--turn-timeout", rules_.turn_timeout, "Seconds for a reply; then its conversation ends")
        ->check(CLI::Range(0.001, 1e6))
        ->capture_default_str();
    app.add_flag("--replay-output", rules_.replay_output,
                 "A simulation: the server is told what its replies are (colugo serve --replay-acceptance)");
    app.add_option("--lengths-of", lengths_of_,
                   "A simulation: replies get as many tokens as in the run of this folder, whatever they say")
        ->type_name("DIR")
        ->excludes("--replay-output");
    app.add_option("--out", out_, "The folder for the results (default: bench-agentic-TIME)")->type_name("DIR");
    app.add_flag("--mlperf", mlperf_, "Write the files of MLPerf's harness too");
}

AgentWorkload BenchAgenticCommand::read_workload() const {
    AgentWorkload workload = read_agent_workload(workload_path(data_));
    const auto most = static_cast<size_t>(limit_);
    if (workload.conversations.size() > most) workload.conversations.resize(most);
    return workload;
}

std::map<std::pair<std::string, int64_t>, int64_t> BenchAgenticCommand::reply_lengths(
    const AgentWorkload& workload) const {
    std::map<std::pair<std::string, int64_t>, int64_t> lengths;
    const std::vector<ordered_json> turns = read_run(lengths_of_).turns;  // one for each line
    for (size_t i = 0; i < turns.size(); ++i) {
        const ordered_json& tokens = member(turns[i], "output_tokens");
        if (tokens.is_null()) continue;
        // As a double a count beyond 64 bits is one beyond the bound too.
        if (!tokens.is_number_integer() || tokens.get<double>() < 0 || tokens.get<double>() > kLongestReply) {
            fail(ErrorCode::invalid_file,
                 "{}/turns.jsonl, line {}: output_tokens is {}; expected a whole number from 0 to {}", lengths_of_,
                 i + 1, tokens.dump(), kLongestReply);
        }
        lengths[{turns[i]["conversation"].get<std::string>(), turns[i]["turn"].get<int64_t>()}] = tokens.get<int64_t>();
    }
    for (const AgentConversation& conversation : workload.conversations) {
        for (const AgentTurn& turn : conversation.turns) {
            if (lengths.contains({conversation.id, turn.row})) continue;
            fail(ErrorCode::invalid_argument, "{} does not tell the output tokens of conversation {}, turn {}",
                 lengths_of_, conversation.id, turn.row);
        }
    }
    return lengths;
}

void BenchAgenticCommand::refuse_colugo_for_lengths() const {
    if (lengths_of_.empty() || !server_.is_colugo()) return;
    fail(ErrorCode::invalid_argument,
         "--lengths-of needs a server that takes ignore_eos, and colugo's refuses it; with colugo use --replay-output");
}

// Another's server says so itself.
void BenchAgenticCommand::refuse_server_without_replies() const {
    if (!rules_.replay_output || !server_.is_colugo() || server_.takes_replies()) return;
    fail(ErrorCode::invalid_argument,
         "--replay-output needs a server that is told its replies: colugo serve --replay-acceptance RATES (of a server "
         "of its own, behind --: colugo bench agentic --replay-output -- --replay-acceptance RATES)");
}

void BenchAgenticCommand::replay(AgentRun& run) {
    BenchProgress bar(run.workload.conversations);
    EnergyMeter energy;
    const std::vector<double> clocks = core_clocks();
    AgentReplay replay(run.workload.conversations, run.rules, server_.model(),
                       {.connect = [this] { return server_.connect(); },
                        .should_stop = interrupted,
                        .progress =
                            [&](const ReplayProgress& progress) {
                                energy.update();
                                bar.update(progress);
                            }});
    run.before = server_.connect()->draft_counters();
    energy.update();
    run.records = replay.run();
    energy.update();
    run.seconds = replay.seconds();
    run.joules = energy.joules();
    run.interrupted = interrupted();
    run.setup["machine"]["clocks_mhz"] = {{"begin", clocks}, {"end", core_clocks()}};
    run.setup["machine"]["energy_sources"] = energy.sources();
    run.no_ideal = "the run was interrupted";
    if (run.interrupted) return;
    run.after = server_.connect()->draft_counters();
    run.no_ideal = replay.count_ideal(run.records, [&](size_t done) {
        bar.update("counting what could have been cached, prompt", done, run.records.size());
    });
}

void BenchAgenticCommand::ask_bfcl(AgentRun& run, BfclPhase phase) {
    BenchProgress bar(run.workload.conversations);
    BfclRun bfcl(std::move(phase), run.rules, server_.model(),
                 {.connect = [this] { return server_.connect(); },
                  .should_stop = interrupted,
                  .progress = [&](const BfclProgress& progress) { bar.update(progress); }});
    bfcl.run();
    run.interrupted = interrupted();
    run.bfcl = bfcl.json();
    bfcl_lines_ = bfcl.lines();
}

void BenchAgenticCommand::publish(AgentRun& run, ResultFolder& folder, const std::string& server_log) const {
    const ordered_json results = results_json(run);
    std::map<std::string, std::string> files = {{"results.json", results.dump(2) + "\n"},
                                                {"report.html", report_page(run, results)}};
    std::string& turns = files["turns.jsonl"];
    for (const TurnRecord& record : run.records) turns += turn_json(run, record).dump() + "\n";
    if (!bfcl_lines_.empty()) files["bfcl.jsonl"] = bfcl_lines_;
    if (!server_log.empty()) files["server.log"] = server_log;
    if (mlperf_) files.merge(mlperf_files(run, COLUGO_VERSION));
    write_output(results_table(results));
    folder.publish(files);
    write_output(fmt::format("results: {0}\nreport: {0}/report.html\n", folder.path()));
}

Outcome BenchAgenticCommand::execute() {
    if (limit_questions_option_->count() > 0 && !accuracy_only_ && bfcl_.empty()) {
        throw CLI::ValidationError("--limit-questions", "goes with --bfcl or --accuracy-only");
    }
    AgentRun run;
    run.accuracy_only = accuracy_only_;
    if (!accuracy_only_) run.workload = read_workload();
    std::optional<BfclPhase> bfcl;
    const std::string bfcl_folder =
        accuracy_only_ || !bfcl_.empty() ? find_bfcl_data(bfcl_ == "auto" ? "" : bfcl_) : "";
    if (!bfcl_folder.empty()) bfcl.emplace(read_bfcl_samples(bfcl_folder), static_cast<size_t>(limit_questions_));
    run.rules = rules_;
    if (!lengths_of_.empty()) run.rules.lengths = reply_lengths(run.workload);
    ResultFolder folder(out_.empty() ? "bench-agentic-" + time_text("%Y%m%d-%H%M%S") : out_);
    run.setup = {{"started", time_text("%Y-%m-%dT%H:%M:%SZ")},
                 {"client", {{"program", "colugo"}, {"version", COLUGO_VERSION}, {"command_line", command_line()}}}};
    run.setup["rules"] = run.rules.json();
    run.setup["data"] = nullptr;
    if (!accuracy_only_) {
        run.setup["data"] = {{"path", run.workload.path},
                             {"digest", run.workload.digest},
                             {"conversations", run.workload.conversations.size()},
                             {"turns", run.workload.turns()}};
    }
    run.setup["bfcl"] = bfcl ? ordered_json({{"path", bfcl_folder}, {"questions", bfcl->size()}}) : ordered_json();
    run.setup["machine"] = machine_json();
    refuse_colugo_for_lengths();
    server_.start(run.rules.interleave ? 1 : run.rules.concurrency);
    refuse_colugo_for_lengths();
    refuse_server_without_replies();
    if (!accuracy_only_) replay(run);
    if (bfcl && !run.interrupted) ask_bfcl(run, std::move(*bfcl));
    run.setup["server"] = server_.json();
    const std::string server_log = server_.end();
    publish(run, folder, server_log);
    if (run.interrupted) return Outcome::interrupted;
    return run.is_valid() ? Outcome::success : Outcome::failed;
}

}  // namespace

Command add_bench_agentic_command(CLI::App& bench) {
    CLI::App* app = bench.add_subcommand("agentic", "Replay recorded agent conversations, turn by turn");
    auto command = std::make_shared<BenchAgenticCommand>(*app);
    return {app, [command] { return command->execute(); }};
}

}  // namespace colugo
