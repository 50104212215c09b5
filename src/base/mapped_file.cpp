#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace colugo {

MappedFile::MappedFile(const std::string& path) : path_(path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused below
    if (file < 0) fail_errno("open", path);
    struct stat status {};
    const bool known = fstat(file, &status) == 0;
    if (!known || !S_ISREG(status.st_mode)) {
        close(file);
        fail(ErrorCode::io, "cannot read {}: not a regular file", path);
    }
    size_ = static_cast<size_t>(status.st_size);
    if (size_ > 0) {
        void* memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
        if (memory == MAP_FAILED) {
            const int reason = errno;
            close(file);
            errno = reason;
            fail_errno("map", path);
        }
        data_ = static_cast<const std::byte*>(memory);
    }
    close(file);
}

MappedFile::~MappedFile() {
    if (data_) munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::drop(size_t offset, size_t length) const {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t begin = (offset + page - 1) / page * page;
    const size_t end = (offset + length) / page * page;
    if (end > begin) madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace colugo
