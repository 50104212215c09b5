#include <cstdint>

namespace colugo::kernels {

inline constexpr int kNvfp4UnitBytes = 576;    // 16 columns x 64 k
inline constexpr int kNvfp4ScaleOffset = 512;  // of the unit's scales [4 blocks][16]

template <class V>
void unpack_f32(float* out, const std::byte* panel, int k_count) {
    const float* values = reinterpret_cast<const float*>(panel);
    for (int i = 0; i < k_count * kPanel; i += V::kWidth) V::load(values + i).store(out + i);
}

template <class V>
void unpack_bf16(float* out, const std::byte* panel, int k_count) {
    for (int k = 0; k < k_count; k += 2, out += 2 * kPanel, panel += 4 * kPanel) {
        for (int column = 0; column < kPanel; column += V::kWidth) {
            V low, high;
            V::load_bf16_pairs(panel + column * 4, low, high);
            low.store(out + column);
            high.store(out + kPanel + column);
        }
    }
}

template <class V>
void unpack_fp8(float* out, const std::byte* panel, int k_count) {
    for (int k = 0; k < k_count; k += 2, out += 2 * kPanel, panel += 2 * kPanel) {
        for (int column = 0; column < kPanel; column += V::kWidth) {
            V low, high;
            V::load_e4m3_pairs(panel + column * 2, low, high);
            low.store(out + column);
            high.store(out + kPanel + column);
        }
    }
}

// `unit` is the 64-k unit, k_count at most 64.
template <class V>
void unpack_nvfp4_unit(float* out, const std::byte* unit, int k_count) {
    for (int block = 0; block * 16 < k_count; ++block) {
        for (int column = 0; column < kPanel; column += V::kWidth) {
            const V scale = V::load_e4m3(unit + kNvfp4ScaleOffset + block * kPanel + column);
            for (int group = 2 * block; group < 2 * block + 2; ++group) {
                V codes[8];
                V::load_e2m1_octets(unit + (group * kPanel + column) * 4, codes);
                for (int i = 0; i < 8; ++i) {
                    (codes[i] * scale).store(out + (group * 8 + kNibbleToK[i]) * kPanel + column);
                }
            }
        }
    }
}

template <class V>
void unpack_panel(float* out, WeightFormat format, const std::byte* panel, int k_begin, int k_count) {
    const auto first = static_cast<size_t>(k_begin);
    switch (format) {
        case WeightFormat::f32:
            return unpack_f32<V>(out, panel + first * kPanel * 4, k_count);
        case WeightFormat::bf16:
            return unpack_bf16<V>(out, panel + first * kPanel * 2, k_count);
        case WeightFormat::fp8:
        case WeightFormat::fp8_block128:
            return unpack_fp8<V>(out, panel + first * kPanel, k_count);
        case WeightFormat::nvfp4:
            panel += first / kUnitK * kNvfp4UnitBytes;
            for (int k = 0; k < k_count; k += kUnitK, panel += kNvfp4UnitBytes) {
                unpack_nvfp4_unit<V>(out + k * kPanel, panel, k_count - k < kUnitK ? k_count - k : kUnitK);
            }
            return;
    }
}

}  // namespace colugo::kernels
