#include "support/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> allocations{0};

void* allocate(size_t bytes) noexcept {
    ++allocations;
    return std::malloc(bytes == 0 ? 1 : bytes);
}

void* allocate_or_throw(size_t bytes) {
    void* memory = allocate(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

namespace colugo {

size_t allocation_count() {
    return allocations;
}

}  // namespace colugo

// All forms but the aligned ones: a sanitizer's library has its own of each, and they do not go together.
void* operator new(size_t bytes) {
    return allocate_or_throw(bytes);
}
void* operator new[](size_t bytes) {
    return allocate_or_throw(bytes);
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
    return allocate(bytes);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
    return allocate(bytes);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
    std::free(memory);
}
