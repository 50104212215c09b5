#include "cli/kernel_check.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "backend/cpu/cpu_backend.h"
#include "base/float_formats.h"

namespace colugo {

namespace {

using kernels::ActivationFormat;
using kernels::KvType;
using kernels::WeightFormat;

using Values = std::vector<float>;

constexpr int kRows = 70;  // more than two pages

class Random {
 public:
    explicit Random(uint32_t seed) : bits_(seed) {}
    float next(float low, float high) { return low + (high - low) * static_cast<float>(bits_() >> 8) * 0x1p-24f; }
    Values values(int64_t count, float low = -1.0f, float high = 1.0f) {
        Values out(static_cast<size_t>(count));
        for (float& value : out) value = next(low, high);
        return out;
    }

 private:
    std::mt19937 bits_;
};

TensorView view(Values& values, int64_t cols) {
    return {values.data(), static_cast<int64_t>(values.size()) / cols, cols};
}

double largest_error(const Values& got, const Values& expected) {
    double error = 0.0;
    double scale = 0.0;
    for (size_t i = 0; i < got.size(); ++i) {
        const double difference = std::fabs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
        if (std::isnan(difference)) return difference;
        error = std::max(error, difference);
        scale = std::max(scale, std::fabs(static_cast<double>(expected[i])));
    }
    return error / scale;
}

struct MatmulCase {
    const char* name;
    WeightFormat weight;
    ActivationFormat activation;
};

constexpr MatmulCase kMatmuls[] = {
    {"matmul f32", WeightFormat::f32, ActivationFormat::f32},
    {"matmul bf16", WeightFormat::bf16, ActivationFormat::bf16},
    {"matmul fp8", WeightFormat::fp8, ActivationFormat::fp8},
    {"matmul fp8 weights", WeightFormat::fp8, ActivationFormat::bf16},
    {"matmul fp8 128x128", WeightFormat::fp8_block128, ActivationFormat::fp8_group128},
    {"matmul nvfp4 w4a16", WeightFormat::nvfp4, ActivationFormat::bf16},
    {"matmul nvfp4 block16", WeightFormat::nvfp4, ActivationFormat::bf16_block16},
    {"matmul nvfp4 w4a4", WeightFormat::nvfp4, ActivationFormat::nvfp4},
};

// A random matrix [n, k], packed.
class RandomWeight {
 public:
    RandomWeight(const MatmulCase& format, int n, int k, Random& random)
        : storage_(kernels::packed_bytes(format.weight, n, k)),
          scales_(random.values((n + 127) / 128 * ((k + 127) / 128), 0.5f, 2.0f)) {
        for (int panel = 0; panel * kernels::kPanel < n; ++panel) {
            const int rows = std::min(kernels::kPanel, n - panel * kernels::kPanel);
            pack(storage_.data() + static_cast<size_t>(panel) * kernels::packed_panel_bytes(format.weight, k),
                 format.weight, rows, k, random);
        }
        packed = {.data = storage_.data(), .n = n, .k = k, .format = format.weight, .activation = format.activation};
        if (format.weight == WeightFormat::fp8_block128) packed.block_scales = scales_.data();
        if (format.activation == ActivationFormat::nvfp4) packed.input_scale = 1.0f / 2688.0f;
        if (format.activation == ActivationFormat::fp8) packed.input_scale = 1.0f / 448.0f;
        packed.alpha = packed.input_scale;
    }
    kernels::PackedWeight packed;

 private:
    static void pack(std::byte* panel, WeightFormat format, int rows, int k, Random& random) {
        const Values values = random.values(int64_t{rows} * k);
        if (format == WeightFormat::f32) {
            kernels::pack_panel(panel, format, reinterpret_cast<const std::byte*>(values.data()), rows, k);
        } else if (format == WeightFormat::bf16) {
            std::vector<uint16_t> bits(values.size());
            std::transform(values.begin(), values.end(), bits.begin(), f32_to_bf16);
            kernels::pack_panel(panel, format, reinterpret_cast<const std::byte*>(bits.data()), rows, k);
        } else if (format == WeightFormat::nvfp4) {
            std::vector<std::byte> codes(values.size() / 2);
            std::vector<std::byte> scales(values.size() / 16);
            for (std::byte& code : codes) code = static_cast<std::byte>(random.next(0.0f, 255.99f));
            for (std::byte& scale : scales) scale = static_cast<std::byte>(f32_to_e4m3(random.next(0.5f, 8.0f)));
            kernels::pack_panel_nvfp4(panel, codes.data(), scales.data(), rows, k);
        } else {
            std::vector<std::byte> codes(values.size());
            std::transform(values.begin(), values.end(), codes.begin(),
                           [](float x) { return static_cast<std::byte>(f32_to_e4m3(x)); });
            kernels::pack_panel(panel, format, codes.data(), rows, k);
        }
    }

    Buffer storage_;
    Values scales_;
};

Values run_matmul(Backend& backend, const MatmulCase& format) {
    constexpr int kN = 200;  // ends inside a panel
    constexpr int kK = 336;  // ends inside a unit
    Random random(11);
    const RandomWeight weight(format, kN, kK, random);
    Values x = random.values(kRows * kK);
    Values out(kRows * kN);
    const LinearCall call[] = {{&weight.packed, view(out, kN)}};
    backend.linear(call, view(x, kK));
    return out;
}

Values run_attention(Backend& backend, KvType type) {
    const float scale = type == KvType::fp8 ? 0.01f : 1.0f;
    AttentionShape shape{
        .num_heads = 6, .num_kv_heads = 2, .head_dim = 256, .rotary_dim = 64, .kv_type = type, .slice = {}};
    const auto tiles = static_cast<int64_t>(kernels::kv_tile_bytes(type, shape.head_dim)) * shape.num_kv_heads;
    shape.slice = {.key_offset = 0, .value_offset = tiles, .key_scale = scale, .value_scale = scale};
    constexpr int kPages = (kRows + kernels::kPage - 1) / kernels::kPage;
    const Buffer memory(static_cast<size_t>(kPages * 2 * tiles));
    std::byte* pages[kPages];
    for (int i = 0; i < kPages; ++i) pages[i] = memory.data() + i * 2 * tiles;
    const AttentionSequence sequence[] = {{0, kRows, 0, 0, pages}};

    Random random(12);
    const int heads = shape.num_heads * shape.head_dim;
    const int kv_heads = shape.num_kv_heads * shape.head_dim;
    Values queries = random.values(int64_t{kRows} * 2 * heads);
    Values keys = random.values(int64_t{kRows} * kv_heads);
    Values values = random.values(int64_t{kRows} * kv_heads);
    const Values norm = random.values(shape.head_dim, 0.0f, 0.5f);
    Values cos_sin(static_cast<size_t>(kRows * shape.rotary_dim));
    const Values frequencies = random.values(shape.rotary_dim / 2, 0.0f, 1.0f);
    Values out(static_cast<size_t>(kRows * heads));
    backend.rope_table(view(cos_sin, shape.rotary_dim), sequence, frequencies);
    backend.attention_inputs(view(queries, 2 * heads), view(keys, kv_heads), view(values, kv_heads),
                             view(cos_sin, shape.rotary_dim), norm.data(), norm.data(), 1e-6f, shape, sequence);
    backend.attention(view(out, heads), view(queries, 2 * heads), shape, sequence);
    return out;
}

Values run_gated_delta_net(Backend& backend) {
    const GdnShape shape{.num_key_heads = 2, .num_value_heads = 6, .key_dim = 128, .value_dim = 128, .conv_taps = 4};
    Random random(13);
    const int heads = shape.num_value_heads;
    Values state(static_cast<size_t>(heads * shape.key_dim * shape.value_dim));
    Values keys(static_cast<size_t>(kernels::kPage * shape.key_width()));
    Values deltas(static_cast<size_t>(kernels::kPage * shape.value_width()));
    Values log_decays(static_cast<size_t>(kernels::kPage * heads));
    Values window(static_cast<size_t>((shape.conv_taps - 1) * shape.conv_width()));
    const GdnPageState page{state.data(), state.data(), keys.data(), deltas.data(), log_decays.data()};
    const std::vector<GdnPageState> pages(kRows / kernels::kPage + 1, page);
    const ConvWindow windows[] = {{kRows, window.data()}};
    const GdnSequence sequence[] = {{0, kRows, 0, pages.data(), window.data(), windows}};

    Values inputs = random.values(int64_t{kRows} * shape.conv_width());
    const Values taps = random.values(int64_t{shape.conv_taps} * shape.conv_width());
    Values mixed(inputs.size());
    Values b = random.values(kRows * heads);
    Values a = random.values(kRows * heads);
    const Values neg_exp_a_log = random.values(heads, -0.5f, -0.05f);
    const Values dt_bias = random.values(heads);
    Values out(static_cast<size_t>(kRows * shape.value_width()));
    Values gate = random.values(static_cast<int64_t>(out.size()));
    const Values norm = random.values(shape.value_dim, 0.5f, 1.5f);
    backend.gdn_convolution(view(mixed, shape.conv_width()), view(inputs, shape.conv_width()), taps.data(), shape,
                            sequence);
    backend.gdn_inputs(view(mixed, shape.conv_width()), view(b, heads), view(a, heads), neg_exp_a_log.data(),
                       dt_bias.data(), shape);
    backend.gated_delta_net(view(out, shape.value_width()), view(mixed, shape.conv_width()), view(b, heads),
                            view(a, heads), shape, sequence);
    backend.gated_rms_norm(view(out, shape.value_width()), view(gate, shape.value_width()), norm.data(), 1e-6f, shape);
    return out;
}

}  // namespace

std::vector<KernelCheck> check_kernels(kernels::Tier tier) {
    ThreadPool threads(2);
    CpuBackend tested(kernels::kernel_table(tier), threads, ComputeMode::bf16);
    CpuBackend scalar(kernels::kernel_table(kernels::Tier::scalar), threads, ComputeMode::bf16);
    std::vector<KernelCheck> checks;
    const auto check = [&](std::string name, double tolerance, const std::function<Values(Backend&)>& run) {
        checks.push_back({std::move(name), largest_error(run(tested), run(scalar)), tolerance});
    };
    constexpr double kExactInputs = 1e-5;  // both tiers multiply the same rounded numbers
    constexpr double kRounded = 2e-2;      // a bf16 or fp8 value in between may round to its neighbour
    for (const MatmulCase& format : kMatmuls) {
        check(format.name, kExactInputs, [&](Backend& backend) { return run_matmul(backend, format); });
    }
    check("attention f32", kExactInputs, [](Backend& backend) { return run_attention(backend, KvType::f32); });
    check("attention bf16", kRounded, [](Backend& backend) { return run_attention(backend, KvType::bf16); });
    check("attention fp8", kRounded, [](Backend& backend) { return run_attention(backend, KvType::fp8); });
    check("attention int8", kRounded, [](Backend& backend) { return run_attention(backend, KvType::int8); });
    check("gated delta net", kExactInputs * 10, run_gated_delta_net);
    return checks;
}

}  // namespace colugo
