// Attention over pages against a softmax in double precision over the stored values, and the row law bit for bit.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/buffer.h"
#include "base/float_formats.h"
#include "kernels/each_tier.h"

namespace colugo::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// What a cache gives back for a value it was given beside others of which the largest magnitude is `most`.
float stored(KvType type, float x, float scale, float most) {
    switch (type) {
        case KvType::f32:
            return x;
        case KvType::bf16:
            return round_to_bf16(x);
        case KvType::fp8:
            return e4m3_to_f32(f32_to_e4m3(x / scale));
        case KvType::int8:
            return std::nearbyint(x / (most / 127.0f)) * (most / 127.0f);
    }
    return 0;
}

float max_abs(const float* x, size_t count) {
    float most = 0;
    for (size_t i = 0; i < count; ++i) most = std::max(most, std::fabs(x[i]));
    return most;
}

// A finite value far outside everything else.
float garbage(KvType type) {
    return type == KvType::fp8 ? 448.0f : 3e38f;
}

// The cache of one key/value head: `positions` random keys and values, the rest of the last page garbage.
class Cache {
 public:
    Cache(const KernelTable& table, KvType kv_type, int dim_of_head, int length, uint32_t seed)
        : type(kv_type),
          head_dim(dim_of_head),
          positions(length),
          key_scale(type == KvType::fp8 ? 0.25f : 1.0f),
          value_scale(type == KvType::fp8 ? 3.0f : 1.0f),
          tile_(kv_tile_bytes(type, head_dim)),
          keys_(tile_ * static_cast<size_t>(pages())),
          values_(tile_ * static_cast<size_t>(pages())) {
        Random random(seed);
        const auto dim = static_cast<size_t>(head_dim);
        key = random.values(dim * static_cast<size_t>(positions), -2.0f, 2.0f);
        value = random.values(dim * static_cast<size_t>(positions), -5.0f, 5.0f);
        const std::vector<float> bad_key(dim, garbage(type) * key_scale);
        const std::vector<float> bad_value(dim, -garbage(type) * value_scale);
        for (int position = 0; position < pages() * kPage; ++position) {
            const bool real = position < positions;
            const size_t at = dim * static_cast<size_t>(position);
            table.store_kv(type, keys(position / kPage), values(position / kPage), position % kPage,
                           real ? key.data() + at : bad_key.data(), real ? value.data() + at : bad_value.data(),
                           head_dim, key_scale, value_scale);
        }
    }

    int pages() const { return (positions + kPage - 1) / kPage; }
    std::byte* keys(int page) const { return keys_.data() + tile_ * static_cast<size_t>(page); }
    std::byte* values(int page) const { return values_.data() + tile_ * static_cast<size_t>(page); }

    const KvType type;
    const int head_dim;
    const int positions;
    const float key_scale, value_scale;
    std::vector<float> key, value;  // [positions, head_dim] as given

 private:
    size_t tile_;
    Buffer keys_, values_;
};

// Query rows that see positions [first, limits[row]), and their running softmax.
struct Rows {
    Rows(const KernelTable& table, const Cache& cache, const std::vector<float>& query, std::vector<int> row_limits)
        : limits(std::move(row_limits)), head_dim(cache.head_dim) {
        const ActivationFormat format = table.attention_query_format(cache.type);
        queries = Buffer(table.activation_row_bytes(format, head_dim) * limits.size());
        table.prepare_activation(queries.data(), format, 1.0f, query.data(), head_dim, count(), head_dim);
        max.assign(limits.size(), -kInf);
        sum.assign(limits.size(), 0.0f);
        out.assign(limits.size() * static_cast<size_t>(head_dim), 0.0f);
    }
    int count() const { return static_cast<int>(limits.size()); }
    AttentionRows view() { return {count(), head_dim, queries.data(), max.data(), sum.data(), out.data()}; }

    std::vector<int> limits;
    int head_dim;
    Buffer queries;
    std::vector<float> max, sum, out;
};

class AttentionTest : public EachTier {
 protected:
    // Folds pages [page_begin, page_end) of positions from `first` on. Every row has to see some of each step.
    void run(const Cache& cache, Rows& rows, int first, int page_begin, int page_end) {
        run(table, cache, rows, first, page_begin, page_end);
    }
    void run(const KernelTable& tier, const Cache& cache, Rows& rows, int first, int page_begin, int page_end) {
        std::vector<int32_t> end(rows.limits.size());
        const int step = pages_per_step(cache.type);
        for (int page = page_begin; page < page_end; page += step) {
            for (size_t row = 0; row < end.size(); ++row) {
                end[row] = std::min(rows.limits[row] - page * kPage, step * kPage);
            }
            AttentionPages args{};
            args.type = cache.type;
            for (; args.pages < step && page + args.pages < page_end; ++args.pages) {
                args.keys[args.pages] = cache.keys(page + args.pages);
                args.values[args.pages] = cache.values(page + args.pages);
            }
            args.score_scale = cache.key_scale / std::sqrt(static_cast<float>(cache.head_dim));
            args.begin = std::max(first - page * kPage, 0);
            args.end = end.data();
            tier.attention_pages(rows.view(), args, scratch.data());
        }
    }

    // Of a query as the tiers read it.
    static float rounded(KvType type, float q, float most) {
        if (type == KvType::f32) return q;
        return type == KvType::int8 ? stored(type, q, 1.0f, most) : round_to_bf16(q);
    }

    static std::vector<double> exact(const Cache& cache, const float* query, int first, int limit) {
        const auto dim = static_cast<size_t>(cache.head_dim);
        const float most_query = max_abs(query, dim);
        std::vector<double> scores;
        for (int position = first; position < limit; ++position) {
            const float* key = &cache.key[static_cast<size_t>(position) * dim];
            const float most = max_abs(key, dim);
            double score = 0;
            for (size_t i = 0; i < dim; ++i) {
                score += static_cast<double>(rounded(cache.type, query[i], most_query)) *
                         stored(cache.type, key[i], cache.key_scale, most) * cache.key_scale;
            }
            scores.push_back(score / std::sqrt(static_cast<double>(cache.head_dim)));
        }
        const double top = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        std::vector<double> out(dim);
        for (int position = first; position < limit; ++position) {
            const double p = std::exp(scores[static_cast<size_t>(position - first)] - top);
            sum += p;
            const float* value = &cache.value[static_cast<size_t>(position) * dim];
            const float most = max_abs(value, dim);
            for (size_t i = 0; i < dim; ++i) out[i] += p * stored(cache.type, value[i], cache.value_scale, most);
        }
        for (double& value : out) value /= sum;
        return out;
    }

    // Values are up to 5. Tiers that multiply in bf16 round p to it, by up to 2^-9 of itself. With int8 all do, by up
    // to 1 / 510 of the largest in a step's pages.
    void expect_row(const Rows& rows, size_t row, const std::vector<double>& expected, KvType type) const {
        const bool rounds = type != KvType::f32 && table.tier >= Tier::avx512_bf16;
        const double tolerance = type == KvType::int8 ? 6e-2 : rounds ? 6e-3 : 1e-5;
        const auto dim = static_cast<size_t>(rows.head_dim);
        for (size_t i = 0; i < dim; ++i) {
            ASSERT_NEAR(rows.out[row * dim + i] / rows.sum[row], expected[i], tolerance) << "row " << row << ", " << i;
        }
    }

    static std::vector<float> random_queries(int head_dim, int rows, uint32_t seed) {
        return Random(seed).values(static_cast<size_t>(head_dim * rows), -3.0f, 3.0f);
    }

    Buffer scratch{kAttentionScratchBytes};
};

constexpr KvType kTypes[] = {KvType::f32, KvType::bf16, KvType::fp8, KvType::int8};

TEST_P(AttentionTest, EqualsASoftmaxOverAllPositions) {
    for (KvType type : kTypes) {
        for (int head_dim : {64, 128, 256}) {
            for (int positions : {1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 100, 300}) {
                const Cache cache(table, type, head_dim, positions, 1);
                const int last_page = (positions - 1) / kPage * kPage;
                for (int first : {0, 1, 13}) {
                    if (first >= positions || (first > 0 && last_page > 0 && first > last_page)) continue;
                    // Rows that see ever less of the last page: past its end, the cache holds garbage or later rows.
                    std::vector<int> limits;
                    for (int row = 0; row < 3; ++row) {
                        limits.push_back(std::max({positions - row, last_page + 1, first + 1}));
                    }
                    const std::vector<float> query = random_queries(head_dim, 3, 2);
                    Rows rows(table, cache, query, limits);
                    run(cache, rows, first, 0, cache.pages());
                    for (size_t row = 0; row < 3; ++row) {
                        expect_row(rows, row,
                                   exact(cache, query.data() + row * static_cast<size_t>(head_dim), first, limits[row]),
                                   type);
                    }
                }
            }
        }
    }
}

TEST_P(AttentionTest, ManyRowsEqualASoftmax) {
    for (KvType type : kTypes) {
        const Cache cache(table, type, 128, 90, 3);
        const std::vector<float> query = random_queries(128, kMaxAttentionRows, 4);
        std::vector<int> limits;
        for (int row = 0; row < kMaxAttentionRows; ++row) limits.push_back(65 + row % 26);
        Rows rows(table, cache, query, limits);
        run(cache, rows, 5, 0, 3);
        for (size_t row = 0; row < kMaxAttentionRows; ++row) {
            expect_row(rows, row, exact(cache, query.data() + row * 128, 5, limits[row]), type);
        }
    }
}

TEST_P(AttentionTest, ARowDoesNotDependOnTheOthers) {
    for (KvType type : kTypes) {
        for (int head_dim : {64, 256}) {
            const auto dim = static_cast<size_t>(head_dim);
            const Cache cache(table, type, head_dim, 80, 5);
            const std::vector<float> query = random_queries(head_dim, kMaxAttentionRows, 6);
            std::vector<int> limits;
            for (int row = 0; row < kMaxAttentionRows; ++row) limits.push_back(65 + (7 * row) % 16);
            Rows together(table, cache, query, limits);
            run(cache, together, 2, 0, 3);
            for (int group : {1, 2, 5, 6, 7, 8, 33}) {
                // Taken backwards, so that neighbours and order change too.
                for (int end = kMaxAttentionRows; end - group >= 0; end -= group) {
                    std::vector<float> some;
                    std::vector<int> some_limits;
                    for (int row = end - 1; row >= end - group; --row) {
                        const float* from = query.data() + static_cast<size_t>(row) * dim;
                        some.insert(some.end(), from, from + head_dim);
                        some_limits.push_back(limits[static_cast<size_t>(row)]);
                    }
                    Rows apart(table, cache, some, some_limits);
                    run(cache, apart, 2, 0, 3);
                    for (int i = 0; i < group; ++i) {
                        const auto row = static_cast<size_t>(end - 1 - i);
                        const auto at = static_cast<size_t>(i);
                        ASSERT_TRUE(same_bits(&apart.max[at], &together.max[row], 1)) << group;
                        ASSERT_TRUE(same_bits(&apart.sum[at], &together.sum[row], 1)) << group;
                        ASSERT_TRUE(same_bits(&apart.out[at * dim], &together.out[row * dim], dim)) << group;
                    }
                }
            }
        }
    }
}

// What lies outside a row's range is nothing to it: two caches that differ only there give the same bits.
TEST_P(AttentionTest, ColumnsOutsideTheRangeDoNotCount) {
    for (KvType type : kTypes) {
        const int head_dim = 64;
        const Cache cache(table, type, head_dim, 32, 7);
        const Cache other(table, type, head_dim, 32, 7);
        const std::vector<float> bad(head_dim, garbage(type) * 0.1f);
        for (int column : {0, 1, 2, 20, 21, 31}) {
            table.store_kv(type, other.keys(0), other.values(0), column, bad.data(), bad.data(), head_dim, 1.0f, 1.0f);
        }
        const std::vector<float> query = random_queries(head_dim, 2, 8);
        Rows a(table, cache, query, {20, 9});
        Rows b(table, other, query, {20, 9});
        run(cache, a, 3, 0, 1);
        run(other, b, 3, 0, 1);
        EXPECT_TRUE(same_bits(a.max.data(), b.max.data(), 2));
        EXPECT_TRUE(same_bits(a.sum.data(), b.sum.data(), 2));
        EXPECT_TRUE(same_bits(a.out.data(), b.out.data(), a.out.size()));
    }
}

// Rows that end in the first of a step's pages may be given the others, for the sake of other rows, or not.
TEST_P(AttentionTest, APageThatNoRowSeesMayBeLeftOut) {
    const int head_dim = 64;
    const Cache cache(table, KvType::int8, head_dim, kMaxPagesPerStep * kPage, 17);
    const std::vector<float> query = random_queries(head_dim, 3, 18);
    for (int pages = 1; pages < kMaxPagesPerStep; ++pages) {
        const int last = (pages - 1) * kPage;
        const std::vector<int> limits = {last + 32, last + 20, last + 4};
        Rows with(table, cache, query, limits);
        Rows without(table, cache, query, limits);
        run(cache, with, 3, 0, kMaxPagesPerStep);
        run(cache, without, 3, 0, pages);
        EXPECT_TRUE(same_bits(with.max.data(), without.max.data(), 3));
        EXPECT_TRUE(same_bits(with.sum.data(), without.sum.data(), 3));
        EXPECT_TRUE(same_bits(with.out.data(), without.out.data(), with.out.size()));
    }
}

TEST_P(AttentionTest, LargeScoresNeitherOverflowNorVanish) {
    const Cache cache(table, KvType::f32, 64, 70, 9);
    std::vector<float> query = random_queries(64, 1, 10);
    for (float& value : query) value *= 300.0f;
    Rows rows(table, cache, query, {70});
    run(cache, rows, 0, 0, 3);
    expect_row(rows, 0, exact(cache, query.data(), 0, 70), KvType::f32);
}

TEST_P(AttentionTest, MergeJoinsPartsAndLeavesEmptyOnesOut) {
    for (int split : {1, 2, 4}) {
        const Cache cache(table, KvType::bf16, 128, 160, 11);
        const std::vector<float> query = random_queries(128, 9, 12);
        const std::vector<int> limits(9, 160);
        Rows total(table, cache, query, limits);
        Rows part(table, cache, query, limits);
        Rows again(table, cache, query, limits);
        Rows alone(table, cache, query, {160});
        Rows alone_part(table, cache, query, {160});
        run(cache, total, 0, 0, split);
        run(cache, again, 0, 0, split);
        run(cache, part, 0, split, 5);
        run(cache, alone, 0, 0, split);
        run(cache, alone_part, 0, split, 5);
        table.attention_merge(total.view(), part.view());
        table.attention_merge(again.view(), part.view());
        table.attention_merge(alone.view(), alone_part.view());
        for (size_t row = 0; row < 9; ++row) {
            expect_row(total, row, exact(cache, query.data() + row * 128, 0, 160), KvType::bf16);
        }
        EXPECT_TRUE(same_bits(total.out.data(), again.out.data(), total.out.size()));
        EXPECT_TRUE(same_bits(total.out.data(), alone.out.data(), 128));
        EXPECT_TRUE(same_bits(total.sum.data(), alone.sum.data(), 1));

        Rows nothing(table, cache, query, limits);
        table.attention_merge(total.view(), nothing.view());
        EXPECT_TRUE(same_bits(total.out.data(), again.out.data(), total.out.size()));
        table.attention_merge(nothing.view(), total.view());
        EXPECT_TRUE(same_bits(nothing.out.data(), total.out.data(), total.out.size()));
        EXPECT_TRUE(same_bits(nothing.sum.data(), total.sum.data(), 9));
        EXPECT_TRUE(same_bits(nothing.max.data(), total.max.data(), 9));
        Rows empty(table, cache, query, limits);
        Rows empty_part(table, cache, query, limits);
        table.attention_merge(empty.view(), empty_part.view());
        EXPECT_EQ(empty.max[0], -kInf);
        EXPECT_EQ(empty.sum[0], 0.0f);
        EXPECT_EQ(empty.out[0], 0.0f);
    }
}

// Of the position, in a tile of head_dim 64.
float int8_scale(const std::byte* tile, int position) {
    return reinterpret_cast<const float*>(tile + kPage * 64)[position];
}

// One value of a tile, by the layout's definition (packed_weight.h, AttentionPages).
float tile_value(KvType type, const std::byte* tile, int depth, int row, int k) {
    const int panel = row / kPanel * depth * kPanel;
    const int column = row % kPanel;
    const int pair = panel + (k / 2 * kPanel + column) * 2 + k % 2;
    const int quad = panel + (k / 4 * kPanel + column) * 4 + k % 4;
    switch (type) {
        case KvType::f32:
            return reinterpret_cast<const float*>(tile)[panel + k * kPanel + column];
        case KvType::bf16:
            return bf16_to_f32(reinterpret_cast<const uint16_t*>(tile)[pair]);
        case KvType::fp8:
            return e4m3_to_f32(static_cast<uint8_t>(tile[pair]));
        case KvType::int8:
            return static_cast<float>(static_cast<int8_t>(tile[quad])) * int8_scale(tile, depth == kPage ? k : row);
    }
    return 0;
}

TEST_P(AttentionTest, StoreKvWritesItsColumnOnly) {
    for (KvType type : kTypes) {
        const int head_dim = 64;
        const float key_scale = type == KvType::fp8 ? 0.37f : 1.0f;
        const float value_scale = type == KvType::fp8 ? 1.9f : 1.0f;
        const Buffer keys(kv_tile_bytes(type, head_dim));
        const Buffer values(kv_tile_bytes(type, head_dim));
        std::vector<float> key[kPage], value[kPage];
        Random random(13);
        std::vector<int> order;
        for (int column = 0; column < kPage; ++column) order.push_back((column * 13 + 5) % kPage);
        for (int column : order) {
            key[column] = random.values(head_dim, -9.0f, 9.0f);
            value[column] = random.values(head_dim, -9.0f, 9.0f);
            table.store_kv(type, keys.data(), values.data(), column, key[column].data(), value[column].data(), head_dim,
                           key_scale, value_scale);
        }
        for (int column = 0; column < kPage; ++column) {
            const float most_key = max_abs(key[column].data(), head_dim);
            const float most_value = max_abs(value[column].data(), head_dim);
            for (int i = 0; i < head_dim; ++i) {
                const auto at = static_cast<size_t>(i);
                ASSERT_EQ(tile_value(type, keys.data(), head_dim, column, i),
                          stored(type, key[column][at], key_scale, most_key));
                ASSERT_EQ(tile_value(type, values.data(), kPage, i, column),
                          stored(type, value[column][at], value_scale, most_value));
            }
        }
    }
}

// Every e4m3 code, the ties between neighbours and the floats next to both; the ends; what is not a number.
TEST_P(AttentionTest, StoreKvRoundsToNearestEvenAndSaturates) {
    std::vector<float> x = {0.0f, -0.0f, 448.0f, 464.0f, 465.0f, 1e30f, kInf, -449.0f, -kInf, 0x1p-10f, 1e-40f};
    for (int code = 0; code < 0x7e; ++code) {
        const float low = e4m3_to_f32(static_cast<uint8_t>(code));
        const float tie = (low + e4m3_to_f32(static_cast<uint8_t>(code + 1))) / 2;
        for (float value : {low, tie}) {
            for (float near : {std::nextafter(value, -kInf), value, std::nextafter(value, kInf)}) {
                x.push_back(near);
                x.push_back(-near);
            }
        }
    }
    for (uint32_t i = 0; i < 300; ++i)
        x.push_back(std::ldexp(1.0f + static_cast<float>(i) * 0x1p-8f, -static_cast<int>(i % 40)));
    while (x.size() % 64 != 0) x.push_back(1.0f);
    const Buffer keys(kv_tile_bytes(KvType::bf16, 64));
    const Buffer values(kv_tile_bytes(KvType::bf16, 64));
    for (KvType type : {KvType::bf16, KvType::fp8}) {
        for (size_t first = 0; first < x.size(); first += 64) {
            const float* row = x.data() + first;
            table.store_kv(type, keys.data(), values.data(), 7, row, row, 64, 1.0f, 1.0f);
            for (int i = 0; i < 64; ++i) {
                const float expected = stored(type, row[i], 1.0f, 0.0f);
                const float got = tile_value(type, keys.data(), 64, 7, i);
                ASSERT_TRUE(same_bits(&got, &expected, 1)) << "of " << row[i];
                const float value = tile_value(type, values.data(), kPage, i, 7);
                ASSERT_TRUE(same_bits(&value, &expected, 1)) << "of " << row[i];
            }
        }
    }
}

TEST_P(AttentionTest, StoreKvWritesNoNanToFp8) {
    const std::vector<float> x(64, std::numeric_limits<float>::quiet_NaN());
    std::vector<float> y(64, -std::numeric_limits<float>::quiet_NaN());
    y[3] = kInf;
    const Buffer keys(kv_tile_bytes(KvType::fp8, 64));
    const Buffer values(kv_tile_bytes(KvType::fp8, 64));
    table.store_kv(KvType::fp8, keys.data(), values.data(), 0, x.data(), y.data(), 64, 1.0f, 1.0f);
    for (int i = 0; i < 64; ++i) {
        EXPECT_EQ(tile_value(KvType::fp8, keys.data(), 64, 0, i), 0.0f);
        EXPECT_EQ(tile_value(KvType::fp8, values.data(), kPage, i, 0), i == 3 ? 448.0f : 0.0f);
    }
}

// Nothing an int8 page is given makes a scale that is not finite: it would be unreadable with p = 0.
TEST_P(AttentionTest, StoreKvWritesFiniteInt8Scales) {
    const Buffer keys(kv_tile_bytes(KvType::int8, 64));
    const Buffer values(kv_tile_bytes(KvType::int8, 64));
    for (float x : {0.0f, 1e-40f, 1e-33f, 3e38f, kInf, -kInf, std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<float> row(64, x);
        row[5] = 0.0f;
        table.store_kv(KvType::int8, keys.data(), values.data(), 3, row.data(), row.data(), 64, 1.0f, 1.0f);
        for (int i = 0; i < 64; ++i) {
            const bool none = i == 5 || std::isnan(x) || std::fabs(x) < 0x1p-100f;
            const float expected = none ? 0.0f : std::copysign(std::min(std::fabs(x), 0x1p100f), x);
            ASSERT_NEAR(tile_value(KvType::int8, keys.data(), 64, 3, i) / 0x1p100f, expected / 0x1p100f, 1e-6) << x;
            ASSERT_NEAR(tile_value(KvType::int8, values.data(), kPage, i, 3) / 0x1p100f, expected / 0x1p100f, 1e-6);
        }
    }
}

// Integers are multiplied exactly, whatever multiplies them: only the last bits of e^x are a tier's own.
TEST_P(AttentionTest, Int8IsTheSameOnEveryTier) {
    const KernelTable& scalar = kernel_table(Tier::scalar);
    for (int head_dim : {48, 64, 256}) {
        const Cache cache(table, KvType::int8, head_dim, 80, 15);
        const Cache reference_cache(scalar, KvType::int8, head_dim, 80, 15);
        for (int page = 0; page < cache.pages(); ++page) {
            const size_t bytes = kv_tile_bytes(KvType::int8, head_dim);
            ASSERT_EQ(std::memcmp(cache.keys(page), reference_cache.keys(page), bytes), 0);
            ASSERT_EQ(std::memcmp(cache.values(page), reference_cache.values(page), bytes), 0);
        }
        const std::vector<float> query = random_queries(head_dim, 19, 16);
        const std::vector<int> limits(19, 80);
        Rows rows(table, cache, query, limits);
        Rows reference(scalar, cache, query, limits);
        run(table, cache, rows, 0, 0, 3);
        run(scalar, cache, reference, 0, 0, 3);
        EXPECT_TRUE(same_bits(rows.max.data(), reference.max.data(), 19));
        for (size_t row = 0; row < 19; ++row) EXPECT_NEAR(rows.sum[row], reference.sum[row], 1e-5 * rows.sum[row]);
        for (size_t i = 0; i < rows.out.size(); ++i) ASSERT_NEAR(rows.out[i], reference.out[i], 2e-5);
    }
}

COLUGO_EACH_TIER(AttentionTest);

}  // namespace
}  // namespace colugo::kernels
