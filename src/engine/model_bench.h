// Times passes of a model as they are in use: prompts read in chunks and tokens decoded, behind any length of context.
#pragma once

#include <cstdint>
#include <functional>
#include <random>

#include "base/buffer.h"
#include "engine/loaded_model.h"
#include "model/sequence_state.h"

namespace colugo {

class ModelBench {
 public:
    // The model outlives it. longest: positions that tests reach. before_pass: called before every pass; what it throws
    // ends the test, and another one may follow. Throws resource_exhausted where the positions do not fit.
    ModelBench(
        LoadedModel& model, int64_t longest, std::function<void()> before_pass = [] {});

    // Reads `length` tokens, at random, as what the tests lie behind. What was there is gone.
    void read_context(int64_t length);
    // Seconds to read `tokens` more, in chunks of the launch's rows, with the logits of the last.
    double prefill(int64_t tokens);
    // Seconds of `passes` passes one behind the other, each of a token and rows - 1 drafts of the next, with all their
    // logits; one token of each stays.
    double decode(int64_t passes, int rows);

 private:
    void feed(int64_t tokens);
    void go_back();

    LoadedModel& model_;
    const std::function<void()> before_pass_;
    SequenceBuffers buffers_;
    SequenceState sequence_;
    int64_t context_ = 0;
    Buffer pages_;
    Buffer logits_;
    std::mt19937 random_{3};
};

}  // namespace colugo
