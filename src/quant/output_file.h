// A file written at known places and made durable, and the same for folders and whole small files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace colugo {

class OutputFile {
 public:
    // Opens for reading and writing, making the file where there is none. Throws not_found or io, naming the path, as
    // all of this does.
    explicit OutputFile(std::string path);
    ~OutputFile();
    OutputFile(OutputFile&& other) noexcept
        : path_(std::move(other.path_)), handle_(std::exchange(other.handle_, -1)) {}
    OutputFile& operator=(OutputFile&&) = delete;

    const std::string& path() const { return path_; }
    int handle() const { return handle_; }

    // All of `bytes`, whatever the system takes at a time. Callable from several threads at once.
    void write(uint64_t offset, std::span<const std::byte> bytes) const;
    void write(uint64_t offset, std::string_view text) const { write(offset, std::as_bytes(std::span(text))); }
    void truncate(uint64_t bytes) const;
    // Sets the size and takes the room on disk, where the file system can promise it. Throws resource_exhausted when
    // there is not enough.
    void allocate(uint64_t bytes) const;
    void sync() const;
    // What has been written, but not necessarily the file's times.
    void sync_data() const;

 private:
    std::string path_;
    int handle_;
};

// Makes the names in a folder durable.
void sync_folder(const std::string& path);

// The folder, unless it exists. Returns whether it was made.
bool make_folder(const std::string& path);

// Renames, never onto something that exists: throws invalid_argument naming `to` then.
void rename_to_new(const std::string& from, const std::string& to);

// Puts a durable file of this text at `path`, in one step as far as anyone can see. `temporary` is on the same disk.
void replace_file(const std::string& path, std::string_view text, const std::string& temporary);

// Whether anything is there, a broken link included.
bool path_exists(const std::string& path);

}  // namespace colugo
