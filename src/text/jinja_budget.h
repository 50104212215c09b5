// What one rendering may spend. Everything that works in proportion to its input counts itself here, so that no
// template and no request can run or grow without end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace colugo::jinja {

struct RenderLimits {
    uint64_t steps = 50'000'000;      // node evaluations, plus the bytes and items that builtins handle, scaled
    size_t bytes = size_t{64} << 20;  // of the output and of any one text
    int depth = 900;                  // of expressions, statements and macro calls inside each other
};

// Every member throws Fault (limit) when the limit is passed.
class Budget {
 public:
    explicit Budget(const RenderLimits& limits) : limits_(limits) {}
    const RenderLimits& limits() const { return limits_; }

    void charge(uint64_t steps);
    void charge_bytes(size_t bytes) { charge(bytes / 16); }
    void charge_items(size_t items) { charge(items * 16); }  // new values, each with memory of its own
    // Before a text or list of that many bytes is made.
    void admit_bytes(size_t bytes);
    // For a text that grows: counts what was added since the last call.
    void count_growth(size_t size, size_t& counted);

 private:
    RenderLimits limits_;
    uint64_t steps_ = 0;
};

}  // namespace colugo::jinja
