// A reply's tokens to its pieces: bytes are put together to characters, control tokens are marks for the output
// parser, and what may yet begin a stop string is held back.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "text/output_parser.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace colugo {

// Whether a reply to the prompt is within a thought where it begins: the last mark is the template's, since one that is
// spelled in a message is no token. may_think: the model may begin a thought itself.
OutputParser::Thought thought_behind(const Tokenizer& tokenizer, std::span<const int32_t> prompt, bool may_think);
// Whether the prompt ends with the end of a thought and blanks, as a template writes where nothing is to be thought.
bool ends_behind_thought(const Tokenizer& tokenizer, std::span<const int32_t> prompt);

class ReplyReader {
 public:
    // The tokenizer outlives the reader.
    ReplyReader(const Tokenizer& tokenizer, const OutputParser::Options& options);

    // held_bytes: of this token and those before it, that are not given out yet. Pieces are added to `out`.
    void feed(int32_t token, int64_t held_bytes, std::vector<ReplyPiece>& out);
    // cut_bytes: the last bytes, which are no part of the reply. cut: the end is not the model's own.
    void finish(int64_t cut_bytes, bool cut, std::vector<ReplyPiece>& out);

    const OutputParser& parser() const { return parser_; }

 private:
    struct Segment {
        std::string bytes;
        std::optional<ReplyMark> mark;
        bool is_shown = true;
    };
    void release(size_t held, std::vector<ReplyPiece>& out);

    const Tokenizer& tokenizer_;
    std::array<std::optional<int32_t>, std::size(kReplyMarks)> marks_;
    OutputParser parser_;
    std::deque<Segment> pending_;
    size_t pending_bytes_ = 0;
    Utf8Stream characters_;
};

}  // namespace colugo
