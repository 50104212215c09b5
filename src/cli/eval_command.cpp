// colugo eval: how well a checkpoint predicts a text, and what quantization changed.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/checkpoint_folder.h"
#include "cli/command.h"
#include "cli/conversations.h"
#include "cli/input_text.h"
#include "cli/interrupt.h"
#include "cli/model_flags.h"
#include "cli/progress_bar.h"
#include "cli/text_output.h"
#include "cli/whole_number.h"
#include "engine/launch_options.h"
#include "engine/machine.h"
#include "quant/eval.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;

std::string interval_text(const ordered_json& value, double factor, int digits, const char* unit = "") {
    std::string text = fmt::format("{:.{}f}{}", factor * value["mean"].get<double>(), digits, unit);
    if (value["low"].is_number() && !std::isnan(value["low"].get<double>())) {
        text += fmt::format("  ({:.{}f} to {:.{}f})", factor * value["low"].get<double>(), digits,
                            factor * value["high"].get<double>(), digits);
    }
    return text;
}

std::string result_text(const ordered_json& result) {
    const auto sequences = result["sequences"].get<size_t>();
    std::string out =
        fmt::format("{} in {}{}\n", count_text(result["tokens"].get<uint64_t>(), "token"),
                    count_text(sequences, "sequence"), sequences > 1 ? "; in brackets 95 % intervals over them" : "");
    for (const ordered_json& model : result["models"]) {
        out += fmt::format("{}\n  perplexity       {}\n", model["checkpoint"].get_ref<const std::string&>(),
                           interval_text(model["perplexity"], 1.0, 4));
    }
    if (result.contains("kl")) {
        out += fmt::format("the second from the first\n  KL divergence    {}\n  top-1 agreement  {}\n",
                           interval_text(result["kl"], 1.0, 5, " nats"),
                           interval_text(result["top1_agreement"], 100.0, 2, " %"));
    }
    return out;
}

class EvalCommand {
 public:
    explicit EvalCommand(CLI::App& app) {
        app.add_option("checkpoint", checkpoint_, "The checkpoint's folder, or a model that comes with colugo")
            ->type_name("DIR");
        app.add_option("--against", against_, "Another one, compared with the first")->type_name("DIR");
        app.add_option("--text", text_, "A text file, fed as it is in pieces of --length tokens")->type_name("FILE");
        app.add_option("--workload", workload_, "Conversations as JSON lines, rendered by the template")
            ->type_name("FILE");
        app.add_option("--samples", samples_, "How many pieces or conversations, evenly over the file")
            ->check(whole_number(1, 1 << 20))
            ->capture_default_str();
        app.add_option("--length", length_, "Tokens of each at most")
            ->check(whole_number(2, 1 << 18))
            ->capture_default_str();
        app.add_option("--kv-type", kv_type_, kKvTypeHelp)
            ->check(CLI::IsMember({"auto", "f32", "bf16", "fp8", "int8"}))
            ->capture_default_str();
        app.add_option("-t,--threads", threads_, "Threads (0: as many as there are processors)")
            ->check(whole_number(0, 1024))
            ->capture_default_str();
        app.add_flag("--json", json_, "Print one JSON object");
    }

    Outcome execute() const {
        if (checkpoint_.empty()) throw CLI::RequiredError("checkpoint");
        if (text_.empty() && workload_.empty()) throw CLI::ValidationError("eval", "needs --text or --workload");
        if (!text_.empty() && !workload_.empty()) {
            throw CLI::ValidationError("eval", "takes --text or --workload, not both");
        }
        const std::string checkpoint = checkpoint_folder(checkpoint_);
        const std::string against = against_.empty() ? against_ : checkpoint_folder(against_);
        EvalOptions options;
        options.checkpoint = checkpoint;
        options.against = against;
        options.kv_type = find_kv_type(kv_type_);
        const ModelText text(checkpoint);
        options.num_ids = text.tokenizer().id_limit();
        options.sequences =
            text_.empty()
                ? read_conversations(workload_, text, read_model_config(checkpoint), samples_, length_).sequences
                : pieces(text);
        ThreadPool threads(threads_ > 0 ? threads_ : usable_cpus());
        ProgressBar bar("evaluating");
        const ordered_json result = evaluate(
            options,
            [&](uint64_t done, uint64_t total) {
                if (interrupted()) throw Interrupted{};
                bar.update(done, total);
            },
            threads);
        bar.finish();
        write_output(json_ ? result.dump(2) + "\n" : result_text(result));
        return Outcome::success;
    }

 private:
    TokenSequences pieces(const ModelText& text) const {
        constexpr uint64_t kMaxBytes = uint64_t{512} << 20;
        const std::optional<std::string> file = read_input_file(text_, kMaxBytes);
        if (!file) fail(ErrorCode::not_found, "there is no file {}", text_);
        const std::vector<int32_t> tokens = text.tokenizer().encode(*file);
        const auto length = static_cast<size_t>(length_);
        const size_t all = (tokens.size() + length - 1) / length;
        const size_t count = std::min(all, static_cast<size_t>(samples_));
        TokenSequences out;
        for (size_t i = 0; i < count; ++i) {
            const size_t begin = i * all / count * length;
            const size_t end = std::min(begin + length, tokens.size());
            out.emplace_back(tokens.begin() + static_cast<ptrdiff_t>(begin),
                             tokens.begin() + static_cast<ptrdiff_t>(end));
        }
        return out;
    }

    std::string checkpoint_;
    std::string against_;
    std::string text_;
    std::string workload_;
    std::string kv_type_ = "auto";
    int samples_ = 64;
    int length_ = 1024;
    int threads_ = 0;
    bool json_ = false;
};

}  // namespace

Command add_eval_command(CLI::App& root) {
    CLI::App* app = root.add_subcommand("eval", "Measure a checkpoint's predictions, or compare two");
    auto command = std::make_shared<EvalCommand>(*app);
    return {app, [command] { return command->execute(); }};
}

}  // namespace colugo
