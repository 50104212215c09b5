// How many prompt rows a step may read beside sequences that decode: as many as keep the step within a multiple of what
// decoding alone takes. Times are measured as steps go by, since they depend on the machine, the model and the depth.
#pragma once

#include <cstdint>

namespace colugo {

class StepPace {
 public:
    // A step with `prefill_rows` prompt rows and `decode_rows` decoding ones took so long.
    void record(int64_t prefill_rows, int64_t decode_rows, double seconds);
    // For a step with decode_rows > 0. At least 1; 0 where a step of decoding alone has yet to be measured.
    int64_t prefill_rows(int64_t decode_rows, int64_t most) const;

 private:
    bool is_like_measured(int64_t decode_rows) const;

    double decode_seconds_ = 0.0;  // of a step that only decodes; 0: not measured
    int64_t decode_rows_ = 0;      // it had
    double rows_ = 0.0;            // of the prompt, that are thought to fit beside it
};

}  // namespace colugo
