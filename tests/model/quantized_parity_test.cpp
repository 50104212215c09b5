// Published storage formats and the bf16 mode against the numpy reference (tools/make_quantized_goldens.py), which
// dequantizes by the formats' definitions and rounds where this program rounds.
#include <gtest/gtest.h>

#include <cmath>

#include "model/golden.h"
#include "model/model_harness.h"

namespace colugo::testing {
namespace {

struct Variant {
    const char* name;  // in the golden file
    const char* fixture;
    const char* shape;
    ComputeMode compute;
    kernels::KvType kv_type;
    // Root mean square and largest difference of logits of scale 5. Where activations are quantized at run time, a
    // value beside a rounding threshold may fall to the other side in f32, and its whole block with it.
    float rms;
    float max;
    float cosine;  // smallest
};

using kernels::KvType;
constexpr Variant kVariants[] = {
    {"bf16", "tiny-bf16", "tiny", ComputeMode::bf16, KvType::bf16, 0.02f, 0.12f, 0.9999f},
    {"bf16-kv-fp8", "tiny-bf16-kv-fp8", "tiny", ComputeMode::bf16, KvType::fp8, 0.02f, 0.15f, 0.9999f},
    {"bf16", "tiny-bf16", "tiny", ComputeMode::bf16, KvType::int8, 0.02f, 0.15f, 0.9999f},
    {"nvfp4-w4a16", "tiny-nvfp4-w4a16", "tiny", ComputeMode::f32, KvType::f32, 1e-4f, 5e-4f, 0.9999f},
    {"nvfp4-w4a4", "tiny-nvfp4-w4a4", "tiny", ComputeMode::f32, KvType::f32, 0.05f, 0.6f, 0.98f},
    {"ct-nvfp4", "tiny-ct-nvfp4", "tiny", ComputeMode::f32, KvType::f32, 0.05f, 0.6f, 0.98f},
    {"nvfp4-all", "tiny-nvfp4-all", "tiny", ComputeMode::bf16, KvType::fp8, 0.25f, 1.7f, 0.98f},
    {"fp8", "tiny-fp8", "tiny", ComputeMode::f32, KvType::f32, 0.05f, 0.4f, 0.98f},
    {"fp8-block", "tiny-fp8-block", "tiny", ComputeMode::f32, KvType::f32, 0.05f, 0.4f, 0.98f},
    {"mixed", "tiny-mixed", "tiny", ComputeMode::f32, KvType::f32, 0.02f, 0.2f, 0.99f},
    {"r1-fp8-block", "tiny-r1-fp8-block", "tiny-r1", ComputeMode::f32, KvType::f32, 0.1f, 0.6f, 0.98f},
    {"r1-nvfp4-head", "tiny-r1-nvfp4-head", "tiny-r1", ComputeMode::f32, KvType::f32, 0.25f, 1.2f, 0.98f},
};

class QuantizedParity : public ::testing::TestWithParam<std::tuple<Variant, kernels::Tier>> {
 protected:
    const Variant& variant() const { return std::get<0>(GetParam()); }
    ModelHarness harness() const {
        return ModelHarness(
            load_fixture(variant().fixture, variant().compute),
            {.tier = std::get<1>(GetParam()), .compute = variant().compute, .kv_type = variant().kv_type});
    }
    const Golden golden_{"model/quantized.safetensors"};
};

TEST_P(QuantizedParity, Logits) {
    const std::string shape = variant().shape;
    const std::vector<int32_t> ids = golden_.ints("ids." + shape);
    const std::vector<int32_t> positions = golden_.ints("positions." + shape);
    const std::vector<float> expected = golden_.floats(std::string(variant().name) + ".logits");
    ModelHarness launched = harness();
    const std::vector<float> logits = launched.logits(ids, {static_cast<int>(ids.size())});
    const auto vocab = static_cast<size_t>(launched.config().vocab_size);
    double squares = 0, dot = 0, norm_got = 0, norm_expected = 0;
    float largest = 0;
    for (size_t i = 0; i < positions.size(); ++i) {
        for (size_t v = 0; v < vocab; ++v) {
            const float got = logits[static_cast<size_t>(positions[i]) * vocab + v];
            const float want = expected[i * vocab + v];
            ASSERT_TRUE(std::isfinite(got));
            largest = std::max(largest, std::fabs(got - want));
            squares += (got - want) * (got - want);
            dot += static_cast<double>(got) * want;
            norm_got += static_cast<double>(got) * got;
            norm_expected += static_cast<double>(want) * want;
        }
    }
    const double rms = std::sqrt(squares / static_cast<double>(positions.size() * vocab));
    EXPECT_LE(rms, variant().rms);
    EXPECT_LE(largest, variant().max);
    EXPECT_GT(dot / std::sqrt(norm_got * norm_expected), variant().cosine);
    RecordProperty("rms", std::to_string(rms));
    RecordProperty("max", std::to_string(largest));
    std::printf("%s on %s: rms %.3g, max %.3g\n", variant().name, kernels::tier_name(std::get<1>(GetParam())), rms,
                largest);
}

INSTANTIATE_TEST_SUITE_P(Variants, QuantizedParity,
                         ::testing::Combine(::testing::ValuesIn(kVariants), ::testing::ValuesIn(available_tiers())),
                         [](const ::testing::TestParamInfo<QuantizedParity::ParamType>& param) {
                             const Variant& variant = std::get<0>(param.param);
                             std::string name = std::string(variant.name) +
                                                (variant.kv_type == KvType::int8 ? "_int8_" : "_") +
                                                kernels::tier_name(std::get<1>(param.param));
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

}  // namespace
}  // namespace colugo::testing
