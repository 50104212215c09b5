// Products of several weights with one input: each as if it were alone, whatever form it wants the input in.
#include <cmath>

#include "backend/backend_harness.h"

namespace colugo::testing {
namespace {

using kernels::ActivationFormat;
using kernels::PackedWeight;
using kernels::Tier;
using kernels::WeightFormat;

constexpr int kK = 96;  // not a multiple of the unit of 64

struct Weight {
    Weight(int n, ActivationFormat activation, uint32_t seed)
        : values(random_matrix(n, kK, seed)), memory(kernels::packed_bytes(WeightFormat::f32, n, kK)) {
        for (int panel = 0; panel * kernels::kPanel < n; ++panel) {
            const int row = panel * kernels::kPanel;
            kernels::pack_panel(memory.data() + panel * kernels::packed_panel_bytes(WeightFormat::f32, kK),
                                WeightFormat::f32, reinterpret_cast<const std::byte*>(values.row(row)),
                                std::min(kernels::kPanel, n - row), kK);
        }
        packed.data = memory.data();
        packed.n = n;
        packed.k = kK;
        packed.format = WeightFormat::f32;
        packed.activation = activation;
    }

    Matrix values;
    Buffer memory;
    PackedWeight packed;
};

class Linear : public ::testing::TestWithParam<Tier> {};
INSTANTIATE_TEST_SUITE_P(tiers, Linear, ::testing::ValuesIn(available_tiers()), tier_test_name);

TEST_P(Linear, several_weights_share_an_input_in_different_forms) {
    Device device(GetParam(), 3, ComputeMode::bf16);
    const Weight exact(40, ActivationFormat::f32, 1);
    const Weight rounded(17, ActivationFormat::bf16, 2);
    const Weight also_exact(5, ActivationFormat::f32, 3);
    Matrix x = random_matrix(9, kK, 4);
    std::vector<Matrix> together;
    std::vector<LinearCall> calls;
    const Weight* weights[] = {&exact, &rounded, &also_exact};
    for (const Weight* weight : weights) together.emplace_back(9, weight->packed.n);
    for (size_t i = 0; i < 3; ++i) calls.push_back({&weights[i]->packed, together[i].view()});
    device.backend.linear(calls, x.view());
    for (size_t i = 0; i < 3; ++i) {
        Matrix alone(9, weights[i]->packed.n);
        const LinearCall call[] = {{&weights[i]->packed, alone.view()}};
        device.backend.linear(call, x.view());
        EXPECT_TRUE(alone.same_bits(together[i])) << i;
        for (int64_t row = 0; row < 9; ++row) {
            for (int64_t column = 0; column < alone.cols; ++column) {
                double sum = 0;
                for (int k = 0; k < kK; ++k) {
                    const float input = i == 1 ? round_to_bf16(x.row(row)[k]) : x.row(row)[k];
                    sum += double{input} * weights[i]->values.row(column)[k];
                }
                EXPECT_NEAR(alone.row(row)[column], sum, 1e-5);
            }
        }
    }
}

TEST_P(Linear, a_residual_is_added_to) {
    Device device(GetParam(), 2, ComputeMode::f32);
    const Weight weight(33, ActivationFormat::f32, 5);
    Matrix x = random_matrix(4, kK, 6);
    Matrix product(4, 33);
    Matrix residual = random_matrix(4, 33, 7);
    const Matrix before = residual;
    const LinearCall plain[] = {{&weight.packed, product.view()}};
    const LinearCall add[] = {{&weight.packed, residual.view(), true}};
    device.backend.linear(plain, x.view());
    device.backend.linear(add, x.view());
    for (size_t i = 0; i < residual.values.size(); ++i) {
        EXPECT_NEAR(residual.values[i], before.values[i] + product.values[i], 1e-6);
    }
}

TEST_P(Linear, groups_of_outputs_alone_are_what_they_are_among_all) {
    Device device(GetParam(), 3, ComputeMode::bf16);
    const Weight weight(150, ActivationFormat::f32, 9);  // the last of ten groups has 6 outputs
    Matrix x = random_matrix(5, kK, 10);
    Matrix all(5, 150);
    const LinearCall whole[] = {{&weight.packed, all.view()}};
    device.backend.linear(whole, x.view());
    const std::vector<int32_t> groups = {1, 2, 5, 9};
    Matrix some(5, 64);
    std::fill(some.values.begin(), some.values.end(), 77.0f);
    const LinearCall call[] = {{.weight = &weight.packed, .out = some.view(), .groups = groups}};
    device.backend.linear(call, x.view());
    for (int64_t row = 0; row < 5; ++row) {
        for (int column = 0; column < 64; ++column) {
            const int output = groups[static_cast<size_t>(column / 16)] * 16 + column % 16;
            EXPECT_EQ(some.row(row)[column], output < 150 ? all.row(row)[output] : 77.0f) << row << " " << column;
        }
    }
}

TEST_P(Linear, no_rows_are_no_work) {
    Device device(GetParam(), 2, ComputeMode::f32);
    const Weight weight(16, ActivationFormat::f32, 8);
    Matrix x(0, kK), out(0, 16);
    const LinearCall call[] = {{&weight.packed, out.view()}};
    device.backend.linear(call, x.view());
}

}  // namespace
}  // namespace colugo::testing
