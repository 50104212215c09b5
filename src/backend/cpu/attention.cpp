#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/cpu_backend.h"

namespace colugo {

namespace {

using kernels::kPage;

// Positions whose softmax is accumulated on its own and then folded into the row's total, in order: a fixed grid over
// the sequence, so that long contexts split over threads without the split showing in the result.
constexpr int64_t kSegment = 1024;

// Rows of a tile: enough to read a page once for many rows, few enough that their sums stay in the L2 cache.
constexpr int kTileRows = 64;

// Of a sequence's row, draft rows counted behind its own.
int64_t row_position(const AttentionSequence& sequence, int64_t row) {
    return row < sequence.rows
               ? sequence.position + row
               : sequence.last_position() + sequence.drafts.depths[row - sequence.rows + sequence.drafts.first];
}

// Columns of a step of the softmax.
int step_columns(const AttentionShape& shape) {
    return kernels::pages_per_step(shape.kv_type) * kPage;
}

// Of a step from `page` on, all but the pages and the rows' ends.
kernels::AttentionPages step_from(int64_t page, const AttentionShape& shape, const AttentionSequence& sequence) {
    kernels::AttentionPages pages{};
    pages.type = shape.kv_type;
    pages.score_scale = shape.slice.key_scale / std::sqrt(static_cast<float>(shape.head_dim));
    pages.begin = static_cast<int>(std::clamp<int64_t>(sequence.first_position - page * kPage, 0, step_columns(shape)));
    return pages;
}

// `page` as the step's page `index`.
void set_page(kernels::AttentionPages& pages, int64_t index, const std::byte* page, const AttentionShape& shape,
              int kv_head) {
    const size_t tile = static_cast<size_t>(kv_head) * kernels::kv_tile_bytes(shape.kv_type, shape.head_dim);
    pages.keys[index] = page + shape.slice.key_offset + tile;
    pages.values[index] = page + shape.slice.value_offset + tile;
}

// `count` of the rows, from row `first` on.
kernels::AttentionRows some_rows(const kernels::AttentionRows& rows, int first, int count, size_t query_bytes) {
    return {.rows = count,
            .head_dim = rows.head_dim,
            .queries = rows.queries + static_cast<size_t>(first) * query_bytes,
            .max = rows.max + first,
            .sum = rows.sum + first,
            .out = rows.out + static_cast<int64_t>(first) * rows.head_dim};
}

// The page that the draft rows begin in.
int64_t first_draft_page(const AttentionSequence& sequence) {
    return (sequence.last_position() + 1) / kPage;
}

}  // namespace

void CpuBackend::rope_table(TensorView cos_sin, std::span<const AttentionSequence> sequences,
                            std::span<const float> inverse_frequencies) {
    const int64_t half = static_cast<int64_t>(inverse_frequencies.size());
    COLUGO_CHECK(cos_sin.cols == 2 * half);
    for (const AttentionSequence& sequence : sequences) {
        for_rows(sequence.rows + sequence.drafts.batch_rows(), 64 * half, [&](int64_t row) {
            float* out = cos_sin.f32(sequence.first_row + row);
            for (int64_t i = 0; i < half; ++i) {
                // The angle is rounded to f32 as the reference does; its sine is then taken exactly.
                const float angle =
                    static_cast<float>(row_position(sequence, row)) * inverse_frequencies[static_cast<size_t>(i)];
                out[i] = static_cast<float>(std::cos(static_cast<double>(angle)));
                out[half + i] = static_cast<float>(std::sin(static_cast<double>(angle)));
            }
        });
    }
}

// keys, values: the tiles of one head.
void CpuBackend::store_key_value(const AttentionShape& shape, std::byte* keys, std::byte* values, int64_t position,
                                 const float* key, const float* value) const {
    table_.store_kv(shape.kv_type, keys, values, static_cast<int>(position % kPage), key, value, shape.head_dim,
                    shape.slice.key_scale, shape.slice.value_scale);
}

void CpuBackend::attention_inputs(TensorView queries, TensorView keys, TensorView values, TensorView cos_sin,
                                  const float* q_norm, const float* k_norm, float eps, const AttentionShape& shape,
                                  std::span<const AttentionSequence> sequences) {
    const int dim = shape.head_dim;
    const auto tile_bytes = static_cast<int64_t>(kernels::kv_tile_bytes(shape.kv_type, dim));
    for (const AttentionSequence& sequence : sequences) {
        for_rows(sequence.rows + sequence.drafts.batch_rows(), queries.cols + 2 * keys.cols, [&](int64_t token) {
            const int64_t row = sequence.first_row + token;
            for (int head = 0; head < shape.num_heads; ++head) {
                float* query = queries.f32(row) + static_cast<int64_t>(head) * 2 * dim;
                table_.rms_norm(query, query, q_norm, dim, eps);
                table_.rope(query, cos_sin.f32(row), shape.rotary_dim);
            }
            for (int head = 0; head < shape.num_kv_heads; ++head) {
                float* key = keys.f32(row) + static_cast<int64_t>(head) * dim;
                table_.rms_norm(key, key, k_norm, dim, eps);
                table_.rope(key, cos_sin.f32(row), shape.rotary_dim);
            }
            if (token >= sequence.rows) {
                const int64_t at = (token - sequence.rows + sequence.drafts.first) * keys.cols;
                std::copy_n(keys.f32(row), keys.cols, sequence.draft_keys + at);
                std::copy_n(values.f32(row), keys.cols, sequence.draft_values + at);
                return;
            }
            const int64_t position = sequence.position + token;
            std::byte* page = sequence.pages[position / kPage];
            for (int head = 0; head < shape.num_kv_heads; ++head) {
                store_key_value(shape, page + shape.slice.key_offset + head * tile_bytes,
                                page + shape.slice.value_offset + head * tile_bytes, position,
                                keys.f32(row) + static_cast<int64_t>(head) * dim,
                                values.f32(row) + static_cast<int64_t>(head) * dim);
            }
        });
    }
}

void CpuBackend::attention_commit(const AttentionShape& shape, std::byte* const* pages, const DraftPath& path,
                                  const float* keys, const float* values) {
    const auto tile_bytes = static_cast<int64_t>(kernels::kv_tile_bytes(shape.kv_type, shape.head_dim));
    const int64_t width = int64_t{shape.num_kv_heads} * shape.head_dim;
    for (size_t i = 0; i < path.rows.size(); ++i) {
        const int64_t position = path.position + static_cast<int64_t>(i);
        std::byte* page = pages[position / kPage];
        for (int head = 0; head < shape.num_kv_heads; ++head) {
            const int64_t at = path.rows[i] * width + int64_t{head} * shape.head_dim;
            store_key_value(shape, page + shape.slice.key_offset + head * tile_bytes,
                            page + shape.slice.value_offset + head * tile_bytes, position, keys + at, values + at);
        }
    }
}

void CpuBackend::copy_kv(std::byte* to, const std::byte* from, int columns, const AttentionShape& shape) {
    const auto tile_bytes = kernels::kv_tile_bytes(shape.kv_type, shape.head_dim);
    const float zeros[kernels::kMaxHeadDim] = {};
    for (int head = 0; head < shape.num_kv_heads; ++head) {
        const auto offset = static_cast<int64_t>(head) * static_cast<int64_t>(tile_bytes);
        std::byte* keys = to + shape.slice.key_offset + offset;
        std::byte* values = to + shape.slice.value_offset + offset;
        std::memcpy(keys, from + shape.slice.key_offset + offset, tile_bytes);
        std::memcpy(values, from + shape.slice.value_offset + offset, tile_bytes);
        // A column nobody wrote is zero, as in a page that was granted; another sequence may have written this one.
        for (int column = columns; column < kPage; ++column) {
            table_.store_kv(shape.kv_type, keys, values, column, zeros, zeros, shape.head_dim, 1.0f, 1.0f);
        }
    }
}

void CpuBackend::plan_attention_tiles(const AttentionShape& shape, std::span<const AttentionSequence> sequences) {
    const int tokens_per_tile = std::max(1, kTileRows / (shape.num_heads / shape.num_kv_heads));
    tiles_.clear();
    for (size_t s = 0; s < sequences.size(); ++s) {
        const int rows = sequences[s].rows + sequences[s].drafts.batch_rows();
        for (int token = 0; token < rows; token += tokens_per_tile) {
            const int tokens = std::min(tokens_per_tile, rows - token);
            tiles_.push_back({static_cast<int>(s), token, tokens, row_position(sequences[s], token + tokens - 1)});
        }
    }
}

void CpuBackend::prepare_queries(TensorView queries, const AttentionShape& shape) {
    const int group = shape.num_heads / shape.num_kv_heads;
    const kernels::ActivationFormat format = table_.attention_query_format(shape.kv_type);
    const size_t row_bytes = table_.activation_row_bytes(format, shape.head_dim);
    grow(query_rows_, static_cast<size_t>(queries.rows * shape.num_heads) * row_bytes);
    for_rows(queries.rows, queries.cols, [&](int64_t row) {
        for (int kv_head = 0; kv_head < shape.num_kv_heads; ++kv_head) {
            const auto first = static_cast<size_t>((kv_head * queries.rows + row) * group);
            table_.prepare_activation(query_rows_.data() + first * row_bytes, format, 1.0f,
                                      queries.f32(row) + static_cast<int64_t>(kv_head) * group * 2 * shape.head_dim,
                                      2 * shape.head_dim, group, shape.head_dim);
        }
    });
}

void CpuBackend::draw_draft_pages(const AttentionShape& shape, std::span<const AttentionSequence> sequences) {
    const size_t row_bytes = 2 * kernels::kv_tile_bytes(shape.kv_type, shape.head_dim);
    const auto sequence_bytes = [&](const AttentionSequence& sequence) {
        return static_cast<size_t>(sequence.drafts.rows * shape.num_kv_heads) * row_bytes;
    };
    size_t bytes = 0;
    for (const AttentionSequence& sequence : sequences) bytes += sequence_bytes(sequence);
    if (bytes == 0) return;
    grow(images_, bytes);
    sequence_images_.clear();
    std::byte* next = images_.data();
    for (const AttentionSequence& sequence : sequences) {
        sequence_images_.push_back(next);
        next += sequence_bytes(sequence);
    }
    pool_.parallel_for(static_cast<int>(sequences.size()) * shape.num_kv_heads, [&](int task, int) {
        const auto index = static_cast<size_t>(task / shape.num_kv_heads);
        const int kv_head = task % shape.num_kv_heads;
        const auto rows = static_cast<size_t>(sequences[index].drafts.rows);
        draw_draft_pages(shape, sequences[index], kv_head,
                         sequence_images_[index] + static_cast<size_t>(kv_head) * rows * row_bytes);
    });
}

// One head's pages of one sequence's draft rows: a row's page is its parent's with the row in its column.
void CpuBackend::draw_draft_pages(const AttentionShape& shape, const AttentionSequence& sequence, int kv_head,
                                  std::byte* images) const {
    const size_t tile_bytes = kernels::kv_tile_bytes(shape.kv_type, shape.head_dim);
    const int64_t width = int64_t{shape.num_kv_heads} * shape.head_dim;
    const int64_t first_page = first_draft_page(sequence);
    for (int row = 0; row < sequence.drafts.rows; ++row) {
        std::byte* image = images + static_cast<size_t>(row) * 2 * tile_bytes;
        const int64_t position = sequence.last_position() + sequence.drafts.depths[row];
        const int parent = sequence.drafts.parents[row];
        if (position % kPage == 0) {
            std::memset(image, 0, 2 * tile_bytes);
        } else if (parent >= 0) {
            std::memcpy(image, images + static_cast<size_t>(parent) * 2 * tile_bytes, 2 * tile_bytes);
        } else {
            const std::byte* page = sequence.pages[first_page];
            const auto offset = static_cast<size_t>(kv_head) * tile_bytes;
            std::memcpy(image, page + shape.slice.key_offset + offset, tile_bytes);
            std::memcpy(image + tile_bytes, page + shape.slice.value_offset + offset, tile_bytes);
        }
        const int64_t at = row * width + int64_t{kv_head} * shape.head_dim;
        store_key_value(shape, image, image + tile_bytes, position, sequence.draft_keys + at,
                        sequence.draft_values + at);
    }
}

// The softmax of one tile over the pages of one segment, from nothing, into `part`.
void CpuBackend::attend_segment(const AttentionTile& tile, int kv_head, int64_t segment, const AttentionShape& shape,
                                const AttentionSequence& sequence, const kernels::AttentionRows& part,
                                std::byte* memory) const {
    std::fill_n(part.max, part.rows, -std::numeric_limits<float>::infinity());
    std::fill_n(part.sum, part.rows, 0.0f);
    std::fill_n(part.out, static_cast<int64_t>(part.rows) * part.head_dim, 0.0f);

    const int64_t step = kernels::pages_per_step(shape.kv_type);
    const int64_t page_end = std::min((segment + 1) * kSegment / kPage, tile.last_position / kPage + 1);
    const int own = std::clamp(sequence.rows - tile.first_token, 0, tile.tokens);
    for (int64_t page = segment * kSegment / kPage; page < page_end; page += step) {
        // Before the page they begin in, draft rows see what the sequence's own do.
        const bool apart = own < tile.tokens && page + step > first_draft_page(sequence);
        attend_pages(tile, apart ? own : tile.tokens, kv_head, page, shape, sequence, part, memory);
        if (apart) attend_draft_pages(tile, own, kv_head, page, shape, sequence, part, memory);
    }
}

// A step from `page` on of the tile's first tokens, over the sequence's pages.
void CpuBackend::attend_pages(const AttentionTile& tile, int tokens, int kv_head, int64_t page,
                              const AttentionShape& shape, const AttentionSequence& sequence,
                              const kernels::AttentionRows& part, std::byte* memory) const {
    const int group = shape.num_heads / shape.num_kv_heads;
    const size_t row_bytes = table_.activation_row_bytes(table_.attention_query_format(shape.kv_type), shape.head_dim);
    const int64_t columns = step_columns(shape);
    kernels::AttentionPages pages = step_from(page, shape, sequence);
    int32_t ends[kernels::kMaxAttentionRows];
    int skip = 0;  // rows of the first tokens, which come before this page
    int64_t last = 0;
    for (int token = 0; token < tokens; ++token) {
        last = row_position(sequence, tile.first_token + token);
        const int64_t end = std::min(columns, last + 1 - page * kPage);
        if (end <= pages.begin) skip = (token + 1) * group;
        std::fill_n(ends + token * group, group, static_cast<int32_t>(end));
    }
    if (skip == tokens * group) return;
    pages.end = ends + skip;
    pages.pages = static_cast<int>(std::min(columns / kPage, last / kPage + 1 - page));
    for (int i = 0; i < pages.pages; ++i) set_page(pages, i, sequence.pages[page + i], shape, kv_head);
    table_.attention_pages(some_rows(part, skip, tokens * group - skip, row_bytes), pages, memory);
}

// The same of the tile's draft rows, its tokens from `first_token` on, where some of the pages are others for each of
// them.
void CpuBackend::attend_draft_pages(const AttentionTile& tile, int first_token, int kv_head, int64_t page,
                                    const AttentionShape& shape, const AttentionSequence& sequence,
                                    const kernels::AttentionRows& part, std::byte* memory) const {
    const int group = shape.num_heads / shape.num_kv_heads;
    const auto tile_bytes = static_cast<int64_t>(kernels::kv_tile_bytes(shape.kv_type, shape.head_dim));
    const size_t row_bytes = table_.activation_row_bytes(table_.attention_query_format(shape.kv_type), shape.head_dim);
    const std::byte* images =
        sequence_images_[static_cast<size_t>(tile.sequence)] + kv_head * sequence.drafts.rows * 2 * tile_bytes;
    const int64_t columns = step_columns(shape);
    kernels::AttentionPages pages = step_from(page, shape, sequence);
    for (int token = first_token; token < tile.tokens; ++token) {
        int row = tile.first_token + token - sequence.rows + sequence.drafts.first;
        const auto position = [&] { return sequence.last_position() + sequence.drafts.depths[row]; };
        const int64_t last_page = position() / kPage;
        const auto end = static_cast<int32_t>(std::min(columns, position() + 1 - page * kPage));
        if (end <= pages.begin) continue;
        pages.pages = static_cast<int>(std::min(columns / kPage, last_page + 1 - page));
        for (int i = pages.pages - 1; i >= 0; --i) {
            if (page + i < first_draft_page(sequence)) {
                set_page(pages, i, sequence.pages[page + i], shape, kv_head);
            } else {
                while (position() / kPage > page + i) row = sequence.drafts.parents[row];
                pages.keys[i] = images + row * 2 * tile_bytes;
                pages.values[i] = pages.keys[i] + tile_bytes;
            }
        }
        int32_t ends[kernels::kMaxAttentionRows];
        std::fill_n(ends, group, end);
        pages.end = ends;
        table_.attention_pages(some_rows(part, token * group, group, row_bytes), pages, memory);
    }
}

// Divides the totals by their sums and lets the gate through.
void CpuBackend::finish_attention(TensorView out, TensorView queries, const AttentionShape& shape, int64_t row,
                                  int kv_head, const kernels::AttentionRows& total, int first) const {
    const int group = shape.num_heads / shape.num_kv_heads;
    const int dim = shape.head_dim;
    for (int member = 0; member < group; ++member) {
        const int head = kv_head * group + member;
        const float* sum = total.out + static_cast<int64_t>(first + member) * dim;
        const float factor = shape.slice.value_scale / total.sum[first + member];
        float* result = out.f32(row) + static_cast<int64_t>(head) * dim;
        for (int i = 0; i < dim; ++i) result[i] = sum[i] * factor;
        table_.sigmoid_mul(result, queries.f32(row) + (2 * static_cast<int64_t>(head) + 1) * dim, dim);
    }
}

void CpuBackend::attention(TensorView out, TensorView queries, const AttentionShape& shape,
                           std::span<const AttentionSequence> sequences) {
    const int group = shape.num_heads / shape.num_kv_heads;
    plan_attention_tiles(shape, sequences);
    if (tiles_.empty()) return;
    prepare_queries(queries, shape);
    draw_draft_pages(shape, sequences);
    const size_t row_bytes = table_.activation_row_bytes(table_.attention_query_format(shape.kv_type), shape.head_dim);

    // Unit of work: a tile and a key/value head. Where there are fewer units than threads can share, several segments
    // of a unit are taken at once; their parts are folded in order all the same.
    const int units = static_cast<int>(tiles_.size()) * shape.num_kv_heads;
    int64_t segments = 0;
    for (const AttentionTile& tile : tiles_) segments = std::max(segments, tile.last_position / kSegment + 1);
    const int wave = static_cast<int>(std::clamp<int64_t>(4 * pool_.size() / units, 1, segments));
    const size_t unit_floats = static_cast<size_t>(kTileRows + group) * static_cast<size_t>(shape.head_dim + 2);
    grow(softmax_, static_cast<size_t>(units) * static_cast<size_t>(1 + wave) * unit_floats * sizeof(float));

    const auto first_row_of = [&](const AttentionTile& tile) -> int64_t {
        return sequences[static_cast<size_t>(tile.sequence)].first_row + tile.first_token;
    };
    const auto rows_of = [&](int unit, size_t slot) {
        const AttentionTile& tile = tiles_[static_cast<size_t>(unit / shape.num_kv_heads)];
        const int kv_head = unit % shape.num_kv_heads;
        const int rows = tile.tokens * group;
        const int64_t first_row = first_row_of(tile);
        float* start = softmax_.as<float>() + slot * unit_floats;
        return kernels::AttentionRows{
            .rows = rows,
            .head_dim = shape.head_dim,
            .queries =
                query_rows_.data() + static_cast<size_t>((kv_head * queries.rows + first_row) * group) * row_bytes,
            .max = start,
            .sum = start + rows,
            .out = start + 2 * rows};
    };
    for (int64_t begin = 0; begin < segments; begin += wave) {
        const int count = static_cast<int>(std::min<int64_t>(wave, segments - begin));
        pool_.parallel_for(units * count, [&](int task, int thread) {
            const int unit = task / count;
            const AttentionTile& tile = tiles_[static_cast<size_t>(unit / shape.num_kv_heads)];
            const int64_t segment = begin + task % count;
            if (segment * kSegment > tile.last_position) return;
            attend_segment(tile, unit % shape.num_kv_heads, segment, shape,
                           sequences[static_cast<size_t>(tile.sequence)],
                           rows_of(unit, static_cast<size_t>(units + task)), scratch(thread));
        });
        const bool last = begin + count == segments;
        pool_.parallel_for(units, [&](int unit, int) {
            const AttentionTile& tile = tiles_[static_cast<size_t>(unit / shape.num_kv_heads)];
            const kernels::AttentionRows total = rows_of(unit, static_cast<size_t>(unit));
            for (int i = 0; i < count && (begin + i) * kSegment <= tile.last_position; ++i) {
                const kernels::AttentionRows part = rows_of(unit, static_cast<size_t>(units + unit * count + i));
                if (begin + i == 0) {
                    std::copy_n(part.max, (2 + static_cast<int64_t>(shape.head_dim)) * part.rows, total.max);
                } else {
                    table_.attention_merge(total, part);
                }
            }
            if (!last) return;
            const int64_t first_row = first_row_of(tile);
            for (int token = 0; token < tile.tokens; ++token) {
                finish_attention(out, queries, shape, first_row + token, unit % shape.num_kv_heads, total,
                                 token * group);
            }
        });
    }
}

}  // namespace colugo
