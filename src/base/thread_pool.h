// A fixed set of threads that run one parallel loop at a time. Waiting threads spin for a moment and then sleep, so a
// pass made of hundreds of short loops pays no wake-up each, and a machine shared with others is not burned.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace colugo {

class ThreadPool {
 public:
    // `threads` counts the caller, which works too; at least 1. Throws resource_exhausted when the system has no more.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int size() const { return static_cast<int>(workers_.size()) + 1; }

    // Calls body(task, thread) once for each task in [0, tasks), thread in [0, size()); returns when all are done.
    // Tasks are handed out in order, to whichever thread is free: a result must not depend on the thread. Threads that
    // another process keeps off their core take fewer tasks. The first exception is rethrown here. Not reentrant.
    void parallel_for(int tasks, FunctionRef<void(int task, int thread)> body);

 private:
    struct Loop;
    void stop();
    void work(int thread);
    void run_tasks(Loop& loop, int thread);

    std::vector<std::thread> workers_;
    std::atomic<uint32_t> generation_{0};  // bumped for each loop; workers wait for it to change
    std::atomic<Loop*> loop_{nullptr};
    std::atomic<int> inside_{0};  // workers that hold a pointer to the current loop
    std::atomic<bool> stopping_{false};
};

}  // namespace colugo
