#include "model/qwen35.h"

#include <cstring>

namespace colugo {

using kernels::kPage;

namespace {

// How many pages `count` positions from `position` on lie in.
int64_t pages_touched(int64_t position, int64_t count) {
    return count == 0 ? 0 : (position + count - 1) / kPage - position / kPage + 1;
}

}  // namespace

Qwen35::Qwen35(const ModelConfig& config, const ModelWeights& weights, Backend& backend, const ModelOptions& options)
    : config_(config),
      weights_(weights),
      backend_(backend),
      kv_type_(options.kv_type),
      max_rows_(options.max_rows),
      page_layout_(config, weights, options.kv_type),
      recurrent_layout_(config),
      inverse_frequencies_(inverse_frequencies(config)) {
    const int64_t rotary_dim = config.rotary_dim();
    const int64_t hidden = config.hidden_size;
    const int64_t row_floats = 6 * hidden + rotary_dim;
    const size_t view_bytes = static_cast<size_t>(max_rows_ * row_floats) * sizeof(float);
    const size_t arena_bytes = static_cast<size_t>(max_rows_ * layer_arena_floats(config)) * sizeof(float);
    if (options.max_draft_rows > 0) {
        const auto attention_layers = static_cast<int>(page_layout_.trunk.size()) + (has_mtp() ? 1 : 0);
        draft_buffers_ = DraftBuffers(config, recurrent_layout_, attention_layers, options.max_draft_rows,
                                      options.max_draft_sequences);
        draft_parents_.reserve(static_cast<size_t>(options.max_draft_rows));
        draft_depths_.reserve(static_cast<size_t>(options.max_draft_rows));
    }
    workspace_bytes_ = view_bytes + arena_bytes + draft_buffers_.bytes();
    memory_ = Buffer(view_bytes);
    arena_ = Arena(arena_bytes);
    float* next = memory_.as<float>();
    const auto take = [&](int64_t cols) {
        TensorView view(next, max_rows_, cols);
        next += max_rows_ * cols;
        return view;
    };
    x_ = take(hidden);
    normed_ = take(hidden);
    hidden_ = take(hidden);
    mtp_hidden_ = take(hidden);
    mtp_concat_ = take(2 * hidden);
    cos_sin_ = take(rotary_dim);
}

LayerContext Qwen35::context(int64_t rows) {
    return {.backend = backend_,
            .config = config_,
            .arena = arena_,
            .normed = normed_.first_rows(rows),
            .cos_sin = cos_sin_.first_rows(rows),
            .kv_type = kv_type_};
}

void Qwen35::begin_pass(std::span<const SequenceRows> batch) {
    tokens_.clear();
    attention_.clear();
    gdn_.clear();
    pass_pages_.clear();
    drafted_.clear();
    draft_parents_.clear();
    draft_depths_.clear();
    size_t num_windows = 0;
    for (const SequenceRows& fed : batch) {
        SequenceState& sequence = *fed.sequence;
        const int first_row = static_cast<int>(tokens_.size());
        const int count = static_cast<int>(fed.tokens.size());
        COLUGO_CHECK(sequence.length + count <= sequence.page_capacity());
        tokens_.insert(tokens_.end(), fed.tokens.begin(), fed.tokens.end());
        add_drafts(fed);
        const DraftRows& tree = drafted_.back().tree;
        attention_.push_back({first_row, count, sequence.length, 0, sequence.pages.data(), tree});
        gdn_.push_back({first_row, count, sequence.length, nullptr, nullptr, {}, tree});
        const auto touched = static_cast<size_t>(pages_touched(sequence.length, count + tree.depth()));
        drafted_.back().first_page =
            pass_pages_.size() + static_cast<size_t>((sequence.length + count) / kPage - sequence.length / kPage);
        if (fed.pages.empty()) {
            const int64_t last = sequence.length + count;
            COLUGO_CHECK(tree.rows == 0 || (last + tree.depth() - 1) / kPage == last / kPage);
            pass_pages_.insert(pass_pages_.end(), touched, {sequence.rows, sequence.border});
        } else {
            COLUGO_CHECK(fed.pages.size() == touched);
            COLUGO_CHECK(sequence.length % kPage == 0 || fed.pages.front().rows == sequence.rows);
            pass_pages_.insert(pass_pages_.end(), fed.pages.begin(), fed.pages.end());
        }
        num_windows += fed.tails.size() + 1;
    }
    COLUGO_CHECK(static_cast<int>(tokens_.size()) <= max_rows_);
    gdn_pages_.resize(pass_pages_.size());
    windows_.resize(num_windows);
}

void Qwen35::add_drafts(const SequenceRows& fed) {
    Drafted drafted{.sequence = fed.sequence,
                    .tree = {.rows = static_cast<int>(fed.drafts.size())},
                    .first_row = static_cast<int>(tokens_.size()),
                    .first_draft = static_cast<int>(draft_parents_.size()),
                    .number = 0,
                    .first_page = 0};
    for (const Drafted& other : drafted_) drafted.number += other.tree.rows > 0 ? 1 : 0;
    if (drafted.tree.rows > 0) {
        COLUGO_CHECK(drafted.tree.rows <= kMaxDraftRows && !fed.tokens.empty());
        COLUGO_CHECK(fed.draft_parents.size() == fed.drafts.size() && drafted.number < draft_buffers_.max_sequences());
        COLUGO_CHECK(drafted.first_draft + drafted.tree.rows <= draft_buffers_.max_rows());
        const int64_t last = fed.sequence->length + static_cast<int64_t>(fed.tokens.size()) - 1;
        int32_t ancestor = -2;  // of all drafts past the page's end
        for (int row = 0; row < drafted.tree.rows; ++row) {
            const int32_t parent = fed.draft_parents[static_cast<size_t>(row)];
            COLUGO_CHECK(parent >= -1 && parent < row);
            const int32_t depth = parent < 0 ? 1 : draft_depths_[static_cast<size_t>(drafted.first_draft + parent)] + 1;
            COLUGO_CHECK(row == 0 || draft_depths_.back() <= depth);
            if (parent >= 0 && (last + depth) % kPage == 0) {
                COLUGO_CHECK(ancestor == -2 || ancestor == parent);
                ancestor = parent;
            }
            draft_parents_.push_back(parent);
            draft_depths_.push_back(depth);
        }
        drafted.tree.parents = draft_parents_.data() + drafted.first_draft;
        drafted.tree.depths = draft_depths_.data() + drafted.first_draft;
    }
    tokens_.insert(tokens_.end(), fed.drafts.begin(), fed.drafts.end());
    drafted_.push_back(drafted);
}

// `layer` counts attention layers, the MTP head's behind the trunk's.
void Qwen35::set_draft_keys(int layer) {
    for (size_t i = 0; i < attention_.size(); ++i) {
        if (attention_[i].drafts.rows == 0) continue;
        attention_[i].draft_keys = draft_buffers_.keys(layer, drafted_[i].first_draft);
        attention_[i].draft_values = draft_buffers_.values(layer, drafted_[i].first_draft);
    }
}

// `layer` counts Gated DeltaNet layers.
void Qwen35::set_gdn_states(int layer, std::span<const SequenceRows> batch) {
    size_t page = 0, window = 0;
    for (size_t i = 0; i < batch.size(); ++i) {
        const SequenceState& sequence = *batch[i].sequence;
        GdnSequence& gdn = gdn_[i];
        gdn.pages = gdn_pages_.data() + page;
        const std::byte* border = sequence.border;
        if (gdn.drafts.rows > 0) {
            gdn.kept = draft_buffers_.gdn(layer, drafted_[i].number, drafted_[i].first_draft);
        }
        for (int64_t left = pages_touched(gdn.position, gdn.rows + gdn.drafts.depth()); left > 0; --left, ++page) {
            const PassPage& pass_page = pass_pages_[page];
            gdn_pages_[page] = recurrent_layout_.page(layer, border, pass_page.next_border, pass_page.rows);
            border = pass_page.next_border;
        }
        const size_t first_window = window;
        for (const TailCopy& copy : batch[i].tails) {
            windows_[window++] = {copy.rows, recurrent_layout_.window(layer, copy.tail)};
        }
        float* own = recurrent_layout_.window(layer, sequence.tail);
        windows_[window++] = {gdn.rows, own};
        gdn.window = own;
        gdn.windows = std::span(windows_).subspan(first_window, window - first_window);
    }
}

void Qwen35::finish_pass(std::span<const SequenceRows> batch) {
    const size_t hidden_bytes = static_cast<size_t>(config_.hidden_size) * sizeof(float);
    size_t page = 0;
    for (size_t i = 0; i < batch.size(); ++i) {
        const GdnSequence& fed = gdn_[i];
        if (fed.rows == 0) continue;
        SequenceState& sequence = *batch[i].sequence;
        const auto keep_hidden = [&](int rows, std::byte* tail) {
            COLUGO_CHECK(rows > 0 && rows <= fed.rows);
            std::memcpy(recurrent_layout_.pending_hidden(tail), hidden_.f32(fed.first_row + rows - 1), hidden_bytes);
        };
        for (const TailCopy& copy : batch[i].tails) keep_hidden(copy.rows, copy.tail);
        keep_hidden(fed.rows, sequence.tail);

        const auto own = static_cast<size_t>(pages_touched(fed.position, fed.rows));
        sequence.length += fed.rows;
        const int64_t completed = sequence.length / kPage - fed.position / kPage;
        if (completed > 0) sequence.border = pass_pages_[page + static_cast<size_t>(completed) - 1].next_border;
        sequence.rows = pass_pages_[page + own - 1].rows;
        page += static_cast<size_t>(pages_touched(fed.position, fed.rows + fed.drafts.depth()));
    }
}

void Qwen35::forward(std::span<const SequenceRows> batch) {
    begin_pass(batch);
    const auto rows = static_cast<int64_t>(tokens_.size());
    const LayerContext layer_context = context(rows);
    TensorView x = x_.first_rows(rows);

    backend_.embed(x, tokens_, weights_.embed_tokens.packed);
    backend_.rope_table(layer_context.cos_sin, attention_, inverse_frequencies_);
    int gdn_index = 0;
    size_t attention_index = 0;
    for (size_t layer = 0; layer < weights_.layers.size(); ++layer) {
        if (config_.layer_types[layer] == LayerType::linear_attention) {
            set_gdn_states(gdn_index++, batch);
            gdn_layer(layer_context, x, weights_.layers[layer], gdn_);
        } else {
            set_draft_keys(static_cast<int>(attention_index));
            attention_layer(layer_context, x, weights_.layers[layer], page_layout_.trunk[attention_index++],
                            attention_);
        }
        if (observer_) observer_(static_cast<int>(layer), x);
    }
    TensorView hidden = hidden_.first_rows(rows);
    backend_.rms_norm(hidden, x, weights_.norm.data(), static_cast<float>(config_.rms_norm_eps));
    backend_.round_to_storage(hidden);
    if (has_mtp()) fill_mtp(batch);
    finish_pass(batch);
}

void Qwen35::commit_drafts(size_t index, std::span<const int32_t> path) {
    if (path.empty()) return;
    const Drafted& drafted = drafted_[index];
    SequenceState& sequence = *drafted.sequence;
    int32_t parent = -1;
    for (const int32_t row : path) {
        COLUGO_CHECK(row >= 0 && row < drafted.tree.rows && drafted.tree.parents[row] == parent);
        parent = row;
    }
    const DraftPath rows{path, sequence.length};
    COLUGO_CHECK(sequence.length + static_cast<int64_t>(path.size()) <= sequence.page_capacity());
    int layer = 0;
    const auto commit_attention = [&](const KvSlice& slice) {
        backend_.attention_commit(attention_shape(config_, kv_type_, slice), sequence.pages.data(), rows,
                                  draft_buffers_.keys(layer, drafted.first_draft),
                                  draft_buffers_.values(layer, drafted.first_draft));
        ++layer;
    };
    for (const KvSlice& slice : page_layout_.trunk) commit_attention(slice);
    if (has_mtp()) commit_attention(page_layout_.mtp);

    const int64_t last = sequence.length + static_cast<int64_t>(path.size()) - 1;
    const PassPage* pages = pass_pages_.data() + drafted.first_page;
    const bool crosses = last / kPage > sequence.length / kPage;
    for (int gdn = 0; gdn < recurrent_layout_.num_layers(); ++gdn) {
        GdnPageState states[2];
        states[0] = recurrent_layout_.page(gdn, sequence.border, pages[0].next_border, pages[0].rows);
        if (crosses) {
            states[1] = recurrent_layout_.page(gdn, pages[0].next_border, pages[1].next_border, pages[1].rows);
        }
        backend_.gdn_commit(gdn_shape(config_), states, rows,
                            draft_buffers_.gdn(gdn, drafted.number, drafted.first_draft),
                            recurrent_layout_.window(gdn, sequence.tail));
    }
    std::memcpy(recurrent_layout_.pending_hidden(sequence.tail), hidden_.f32(drafted.first_row + path.back()),
                static_cast<size_t>(config_.hidden_size) * sizeof(float));
    if ((last + 1) / kPage > sequence.length / kPage) {
        sequence.border = pages[(last + 1) / kPage - sequence.length / kPage - 1].next_border;
    }
    sequence.rows = pages[last / kPage - sequence.length / kPage].rows;
    sequence.length = last + 1;
}

void Qwen35::copy_page(std::byte* to, const std::byte* from, int columns) const {
    for (const KvSlice& slice : page_layout_.trunk) {
        backend_.copy_kv(to, from, columns, attention_shape(config_, kv_type_, slice));
    }
    if (has_mtp()) backend_.copy_kv(to, from, columns, attention_shape(config_, kv_type_, page_layout_.mtp));
}

void Qwen35::head(TensorView out, TensorView hidden, std::span<const int32_t> groups) {
    const LinearCall call[] = {{.weight = &weights_.head().packed, .out = out, .groups = groups}};
    backend_.linear(call, hidden);
}

void Qwen35::logits(TensorView out, std::span<const int32_t> rows) {
    TensorView selected = normed_.first_rows(static_cast<int64_t>(rows.size()));
    backend_.gather_rows(selected, hidden_, rows);
    head(out, selected);
}

}  // namespace colugo
