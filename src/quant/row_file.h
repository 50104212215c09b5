// Rows of f32 on disk, for what is too much to keep in memory: written and read at any place.
#pragma once

#include <cstdint>
#include <string>

#include "base/tensor_view.h"

namespace colugo {

class RowFile {
 public:
    // Opens the file, or makes it, with room for `rows` rows of `cols`. Throws io or resource_exhausted naming the
    // path.
    RowFile(std::string path, int64_t rows, int64_t cols);
    ~RowFile();
    RowFile(RowFile&& other) noexcept;
    RowFile& operator=(RowFile&&) = delete;

    // x [x.rows, cols], its rows without gaps.
    void read(TensorView x, int64_t first_row) const;
    void write(TensorView x, int64_t first_row);
    // Returns when the system has it.
    void sync();

 private:
    std::string path_;
    int64_t cols_;
    int file_;
};

}  // namespace colugo
