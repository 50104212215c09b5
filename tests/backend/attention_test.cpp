// Attention through the backend over contexts of several segments, against a softmax in double.
#include <cmath>

#include "backend/backend_harness.h"

namespace colugo::testing {
namespace {

using kernels::kPage;
using kernels::KvType;
using kernels::Tier;

constexpr int kHeads = 4;
constexpr int kKvHeads = 2;
constexpr int kDim = 32;
constexpr int kRotary = 16;
constexpr float kEps = 1e-6f;
constexpr int64_t kLength = 2500;  // three segments of 1024 and a page that is not full

// One sequence: what is fed, and the pages it is stored in.
class Context {
 public:
    explicit Context(KvType type)
        : queries(random_matrix(kLength, kHeads * 2 * kDim, 1)),
          keys(random_matrix(kLength, kKvHeads * kDim, 2)),
          values(random_matrix(kLength, kKvHeads * kDim, 3)),
          q_norm(random_matrix(1, kDim, 4, 0.0f, 3.0f)),  // scores large enough for a softmax with peaks
          k_norm(random_matrix(1, kDim, 5, 0.0f, 3.0f)) {
        const auto tiles = static_cast<int64_t>(kernels::kv_tile_bytes(type, kDim)) * kKvHeads;
        shape = {.num_heads = kHeads,
                 .num_kv_heads = kKvHeads,
                 .head_dim = kDim,
                 .rotary_dim = kRotary,
                 .kv_type = type,
                 .slice = {.key_offset = 0, .value_offset = tiles}};
        const int64_t count = (kLength + kPage - 1) / kPage;
        memory_ = Buffer(static_cast<size_t>(count * 2 * tiles));
        for (int64_t page = 0; page < count; ++page) pages_.push_back(memory_.data() + page * 2 * tiles);
    }

    // Rows [begin, end) in one pass; their outputs go to the same rows of `out`.
    void feed(CpuBackend& backend, int64_t begin, int64_t end, Matrix& out, int64_t first_position = 0) {
        const int64_t rows = end - begin;
        Matrix q = part(queries, begin, rows);
        Matrix k = part(keys, begin, rows);
        Matrix v = part(values, begin, rows);
        Matrix cos_sin(rows, kRotary);
        const AttentionSequence sequence[] = {{0, static_cast<int>(rows), begin, first_position, pages_.data()}};
        std::vector<float> frequencies;
        for (int i = 0; i < kRotary / 2; ++i) frequencies.push_back(std::pow(1e4f, -2.0f * static_cast<float>(i) / 16));
        backend.rope_table(cos_sin.view(), sequence, frequencies);
        backend.attention_inputs(q.view(), k.view(), v.view(), cos_sin.view(), q_norm.row(0), k_norm.row(0), kEps,
                                 shape, sequence);
        backend.attention(out.rows_view(begin, rows), q.view(), shape, sequence);
    }

    AttentionShape shape;
    Matrix queries, keys, values, q_norm, k_norm;

 private:
    static Matrix part(const Matrix& whole, int64_t begin, int64_t rows) {
        Matrix out(rows, whole.cols);
        std::copy_n(whole.row(begin), rows * whole.cols, out.values.begin());
        return out;
    }

    Buffer memory_;
    std::vector<std::byte*> pages_;
};

// A head after norm and rotation, in double.
std::vector<double> turned(const float* head, const float* norm, int64_t position) {
    double squares = 0;
    for (int i = 0; i < kDim; ++i) squares += double{head[i]} * head[i];
    std::vector<double> out(kDim);
    for (int i = 0; i < kDim; ++i) out[i] = head[i] / std::sqrt(squares / kDim + kEps) * (1.0 + norm[i]);
    for (int i = 0; i < kRotary / 2; ++i) {
        const double angle = static_cast<double>(position) * std::pow(1e4, -2.0 * i / kRotary);
        const double low = out[i], high = out[i + kRotary / 2];
        out[i] = low * std::cos(angle) - high * std::sin(angle);
        out[i + kRotary / 2] = high * std::cos(angle) + low * std::sin(angle);
    }
    return out;
}

std::vector<double> reference_row(const Context& context, int64_t position, int64_t first_position) {
    std::vector<double> out(kHeads * kDim);
    for (int head = 0; head < kHeads; ++head) {
        const int kv_head = head / (kHeads / kKvHeads);
        const float* query = context.queries.row(position) + head * 2 * kDim;
        const std::vector<double> q = turned(query, context.q_norm.row(0), position);
        std::vector<double> weights;
        double sum = 0;
        for (int64_t other = first_position; other <= position; ++other) {
            const std::vector<double> k =
                turned(context.keys.row(other) + kv_head * kDim, context.k_norm.row(0), other);
            double score = 0;
            for (int i = 0; i < kDim; ++i) score += q[i] * k[i];
            weights.push_back(std::exp(score / std::sqrt(double{kDim})));
            sum += weights.back();
        }
        for (int i = 0; i < kDim; ++i) {
            double total = 0;
            for (int64_t other = first_position; other <= position; ++other) {
                total += weights[static_cast<size_t>(other - first_position)] *
                         context.values.row(other)[kv_head * kDim + i];
            }
            out[static_cast<size_t>(head * kDim + i)] = total / sum / (1 + std::exp(-double{query[kDim + i]}));
        }
    }
    return out;
}

double largest_error(const Matrix& out, int64_t position, const std::vector<double>& expected) {
    double error = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double difference = std::fabs(out.row(position)[i] - expected[i]);
        if (std::isnan(difference)) return difference;
        error = std::max(error, difference);
    }
    return error;
}

class Attention : public ::testing::TestWithParam<Tier> {};
INSTANTIATE_TEST_SUITE_P(tiers, Attention, ::testing::ValuesIn(available_tiers()), tier_test_name);

TEST_P(Attention, agrees_with_a_plain_softmax_across_segments) {
    for (const auto& [type, tolerance] : {std::pair{KvType::f32, 3e-5}, {KvType::bf16, 3e-2}}) {
        Device device(GetParam(), 2, ComputeMode::f32);
        Context context(type);
        Matrix out(kLength, kHeads * kDim);
        for (int64_t begin = 0; begin < kLength; begin += 500) context.feed(device.backend, begin, begin + 500, out);
        for (const int64_t position : {0, 31, 32, 499, 500, 1023, 1024, 1025, 2047, 2048, 2499}) {
            EXPECT_LT(largest_error(out, position, reference_row(context, position, 0)), tolerance) << position;
        }
    }
}

TEST_P(Attention, has_the_same_bits_for_any_chunks_and_threads) {
    Device reference_device(GetParam(), 1, ComputeMode::bf16);
    Context reference_context(KvType::bf16);
    Matrix reference(kLength, kHeads * kDim);
    reference_context.feed(reference_device.backend, 0, kLength, reference);
    for (const int threads : {2, 3, 4}) {
        Device device(GetParam(), threads, ComputeMode::bf16);
        Context context(KvType::bf16);
        Matrix out(kLength, kHeads * kDim);
        // Long chunks, then rows alone, which are split over threads by segments.
        int64_t begin = 0;
        for (const int64_t end : {int64_t{33}, int64_t{1000}, int64_t{1030}, int64_t{2400}}) {
            context.feed(device.backend, begin, end, out);
            begin = end;
        }
        for (; begin < kLength; ++begin) context.feed(device.backend, begin, begin + 1, out);
        EXPECT_TRUE(out.same_bits(reference)) << threads << " threads";
    }
}

TEST_P(Attention, sees_nothing_below_the_first_position) {
    Device device(GetParam(), 2, ComputeMode::f32);
    Context context(KvType::f32);
    Matrix out(kLength, kHeads * kDim);
    for (const int64_t first_position : {2, 40}) {
        context.feed(device.backend, 0, 1, out);
        context.feed(device.backend, 1, first_position, out);
        context.feed(device.backend, first_position, 1100, out, first_position);
        for (const int64_t position : {first_position, int64_t{64}, int64_t{1099}}) {
            const std::vector<double> expected = reference_row(context, position, first_position);
            EXPECT_LT(largest_error(out, position, expected), 3e-5) << position << " from " << first_position;
        }
    }
}

// Angles are made for every row: there is no table that could end before a context does.
TEST_P(Attention, rotates_by_any_position) {
    Device device(GetParam(), 2, ComputeMode::bf16);
    const float frequencies[] = {1.0f, 0.3f, 1e-3f, 1e-7f};
    for (const int64_t position : {0, 1000, 4095, 32767, 262143}) {
        const AttentionSequence sequence[] = {{0, 2, position, 0, nullptr}};
        Matrix cos_sin(2, 8);
        device.backend.rope_table(cos_sin.view(), sequence, frequencies);
        for (int row = 0; row < 2; ++row) {
            for (int i = 0; i < 4; ++i) {
                const double angle = static_cast<float>(position + row) * frequencies[i];
                EXPECT_EQ(cos_sin.row(row)[i], static_cast<float>(std::cos(angle))) << position;
                EXPECT_EQ(cos_sin.row(row)[4 + i], static_cast<float>(std::sin(angle))) << position;
            }
        }
    }
}

TEST_P(Attention, no_rows_are_no_work) {
    Device device(GetParam(), 2, ComputeMode::bf16);
    Context context(KvType::bf16);
    Matrix out(kLength, kHeads * kDim);
    context.feed(device.backend, 7, 7, out);
    EXPECT_TRUE(out.same_bits(Matrix(kLength, kHeads * kDim)));
}

}  // namespace
}  // namespace colugo::testing
