#include "kernels/packed_weight.h"

#include <algorithm>

#include "kernels/matmul_case.h"

namespace colugo::kernels {
namespace {

constexpr MatmulPair kStored[] = {{WeightFormat::f32, ActivationFormat::f32, "f32"},
                                  {WeightFormat::bf16, ActivationFormat::bf16, "bf16"},
                                  {WeightFormat::fp8, ActivationFormat::fp8, "fp8"},
                                  {WeightFormat::nvfp4, ActivationFormat::nvfp4, "nvfp4"}};

TEST(PackedWeightTest, RowsComeBack) {
    Random random(1);
    for (const MatmulPair& pair : kStored) {
        SCOPED_TRACE(pair.name);
        for (int n : {1, 15, 16, 17, 100}) {
            for (int k : {1, 2, 15, 16, 48, 64, 65, 80, 128, 272, 1000}) {
                if (pair.weight == WeightFormat::nvfp4 && k % 16 != 0) continue;
                const TestWeight weight(pair, n, k, random);
                for (int row = 0; row < n; ++row) {
                    std::vector<float> out(static_cast<size_t>(k) + 1, 7.0f);
                    unpack_row(out.data(), weight.packed, row);
                    for (int i = 0; i < k; ++i) {
                        ASSERT_EQ(out[static_cast<size_t>(i)], weight.value(row, i)) << "n " << n << " k " << k;
                    }
                    ASSERT_EQ(out.back(), 7.0f);
                }
            }
        }
    }
}

TEST(PackedWeightTest, Sizes) {
    EXPECT_EQ(packed_panel_bytes(WeightFormat::nvfp4, 64), 576u);
    EXPECT_EQ(packed_panel_bytes(WeightFormat::nvfp4, 80), 2 * 576u);
    EXPECT_EQ(packed_panel_bytes(WeightFormat::f32, 1), 64u * 16 * 4);
    EXPECT_EQ(packed_panel_bytes(WeightFormat::bf16, 65), 128u * 16 * 2);
    EXPECT_EQ(packed_bytes(WeightFormat::fp8_block128, 17, 64), 2u * 64 * 16);
    // Past 2^32 bytes.
    EXPECT_EQ(packed_bytes(WeightFormat::f32, 248320, 5120), size_t{248320} * 5120 * 4);
}

// The byte positions packed_weight.h promises, written out.
TEST(PackedWeightTest, Layout) {
    constexpr int kRows = 11;
    constexpr int kK = 144;
    constexpr int kPaddedK = 192;
    Random random(2);
    for (const MatmulPair& pair : kStored) {
        SCOPED_TRACE(pair.name);
        const TestWeight weight(pair, kRows, kK, random);
        const std::byte* panel = weight.storage.data();
        for (int k = 0; k < kPaddedK; ++k) {
            for (int column = 0; column < kPanel; ++column) {
                const bool stored = column < kRows && k < kK;
                const double expected = stored ? weight.value(column, k) : 0.0;
                const int pair_index = (k / 2 * 16 + column) * 2 + k % 2;
                double value = 0;
                if (pair.weight == WeightFormat::f32) {
                    float f;
                    std::memcpy(&f, panel + (k * 16 + column) * 4, 4);
                    value = f;
                } else if (pair.weight == WeightFormat::bf16) {
                    uint16_t code;
                    std::memcpy(&code, panel + pair_index * 2, 2);
                    value = bf16_to_f32(code);
                } else if (pair.weight == WeightFormat::fp8) {
                    value = e4m3_to_f32(static_cast<uint8_t>(panel[pair_index]));
                } else {
                    const std::byte* unit = panel + k / 64 * 576;
                    uint32_t codes;
                    std::memcpy(&codes, unit + (k % 64 / 8 * 16 + column) * 4, 4);
                    const auto nibble = std::find(kNibbleToK, kNibbleToK + 8, k % 8) - kNibbleToK;
                    const auto scale = static_cast<uint8_t>(unit[512 + k % 64 / 16 * 16 + column]);
                    ASSERT_LE(scale, 0x7f) << "k " << k << " column " << column;
                    value = static_cast<double>(kE2m1Values[codes >> (4 * nibble) & 0xf]) * e4m3_to_f32(scale);
                }
                ASSERT_EQ(value, expected) << "k " << k << " column " << column;
            }
        }
    }
}

TEST(PackedWeightDeathTest, RefusesWhatItCannotPack) {
    std::vector<std::byte> bytes(4096);
    EXPECT_DEATH(pack_panel(bytes.data(), WeightFormat::nvfp4, bytes.data(), 16, 64), "");
    EXPECT_DEATH(pack_panel(bytes.data(), WeightFormat::fp8, bytes.data(), 17, 64), "");
    EXPECT_DEATH(pack_panel_nvfp4(bytes.data(), bytes.data(), bytes.data(), 16, 24), "");
}

}  // namespace
}  // namespace colugo::kernels
