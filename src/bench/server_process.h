// `colugo serve` as a child of this process: started, waited for, measured and ended.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace colugo {

class ServerProcess {
 public:
    // Starts the program. It is in a process group of its own, so that Ctrl-C at a terminal is ours alone, and is told
    // to end when we do. Throws io.
    ServerProcess(std::string program, std::vector<std::string> arguments);
    ~ServerProcess();
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;

    // Waits until it says at which address it serves, which this returns ("http://127.0.0.1:8080/v1"). Throws
    // invalid_argument with its last word where it ends instead. Empty when should_stop says so before.
    std::string wait_until_serving(const std::function<bool()>& should_stop);
    // The most memory it has had so far (VmHWM); absent where that cannot be read.
    std::optional<uint64_t> memory_peak_bytes() const;
    // Tells it to end and waits; after `seconds` it is killed. Whether it ended by itself, with exit code 0.
    bool end(double seconds);
    // Its lines on standard error so far.
    std::vector<std::string> log() const;

 private:
    void read_log();

    std::string program_;
    pid_t pid_ = -1;
    int log_pipe_ = -1;
    mutable std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    std::vector<std::string> log_;
    std::string address_;
    bool log_ended_ = false;
    std::thread reader_;
};

}  // namespace colugo
