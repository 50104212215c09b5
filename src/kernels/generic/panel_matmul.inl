#include "kernels/generic/row_groups.h"

namespace colugo::kernels {

// kRows rows x 16 columns held in registers: 6 x 2 vectors of 8 leave room for two of b and a broadcast of a.
template <class V, int kRows>
void panel_matmul_rows(float* c, int64_t ldc, const float* a, int64_t lda, const float* b, int64_t ldb, int k,
                       bool accumulate) {
    constexpr int kVectors = 16 / V::kWidth;
    V sum[kRows][kVectors];
    for (int row = 0; row < kRows; ++row) {
        for (int i = 0; i < kVectors; ++i) {
            sum[row][i] = accumulate ? V::load(c + row * ldc + i * V::kWidth) : V::zero();
        }
    }
    for (int step = 0; step < k; ++step) {
        V column[kVectors];
        for (int i = 0; i < kVectors; ++i) column[i] = V::load(b + step * ldb + i * V::kWidth);
        for (int row = 0; row < kRows; ++row) {
            const V factor = V::set(a[row * lda + step]);
            for (int i = 0; i < kVectors; ++i) sum[row][i] = V::fma(factor, column[i], sum[row][i]);
        }
    }
    for (int row = 0; row < kRows; ++row) {
        for (int i = 0; i < kVectors; ++i) sum[row][i].store(c + row * ldc + i * V::kWidth);
    }
}

// The numbers of rows that are multiplied at once, and how many of `rows` left come next.
template <int kWidth>
struct PanelRows {
    using Groups = RowGroups<6, 5, 4, 3, 2, 1>;
    // Seven to eleven make two blocks of like size: a block of one or two rows has too few sums to hide the latency of
    // a multiply-add.
    [[gnu::always_inline]] static int next(int rows) {
        if (rows >= 12) return 6;
        return rows <= 6 ? rows : (rows + 1) / 2;
    }
};

// A row is one vector: 12 sums, a column and, in the multiply-add itself, a broadcast from memory.
template <>
struct PanelRows<16> {
    using Groups = RowGroups<12, 8, 6, 4, 3, 2, 1>;
    [[gnu::always_inline]] static int next(int rows) { return Groups::next(rows); }
};

template <class V>
int panel_block_rows(int rows) {
    return PanelRows<V::kWidth>::next(rows);
}

template <class V>
void panel_matmul(float* c, int64_t ldc, const float* a, int64_t lda, int rows, const float* b, int64_t ldb, int k,
                  bool accumulate) {
    while (rows > 0) {
        const int block = panel_block_rows<V>(rows);
        PanelRows<V::kWidth>::Groups::with(block, [&](auto count) {
            panel_matmul_rows<V, decltype(count)::value>(c, ldc, a, lda, b, ldb, k, accumulate);
        });
        c += block * ldc;
        a += block * lda;
        rows -= block;
    }
}

}  // namespace colugo::kernels
