#include "quant/system_calls.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <mutex>

namespace colugo::testing {
namespace {

std::mutex mutex;
Fault fault = Fault::none;
int fault_call = 0;
std::vector<std::string> calls;
std::string refused;
int refused_reason = 0;
bool interrupt_next = false;

// Whether the call may go on; errno is set otherwise.
bool admit(const std::string& function, const std::string& path) {
    const std::lock_guard lock(mutex);
    calls.push_back(function + " " + std::filesystem::path(path).filename().string());
    if (function == refused) {
        errno = refused_reason;
        return false;
    }
    if (static_cast<int>(calls.size()) - 1 != fault_call) return true;
    if (fault == Fault::kill && function != "pwrite") _exit(kKilled);
    if (fault == Fault::no_space || fault == Fault::no_device) {
        errno = fault == Fault::no_space ? ENOSPC : EIO;
        return false;
    }
    return true;
}

std::string path_of(int file) {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), error).string();
}

}  // namespace

void set_fault(Fault new_fault, int call) {
    const std::lock_guard lock(mutex);
    fault = new_fault;
    fault_call = call;
    calls.clear();
    interrupt_next = true;
}

void refuse_calls(const std::string& function, int reason) {
    const std::lock_guard lock(mutex);
    refused = function;
    refused_reason = reason;
}

std::vector<std::string> calls_made() {
    const std::lock_guard lock(mutex);
    return calls;
}

}  // namespace colugo::testing

using colugo::testing::admit;
using colugo::testing::Fault;
using colugo::testing::path_of;

extern "C" {

int mkdir(const char* path, mode_t mode) noexcept {
    return admit("mkdir", path) ? static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode)) : -1;
}

int ftruncate(int file, off_t length) noexcept {
    return admit("ftruncate", path_of(file)) ? static_cast<int>(syscall(SYS_ftruncate, file, length)) : -1;
}

int fallocate(int file, int mode, off_t offset, off_t length) {
    if (!admit("fallocate", path_of(file))) return -1;
    return static_cast<int>(syscall(SYS_fallocate, file, mode, offset, length));
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
    if (!admit("pwrite", path_of(file))) return -1;
    const std::lock_guard lock(colugo::testing::mutex);
    const bool last = colugo::testing::fault == Fault::kill &&
                      static_cast<int>(colugo::testing::calls.size()) - 1 == colugo::testing::fault_call;
    if (colugo::testing::fault == Fault::interrupted) {
        colugo::testing::interrupt_next = !colugo::testing::interrupt_next;
        if (!colugo::testing::interrupt_next) {
            errno = EINTR;
            return -1;
        }
    }
    if (last || (colugo::testing::fault == Fault::interrupted && count > 1)) count /= 2;
    const auto written = static_cast<ssize_t>(syscall(SYS_pwrite64, file, bytes, count, offset));
    if (last) _exit(colugo::testing::kKilled);
    return written;
}

int fsync(int file) {
    return admit("fsync", path_of(file)) ? 0 : -1;
}

int fdatasync(int file) {
    return admit("fdatasync", path_of(file)) ? 0 : -1;
}

int rename(const char* from, const char* to) noexcept {
    if (!admit("rename", to)) return -1;
    return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
    if (!admit("renameat2", to)) return -1;
    return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int unlinkat(int folder, const char* path, int flags) noexcept {
    return admit("unlinkat", path) ? static_cast<int>(syscall(SYS_unlinkat, folder, path, flags)) : -1;
}

int remove(const char* path) noexcept {
    if (!admit("remove", path)) return -1;
    const auto result = static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
    if (result == 0 || errno != EISDIR) return result;
    return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}

}  // extern "C"
