#include "engine/model_bench.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/error.h"

namespace colugo {

namespace {

template <typename Run>
double seconds_of(const Run& run) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

size_t pages_for(int64_t positions) {
    return static_cast<size_t>((positions + kernels::kPage - 1) / kernels::kPage);
}

}  // namespace

ModelBench::ModelBench(LoadedModel& model, int64_t longest, std::function<void()> before_pass)
    : model_(model),
      before_pass_(std::move(before_pass)),
      buffers_(model.model().recurrent_layout()),
      sequence_(buffers_.start()),
      pages_(pages_for(longest) * static_cast<size_t>(model.model().page_layout().page_bytes)),
      logits_(static_cast<size_t>(kMaxDraftRows * model.config().vocab_size) * sizeof(float)) {
    const auto page_bytes = static_cast<size_t>(model.model().page_layout().page_bytes);
    for (size_t page = 0; page < pages_for(longest); ++page) {
        sequence_.pages.push_back(pages_.data() + page * page_bytes);
    }
}

void ModelBench::read_context(int64_t length) {
    context_ = 0;
    go_back();
    feed(length);
    context_ = length;
}

double ModelBench::prefill(int64_t tokens) {
    go_back();
    return seconds_of([&] { feed(tokens); });
}

double ModelBench::decode(int64_t passes, int rows) {
    COLUGO_CHECK(rows >= 1 && rows <= kMaxDraftRows);
    go_back();
    std::vector<int32_t> drafts, parents, wanted;
    for (int row = 0; row < rows; ++row) {
        wanted.push_back(row);
        if (row == 0) continue;
        drafts.push_back(static_cast<int32_t>(row % model_.config().vocab_size));
        parents.push_back(-1);
    }
    const TensorView logits(logits_.as<float>(), rows, model_.config().vocab_size);
    return seconds_of([&] {
        for (int64_t pass = 0; pass < passes; ++pass) {
            const int32_t token[] = {static_cast<int32_t>(pass % model_.config().vocab_size)};
            const SequenceRows batch[] = {
                {.sequence = &sequence_, .tokens = token, .drafts = drafts, .draft_parents = parents}};
            before_pass_();
            model_.model().forward(batch);
            model_.model().logits(logits, wanted);
        }
    });
}

void ModelBench::feed(int64_t tokens) {
    std::vector<int32_t> chunk;
    while (tokens > 0) {
        chunk.resize(static_cast<size_t>(std::min<int64_t>(tokens, model_.max_rows())));
        for (int32_t& token : chunk) {
            token = static_cast<int32_t>(random_() % static_cast<uint64_t>(model_.config().vocab_size));
        }
        tokens -= static_cast<int64_t>(chunk.size());
        const SequenceRows batch[] = {{.sequence = &sequence_, .tokens = chunk}};
        before_pass_();
        model_.model().forward(batch);
    }
    const std::vector<int32_t> last = {static_cast<int32_t>(chunk.size()) - 1};
    if (!chunk.empty()) {
        model_.model().logits(TensorView(logits_.as<float>(), 1, model_.config().vocab_size), last);
    }
}

// Keys and values before stay as they are. The recurrent state is one of later on: other numbers, the same work.
void ModelBench::go_back() {
    if (context_ == 0) {
        std::vector<std::byte*> pages = std::move(sequence_.pages);
        buffers_ = SequenceBuffers(model_.model().recurrent_layout());
        sequence_ = buffers_.start();
        sequence_.pages = std::move(pages);
    }
    sequence_.length = context_;
}

}  // namespace colugo
