// Owned, aligned memory straight from the system: zero-filled, huge pages asked for, never moved.
#pragma once

#include <cstddef>
#include <utility>

namespace colugo {

class Buffer {
 public:
    Buffer() = default;
    // Throws resource_exhausted when the system has no memory to give. Bytes are zero; alignment is a page (4 KiB).
    explicit Buffer(size_t bytes);
    ~Buffer();
    Buffer(Buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }

    std::byte* data() const { return data_; }
    size_t size() const { return size_; }
    template <typename T>
    T* as() const {
        return reinterpret_cast<T*>(data_);
    }

 private:
    std::byte* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace colugo
