// A whole file, mapped read-only.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace colugo {

class MappedFile {
 public:
    MappedFile() = default;
    // Throws not_found or io, naming the path. An empty file gives an empty span.
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept
        : path_(std::move(other.path_)),
          data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)) {}
    MappedFile& operator=(MappedFile&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }

    const std::string& path() const { return path_; }
    std::span<const std::byte> bytes() const { return {data_, size_}; }
    // Gives the pages that lie wholly inside [offset, offset + length) back to the system; a later read maps them
    // again.
    void drop(size_t offset, size_t length) const;

 private:
    std::string path_;
    const std::byte* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace colugo
