#include "kernels/generic/matmul_f32.h"
#include "kernels/generic/prepare_activation.h"
#include "kernels/generic/row_groups.h"
#include "kernels/generic/unpack_panel.h"
#include "kernels/generic/unroll.h"

namespace colugo::kernels {

inline constexpr int kUnitBlocks = kUnitK / 16;

// A template so that no tier's code is linked into another's.
template <class V>
void prefetch_unit(const std::byte* unit) {
    for (int line = 0; line < kNvfp4UnitBytes; line += 64) __builtin_prefetch(unit + line);
}

// Weights straight from a panel.
template <class V, class Product>
struct PanelUnits {
    static constexpr int kVectors = kPanel / V::kWidth;
    const std::byte* panel;

    // A panel's end runs into its successor's begin.
    void prefetch(int unit) const {
        constexpr int kUnitsAhead = 4;
        prefetch_unit<V>(panel + static_cast<size_t>(unit + kUnitsAhead) * kNvfp4UnitBytes);
    }

    template <int kRows>
    void multiply(V (&sum)[kRows][kVectors], const std::byte* rows, size_t row_bytes, int unit, int block) const {
        const std::byte* data = panel + static_cast<size_t>(unit) * kNvfp4UnitBytes;
        typename Product::Weights weights[kVectors];
        COLUGO_UNROLL for (int i = 0; i < kVectors; ++i) weights[i] = Product::load(data, block, i * V::kWidth);
        Product::template multiply<kRows, kVectors>(sum, rows, row_bytes, block, weights);
    }
};

// Weights already taken apart: [units][4 blocks][16 / V::kWidth]. Meanwhile the units that come next are asked for.
template <class V, class Product>
struct PieceUnits {
    static constexpr int kVectors = kPanel / V::kWidth;
    const typename Product::Weights* weights;
    const std::byte* next;

    void prefetch(int unit) const {
        if (next != nullptr) prefetch_unit<V>(next + static_cast<size_t>(unit) * kNvfp4UnitBytes);
    }

    template <int kRows>
    void multiply(V (&sum)[kRows][kVectors], const std::byte* rows, size_t row_bytes, int unit, int block) const {
        Product::template multiply<kRows, kVectors>(sum, rows, row_bytes, block,
                                                    weights + (unit * kUnitBlocks + block) * kVectors);
    }
};

// sums[kRows][16] (+)= the rows times `units` units of a panel.
template <class V, class Product, int kRows, class Units>
void multiply_units(float* sums, const std::byte* rows, size_t row_bytes, const Units& weights, int units,
                    bool accumulate) {
    constexpr int kVectors = kPanel / V::kWidth;
    V sum[kRows][kVectors];
    COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
        COLUGO_UNROLL for (int i = 0; i < kVectors; ++i) {
            sum[row][i] = accumulate ? V::load(sums + row * kPanel + i * V::kWidth) : V::zero();
        }
    }
    for (int unit = 0; unit < units; ++unit, rows += sizeof(typename Product::RowUnit)) {
        weights.prefetch(unit);
        for (int block = 0; block < kUnitBlocks; ++block) weights.multiply(sum, rows, row_bytes, unit, block);
    }
    COLUGO_UNROLL for (int row = 0; row < kRows; ++row) {
        COLUGO_UNROLL for (int i = 0; i < kVectors; ++i) sum[row][i].store(sums + row * kPanel + i * V::kWidth);
    }
}

// sums[rows][16] of one panel. A group of rows reads it from memory; more share a piece taken apart in the first-level
// cache.
template <class V, class Product>
void sum_codes(float* sums, const std::byte* rows, size_t row_bytes, int count, const std::byte* panel, int units,
               typename Product::Weights* piece) {
    constexpr int kVectors = kPanel / V::kWidth;
    using Groups = typename Product::Rows;
    if (Groups::has(count)) {
        return Groups::for_each(count, [&](auto group, int) {
            multiply_units<V, Product, decltype(group)::value>(sums, rows, row_bytes, PanelUnits<V, Product>{panel},
                                                               units, false);
        });
    }
    for (int begin = 0; begin < units; begin += Product::kPieceUnits) {
        const int here = units - begin < Product::kPieceUnits ? units - begin : Product::kPieceUnits;
        const std::byte* data = panel + static_cast<size_t>(begin) * kNvfp4UnitBytes;
        for (int block = 0; block < here * kUnitBlocks; ++block) {
            const std::byte* unit = data + static_cast<size_t>(block / kUnitBlocks) * kNvfp4UnitBytes;
            for (int i = 0; i < kVectors; ++i) {
                piece[block * kVectors + i] = Product::load(unit, block % kUnitBlocks, i * V::kWidth);
            }
        }
        const std::byte* part = rows + static_cast<size_t>(begin) * sizeof(typename Product::RowUnit);
        PieceUnits<V, Product> weights{piece, data + static_cast<size_t>(here) * kNvfp4UnitBytes};
        Groups::for_each(count, [&](auto group, int row) {
            multiply_units<V, Product, decltype(group)::value>(
                sums + row * kPanel, part + static_cast<size_t>(row) * row_bytes, row_bytes, weights, here, begin > 0);
            weights.next = nullptr;
        });
    }
}

template <class V, class Product>
void matmul_codes(const MatmulArgs& args, int panel_begin, int panel_end, std::byte* scratch) {
    constexpr size_t kSumBytes = kMostRowsPerPass * kPanel * sizeof(float);
    using Weights = typename Product::Weights;
    static_assert(kSumBytes + Product::kPieceUnits * kUnitBlocks * (kPanel / V::kWidth) * sizeof(Weights) <=
                  kMatmulScratchBytes);
    float* sums = reinterpret_cast<float*>(scratch);
    Weights* piece = reinterpret_cast<Weights*>(scratch + kSumBytes);

    const PackedWeight& weight = *args.weight;
    const size_t row_bytes = activation_row_bytes<V>(weight.activation, weight.k);
    const size_t panel_bytes = packed_panel_bytes(weight.format, weight.k);
    const int units = weight.padded_k() / kUnitK;
    const int pass_rows = rows_per_pass<V>(row_bytes);
    for (int row = 0; row < args.rows; row += pass_rows) {
        const int rows = args.rows - row < pass_rows ? args.rows - row : pass_rows;
        const std::byte* activation = args.activation + static_cast<size_t>(row) * row_bytes;
        for (int panel = panel_begin; panel < panel_end; ++panel) {
            const std::byte* data = weight.data + static_cast<size_t>(panel) * panel_bytes;
            sum_codes<V, Product>(sums, activation, row_bytes, rows, data, units, piece);
            store_panel<V>(args, row, rows, panel, sums, kPanel, weight.alpha * Product::kFactor);
        }
    }
}

}  // namespace colugo::kernels
