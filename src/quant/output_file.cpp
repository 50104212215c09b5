#include "quant/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/error.h"

namespace colugo {

namespace {

// Repeats a call that a signal interrupted.
template <typename Call>
auto uninterrupted(Call call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

void require(bool success, std::string_view action, const std::string& path) {
    if (!success) fail_errno(action, path);
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
    handle_ = uninterrupted([&] { return open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
    require(handle_ >= 0, "open", path_);
}

OutputFile::~OutputFile() {
    if (handle_ >= 0) close(handle_);
}

void OutputFile::write(uint64_t offset, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
        const ssize_t written =
            uninterrupted([&] { return pwrite(handle_, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
        if (written == 0) fail(ErrorCode::io, "cannot write {}: the system takes no more bytes", path_);
        require(written > 0, "write", path_);
        bytes = bytes.subspan(static_cast<size_t>(written));
        offset += static_cast<uint64_t>(written);
    }
}

void OutputFile::truncate(uint64_t bytes) const {
    require(uninterrupted([&] { return ftruncate(handle_, static_cast<off_t>(bytes)); }) == 0, "resize", path_);
}

void OutputFile::allocate(uint64_t bytes) const {
    truncate(bytes);
    // Not posix_fallocate: where a file system cannot promise room, that one writes a byte into every block instead.
    if (uninterrupted([&] { return fallocate(handle_, 0, 0, static_cast<off_t>(bytes)); }) == 0) return;
    if (errno == EOPNOTSUPP || errno == ENOSYS) return;
    if (errno == ENOSPC || errno == EDQUOT) {
        fail(ErrorCode::resource_exhausted, "there is no room on disk for the {} bytes of {}", bytes, path_);
    }
    fail_errno("take room for", path_);
}

void OutputFile::sync() const {
    require(uninterrupted([&] { return fsync(handle_); }) == 0, "write", path_);
}

void OutputFile::sync_data() const {
    require(uninterrupted([&] { return fdatasync(handle_); }) == 0, "write", path_);
}

void sync_folder(const std::string& path) {
    const int handle = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(handle >= 0, "open", path);
    const int result = uninterrupted([&] { return fsync(handle); });
    const int reason = errno;
    close(handle);
    errno = reason;
    // Some file systems of others' machines keep folders durable by themselves and refuse to be asked.
    require(result == 0 || reason == EINVAL, "write", path);
}

bool make_folder(const std::string& path) {
    const bool made = mkdir(path.c_str(), 0777) == 0;
    require(made || errno == EEXIST, "make", path);
    return made;
}

void rename_to_new(const std::string& from, const std::string& to) {
    int result = renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
    if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {
        // The file system cannot refuse by itself: a moment is left in which an empty folder would be replaced.
        errno = EEXIST;
        if (!path_exists(to)) result = std::rename(from.c_str(), to.c_str());
    }
    if (result != 0 && (errno == EEXIST || errno == ENOTEMPTY)) {
        fail(ErrorCode::invalid_argument, "{} appeared while it was being made; the work is kept in {}", to, from);
    }
    require(result == 0, "rename", from);
}

void replace_file(const std::string& path, std::string_view text, const std::string& temporary) {
    {
        const OutputFile file(temporary);
        file.truncate(0);
        file.write(0, text);
        file.sync();
    }
    require(std::rename(temporary.c_str(), path.c_str()) == 0, "write", path);
}

bool path_exists(const std::string& path) {
    struct stat status {};
    if (lstat(path.c_str(), &status) == 0) return true;
    require(errno == ENOENT || errno == ENOTDIR, "look at", path);
    return false;
}

}  // namespace colugo
