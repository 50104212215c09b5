#include "base/buffer.h"

#include <sys/mman.h>

#include "base/error.h"

namespace colugo {

Buffer::Buffer(size_t bytes) : size_(bytes) {
    if (bytes == 0) return;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail(ErrorCode::resource_exhausted, "cannot allocate {} bytes of memory", bytes);
    constexpr size_t kHugePage = size_t{2} << 20;
    if (bytes >= kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(memory);
}

Buffer::~Buffer() {
    if (data_) munmap(data_, size_);
}

}  // namespace colugo
