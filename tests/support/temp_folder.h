// A folder of a test's own, gone when the test ends.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace colugo::testing {

class TempFolder {
 public:
    TempFolder() {
        path_ = (std::filesystem::temp_directory_path() / "colugo-XXXXXX").string();
        if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make " + path_);
    }
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string write(const std::string& name, std::string_view text) const {
        const std::string path = path_ + "/" + name;
        std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
        return path;
    }

 private:
    std::string path_;
};

}  // namespace colugo::testing
