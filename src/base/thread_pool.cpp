#include "base/thread_pool.h"

#include <system_error>

#include "base/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace colugo {

namespace {

// Some tens of microseconds: longer than the serial pieces between two loops of a pass, shorter than anything another
// process would notice.
constexpr int kSpins = 2000;

void pause() {
#if defined(__x86_64__)
    _mm_pause();
#else
    std::this_thread::yield();
#endif
}

// Results must not depend on which thread computes them: to nearest, denormals kept, on all of them.
void require_default_rounding() {
#if defined(__x86_64__)
    constexpr unsigned kFlushAndRounding = 0xe040;  // flush to zero, rounding control, denormals are zero
    COLUGO_CHECK((_mm_getcsr() & kFlushAndRounding) == 0);
#endif
}

}  // namespace

struct ThreadPool::Loop {
    FunctionRef<void(int, int)> body;
    int tasks;
    std::atomic<int> next{0};
    std::mutex error_mutex;
    std::exception_ptr error;
};

ThreadPool::ThreadPool(int threads) {
    COLUGO_CHECK(threads >= 1);
    workers_.reserve(static_cast<size_t>(threads - 1));
    try {
        for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error& error) {
        stop();
        fail(ErrorCode::resource_exhausted, "cannot start {} threads: {}", threads, error.code().message());
    }
}

ThreadPool::~ThreadPool() {
    stop();
}

void ThreadPool::stop() {
    stopping_ = true;
    ++generation_;
    generation_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_tasks(Loop& loop, int thread) {
    for (int task = loop.next.fetch_add(1); task < loop.tasks; task = loop.next.fetch_add(1)) {
        try {
            loop.body(task, thread);
        } catch (...) {
            const std::lock_guard lock(loop.error_mutex);
            if (!loop.error) loop.error = std::current_exception();
        }
    }
}

void ThreadPool::parallel_for(int tasks, FunctionRef<void(int, int)> body) {
    if (tasks <= 0) return;
    require_default_rounding();
    Loop loop{body, tasks, {}, {}, {}};
    if (!workers_.empty() && tasks > 1) {
        loop_ = &loop;
        ++generation_;
        generation_.notify_all();
    }
    run_tasks(loop, 0);
    // All tasks are taken, and those not done are in the hands of workers inside. The loop lives on this stack: nobody
    // may hold it when we return. Closing it first keeps late workers out.
    loop_ = nullptr;
    for (int spin = 0, inside = inside_; inside > 0; inside = inside_, ++spin) {
        if (spin < kSpins) {
            pause();
        } else {
            inside_.wait(inside);
        }
    }
    if (loop.error) std::rethrow_exception(loop.error);
}

void ThreadPool::work(int thread) {
    require_default_rounding();  // inherited from the thread that made this one
    uint32_t seen = 0;
    while (true) {
        for (int spin = 0; generation_.load() == seen && spin < kSpins; ++spin) pause();
        generation_.wait(seen);
        seen = generation_.load();
        if (stopping_) return;
        ++inside_;
        if (Loop* loop = loop_.load()) run_tasks(*loop, thread);
        if (--inside_ == 0) inside_.notify_one();
    }
}

}  // namespace colugo
