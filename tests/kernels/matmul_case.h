// Random weights in every format and the definitions of the activation formats, one value at a time in double
// precision from base/float_formats.h: what the matmul's results are compared with.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/float_formats.h"
#include "kernels/each_tier.h"
#include "kernels/kernel_table.h"

namespace colugo::kernels {

struct MatmulPair {
    WeightFormat weight;
    ActivationFormat activation;
    const char* name;
};

inline constexpr MatmulPair kMatmulPairs[] = {
    {WeightFormat::f32, ActivationFormat::f32, "f32 x f32"},
    {WeightFormat::f32, ActivationFormat::bf16, "f32 x bf16"},
    {WeightFormat::bf16, ActivationFormat::f32, "bf16 x f32"},
    {WeightFormat::bf16, ActivationFormat::bf16, "bf16 x bf16"},
    {WeightFormat::fp8, ActivationFormat::fp8, "fp8 x fp8"},
    {WeightFormat::fp8, ActivationFormat::f32, "fp8 x f32"},
    {WeightFormat::fp8, ActivationFormat::bf16, "fp8 x bf16"},
    {WeightFormat::fp8_block128, ActivationFormat::fp8_group128, "fp8_block128 x fp8_group128"},
    {WeightFormat::fp8_block128, ActivationFormat::f32, "fp8_block128 x f32"},
    {WeightFormat::nvfp4, ActivationFormat::f32, "nvfp4 x f32"},
    {WeightFormat::nvfp4, ActivationFormat::bf16, "nvfp4 x bf16"},
    {WeightFormat::nvfp4, ActivationFormat::bf16_block16, "nvfp4 x bf16_block16"},
    {WeightFormat::nvfp4, ActivationFormat::nvfp4, "nvfp4 x nvfp4"},
};

// What a row of activations means: value x scale, without input_scale.
struct QuantizedValue {
    float value;
    float scale;
    double product() const { return static_cast<double>(value) * scale; }
};

inline float max_abs(const float* x, int n) {
    float most = 0.0f;
    for (int i = 0; i < n; ++i) most = std::max(most, std::fabs(x[i]));
    return most;
}

inline std::vector<QuantizedValue> quantize_row(ActivationFormat format, float input_scale, const float* x, int k) {
    std::vector<QuantizedValue> out(static_cast<size_t>(k));
    for (int i = 0; i < k; ++i) {
        QuantizedValue& q = out[static_cast<size_t>(i)];
        switch (format) {
            case ActivationFormat::f32:
                q = {x[i], 1.0f};
                break;
            case ActivationFormat::bf16:
                q = {round_to_bf16(x[i]), 1.0f};
                break;
            case ActivationFormat::fp8:
                q = {e4m3_to_f32(f32_to_e4m3(x[i] / input_scale)), 1.0f};
                break;
            case ActivationFormat::fp8_group128: {
                const int begin = i / 128 * 128;
                const float most = max_abs(x + begin, std::min(128, k - begin));
                const float scale = most == 0.0f ? 1.0f : most / 448.0f;
                q = {e4m3_to_f32(f32_to_e4m3(x[i] / scale)), scale};
                break;
            }
            case ActivationFormat::nvfp4: {
                const int begin = i / 16 * 16;
                const float most = max_abs(x + begin, std::min(16, k - begin));
                const float scale = e4m3_to_f32(f32_to_e4m3(most / 6.0f / input_scale));
                const float divisor = scale * input_scale;
                q = {scale == 0.0f ? 0.0f : kE2m1Values[f32_to_e2m1(x[i] / divisor)], scale};
                break;
            }
            case ActivationFormat::int8: {
                const float most = max_abs(x, k);
                const float scale = most < 0x1p-100f ? 0.0f : most / 127.0f;
                q = {scale == 0.0f ? 0.0f : std::nearbyint(x[i] / scale), scale};
                break;
            }
            case ActivationFormat::bf16_block16: {
                const int begin = i / 16 * 16;
                float most = 0.0f;
                for (int j = begin; j < std::min(begin + 16, k); ++j) {
                    most = std::max(most, std::fabs(round_to_bf16(x[j])));
                }
                // frexp's exponent is one more than the leading bit's.
                const int exponent = most == 0.0f ? -100 : std::max(-100, std::ilogb(most));
                const float unit = std::ldexp(1.0f, exponent - 14);
                q = {std::nearbyint(round_to_bf16(x[i]) / unit), unit};
                break;
            }
        }
    }
    return out;
}

// A weight as a checkpoint stores it, packed, and as real numbers.
struct TestWeight {
    TestWeight(const MatmulPair& pair, int n, int k, Random& random)
        : values(static_cast<size_t>(n) * static_cast<size_t>(k)) {
        packed.n = n;
        packed.k = k;
        packed.format = pair.weight;
        packed.activation = pair.activation;
        packed.alpha = random.uniform(0.5f, 2.0f);
        packed.input_scale = random.uniform(0.001f, 0.01f);
        fill_source(random);
        pack();
        apply_block_scales(random);
    }

    void pack() {
        storage = Buffer(packed_bytes(packed.format, packed.n, packed.k));
        packed.data = storage.data();
        const size_t panel_bytes = packed_panel_bytes(packed.format, packed.k);
        const size_t row_bytes = source.size() / static_cast<size_t>(packed.n);
        const size_t scale_bytes = scales.size() / static_cast<size_t>(packed.n);
        for (int panel = 0; panel < packed.num_panels(); ++panel) {
            std::byte* out = storage.data() + static_cast<size_t>(panel) * panel_bytes;
            const auto first = static_cast<size_t>(panel) * kPanel;
            const int rows = std::min(kPanel, packed.n - panel * kPanel);
            if (packed.format == WeightFormat::nvfp4) {
                pack_panel_nvfp4(out, source.data() + first * row_bytes, scales.data() + first * scale_bytes, rows,
                                 packed.k);
            } else {
                pack_panel(out, packed.format, source.data() + first * row_bytes, rows, packed.k);
            }
        }
    }

    double value(int n, int k) const {
        return values[static_cast<size_t>(n) * static_cast<size_t>(packed.k) + static_cast<size_t>(k)];
    }

    std::vector<std::byte> source;  // row-major, the checkpoint's bytes
    std::vector<std::byte> scales;  // nvfp4: [n, k / 16] e4m3
    std::vector<double> values;     // [n, k]
    std::vector<float> block_scales;
    Buffer storage;
    PackedWeight packed;

 private:
    void fill_source(Random& random) {
        const size_t count = values.size();
        switch (packed.format) {
            case WeightFormat::f32:
                source.resize(count * 4);
                for (size_t i = 0; i < count; ++i) {
                    const float value = random.uniform(-1.0f, 1.0f);
                    std::memcpy(&source[i * 4], &value, 4);
                    values[i] = value;
                }
                break;
            case WeightFormat::bf16:
                source.resize(count * 2);
                for (size_t i = 0; i < count; ++i) {
                    const uint16_t code = f32_to_bf16(random.uniform(-1.0f, 1.0f));
                    std::memcpy(&source[i * 2], &code, 2);
                    values[i] = bf16_to_f32(code);
                }
                break;
            case WeightFormat::fp8:
            case WeightFormat::fp8_block128:
                source.resize(count);
                for (size_t i = 0; i < count; ++i) {
                    // All magnitudes alike: subnormal codes and large ones.
                    const float value = random.uniform(-1.0f, 1.0f) * std::ldexp(1.0f, random.index(18) - 9);
                    source[i] = static_cast<std::byte>(f32_to_e4m3(value));
                    values[i] = e4m3_to_f32(f32_to_e4m3(value));
                }
                break;
            case WeightFormat::nvfp4:
                source.resize(count / 2);
                scales.resize(count / 16);
                for (std::byte& codes : source) codes = static_cast<std::byte>(random.index(256));
                for (std::byte& scale : scales) scale = static_cast<std::byte>(random.index(0x7f));
                for (size_t i = 0; i < count; ++i) {
                    const auto byte = static_cast<uint8_t>(source[i / 2]);
                    const int code = i % 2 == 0 ? byte & 0xf : byte >> 4;
                    values[i] = static_cast<double>(kE2m1Values[code]) *
                                static_cast<double>(e4m3_to_f32(static_cast<uint8_t>(scales[i / 16])));
                }
                break;
        }
    }

    void apply_block_scales(Random& random) {
        if (packed.format != WeightFormat::fp8_block128) return;
        const int blocks_k = (packed.k + 127) / 128;
        block_scales = random.values(static_cast<size_t>((packed.n + 127) / 128 * blocks_k), 0.01f, 1.0f);
        packed.block_scales = block_scales.data();
        for (int n = 0; n < packed.n; ++n) {
            for (int k = 0; k < packed.k; ++k) {
                values[static_cast<size_t>(n) * static_cast<size_t>(packed.k) + static_cast<size_t>(k)] *=
                    static_cast<double>(block_scales[static_cast<size_t>(n / 128 * blocks_k + k / 128)]);
            }
        }
    }
};

// y [rows, ldy] of x [rows, k]. Values beyond n are left as they were.
inline void run_matmul(const KernelTable& table, const TestWeight& weight, const std::vector<float>& x, int rows,
                       std::vector<float>& y, int64_t ldy, bool add, const std::vector<int>& panel_cuts = {}) {
    const PackedWeight& packed = weight.packed;
    const size_t row_bytes = table.activation_row_bytes(packed.activation, packed.k);
    Buffer activation(static_cast<size_t>(rows) * row_bytes);
    table.prepare_activation(activation.data(), packed.activation, packed.input_scale, x.data(), packed.k, rows,
                             packed.k);
    Buffer scratch(kMatmulScratchBytes);
    const MatmulArgs args{
        .y = y.data(), .ldy = ldy, .activation = activation.data(), .rows = rows, .weight = &packed, .add = add};
    int begin = 0;
    for (int end : panel_cuts) {
        table.matmul(args, begin, end, scratch.data());
        begin = end;
    }
    table.matmul(args, begin, packed.num_panels(), scratch.data());
}

// Activations with values of several magnitudes, so that blocks and groups differ in scale.
inline std::vector<float> random_rows(Random& random, int rows, int k) {
    std::vector<float> x = random.values(static_cast<size_t>(rows) * static_cast<size_t>(k));
    for (size_t i = 0; i < x.size(); i += 16) {
        const float factor = std::ldexp(1.0f, random.index(7) - 4);
        for (size_t j = i; j < std::min(i + 16, x.size()); ++j) x[j] *= factor;
    }
    return x;
}

}  // namespace colugo::kernels
