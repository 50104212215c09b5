// colugo bench compare: runs of bench agentic side by side.
#include "bench/run_comparison.h"
#include "cli/bench_command.h"
#include "cli/text_output.h"

namespace colugo {

namespace {

class BenchCompareCommand {
 public:
    explicit BenchCompareCommand(CLI::App& app) {
        app.add_option("runs", folders_, "Folders that bench agentic wrote; the others are measured by the first")
            ->required()
            ->expected(-2)  // or more
            ->option_text("A B [C ...]");
        app.add_option("--only", filter_.only, "Only conversations whose ids have one of these in them")
            ->delimiter(',');
        app.add_option("--without", filter_.without, "Not those whose ids have one of these in them")->delimiter(',');
        app.add_flag("--json", json_, "Print one JSON object");
    }

    Outcome execute() const {
        std::vector<RecordedRun> runs;
        for (const std::string& folder : folders_) runs.push_back(read_run(folder));
        const nlohmann::ordered_json comparison = compare_runs(runs, filter_);
        write_output(json_ ? comparison.dump(2) + "\n" : comparison_table(comparison));
        return Outcome::success;
    }

 private:
    std::vector<std::string> folders_;
    ConversationFilter filter_;
    bool json_ = false;
};

}  // namespace

Command add_bench_compare_command(CLI::App& bench) {
    CLI::App* app = bench.add_subcommand("compare", "Set runs of bench agentic side by side");
    auto command = std::make_shared<BenchCompareCommand>(*app);
    return {app, [command] { return command->execute(); }};
}

}  // namespace colugo
