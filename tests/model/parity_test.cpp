// The forward pass against transformers (tools/make_model_goldens.py): logits, residual stream, states, MTP head, in
// f32, however the sequence is fed.
#include <gtest/gtest.h>

#include <cmath>

#include "model/golden.h"
#include "model/model_harness.h"

namespace colugo::testing {
namespace {

// Largest absolute difference over a run of values.
float max_error(const float* got, const float* expected, int64_t count) {
    float error = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (std::isnan(got[i])) return INFINITY;
        error = std::max(error, std::fabs(got[i] - expected[i]));
    }
    return error;
}

struct Shape {
    const char* fixture;
    const char* golden;
};

class Parity : public ::testing::TestWithParam<std::tuple<Shape, kernels::Tier>> {
 protected:
    Parity()
        : golden_(std::string("model/") + std::get<0>(GetParam()).golden + ".safetensors"),
          ids_(golden_.ints("ids")),
          harness_(load_fixture(std::get<0>(GetParam()).fixture, ComputeMode::f32), {.tier = std::get<1>(GetParam()),
                                                                                     .compute = ComputeMode::f32,
                                                                                     .kv_type = kernels::KvType::f32,
                                                                                     .threads = 2}) {}

    float logits_error(const std::vector<float>& logits) const {
        const std::vector<float> expected = golden_.floats("logits");
        const std::vector<int32_t> positions = golden_.ints("logits_positions");
        const int64_t vocab = golden_.shape("logits")[1];
        float error = 0;
        for (size_t i = 0; i < positions.size(); ++i) {
            error = std::max(error, max_error(&logits[static_cast<size_t>(positions[i] * vocab)],
                                              &expected[i * static_cast<size_t>(vocab)], vocab));
        }
        return error;
    }

    Golden golden_;
    std::vector<int32_t> ids_;
    ModelHarness harness_;
};

constexpr float kLogitsTolerance = 2e-4f;  // on logits of scale 5

TEST_P(Parity, LogitsForEverySplit) {
    ASSERT_GE(ids_.size(), 300u);
    const bool reference_tier = std::get<1>(GetParam()) == kernels::Tier::scalar;
    for (const int chunk : {static_cast<int>(ids_.size()), 1, 2, 3, 31, 32, 33, 63, 64, 65}) {
        if (reference_tier && chunk > 1 && chunk != 33 && chunk < 300) continue;  // it has no speed
        const float error = logits_error(harness_.logits(ids_, {chunk}));
        EXPECT_LE(error, kLogitsTolerance) << "chunks of " << chunk;
        RecordProperty("max_error_chunk_" + std::to_string(chunk), std::to_string(error));
    }
}

TEST_P(Parity, ResidualStreamAndHidden) {
    const std::vector<float> expected = golden_.floats("residual");
    const std::vector<int32_t> positions = golden_.ints("positions");
    const int64_t hidden = harness_.config().hidden_size;
    int layers = 0;
    harness_.model().observe_layers([&](int layer, TensorView x) {
        ++layers;
        for (size_t i = 0; i < positions.size(); ++i) {
            const size_t at = (static_cast<size_t>(layer) * positions.size() + i) * static_cast<size_t>(hidden);
            EXPECT_LE(max_error(x.f32(positions[i]), &expected[at], hidden), 1e-4f)
                << "layer " << layer << " position " << positions[i];
        }
    });
    const auto state = harness_.sequence(static_cast<int64_t>(ids_.size()));
    const SequenceRows rows[] = {{state.get(), ids_}};
    harness_.pass(rows);
    EXPECT_EQ(layers, harness_.config().num_hidden_layers);
    ASSERT_EQ(positions.back(), static_cast<int32_t>(ids_.size()) - 1);
    const std::vector<float> last = golden_.floats("hidden");
    EXPECT_LE(max_error(harness_.pending_hidden(*state), &last[last.size() - static_cast<size_t>(hidden)], hidden),
              1e-4f);
}

// S after the last token, from S at the last border and the rows since.
std::vector<float> current_state(const GdnShape& shape, const GdnPageState& state, int64_t length, int head) {
    const int rows = static_cast<int>(length % kernels::kPage);
    const float* deltas = state.deltas + static_cast<int64_t>(head) * kernels::kPage * shape.value_dim;
    const float* decays = state.log_decays + head * kernels::kPage;
    const int key_head = head / (shape.num_value_heads / shape.num_key_heads);
    const float* keys = state.keys + static_cast<int64_t>(key_head) * kernels::kPage * shape.key_dim;
    const float* s = state.state + static_cast<int64_t>(head) * shape.key_dim * shape.value_dim;
    const float last = rows > 0 ? decays[rows - 1] : 0.0f;
    std::vector<float> out;
    for (int k = 0; k < shape.key_dim; ++k) {
        for (int v = 0; v < shape.value_dim; ++v) {
            double value = s[(v / 16 * shape.key_dim + k) * 16 + v % 16] * std::exp(static_cast<double>(last));
            for (int row = 0; row < rows; ++row) {
                const float key = keys[(row / 16 * shape.key_dim + k) * 16 + row % 16];
                value += std::exp(static_cast<double>(last - decays[row])) * key * deltas[row * shape.value_dim + v];
            }
            out.push_back(static_cast<float>(value));
        }
    }
    return out;
}

TEST_P(Parity, StatesAfterTheLastToken) {
    const auto state = harness_.sequence(static_cast<int64_t>(ids_.size()));
    for (size_t fed = 0; fed < ids_.size(); fed += 50) {
        const SequenceRows rows[] = {
            {state.get(), std::span(ids_).subspan(fed, std::min<size_t>(50, ids_.size() - fed))}};
        harness_.pass(rows);
    }
    const GdnShape shape = gdn_shape(harness_.config());
    int index = 0;
    for (size_t layer = 0; layer < harness_.config().layer_types.size(); ++layer) {
        if (harness_.config().layer_types[layer] != LayerType::linear_attention) continue;
        const RecurrentLayout& layout = harness_.model().recurrent_layout();
        const float* window = layout.window(index, state->tail);
        const GdnPageState gdn = layout.page(index++, state->border, state->border, state->rows);
        const std::vector<float> conv = golden_.floats("conv." + std::to_string(layer));
        for (int channel = 0; channel < shape.conv_width(); ++channel) {
            for (int i = 0; i < 3; ++i) {
                ASSERT_NEAR(window[i * shape.conv_width() + channel], conv[static_cast<size_t>(3 * channel + i)],
                            1e-4f);
            }
        }
        const std::string name = "state." + std::to_string(layer);
        const std::vector<float> expected = golden_.floats(name);
        size_t at = 0;
        for (int head = 0; head < shape.num_value_heads; ++head) {
            const std::vector<float> s = current_state(shape, gdn, state->length, head);
            for (int k = 1; k < shape.key_dim; k += 5) {
                for (int v = 2; v < shape.value_dim; v += 7) {
                    ASSERT_NEAR(s[static_cast<size_t>(k * shape.value_dim + v)], expected[at++], 1e-4f)
                        << name << " head " << head;
                }
            }
        }
        ASSERT_EQ(at, expected.size());
    }
    EXPECT_GT(index, 0);
}

// Depth 1..4 of the MTP head after each committed length, with the prompt split so that its rows cross every border.
TEST_P(Parity, MtpLogitsAtFourDepths) {
    const std::vector<int32_t> ends = golden_.ints("mtp_ends");
    const std::vector<int32_t> tokens = golden_.ints("mtp_tokens");
    const std::vector<float> logits = golden_.floats("mtp_logits");
    const std::vector<float> hiddens = golden_.floats("mtp_hidden");
    const int64_t vocab = harness_.config().vocab_size;
    const int64_t hidden = harness_.config().hidden_size;
    for (const size_t chunk : {330u, 31u, 32u, 33u, 1u}) {
        if (std::get<1>(GetParam()) == kernels::Tier::scalar && chunk != 33u) continue;
        for (size_t e = 0; e < ends.size(); ++e) {
            const auto length = static_cast<size_t>(ends[e]) + 1;
            const auto state = harness_.sequence(static_cast<int64_t>(length) + 4);
            for (size_t fed = 0; fed < length; fed += chunk) {
                const SequenceRows rows[] = {
                    {state.get(), std::span(ids_).subspan(fed, std::min(chunk, length - fed))}};
                harness_.model().forward(rows);
            }
            std::vector<float> before(harness_.pending_hidden(*state), harness_.pending_hidden(*state) + hidden);
            for (size_t depth = 0; depth < 4; ++depth) {
                const std::span<const int32_t> chain = std::span(tokens).subspan(4 * e, depth + 1);
                const int32_t parents[] = {-1, 0, 1, 2};
                const float* hidden_before[] = {before.data()};
                const MtpTree tree[] = {
                    {state.get(), chain, std::span(parents).first(depth + 1), depth, hidden_before}};
                std::vector<float> after(static_cast<size_t>(hidden));
                std::vector<float> out(static_cast<size_t>(vocab));
                harness_.model().mtp_draft(tree, TensorView(after.data(), 1, hidden), TensorView(out.data(), 1, vocab));
                const size_t at = 4 * e + depth;
                EXPECT_LE(max_error(after.data(), &hiddens[at * static_cast<size_t>(hidden)], hidden), 2e-4f)
                    << "end " << ends[e] << " depth " << depth + 1 << " chunks of " << chunk;
                EXPECT_LE(max_error(out.data(), &logits[at * static_cast<size_t>(vocab)], vocab), kLogitsTolerance)
                    << "end " << ends[e] << " depth " << depth + 1 << " chunks of " << chunk;
                before = after;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Parity,
                         ::testing::Combine(::testing::Values(Shape{"tiny-bf16", "tiny"},
                                                              Shape{"tiny-r1-bf16", "tiny-r1"}),
                                            ::testing::ValuesIn(available_tiers())),
                         [](const ::testing::TestParamInfo<Parity::ParamType>& param) {
                             std::string name = std::string(std::get<0>(param.param).golden) + "_" +
                                                kernels::tier_name(std::get<1>(param.param));
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

}  // namespace
}  // namespace colugo::testing
