// Runs one fuzz target on the files of the folders it is given: the kept inputs, as a test.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "fuzz/fuzz_input.h"

int main(int argc, char** argv) {
    namespace fs = std::filesystem;
    std::vector<fs::path> files;
    for (int i = 1; i < argc; ++i) {
        if (fs::is_directory(argv[i])) {
            for (const fs::directory_entry& entry : fs::directory_iterator(argv[i])) files.push_back(entry.path());
        } else {
            files.emplace_back(argv[i]);
        }
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& path : files) {
        std::ifstream file(path, std::ios::binary);
        const std::string input(std::istreambuf_iterator<char>(file), {});
        // Named before it runs: what fails ends the program.
        std::printf("%s\n", path.filename().c_str());
        std::fflush(stdout);
        // Of its own size, so that a sanitizer sees reads behind its end.
        const std::vector<uint8_t> bytes(input.begin(), input.end());
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
    std::printf("%zu inputs\n", files.size());
    return files.empty() ? 1 : 0;
}
