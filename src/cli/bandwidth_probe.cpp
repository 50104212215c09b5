#include "cli/bandwidth_probe.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/buffer.h"
#include "base/error.h"

namespace colugo {

namespace {

constexpr int kPasses = 5;
constexpr size_t kBlock = size_t{1} << 20;  // bytes of one task
constexpr size_t kLanes = 16;

// Several sums side by side, which the compiler keeps in vector registers.
uint64_t sum_block(const uint64_t* words, size_t count) {
    uint64_t lanes[kLanes] = {};
    for (size_t i = 0; i < count; i += kLanes) {
        for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += words[i + lane];
    }
    uint64_t sum = 0;
    for (const uint64_t lane : lanes) sum += lane;
    return sum;
}

}  // namespace

double read_bandwidth(ThreadPool& threads, uint64_t bytes) {
    const int blocks = static_cast<int>(std::max<uint64_t>(bytes / kBlock, 1));
    const Buffer memory(static_cast<size_t>(blocks) * kBlock);
    constexpr size_t kWords = kBlock / sizeof(uint64_t);
    const auto block = [&](int index) { return memory.as<uint64_t>() + static_cast<size_t>(index) * kWords; };
    // Memory that was never written is one page of zeros, which the cache holds.
    threads.parallel_for(blocks, [&](int task, int) { std::fill(block(task), block(task) + kWords, 1); });
    std::atomic<uint64_t> total{0};
    double best = 0.0;
    for (int pass = 0; pass < kPasses; ++pass) {
        const auto start = std::chrono::steady_clock::now();
        threads.parallel_for(blocks, [&](int task, int) { total += sum_block(block(task), kWords); });
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        best = std::max(best, static_cast<double>(memory.size()) / seconds);
    }
    COLUGO_CHECK(total == static_cast<uint64_t>(kPasses) * memory.size() / sizeof(uint64_t));
    return best;
}

}  // namespace colugo
