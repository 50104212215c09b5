// A reply on its way from the engine's thread to the one that shows it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/request.h"

namespace colugo {

class ReplyStream : public RequestListener {
 public:
    struct News {
        int64_t prefilled = 0;  // of the prompt's tokens, as far as is known
        int64_t prompt_tokens = 0;
        std::vector<int32_t> tokens = {};  // new ones
        std::optional<RequestResult> result = {};
    };

    void prefilled(int64_t done, int64_t total) override;
    void token(const DrawnToken& drawn) override;
    void finished(const RequestResult& result) override;

    // What has come since the last call; waits for something, but no longer than this.
    News wait(std::chrono::milliseconds longest);

 private:
    std::mutex mutex_;
    std::condition_variable wake_;
    News news_;
    bool fresh_ = false;
};

}  // namespace colugo
