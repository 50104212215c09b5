#include "kernels/generic/prepare_activation.h"
#include "kernels/generic/row_bases.h"
#include "kernels/generic/row_groups.h"
#include "kernels/generic/unpack_panel.h"
#include "kernels/generic/unroll.h"

namespace colugo::kernels {

template <class V>
void store_panel(const MatmulArgs& args, int row_begin, int rows, int panel, const float* sums, int64_t ld_sums,
                 float alpha) {
    const int columns = args.weight->n - panel * kPanel < kPanel ? args.weight->n - panel * kPanel : kPanel;
    for (int row = 0; row < rows; ++row) {
        float* y = args.y + (row_begin + row) * args.ldy + static_cast<int64_t>(panel) * kPanel;
        const float* sum = sums + row * ld_sums;
        for (int i = 0; i < columns; i += V::kWidth) {
            const V factor = V::set(alpha);
            if (columns - i >= V::kWidth) {
                const V value = V::load(sum + i);
                (args.add ? V::fma(factor, value, V::load(y + i)) : factor * value).store(y + i);
            } else {
                const int count = columns - i;
                const V value = V::load_partial(sum + i, count);
                (args.add ? V::fma(factor, value, V::load_partial(y + i, count)) : factor * value)
                    .store_partial(y + i, count);
            }
        }
    }
}

// The 16 columns of a panel at one of two neighbouring k, for the formats that keep them together.
template <class V>
struct F32Pairs {
    static constexpr int kBytes = 2 * kPanel * 4;  // of a pair of k
    static void load(const std::byte* pair, int parity, V (&columns)[kPanel / V::kWidth]) {
        const float* values = reinterpret_cast<const float*>(pair) + parity * kPanel;
        for (int i = 0; i < kPanel / V::kWidth; ++i) columns[i] = V::load(values + i * V::kWidth);
    }
};

template <class V>
struct Bf16Pairs {
    static constexpr int kBytes = 2 * kPanel * 2;
    static void load(const std::byte* pair, int parity, V (&columns)[kPanel / V::kWidth]) {
        for (int i = 0; i < kPanel / V::kWidth; ++i) {
            V low, high;
            V::load_bf16_pairs(pair + i * V::kWidth * 4, low, high);
            columns[i] = parity == 0 ? low : high;
        }
    }
};

// The values / V::kRawE4m3Scale, which alpha or the block's scale takes back.
template <class V>
struct Fp8Pairs {
    static constexpr int kBytes = 2 * kPanel;
    static void load(const std::byte* pair, int parity, V (&columns)[kPanel / V::kWidth]) {
        V::load_raw_e4m3_pairs(pair, parity, columns);
    }
};

// How far ahead of its use a panel's byte is asked for.
inline constexpr size_t kPrefetchBytes = 4096;

// Panels lying `stride` bytes apart, and what to ask memory for meanwhile: `ahead_bytes` for each pair of k and panel.
struct PanelSource {
    const std::byte* panel;
    size_t stride;
    const std::byte* ahead;  // null: nothing
    size_t ahead_stride;
    int ahead_bytes;
    int ahead_jump;  // from this k on, what is ahead lies beyond all of the panels
};

// What the registers hold. 6 x 2 vectors of 8 leave room for two columns and a factor, 12 x 2 vectors of 16 for eight.
template <int kWidth>
struct F32Shape {
    using Rows = RowGroups<6, 5, 4, 3, 2, 1>;  // multiplied at once with one panel
    using FewRows = RowGroups<2, 1>;           // or with two, read from memory
    static constexpr bool kAlwaysPairs = false;
    static constexpr int kMostDirect = 4;  // take values out of their format as they multiply them
    static constexpr int kPieceK = 256;    // see below
};

template <>
struct F32Shape<16> {
    using Rows = RowGroups<12, 8, 6, 4, 3, 2, 1>;
    using FewRows = Rows;
    static constexpr bool kAlwaysPairs = true;
    static constexpr int kMostDirect = 12;
    static constexpr int kPieceK = 128;
};

// One k of kRows rows and kPanels panels `stride` apart: its products onto the sums. Where a panel is one vector, both
// panels' take part in the row's turn, else only a panel's columns and the sums have room in the registers.
template <class V, class Pairs, int kRows, int kPanels>
[[gnu::always_inline]] inline void multiply_step(V (&sum)[kRows][kPanels * kPanel / V::kWidth],
                                                 const RowBases<float, kRows>& a, const std::byte* panel, size_t stride,
                                                 int parity) {
    constexpr int kVectors = kPanel / V::kWidth;
    constexpr int kTogether = kVectors == 1 ? kPanels : 1;
    COLUGO_UNROLL for (int p = 0; p < kPanels; p += kTogether) {
        V columns[kTogether][kVectors];
        COLUGO_UNROLL for (int i = 0; i < kTogether; ++i) {
            Pairs::load(panel + static_cast<size_t>(p + i) * stride, parity, columns[i]);
        }
        COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
            const V factor = V::set(a.row(row)[parity]);
            COLUGO_UNROLL for (int i = 0; i < kTogether * kVectors; ++i) {
                V& total = sum[row][p * kVectors + i];
                total = V::fma(factor, columns[i / kVectors][i % kVectors], total);
                if constexpr (kPanels > 1) V::pin(total);
            }
        }
    }
}

// sums[kRows][kPanels][16] (+)= the chains over [0, k) of kRows rows and kPanels panels. Several panels are several
// independent chains: one alone would wait for its own sums.
template <class V, class Pairs, int kRows, int kPanels>
void multiply_panels(float* sums, const float* first_row, int64_t lda, const PanelSource& source, int k,
                     bool accumulate) {
    constexpr int kSums = kPanels * kPanel / V::kWidth;
    V sum[kRows][kSums];
    COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
        COLUGO_UNROLL for (int i = 0; i < kSums; ++i) {
            sum[row][i] = accumulate ? V::load(sums + row * kPanels * kPanel + i * V::kWidth) : V::zero();
        }
    }
    RowBases<float, kRows> a(first_row, lda);
    const std::byte* panel = source.panel;
    const std::byte* ahead = source.ahead;
    for (int step = 0; step < k; step += 2, panel += Pairs::kBytes, a.advance(2)) {
        if (ahead != nullptr) {
            if (kPanels > 1 && step == source.ahead_jump) ahead += (kPanels - 1) * source.ahead_stride;
            COLUGO_UNROLL for (int p = 0; p < kPanels; ++p) {
                const std::byte* line = ahead + static_cast<size_t>(p) * source.ahead_stride;
                __builtin_prefetch(line);
                if constexpr (Pairs::kBytes > 64) __builtin_prefetch(line + 64);
            }
            ahead += source.ahead_bytes;
        }
        multiply_step<V, Pairs, kRows, kPanels>(sum, a, panel, source.stride, 0);
        multiply_step<V, Pairs, kRows, kPanels>(sum, a, panel, source.stride, 1);
    }
    COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
        COLUGO_UNROLL for (int i = 0; i < kSums; ++i) {
            sum[row][i].store(sums + row * kPanels * kPanel + i * V::kWidth);
        }
    }
}

template <class V, class Pairs, int kPanels>
void multiply_rows(float* sums, const float* a, int64_t lda, int rows, PanelSource source, int k, bool accumulate) {
    const auto group = [&](auto count, int row) {
        multiply_panels<V, Pairs, decltype(count)::value, kPanels>(sums + row * kPanels * kPanel, a + row * lda, lda,
                                                                   source, k, accumulate);
        source.ahead = nullptr;
    };
    if constexpr (kPanels == 1) {
        F32Shape<V::kWidth>::Rows::for_each(rows, group);
    } else {
        F32Shape<V::kWidth>::FewRows::for_each(rows, group);
    }
}

// The weight's panels and the rows' values as the loops below need them.
struct F32Product {
    const PackedWeight* weight;
    const float* a;  // [rows, lda]
    int64_t lda;
    int rows;
    int k;  // padded
    size_t panel_bytes;
    float* sums;      // [rows][panels at once][16]
    float* partials;  // the same
    float* unpacked;  // [panels at once][kPieceK][16]
};

// The product's rows read its panels once, straight from memory. More rows multiply a piece of kPieceK k after the
// other, unpacked to stay in the first-level cache for all groups of rows.
template <class V>
bool reads_once(const F32Product& product) {
    using Shape = F32Shape<V::kWidth>;
    return product.rows <= Shape::kMostDirect && Shape::Rows::has(product.rows);
}

// out[k][16] as Pairs reads them.
template <class V, class Pairs>
void unpack_piece(float* out, const std::byte* data, int k) {
    for (int step = 0; step < k; step += 2, data += Pairs::kBytes) {
        for (int parity = 0; parity < 2; ++parity, out += kPanel) {
            V columns[kPanel / V::kWidth];
            Pairs::load(data, parity, columns);
            for (int i = 0; i < kPanel / V::kWidth; ++i) columns[i].store(out + i * V::kWidth);
        }
    }
}

// product.unpacked, while memory is asked for what follows `bytes` of the panel at `data`.
template <class V, int kPanels>
void multiply_unpacked(float* sums, const F32Product& product, const std::byte* data, size_t bytes, int k_begin, int k,
                       bool accumulate) {
    const PanelSource source{.panel = reinterpret_cast<const std::byte*>(product.unpacked),
                             .stride = F32Shape<V::kWidth>::kPieceK * kPanel * sizeof(float),
                             .ahead = data + bytes,
                             .ahead_stride = product.panel_bytes,
                             .ahead_bytes = static_cast<int>(bytes / static_cast<size_t>(k / 2)),
                             .ahead_jump = k_begin + k == product.k ? 0 : -1};
    multiply_rows<V, F32Pairs<V>, kPanels>(sums, product.a + k_begin, product.lda, product.rows, source, k, accumulate);
}

template <class V>
float* unpacked_panel(const F32Product& product, int panel) {
    return product.unpacked + panel * F32Shape<V::kWidth>::kPieceK * kPanel;
}

// `k` of the kPanels panels at `data`, from k_begin of the weight on.
template <class V, class Pairs, int kPanels>
void multiply_piece(float* sums, const F32Product& product, const std::byte* data, int k_begin, int k,
                    bool accumulate) {
    if (!reads_once<V>(product) && product.weight->format != WeightFormat::f32) {
        for (int p = 0; p < kPanels; ++p) {
            unpack_piece<V, Pairs>(unpacked_panel<V>(product, p), data + static_cast<size_t>(p) * product.panel_bytes,
                                   k);
        }
        return multiply_unpacked<V, kPanels>(sums, product, data, static_cast<size_t>(k / 2 * Pairs::kBytes), k_begin,
                                             k, accumulate);
    }
    const PanelSource source{.panel = data,
                             .stride = product.panel_bytes,
                             .ahead = data + kPrefetchBytes,
                             .ahead_stride = product.panel_bytes,
                             .ahead_bytes = Pairs::kBytes,
                             .ahead_jump = k - static_cast<int>(kPrefetchBytes / Pairs::kBytes) * 2};
    multiply_rows<V, Pairs, kPanels>(sums, product.a + k_begin, product.lda, product.rows, source, k, accumulate);
}

template <class V, int kPanels>
void multiply_format(float* sums, const F32Product& product, const std::byte* data, int k_begin, int k,
                     bool accumulate) {
    switch (product.weight->format) {
        case WeightFormat::f32:
            return multiply_piece<V, F32Pairs<V>, kPanels>(sums, product, data, k_begin, k, accumulate);
        case WeightFormat::bf16:
            return multiply_piece<V, Bf16Pairs<V>, kPanels>(sums, product, data, k_begin, k, accumulate);
        case WeightFormat::fp8:
        case WeightFormat::fp8_block128:
            return multiply_piece<V, Fp8Pairs<V>, kPanels>(sums, product, data, k_begin, k, accumulate);
        case WeightFormat::nvfp4:
            for (int p = 0; p < kPanels; ++p) {
                unpack_nvfp4_panel<V>(unpacked_panel<V>(product, p),
                                      data + static_cast<size_t>(p) * product.panel_bytes, k);
            }
            return multiply_unpacked<V, kPanels>(sums, product, data, static_cast<size_t>(k / kUnitK * kNvfp4UnitBytes),
                                                 k_begin, k, accumulate);
    }
}

// sums += partials x scale, for the 128-k block `group` of a panel. Rows without group scales count as 1. ld: floats
// from row to row.
template <class V>
void fold_block(float* sums, const float* partials, int64_t ld, const F32Product& product, int panel, int group) {
    const PackedWeight& weight = *product.weight;
    const int groups = (weight.k + kGroupK - 1) / kGroupK;
    const float block_scale = weight.block_scales[static_cast<int64_t>(panel) * kPanel / kGroupK * groups + group];
    for (int row = 0; row < product.rows; ++row) {
        float scale = block_scale;
        if (weight.activation == ActivationFormat::fp8_group128) {
            scale *= product.a[row * product.lda + product.k + group];
        }
        for (int i = 0; i < kPanel; i += V::kWidth) {
            const V total = V::load(sums + row * ld + i);
            V::fma(V::load(partials + row * ld + i), V::set(scale), total).store(sums + row * ld + i);
        }
    }
}

// product.sums of kPanels panels from `panel` on.
template <class V, int kPanels>
void sum_panels(const F32Product& product, int panel) {
    const bool blocks = product.weight->format == WeightFormat::fp8_block128;
    const bool whole = reads_once<V>(product) && product.weight->format != WeightFormat::nvfp4;
    const int piece_k = blocks ? kGroupK : whole ? product.k : F32Shape<V::kWidth>::kPieceK;
    const std::byte* data = product.weight->data + static_cast<size_t>(panel) * product.panel_bytes;
    const size_t unit_bytes = product.panel_bytes / static_cast<size_t>(product.k / kUnitK);
    if (blocks) {
        for (int i = 0; i < product.rows * kPanels * kPanel; ++i) product.sums[i] = 0.0f;
    }
    for (int k = 0; k < product.k; k += piece_k, data += unit_bytes * static_cast<size_t>(piece_k / kUnitK)) {
        const int count = product.k - k < piece_k ? product.k - k : piece_k;
        multiply_format<V, kPanels>(blocks ? product.partials : product.sums, product, data, k, count,
                                    !blocks && k > 0);
        for (int p = 0; blocks && p < kPanels; ++p) {
            fold_block<V>(product.sums + p * kPanel, product.partials + p * kPanel, kPanels * kPanel, product,
                          panel + p, k / kGroupK);
        }
    }
}

// Rows of one pass over the panels: as many as the second-level cache keeps while the panels stream through it.
inline constexpr int kMostRowsPerPass = 480;

template <class V>
int rows_per_pass(size_t row_bytes) {
    constexpr size_t kBytes = size_t{512} << 10;
    const size_t rows = kBytes / row_bytes / 12 * 12;
    if (rows < 12) return 12;
    return rows > kMostRowsPerPass ? kMostRowsPerPass : static_cast<int>(rows);
}

// kPanels at a time as far as they go; the first panel left.
template <class V, int kPanels>
int matmul_panels(const MatmulArgs& args, const F32Product& product, int row, int panel, int panel_end, float alpha) {
    for (; panel + kPanels <= panel_end; panel += kPanels) {
        sum_panels<V, kPanels>(product, panel);
        for (int p = 0; p < kPanels; ++p) {
            store_panel<V>(args, row, product.rows, panel + p, product.sums + p * kPanel, kPanels * kPanel, alpha);
        }
    }
    return panel;
}

template <class V>
void matmul_f32(const MatmulArgs& args, int panel_begin, int panel_end, std::byte* scratch) {
    const PackedWeight& weight = *args.weight;
    const size_t row_bytes = activation_row_bytes<V>(weight.activation, weight.k);
    const bool fp8 = weight.format == WeightFormat::fp8 || weight.format == WeightFormat::fp8_block128;
    const float alpha = fp8 ? weight.alpha * V::kRawE4m3Scale : weight.alpha;
    const int pass_rows = rows_per_pass<V>(row_bytes);
    constexpr int kMostPanels = 2;
    static_assert(kMostPanels * (2 * kMostRowsPerPass + F32Shape<V::kWidth>::kPieceK) * kPanel * sizeof(float) <=
                  kMatmulScratchBytes);
    F32Product product{.weight = &weight,
                       .a = reinterpret_cast<const float*>(args.activation),
                       .lda = static_cast<int64_t>(row_bytes / sizeof(float)),
                       .rows = 0,
                       .k = weight.padded_k(),
                       .panel_bytes = packed_panel_bytes(weight.format, weight.k),
                       .sums = reinterpret_cast<float*>(scratch),
                       .partials = reinterpret_cast<float*>(scratch) + kMostPanels * kMostRowsPerPass * kPanel,
                       .unpacked = reinterpret_cast<float*>(scratch) + 2 * kMostPanels * kMostRowsPerPass * kPanel};

    for (int row = 0; row < args.rows; row += product.rows, product.a += product.rows * product.lda) {
        product.rows = args.rows - row < pass_rows ? args.rows - row : pass_rows;
        // Few rows multiply two panels at once: as many independent chains as the registers hold.
        int panel = panel_begin;
        const bool few = product.rows <= 2 && weight.format != WeightFormat::nvfp4;
        if (F32Shape<V::kWidth>::kAlwaysPairs || few) {
            panel = matmul_panels<V, 2>(args, product, row, panel, panel_end, alpha);
        }
        matmul_panels<V, 1>(args, product, row, panel, panel_end, alpha);
    }
}

}  // namespace colugo::kernels
