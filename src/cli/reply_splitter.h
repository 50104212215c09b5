// A reply told apart, token by token, into what the model thinks and what it says.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "text/detokenizer.h"

namespace colugo {

// As a conversation keeps it.
struct Reply {
    std::optional<std::string> reasoning = {};  // absent where the model did not think, not even in vain
    std::string content;
};

// The text a token completes, in this order.
struct ReplyPiece {
    std::string reasoning = {};
    std::string marker = {};  // <think> or </think>: where a thought begins or ends
    std::string content = {};
};

class ReplySplitter {
 public:
    // A thought that is open at the end of the prompt is the reply's. thinks: the model may open one itself. The
    // tokenizer outlives the splitter.
    ReplySplitter(const Tokenizer& tokenizer, std::span<const int32_t> prompt, bool thinks);

    ReplyPiece feed(int32_t token);
    // The end of the reply.
    ReplyPiece finish();
    // Of what was fed, without the line breaks that templates put around a thought by themselves.
    Reply reply() const;

 private:
    enum class State { before, thinking, speaking };

    ReplyPiece switch_to(State next, int32_t token);

    Detokenizer detokenizer_;
    const Tokenizer* tokenizer_;
    std::optional<int32_t> open_, close_;
    State state_ = State::before;
    bool thought_ = false;
    std::string reasoning_, content_;
};

}  // namespace colugo
