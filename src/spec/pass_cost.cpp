#include "spec/pass_cost.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "spec/token_groups.h"

namespace colugo {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kEnoughSeconds = 0.05;  // of measuring one thing
constexpr int kMostRounds = 5;
// Of a measurement's surprise: how much goes to all sizes, as when a context grows, and how much to those next to it.
constexpr double kCommonShare = 0.05, kOwnShare = 0.15;
// A step that was held up tells nothing; several in a row were not, as in a context that was long from the start.
constexpr double kMostSurprise = 2.0;
constexpr int kFewOutliers = 4;

// The least of a few runs; the first, which takes memory, is none of them.
template <typename Run>
double least_seconds(const Run& run) {
    run();
    double least = 0.0, total = 0.0;
    for (int round = 0; round < kMostRounds && total < kEnoughSeconds; ++round) {
        const auto begin = Clock::now();
        run();
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        least = round == 0 ? seconds : std::min(least, seconds);
        total += seconds;
    }
    return least;
}

// A sequence of nothing, to time passes with.
class Scratch {
 public:
    explicit Scratch(Qwen35& model)
        : model_(model),
          buffers_(model.recurrent_layout()),
          page_(static_cast<size_t>(model.page_layout().page_bytes)),
          logits_(static_cast<size_t>(kMaxDraftRows * model.config().vocab_size) * sizeof(float)),
          hidden_(static_cast<size_t>(kMaxDraftRows * model.config().hidden_size) * sizeof(float)) {}

    // A token and rows - 1 drafts, one behind the other.
    double pass(int rows) {
        std::vector<int32_t> drafts, parents, wanted;
        for (int row = 0; row < rows; ++row) {
            wanted.push_back(row);
            if (row == 0) continue;
            drafts.push_back(static_cast<int32_t>(row % model_.config().vocab_size));
            parents.push_back(row - 2);
        }
        const TensorView logits(logits_.as<float>(), rows, model_.config().vocab_size);
        return least_seconds([&] {
            restart();
            const SequenceRows batch[] = {
                {.sequence = &sequence_, .tokens = kToken, .drafts = drafts, .draft_parents = parents}};
            model_.forward(batch);
            model_.logits(logits, wanted);
        });
    }

    // A level of `rows` drafts that have one parent.
    double draft(int rows, std::span<const int32_t> groups) {
        restart();
        const SequenceRows batch[] = {{.sequence = &sequence_, .tokens = kToken}};
        model_.forward(batch);
        const float* const given = model_.recurrent_layout().pending_hidden(sequence_.tail);
        const std::vector<int32_t> tokens(static_cast<size_t>(rows) + 1, 0);
        std::vector<int32_t> parents(tokens.size(), 0);
        parents[0] = -1;
        const std::vector<const float*> hidden(static_cast<size_t>(rows), given);
        const auto columns = static_cast<int64_t>(groups.size()) * kernels::kPanel;
        const auto level = [&](size_t first, size_t count) {
            const MtpTree trees[] = {{&sequence_, std::span(tokens).first(first + count),
                                      std::span(parents).first(first + count), first, std::span(hidden).first(count)}};
            const auto made = static_cast<int64_t>(count);
            model_.mtp_draft(trees, TensorView(hidden_.as<float>(), made, model_.config().hidden_size),
                             TensorView(logits_.as<float>(), made, columns), groups);
        };
        level(0, 1);
        return least_seconds([&] { level(1, static_cast<size_t>(rows)); });
    }

 private:
    static constexpr int32_t kToken[] = {0};

    void restart() {
        sequence_ = buffers_.start();
        sequence_.pages.push_back(page_.data());
    }

    Qwen35& model_;
    SequenceBuffers buffers_;
    SequenceState sequence_;
    Buffer page_, logits_, hidden_;
};

}  // namespace

double time_draft_level(Qwen35& model, int rows, std::span<const int32_t> groups) {
    return Scratch(model).draft(rows, groups);
}

PassCost::PassCost(Qwen35& model, int most_rows) {
    Scratch scratch(model);
    for (int rows = 1; rows <= most_rows && sizes_ < kMostSizes; rows *= 2) {
        pass_seconds_[sizes_++] = scratch.pass(rows);
    }
    if (!model.has_mtp()) return;
    TokenGroups frequent(model.config().vocab_size);
    frequent.add_frequent();
    std::vector<int32_t> groups;
    frequent.list(groups);
    const double one = scratch.draft(1, groups), two = scratch.draft(2, groups);
    draft_seconds_per_row_ = std::max(two - one, 0.0);
    draft_seconds_ = std::max(one - draft_seconds_per_row_, 0.0);
}

PassCost::PassCost(std::span<const double> pass_seconds, double draft_seconds, double draft_seconds_per_row)
    : sizes_(pass_seconds.size()), draft_seconds_(draft_seconds), draft_seconds_per_row_(draft_seconds_per_row) {
    COLUGO_CHECK(sizes_ >= 1 && sizes_ <= kMostSizes);
    std::copy(pass_seconds.begin(), pass_seconds.end(), pass_seconds_.begin());
}

double PassCost::pass(double rows) const {
    if (sizes_ == 1) return pass_seconds_[0] * rows;
    const auto size =
        static_cast<size_t>(std::clamp(std::floor(std::log2(rows)), 0.0, static_cast<double>(sizes_ - 2)));
    const double first = std::exp2(static_cast<double>(size));
    const double slope = std::max(pass_seconds_[size + 1] - pass_seconds_[size], 0.0) / first;
    return pass_seconds_[size] + slope * (rows - first);
}

// Whether a measurement counts, and as how much of a surprise.
bool PassCost::is_believed(double& surprise, int& outliers) {
    if (surprise > 1.0 / kMostSurprise && surprise < kMostSurprise) {
        outliers = 0;
        return true;
    }
    if (!(surprise > 0.0) || ++outliers < kFewOutliers) return false;
    surprise = std::clamp(surprise, 1.0 / kMostSurprise, kMostSurprise);
    return true;
}

void PassCost::record_pass(int64_t rows, double seconds) {
    double surprise = seconds / pass(static_cast<double>(rows));
    if (held_ || !is_believed(surprise, pass_outliers_)) return;
    const double at = std::log2(static_cast<double>(rows));
    for (size_t size = 0; size < sizes_; ++size) {
        const double near = std::max(1.0 - std::abs(at - static_cast<double>(size)), 0.0);
        pass_seconds_[size] *= 1.0 + (surprise - 1.0) * (kCommonShare + kOwnShare * near);
    }
}

void PassCost::record_draft(int64_t rows, double seconds) {
    double surprise = seconds / draft(static_cast<double>(rows));
    if (held_ || !is_believed(surprise, draft_outliers_)) return;
    const double factor = 1.0 + (surprise - 1.0) * (kCommonShare + kOwnShare);
    draft_seconds_ *= factor;
    draft_seconds_per_row_ *= factor;
}

}  // namespace colugo
