#include "bench/result_folder.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/error.h"

namespace colugo {

namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) fail_errno("write", path.string());
}

}  // namespace

ResultFolder::ResultFolder(std::string path) : path_(std::move(path)) {
    while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path_, error);
    if (fs::exists(status) && (!fs::is_directory(status) || !fs::is_empty(path_, error) || error)) {
        fail(ErrorCode::invalid_argument, "--out {} exists and is not an empty folder; expected a new one", path_);
    }
    const fs::path parent = fs::path(path_).parent_path();
    if (!parent.empty()) fs::create_directories(parent, error);
    temporary_ = fmt::format("{}.part-{}", path_, getpid());
    if (!fs::create_directory(temporary_, error)) {
        fail(ErrorCode::io, "cannot make the folder {}: {}", temporary_,
             error ? error.message() : "something has that name");
    }
}

ResultFolder::~ResultFolder() {
    std::error_code ignored;
    if (!published_) fs::remove_all(temporary_, ignored);
}

void ResultFolder::publish(const std::map<std::string, std::string>& files) {
    published_ = true;  // from here on, what was measured is kept where it is
    std::vector<std::pair<size_t, const std::string*>> by_size;
    for (const auto& [name, text] : files) by_size.emplace_back(text.size(), &name);
    std::sort(by_size.begin(), by_size.end());
    for (const auto& [size, name] : by_size) {  // a full disk takes the smaller ones first
        const fs::path file = fs::path(temporary_) / *name;
        std::error_code error;
        fs::create_directories(file.parent_path(), error);
        try {
            write_file(file, files.at(*name));
        } catch (const Error& failure) {
            fail(failure.code(), "{}; what was written is in {}", failure.what(), temporary_);
        }
    }
    std::error_code error;
    fs::rename(temporary_, path_, error);
    if (error) fail(ErrorCode::io, "cannot rename {} to {}: {}", temporary_, path_, error.message());
}

}  // namespace colugo
