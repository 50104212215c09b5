#include "cli/input_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "checkpoint/checkpoint_files.h"
#include "cli/interrupt.h"

namespace colugo {

namespace {

std::string read_to_end(int file, const std::string& name, uint64_t max_bytes) {
    std::string text;
    char buffer[1 << 14];
    while (true) {
        const ssize_t count = read(file, buffer, sizeof buffer);
        if (interrupted()) throw Interrupted{};
        if (count == 0) return text;
        if (count < 0 && errno != EINTR) fail_errno("read", name);
        if (count > 0) text.append(buffer, static_cast<size_t>(count));
        if (text.size() > max_bytes) {
            fail(ErrorCode::invalid_file, "{} has more than {} bytes, which is what is accepted", name, max_bytes);
        }
    }
}

class OpenPipe {
 public:
    explicit OpenPipe(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (file_ >= 0) return;
        if (interrupted()) throw Interrupted{};  // while it waited for somebody to write
        fail_errno("open", path);
    }
    ~OpenPipe() { close(file_); }
    OpenPipe(const OpenPipe&) = delete;
    OpenPipe& operator=(const OpenPipe&) = delete;

    int file() const { return file_; }

 private:
    int file_;
};

}  // namespace

std::string read_standard_input() {
    return read_to_end(STDIN_FILENO, "standard input", std::numeric_limits<uint64_t>::max());
}

std::optional<std::string> read_input_file(const std::string& path, uint64_t max_bytes) {
    std::error_code ignored;
    if (!std::filesystem::is_fifo(path, ignored)) return read_text_file(path, max_bytes);
    const OpenPipe pipe(path);
    return read_to_end(pipe.file(), path, max_bytes);
}

std::string read_key_file(const std::string& path) {
    constexpr uint64_t kMostKeyBytes = 4096;
    const auto text = read_input_file(path, kMostKeyBytes);
    if (!text) fail(ErrorCode::not_found, "there is no API key file {}", path);
    return text->substr(0, text->find_last_not_of(" \t\r\n") + 1);
}

}  // namespace colugo
