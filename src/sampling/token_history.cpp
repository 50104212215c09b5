#include "sampling/token_history.h"

#include "base/error.h"

namespace colugo {

TokenHistory::TokenHistory(int64_t vocab_size) : counts_(static_cast<size_t>(vocab_size)) {
    tokens_.reserve(static_cast<size_t>(vocab_size));
}

TokenHistory::Count& TokenHistory::count(int32_t token) {
    COLUGO_CHECK(token >= 0 && token < vocab_size());
    Count& count = counts_[static_cast<size_t>(token)];
    if (!count.listed) {
        count.listed = true;
        tokens_.push_back(token);
    }
    return count;
}

void TokenHistory::add_prompt(std::span<const int32_t> tokens) {
    for (const int32_t token : tokens) ++count(token).prompt;
}

void TokenHistory::add_output(int32_t token) {
    ++count(token).output;
}

void TokenHistory::remove_output(int32_t token) {
    Count& entry = count(token);
    COLUGO_CHECK(entry.output > 0);
    --entry.output;
}

}  // namespace colugo
