// The reference of matmul_codes: one column, plain integers.
#pragma once

#include "base/float_formats.h"
#include "kernels/generic/prepare_activation.h"
#include "kernels/generic/row_groups.h"
#include "kernels/generic/unpack_panel.h"
#include "kernels/generic/vec_scalar.h"

namespace colugo::kernels::scalar {

struct BlockWeights {
    int codes[16];  // doubled, in k order
    float scale;
};

inline BlockWeights load_block(const std::byte* unit, int block, int column) {
    BlockWeights out;
    for (int group = 0; group < 2; ++group) {
        uint32_t codes;
        std::memcpy(&codes, unit + ((2 * block + group) * kPanel + column) * 4, sizeof codes);
        for (int i = 0; i < 8; ++i) {
            const float value = kE2m1Values[codes >> (4 * i) & 0xfu];
            out.codes[group * 8 + kNibbleToK[i]] = static_cast<int>(2.0f * value);
        }
    }
    out.scale = Vec::load_e4m3(unit + kNvfp4ScaleOffset + block * kPanel + column).v;
    return out;
}

// One row's block, its values in k order, times `vectors` columns.
inline void add_block(Vec* sum, const int (&values)[16], float scale, const BlockWeights* weights, int vectors) {
    for (int column = 0; column < vectors; ++column) {
        int dot = 0;
        for (int i = 0; i < 16; ++i) dot += weights[column].codes[i] * values[i];
        const Vec scaled = {static_cast<float>(dot) * scale};
        sum[column] = Vec::fma(scaled, {weights[column].scale}, sum[column]);
    }
}

// nvfp4 x nvfp4: doubled codes on both sides.
struct W4A4Product {
    using Weights = BlockWeights;
    using RowUnit = Nvfp4RowUnit;
    using Rows = RowGroups<4, 3, 2, 1>;
    static constexpr int kPieceUnits = 4;
    static constexpr float kFactor = 0.25f;

    static Weights load(const std::byte* unit, int block, int column) { return load_block(unit, block, column); }

    template <int kRows, int kVectors>
    static void multiply(Vec (&sum)[kRows][kVectors], const std::byte* rows, size_t row_bytes, int block,
                         const Weights* weights) {
        for (int row = 0; row < kRows; ++row, rows += row_bytes) {
            const RowUnit& unit = *reinterpret_cast<const RowUnit*>(rows);
            int values[16];
            for (int i = 0; i < 16; ++i) values[i / 8 * 8 + kCodeOrder[i % 8]] = unit.codes[block * 16 + i];
            add_block(sum[row], values, unit.scales[block], weights, kVectors);
        }
    }
};

// nvfp4 x bf16_block16.
struct Block16Product {
    using Weights = BlockWeights;
    using RowUnit = Block16RowUnit;
    using Rows = RowGroups<4, 3, 2, 1>;
    static constexpr int kPieceUnits = 4;
    static constexpr float kFactor = 0.5f;

    static Weights load(const std::byte* unit, int block, int column) { return load_block(unit, block, column); }

    template <int kRows, int kVectors>
    static void multiply(Vec (&sum)[kRows][kVectors], const std::byte* rows, size_t row_bytes, int block,
                         const Weights* weights) {
        for (int row = 0; row < kRows; ++row, rows += row_bytes) {
            const RowUnit& unit = *reinterpret_cast<const RowUnit*>(rows);
            int values[16];
            for (int i = 0; i < 16; ++i) values[i] = unit.values[block * 16 + i];
            add_block(sum[row], values, unit.units[block], weights, kVectors);
        }
    }
};

}  // namespace colugo::kernels::scalar
