// The Gated DeltaNet operations in the grid form against the recurrence itself, token by token in double.
#include <cmath>

#include "backend/backend_harness.h"

namespace colugo::testing {
namespace {

using kernels::Tier;

constexpr GdnShape kShape = {.num_key_heads = 2, .num_value_heads = 6, .key_dim = 32, .value_dim = 16, .conv_taps = 4};
constexpr int kTokens = 101;

// State of one sequence in one layer, zero at first.
struct State {
    State()
        : memory(static_cast<size_t>(kShape.num_value_heads * kShape.key_dim * kShape.value_dim +
                                     32 * (kShape.key_width() + kShape.value_width() + kShape.num_value_heads) +
                                     (kShape.conv_taps - 1) * kShape.conv_width()) *
                 sizeof(float)) {
        float* next = memory.as<float>();
        const auto take = [&next](int count) { return std::exchange(next, next + count); };
        GdnPageState page{};
        page.state = page.next_state = take(kShape.num_value_heads * kShape.key_dim * kShape.value_dim);
        page.keys = take(32 * kShape.key_width());
        page.deltas = take(32 * kShape.value_width());
        page.log_decays = take(32 * kShape.num_value_heads);
        window = take((kShape.conv_taps - 1) * kShape.conv_width());
        pages.assign(kTokens / 32 + 2, page);  // moved on in place
    }

    Buffer memory;
    std::vector<GdnPageState> pages;
    float* window;
};

struct Inputs {
    Matrix u = random_matrix(kTokens, kShape.conv_width(), 1, -2.0f, 2.0f);
    Matrix b = random_matrix(kTokens, kShape.num_value_heads, 2, -3.0f, 3.0f);
    Matrix a = random_matrix(kTokens, kShape.num_value_heads, 3, -3.0f, 3.0f);
    Matrix weight = random_matrix(kShape.conv_taps, kShape.conv_width(), 4);
    Matrix neg_exp_a_log = random_matrix(1, kShape.num_value_heads, 5, -1.0f, -0.05f);
    Matrix dt_bias = random_matrix(1, kShape.num_value_heads, 6);
};

// All tokens through the layer's three operations, cut into chunks of `chunk` rows.
Matrix run(CpuBackend& backend, const Inputs& inputs, int chunk) {
    State state;
    Matrix out(kTokens, kShape.value_width());
    for (int begin = 0; begin < kTokens; begin += chunk) {
        const int rows = std::min(chunk, kTokens - begin);
        const auto part = [&](const Matrix& whole) {
            Matrix copy(rows, whole.cols);
            std::copy_n(whole.row(begin), rows * whole.cols, copy.values.begin());
            return copy;
        };
        Matrix u = part(inputs.u), beta = part(inputs.b), g = part(inputs.a);
        Matrix mixed(rows, kShape.conv_width());
        const ConvWindow windows[] = {{rows, state.window}};
        const GdnSequence sequence[] = {{0, rows, begin, state.pages.data(), state.window, windows}};
        backend.gdn_convolution(mixed.view(), u.view(), inputs.weight.row(0), kShape, sequence);
        backend.gdn_inputs(mixed.view(), beta.view(), g.view(), inputs.neg_exp_a_log.row(0), inputs.dt_bias.row(0),
                           kShape);
        backend.gated_delta_net(out.rows_view(begin, rows), mixed.view(), beta.view(), g.view(), kShape, sequence);
    }
    return out;
}

// The same by definition.
std::vector<double> reference(const Inputs& inputs) {
    const int group = kShape.num_value_heads / kShape.num_key_heads;
    const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
    std::vector<std::vector<double>> states(kShape.num_value_heads,
                                            std::vector<double>(kShape.key_dim * kShape.value_dim));
    std::vector<double> out;
    for (int t = 0; t < kTokens; ++t) {
        std::vector<double> mixed(kShape.conv_width());
        for (int i = 0; i < kShape.conv_width(); ++i) {
            double sum = 0;
            for (int tap = 0; tap < kShape.conv_taps; ++tap) {
                const int from = t - kShape.conv_taps + 1 + tap;
                if (from >= 0) sum += double{inputs.weight.row(tap)[i]} * inputs.u.row(from)[i];
            }
            mixed[i] = silu(sum);
        }
        for (int part = 0; part < 2 * kShape.num_key_heads; ++part) {  // queries, then keys
            double* head = mixed.data() + part * kShape.key_dim;
            double squares = 1e-6;
            for (int i = 0; i < kShape.key_dim; ++i) squares += head[i] * head[i];
            const double scale = part < kShape.num_key_heads ? 1 / std::sqrt(double{kShape.key_dim}) : 1.0;
            for (int i = 0; i < kShape.key_dim; ++i) head[i] *= scale / std::sqrt(squares);
        }
        for (int head = 0; head < kShape.num_value_heads; ++head) {
            const double* q = mixed.data() + head / group * kShape.key_dim;
            const double* k = q + kShape.key_width();
            const double* v = mixed.data() + 2 * kShape.key_width() + head * kShape.value_dim;
            const double beta = 1 / (1 + std::exp(-double{inputs.b.row(t)[head]}));
            const double g = inputs.neg_exp_a_log.row(0)[head] *
                             std::log1p(std::exp(double{inputs.a.row(t)[head]} + inputs.dt_bias.row(0)[head]));
            std::vector<double>& state = states[head];
            for (double& value : state) value *= std::exp(g);
            for (int j = 0; j < kShape.value_dim; ++j) {
                double known = 0;
                for (int i = 0; i < kShape.key_dim; ++i) known += state[i * kShape.value_dim + j] * k[i];
                const double delta = beta * (v[j] - known);
                double sum = 0;
                for (int i = 0; i < kShape.key_dim; ++i) {
                    state[i * kShape.value_dim + j] += k[i] * delta;
                    sum += state[i * kShape.value_dim + j] * q[i];
                }
                out.push_back(sum);
            }
        }
    }
    return out;
}

class GatedDeltaNet : public ::testing::TestWithParam<Tier> {};
INSTANTIATE_TEST_SUITE_P(tiers, GatedDeltaNet, ::testing::ValuesIn(available_tiers()), tier_test_name);

TEST_P(GatedDeltaNet, grid_form_agrees_with_the_recurrence) {
    Device device(GetParam(), 2, ComputeMode::f32);
    const Inputs inputs;
    const Matrix out = run(device.backend, inputs, kTokens);
    const std::vector<double> expected = reference(inputs);
    double error = 0, largest = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_TRUE(std::isfinite(out.values[i])) << i;
        error = std::max(error, std::fabs(out.values[i] - expected[i]));
        largest = std::max(largest, std::fabs(expected[i]));
    }
    EXPECT_GT(largest, 0.1);
    EXPECT_LT(error, 2e-6 * largest + 1e-6);
}

TEST_P(GatedDeltaNet, has_the_same_bits_for_any_chunks_and_threads) {
    const Inputs inputs;
    for (const ComputeMode mode : {ComputeMode::bf16, ComputeMode::f32}) {
        Device whole(GetParam(), 1, mode);
        const Matrix expected = run(whole.backend, inputs, kTokens);
        for (const int chunk : {1, 2, 3, 31, 32, 33, 64}) {
            Device device(GetParam(), 1 + chunk % 4, mode);
            EXPECT_TRUE(run(device.backend, inputs, chunk).same_bits(expected)) << chunk << " rows a pass";
        }
    }
}

TEST_P(GatedDeltaNet, bf16_mode_rounds_the_convolution_inputs_and_f32_does_not) {
    Inputs inputs, rounded;
    Device exact(GetParam(), 1, ComputeMode::f32);
    Device bf16(GetParam(), 1, ComputeMode::bf16);
    for (float& value : rounded.u.values) value = round_to_bf16(value);
    const Matrix out = run(bf16.backend, inputs, 7);
    EXPECT_TRUE(out.same_bits(run(exact.backend, rounded, 7)));
    EXPECT_FALSE(out.same_bits(run(exact.backend, inputs, 7)));
}

}  // namespace
}  // namespace colugo::testing
