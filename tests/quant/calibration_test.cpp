#include "quant/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/weights.h"
#include "model/model_harness.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

using testing::TempFolder;

constexpr int64_t kTokens = 70;  // across two borders

class CalibrationTest : public ::testing::Test {
 protected:
    CalibrationTest()
        : config_(read_model_config(directory_)),
          files_(directory_),
          loader_(files_, config_, read_quantization_config(directory_), {}),
          backend_(kernels::kernel_table(kernels::select_tier()), threads_, ComputeMode::bf16),
          sequences_{testing::test_tokens(static_cast<int>(kTokens), config_.vocab_size), {5, 9}},
          calibration_(config_, sequences_, backend_, folder_.path() + "/stream") {}

    // Everything up to the head.
    void run() {
        calibration_.embed(loader_.stored("model.embed_tokens"));
        for (int64_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
            const std::string part = "model.layers." + std::to_string(layer) + ".";
            loader_.load(part, threads_);
            calibration_.run_layer(layer, loader_.weights().layers[static_cast<size_t>(layer)], {});
            loader_.unload(part);
        }
        loader_.load("model.norm.", threads_);
        loader_.load("mtp.", threads_);
        const ModelWeights& weights = loader_.weights();
        calibration_.run_end(weights.norm, &*weights.mtp, loader_.stored("model.embed_tokens"), {});
    }

    const std::string directory_ = std::string(COLUGO_FIXTURES_DIR) + "/tiny-bf16";
    TempFolder folder_;
    ModelConfig config_;
    CheckpointFiles files_;
    ThreadPool threads_{2};
    WeightLoader loader_;
    RecordingBackend backend_;
    TokenSequences sequences_;
    Calibration calibration_;
};

// Layer by layer from disk is the same forward pass, bit for bit.
TEST_F(CalibrationTest, HeadInputsAreThoseOfTheForwardPass) {
    run();
    testing::ModelHarness harness(testing::load_fixture("tiny-bf16", ComputeMode::bf16),
                                  {.tier = kernels::select_tier(), .kv_type = kernels::KvType::f32});
    const auto sequence = harness.sequence(kTokens);
    const SequenceRows batch[] = {{sequence.get(), sequences_[0]}};
    harness.pass(batch);
    TensorView samples = calibration_.head_inputs().samples();
    ASSERT_GE(samples.rows, 40);
    // Of 2 x 72 rows at most 128 are kept: every second one.
    for (int64_t row = 0; row < kTokens / 2; ++row) {
        const float* expected = harness.model().hidden(static_cast<int32_t>(2 * row));
        for (int64_t i = 0; i < config_.hidden_size; ++i) ASSERT_EQ(samples.f32(row)[i], expected[i]) << row;
    }
}

TEST_F(CalibrationTest, RemembersWhatLayersAreGiven) {
    run();
    ActivationStats* q = backend_.inputs(&loader_.linear("mtp.layers.0.self_attn.q_proj").packed);
    ActivationStats* k = backend_.inputs(&loader_.linear("mtp.layers.0.self_attn.k_proj").packed);
    ActivationStats* fc = backend_.inputs(&loader_.linear("mtp.fc").packed);
    ASSERT_NE(q, nullptr);
    EXPECT_EQ(q, k);                // called together
    EXPECT_EQ(q->rows(), kTokens);  // 69 and 1 pairs
    EXPECT_EQ(fc->cols(), 2 * config_.hidden_size);
    EXPECT_EQ(calibration_.head_inputs().rows(), kTokens + 2 + kTokens);
    float largest = 0.0f;
    TensorView rows = fc->samples();
    for (int64_t row = 0; row < rows.rows; ++row) {
        for (int64_t i = 0; i < rows.cols; ++i) largest = std::max(largest, std::fabs(rows.f32(row)[i]));
    }
    EXPECT_EQ(rows.rows, kTokens);
    EXPECT_EQ(fc->amax(), largest);
    EXPECT_EQ(backend_.keys()->cols(), config_.num_key_value_heads * config_.head_dim);
    EXPECT_EQ(backend_.inputs(&loader_.linear("lm_head").packed), nullptr);
}

}  // namespace
}  // namespace colugo
