#include "cli/shipped_file.h"

#include <filesystem>

namespace colugo {

namespace fs = std::filesystem;

namespace {

// Empty where it cannot be read.
fs::path program_folder() {
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

std::string shipped_folder() {
    return (program_folder().parent_path() / "share/colugo").string();
}

std::optional<std::string> shipped_file(const std::string& path) {
    const fs::path program = program_folder();
    if (program.empty()) return std::nullopt;
    std::error_code error;
    const fs::path installed = fs::path(shipped_folder()) / path;
    if (fs::is_regular_file(installed, error)) return installed.string();
    for (fs::path folder = program; folder != folder.root_path(); folder = folder.parent_path()) {
        if (fs::is_regular_file(folder / path, error)) return (folder / path).string();
    }
    return std::nullopt;
}

}  // namespace colugo
