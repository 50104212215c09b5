#include "quant/row_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace colugo {

RowFile::RowFile(std::string path, int64_t rows, int64_t cols)
    : path_(std::move(path)), cols_(cols), file_(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0) fail_errno("open", path_);
    const auto bytes = static_cast<off_t>(rows * cols * static_cast<int64_t>(sizeof(float)));
    const int reason = bytes > 0 ? posix_fallocate(file_, 0, bytes) : 0;
    if (reason == 0 || reason == EOPNOTSUPP) return;
    close(std::exchange(file_, -1));
    errno = reason;
    fail_errno("make room in", path_);
}

RowFile::~RowFile() {
    if (file_ >= 0) close(file_);
}

RowFile::RowFile(RowFile&& other) noexcept
    : path_(std::move(other.path_)), cols_(other.cols_), file_(std::exchange(other.file_, -1)) {}

void RowFile::read(TensorView x, int64_t first_row) const {
    COLUGO_CHECK(x.cols == cols_ && x.row_stride == cols_);
    char* next = reinterpret_cast<char*>(x.f32());
    auto left = static_cast<size_t>(x.rows * cols_) * sizeof(float);
    auto offset = static_cast<off_t>(first_row * cols_ * static_cast<int64_t>(sizeof(float)));
    while (left > 0) {
        const ssize_t count = pread(file_, next, left, offset);
        if (count == 0) fail(ErrorCode::io, "cannot read {}: it ends too early", path_);
        if (count < 0 && errno != EINTR) fail_errno("read", path_);
        if (count < 0) continue;
        next += count;
        left -= static_cast<size_t>(count);
        offset += count;
    }
}

void RowFile::write(TensorView x, int64_t first_row) {
    COLUGO_CHECK(x.cols == cols_ && x.row_stride == cols_);
    const char* next = reinterpret_cast<const char*>(x.f32());
    auto left = static_cast<size_t>(x.rows * cols_) * sizeof(float);
    auto offset = static_cast<off_t>(first_row * cols_ * static_cast<int64_t>(sizeof(float)));
    while (left > 0) {
        const ssize_t count = pwrite(file_, next, left, offset);
        if (count < 0 && errno != EINTR) fail_errno("write", path_);
        if (count < 0) continue;
        next += count;
        left -= static_cast<size_t>(count);
        offset += count;
    }
}

void RowFile::sync() {
    if (fdatasync(file_) != 0) fail_errno("write", path_);
}

}  // namespace colugo
