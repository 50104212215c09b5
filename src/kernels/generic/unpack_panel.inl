#include <cstdint>

namespace colugo::kernels {

inline constexpr int kNvfp4UnitBytes = 576;    // 16 columns x 64 k
inline constexpr int kNvfp4ScaleOffset = 512;  // of the unit's scales [4 blocks][16]

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
void unpack_nvfp4_panel(float* out, const std::byte* panel, int k_count) {
    for (int k = 0; k < k_count; k += kUnitK, panel += kNvfp4UnitBytes) {
        unpack_nvfp4_unit<V>(out + k * kPanel, panel, k_count - k < kUnitK ? k_count - k : kUnitK);
    }
}

}  // namespace colugo::kernels
