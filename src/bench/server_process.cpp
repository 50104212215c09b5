#include "bench/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "base/error.h"

namespace colugo {

namespace {

constexpr auto kLook = std::chrono::milliseconds(50);

// In the child, between fork and exec: nothing but system calls.
[[noreturn]] void become(const char* program, char* const* arguments, int log, int none) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(none, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execv(program, arguments);
    _exit(127);
}

// The address in "serving NAME at http://HOST:PORT/v1"; empty where it is another line.
std::string address_in(const std::string& line) {
    const size_t at = line.rfind(" at http://");
    return line.starts_with("serving ") && at != line.npos ? line.substr(at + 4) : std::string();
}

}  // namespace

ServerProcess::ServerProcess(std::string program, std::vector<std::string> arguments) : program_(std::move(program)) {
    std::vector<char*> argv = {program_.data()};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    std::array<int, 2> ends = {};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_errno("make a pipe for", program_);
    const int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid_ = fork();
    if (pid_ == 0) become(program_.c_str(), argv.data(), ends[1], none);
    if (none >= 0) close(none);
    close(ends[1]);
    log_pipe_ = ends[0];
    if (pid_ < 0) {
        close(log_pipe_);
        fail_errno("start", program_);
    }
    reader_ = std::thread([this] { read_log(); });
}

ServerProcess::~ServerProcess() {
    end(0.0);
    reader_.join();
    close(log_pipe_);
}

void ServerProcess::read_log() {
    std::string line;
    std::array<char, 4096> bytes;
    while (true) {
        const ssize_t count = read(log_pipe_, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        const std::lock_guard lock(mutex_);
        for (ssize_t i = 0; i < count; ++i) {
            const char c = bytes[static_cast<size_t>(i)];
            if (c != '\n') {
                line += c;
                continue;
            }
            if (address_.empty()) address_ = address_in(line);
            log_.push_back(std::exchange(line, {}));
        }
        log_ended_ = count <= 0;
        changed_.notify_all();
        if (log_ended_) return;
    }
}

std::string ServerProcess::wait_until_serving(const std::function<bool()>& should_stop) {
    std::unique_lock lock(mutex_);
    while (address_.empty() && !log_ended_ && !should_stop()) changed_.wait_for(lock, kLook);
    if (address_.empty() && log_ended_) {
        const std::string last = log_.empty() ? "it said nothing" : log_.back();
        fail(ErrorCode::invalid_argument, "the server did not start: {}", last);
    }
    return address_;
}

std::optional<uint64_t> ServerProcess::memory_peak_bytes() const {
    std::ifstream file(fmt::format("/proc/{}/status", pid_));
    for (std::string line; std::getline(file, line);) {
        constexpr std::string_view kField = "VmHWM:";
        if (line.starts_with(kField)) return 1024 * std::strtoull(line.c_str() + kField.size(), nullptr, 10);
    }
    return std::nullopt;
}

bool ServerProcess::end(double seconds) {
    if (pid_ < 0) return true;
    kill(pid_, SIGTERM);
    const auto last = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(pid_, &status, WNOHANG)) == 0 && std::chrono::steady_clock::now() < last) {
        std::this_thread::sleep_for(kLook);
    }
    if (ended == 0) {
        kill(pid_, SIGKILL);
        while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
    }
    pid_ = -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::vector<std::string> ServerProcess::log() const {
    const std::lock_guard lock(mutex_);
    return log_;
}

}  // namespace colugo
