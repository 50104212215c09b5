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

// Rows of the next block of `rows` left. Seven to eleven make two blocks of like size: a block of one or two rows has
// too few sums to hide the latency of a multiply-add.
template <class V>
int panel_block_rows(int rows) {
    if (rows >= 12) return 6;
    return rows <= 6 ? rows : (rows + 1) / 2;
}

template <class V>
void panel_matmul(float* c, int64_t ldc, const float* a, int64_t lda, int rows, const float* b, int64_t ldb, int k,
                  bool accumulate) {
    while (rows > 0) {
        const int block = panel_block_rows<V>(rows);
        switch (block) {
            case 6:
                panel_matmul_rows<V, 6>(c, ldc, a, lda, b, ldb, k, accumulate);
                break;
            case 5:
                panel_matmul_rows<V, 5>(c, ldc, a, lda, b, ldb, k, accumulate);
                break;
            case 4:
                panel_matmul_rows<V, 4>(c, ldc, a, lda, b, ldb, k, accumulate);
                break;
            case 3:
                panel_matmul_rows<V, 3>(c, ldc, a, lda, b, ldb, k, accumulate);
                break;
            case 2:
                panel_matmul_rows<V, 2>(c, ldc, a, lda, b, ldb, k, accumulate);
                break;
            default:
                panel_matmul_rows<V, 1>(c, ldc, a, lda, b, ldb, k, accumulate);
                break;
        }
        c += block * ldc;
        a += block * lda;
        rows -= block;
    }
}

}  // namespace colugo::kernels
