#include "cli/shipped_file.h"

#include <filesystem>

namespace colugo {

namespace fs = std::filesystem;

std::optional<std::string> shipped_file(const std::string& path) {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (error) return std::nullopt;
    const fs::path installed = program.parent_path().parent_path() / "share/colugo" / path;
    if (fs::is_regular_file(installed, error)) return installed.string();
    for (fs::path folder = program.parent_path(); folder != folder.root_path(); folder = folder.parent_path()) {
        if (fs::is_regular_file(folder / path, error)) return (folder / path).string();
    }
    return std::nullopt;
}

}  // namespace colugo
