// A borrowed matrix: [rows, cols], rows row_stride elements apart. Heads are runs of columns.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/float_formats.h"

namespace colugo {

struct TensorView {
    void* data = nullptr;
    DType dtype = DType::f32;
    int64_t rows = 0;
    int64_t cols = 0;
    int64_t row_stride = 0;  // in elements

    TensorView() = default;
    TensorView(void* data_, DType dtype_, int64_t rows_, int64_t cols_)
        : data(data_), dtype(dtype_), rows(rows_), cols(cols_), row_stride(cols_) {}
    TensorView(float* data_, int64_t rows_, int64_t cols_) : TensorView(data_, DType::f32, rows_, cols_) {}

    float* f32(int64_t row = 0) const {
        COLUGO_CHECK(dtype == DType::f32);
        return static_cast<float*>(data) + row * row_stride;
    }
    // Columns [begin, begin + count) of every row.
    TensorView columns(int64_t begin, int64_t count) const {
        COLUGO_CHECK(begin >= 0 && count >= 0 && begin + count <= cols);
        TensorView view = *this;
        view.data = static_cast<char*>(data) + begin * static_cast<int64_t>(dtype_size(dtype));
        view.cols = count;
        return view;
    }
    TensorView row_range(int64_t begin, int64_t count) const {
        COLUGO_CHECK(begin >= 0 && count >= 0 && begin + count <= rows);
        TensorView view = *this;
        view.data = static_cast<char*>(data) + begin * row_stride * static_cast<int64_t>(dtype_size(dtype));
        view.rows = count;
        return view;
    }
    TensorView first_rows(int64_t count) const { return row_range(0, count); }
};

}  // namespace colugo
