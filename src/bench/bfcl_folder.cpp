#include "bench/bfcl_folder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace colugo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInPackages = "bfcl_eval/data";

bool is_data(const fs::path& folder) {
    std::error_code ignored;
    return fs::is_regular_file(folder / "BFCL_v4_simple_python.json", ignored);
}

// The minor version in "python3.11"; -1 for any other name, "python3" among them.
int python_minor(const std::string& name) {
    constexpr std::string_view kPrefix = "python3.";
    if (!name.starts_with(kPrefix)) return -1;
    const std::string digits = name.substr(kPrefix.size());
    const bool number = !digits.empty() && digits.size() < 4 && digits.find_first_not_of("0123456789") == digits.npos;
    return number ? std::stoi(digits) : -1;
}

// The folders of packages in PREFIX/lib/python3*, the latest Python first.
std::vector<fs::path> package_folders(const fs::path& prefix) {
    std::vector<std::string> pythons;
    std::error_code ignored;
    for (fs::directory_iterator at(prefix / "lib", ignored), end; !ignored && at != end; at.increment(ignored)) {
        const std::string name = at->path().filename();
        if (name == "python3" || python_minor(name) >= 0) pythons.push_back(name);
    }
    std::ranges::sort(pythons, std::greater(), python_minor);
    std::vector<fs::path> folders;
    for (const std::string& python : pythons) {
        for (const char* packages : {"site-packages", "dist-packages"})
            folders.push_back(prefix / "lib" / python / packages);
    }
    return folders;
}

// The data in `folder` or below it, or an empty path.
fs::path data_below(const fs::path& folder) {
    std::vector<fs::path> candidates = {folder, folder / "data", folder / kInPackages};
    for (const fs::path& packages : package_folders(folder)) candidates.push_back(packages / kInPackages);
    const auto found = std::ranges::find_if(candidates, is_data);
    return found == candidates.end() ? fs::path() : *found;
}

std::vector<fs::path> usual_prefixes() {
    std::vector<fs::path> prefixes;
    for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
        const char* value = std::getenv(name);
        if (value != nullptr && *value != '\0') prefixes.emplace_back(value);
    }
    if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
        prefixes.push_back(fs::path(home) / ".local");
    prefixes.emplace_back("/usr/local");
    prefixes.emplace_back("/usr");
    return prefixes;
}

}  // namespace

std::string find_bfcl_data(const std::string& given) {
    if (!given.empty()) {
        const fs::path data = data_below(given);
        if (data.empty()) {
            fail(ErrorCode::not_found,
                 "{} is not a folder of BFCL's data: BFCL_v4_simple_python.json is neither in it nor in its "
                 "lib/python3*/site-packages/bfcl_eval/data",
                 given);
        }
        return data;
    }
    std::string searched;
    for (const fs::path& prefix : usual_prefixes()) {
        const fs::path data = data_below(prefix);
        if (!data.empty()) return data;
        searched += (searched.empty() ? "" : ", ") + prefix.string();
    }
    fail(ErrorCode::not_found,
         "BFCL's data are not there: install them (pip install --no-deps bfcl-eval) or name their folder; no "
         "lib/python3*/site-packages/bfcl_eval/data in {}",
         searched);
}

}  // namespace colugo
