// The matmul of the pairs that are multiplied in bf16. Each output is
//   y = alpha x (one chain of the multiplier's own steps in k order, from 0)
// and with fp8_block128 weights the chain is cut every 128 k and the partial sums are folded in k order:
//   total = fma(partial, weight block scale x row group scale, total)
// Multiplier is the tier's way to do a part of the chains of some rows and one or two panels:
//   Multiplier()          prepares the thread for the calls that follow; the destructor undoes it
//   piece_k(product)      how many k to do in one call, a multiple of 128
//   multiply<panels>(sums [rows][panels][16], product, data, k_begin, k, accumulate)
//                         `data` is the first panel's at k_begin; k is a multiple of 64
#pragma once

#include "kernels/generic/bf16_panels.h"
#include "kernels/generic/bf16_rows.h"
#include "kernels/generic/matmul_f32.h"
#include "kernels/kernel_table.h"

namespace colugo::kernels {

// The weight's panels and the rows' values as the multiplier needs them.
struct Bf16Product {
    const PackedWeight* weight;
    const std::byte* a;  // [rows] prepared rows
    size_t row_bytes;
    int rows;
    int k;  // padded
    size_t panel_bytes;
    float* sums;          // [rows][panels at once][16]
    float* partials;      // the same
    std::byte* unpacked;  // kBf16UnpackedBytes, a multiple of 64 from a cache line on
};

inline constexpr int kBf16Panels = 2;  // at once
inline constexpr size_t kBf16SumBytes = size_t{kBf16Panels} * kMostRowsPerPass * kPanel * sizeof(float);
inline constexpr size_t kBf16UnpackedBytes = kMatmulScratchBytes - 2 * kBf16SumBytes;

// sums += partials x scale, for the 128-k block `group` of a panel. Rows without group scales count as 1. ld: floats
// from row to row.
template <class V>
void fold_bf16_block(float* sums, const float* partials, int64_t ld, const Bf16Product& product, int panel, int group) {
    const PackedWeight& weight = *product.weight;
    const int groups = (weight.k + kGroupK - 1) / kGroupK;
    const float block_scale = weight.block_scales[static_cast<int64_t>(panel) * kPanel / kGroupK * groups + group];
    const std::byte* a = product.a;
    for (int row = 0; row < product.rows; ++row, a += product.row_bytes, sums += ld, partials += ld) {
        float scale = block_scale;
        if (weight.activation == ActivationFormat::fp8_group128) scale *= bf16_group_scales<V>(a, weight.k)[group];
        V::fma(V::load(partials), V::set(scale), V::load(sums)).store(sums);
    }
}

// The one format that is not exact in bf16: its chains are fused multiply-adds in f32. No loader makes it in the modes
// that round activations, so plain is enough.
template <class V, int kPanels>
void multiply_f32_weights(float* sums, const Bf16Product& product, const std::byte* data, int k_begin, int k,
                          bool accumulate) {
    for (int row = 0; row < product.rows; ++row) {
        const std::byte* a = product.a + static_cast<size_t>(row) * product.row_bytes;
        const uint16_t* values = reinterpret_cast<const uint16_t*>(a) + k_begin;
        for (size_t p = 0; p < kPanels; ++p, sums += kPanel) {
            const auto* columns = reinterpret_cast<const float*>(data + p * product.panel_bytes);
            V sum = accumulate ? V::load(sums) : V::zero();
            for (int i = 0; i < k; ++i, columns += kPanel) {
                const float value = __builtin_bit_cast(float, uint32_t{values[i]} << 16);
                sum = V::fma(V::set(value), V::load(columns), sum);
            }
            sum.store(sums);
        }
    }
}

// product.sums of kPanels panels from `panel` on.
template <class V, class Multiplier, int kPanels>
void sum_bf16_panels(Multiplier& multiplier, const Bf16Product& product, int panel) {
    const bool blocks = product.weight->format == WeightFormat::fp8_block128;
    const int piece_k = blocks ? kGroupK : multiplier.piece_k(product);
    const std::byte* data = product.weight->data + static_cast<size_t>(panel) * product.panel_bytes;
    const size_t unit_bytes = product.panel_bytes / static_cast<size_t>(product.k / kUnitK);
    if (blocks) {
        for (int i = 0; i < product.rows * kPanels * kPanel; i += V::kWidth) V::zero().store(product.sums + i);
    }
    for (int k = 0; k < product.k; k += piece_k, data += unit_bytes * static_cast<size_t>(piece_k / kUnitK)) {
        const int count = product.k - k < piece_k ? product.k - k : piece_k;
        float* sums = blocks ? product.partials : product.sums;
        if (product.weight->format == WeightFormat::f32) {
            multiply_f32_weights<V, kPanels>(sums, product, data, k, count, k > 0);
        } else {
            multiplier.template multiply<kPanels>(sums, product, data, k, count, !blocks && k > 0);
        }
        for (int p = 0; blocks && p < kPanels; ++p) {
            fold_bf16_block<V>(product.sums + p * kPanel, product.partials + p * kPanel, kPanels * kPanel, product,
                               panel + p, k / kGroupK);
        }
    }
}

// kPanels at a time as far as they go; the first panel left.
template <class V, class Multiplier, int kPanels>
int matmul_bf16_panels(const MatmulArgs& args, Multiplier& multiplier, const Bf16Product& product, int row, int panel,
                       int panel_end) {
    for (; panel + kPanels <= panel_end; panel += kPanels) {
        sum_bf16_panels<V, Multiplier, kPanels>(multiplier, product, panel);
        for (int p = 0; p < kPanels; ++p) {
            store_panel<V>(args, row, product.rows, panel + p, product.sums + p * kPanel, kPanels * kPanel,
                           args.weight->alpha);
        }
    }
    return panel;
}

template <class V, class Multiplier>
void matmul_bf16(const MatmulArgs& args, int panel_begin, int panel_end, std::byte* scratch) {
    const PackedWeight& weight = *args.weight;
    const size_t row_bytes = bf16_row_bytes<V>(weight.activation, weight.k);
    const int pass_rows = rows_per_pass<V>(row_bytes);
    Bf16Product product{.weight = &weight,
                        .a = args.activation,
                        .row_bytes = row_bytes,
                        .rows = 0,
                        .k = weight.padded_k(),
                        .panel_bytes = packed_panel_bytes(weight.format, weight.k),
                        .sums = reinterpret_cast<float*>(scratch),
                        .partials = reinterpret_cast<float*>(scratch + kBf16SumBytes),
                        .unpacked = scratch + 2 * kBf16SumBytes};
    Multiplier multiplier;
    for (int row = 0; row < args.rows; row += product.rows) {
        product.a = args.activation + static_cast<size_t>(row) * row_bytes;
        product.rows = args.rows - row < pass_rows ? args.rows - row : pass_rows;
        const int panel = matmul_bf16_panels<V, Multiplier, 2>(args, multiplier, product, row, panel_begin, panel_end);
        matmul_bf16_panels<V, Multiplier, 1>(args, multiplier, product, row, panel, panel_end);
    }
}

}  // namespace colugo::kernels
