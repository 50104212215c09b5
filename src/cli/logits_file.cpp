#include "cli/logits_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <filesystem>

#include "base/error.h"

namespace colugo {

static_assert(std::endian::native == std::endian::little, "the file holds the machine's own floats");

LogitsFile::LogitsFile(std::string path) : path_(std::move(path)) {
    namespace fs = std::filesystem;
    std::error_code error;
    const auto type = fs::status(path_, error).type();
    if (type != fs::file_type::not_found && type != fs::file_type::regular) {
        fail(ErrorCode::invalid_argument, "cannot write logits to {}: it is not a regular file", path_);
    }
    // A link stays one: what it leads to is replaced.
    if (const fs::path target = fs::canonical(path_, error); !error) path_ = target.string();
    temporary_path_ = (fs::path(path_).parent_path() / fmt::format(".colugo-logits-{}.tmp", getpid())).string();
    const int file = open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0) fail_errno("write", path_);
    file_ = fdopen(file, "wb");
    COLUGO_CHECK(file_ != nullptr);
}

LogitsFile::~LogitsFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::remove(temporary_path_.c_str());
}

void LogitsFile::append(TensorView logits) {
    COLUGO_CHECK(logits.row_stride == logits.cols);
    const auto count = static_cast<size_t>(logits.rows * logits.cols);
    if (std::fwrite(logits.f32(), sizeof(float), count, file_) != count) fail_errno("write", path_);
}

void LogitsFile::publish() {
    std::FILE* file = file_;
    file_ = nullptr;
    const bool written = std::fflush(file) == 0 && fsync(fileno(file)) == 0;
    const bool closed = std::fclose(file) == 0;
    if (!written || !closed || std::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
        const int reason = errno;
        std::remove(temporary_path_.c_str());
        errno = reason;
        fail_errno("write", path_);
    }
}

}  // namespace colugo
