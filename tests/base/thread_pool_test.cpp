#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/error.h"

namespace colugo {
namespace {

TEST(ThreadPool, RunsEveryTaskOnceOnAThreadOfItsOwn) {
    for (const int threads : {1, 2, 4}) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.size(), threads);
        for (int round = 0; round < 200; ++round) {
            std::vector<std::atomic<int>> runs(static_cast<size_t>(round));
            std::vector<std::atomic<int>> inside(static_cast<size_t>(threads));
            pool.parallel_for(round, [&](int task, int thread) {
                EXPECT_EQ(inside[static_cast<size_t>(thread)].fetch_add(1), 0) << "two tasks at once on one thread";
                ++runs[static_cast<size_t>(task)];
                --inside[static_cast<size_t>(thread)];
            });
            for (const std::atomic<int>& count : runs) ASSERT_EQ(count, 1);
        }
    }
}

TEST(ThreadPool, RethrowsTheFirstExceptionAndGoesOn) {
    ThreadPool pool(3);
    std::atomic<int> runs{0};
    const auto body = [&](int task, int) {
        ++runs;
        if (task == 5) throw std::runtime_error("task 5");
    };
    EXPECT_THROW(pool.parallel_for(20, body), std::runtime_error);
    EXPECT_EQ(runs, 20);
    pool.parallel_for(5, body);
    EXPECT_EQ(runs, 25);
}

// In a child: the limit is the process's own and would stay. 0: it said so.
int start_threads_without_memory() {
    const rlimit limit{size_t{256} << 20, size_t{256} << 20};
    setrlimit(RLIMIT_AS, &limit);
    try {
        const ThreadPool pool(4096);
    } catch (const Error& error) {
        const bool named = std::string_view(error.what()).find("4096 threads") != std::string_view::npos;
        return error.code() == ErrorCode::resource_exhausted && named ? 0 : 1;
    }
    return 2;
}

TEST(ThreadPool, SaysWhenTheSystemHasNoMoreThreads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer needs more address space than the limit leaves";
#endif
    EXPECT_EXIT(std::exit(start_threads_without_memory()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace colugo
