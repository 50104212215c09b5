#include "text/reply_reader.h"

#include <algorithm>

namespace colugo {

OutputParser::Thought thought_behind(const Tokenizer& tokenizer, std::span<const int32_t> prompt, bool may_think) {
    const auto open = tokenizer.find("<think>"), close = tokenizer.find("</think>");
    if (!open || !close) return OutputParser::Thought::none;
    const auto last =
        std::find_if(prompt.rbegin(), prompt.rend(), [&](int32_t token) { return token == *open || token == *close; });
    if (last != prompt.rend() && *last == *open) return OutputParser::Thought::open;
    return may_think ? OutputParser::Thought::possible : OutputParser::Thought::none;
}

bool ends_behind_thought(const Tokenizer& tokenizer, std::span<const int32_t> prompt) {
    const auto is_blank = [&](int32_t token) {
        return tokenizer.token_bytes(token).find_first_not_of(" \t\r\n") == std::string_view::npos;
    };
    const auto last = std::find_if_not(prompt.rbegin(), prompt.rend(), is_blank);
    return last != prompt.rend() && *last == tokenizer.find("</think>");
}

ReplyReader::ReplyReader(const Tokenizer& tokenizer, const OutputParser::Options& options)
    : tokenizer_(tokenizer), parser_(options) {
    for (size_t i = 0; i < marks_.size(); ++i) marks_[i] = tokenizer.find(kReplyMarks[i]);
}

void ReplyReader::feed(int32_t token, int64_t held_bytes, std::vector<ReplyPiece>& out) {
    Segment segment{.bytes = std::string(tokenizer_.token_bytes(token)), .mark = {}};
    const auto mark = std::find(marks_.begin(), marks_.end(), token);
    if (mark != marks_.end()) segment.mark = static_cast<ReplyMark>(mark - marks_.begin());
    segment.is_shown = segment.mark || !tokenizer_.is_special(token);
    pending_bytes_ += segment.bytes.size();
    pending_.push_back(std::move(segment));
    release(static_cast<size_t>(held_bytes), out);
}

void ReplyReader::finish(int64_t cut_bytes, bool cut, std::vector<ReplyPiece>& out) {
    release(static_cast<size_t>(cut_bytes), out);
    std::string text;
    characters_.flush(text);
    parser_.feed(text, out);
    parser_.finish(cut, out);
}

// Gives out all but the last `held` bytes; control tokens are given out whole.
void ReplyReader::release(size_t held, std::vector<ReplyPiece>& out) {
    std::string text;
    while (!pending_.empty() && pending_bytes_ > held) {
        Segment& first = pending_.front();
        const size_t bytes = std::min(first.bytes.size(), pending_bytes_ - held);
        const bool is_control = first.mark || !first.is_shown;
        if (is_control && bytes < first.bytes.size()) break;
        pending_bytes_ -= bytes;
        if (first.mark) {
            characters_.flush(text);
            parser_.feed(text, out);
            text.clear();
            parser_.feed(*first.mark, out);
        } else if (first.is_shown) {
            characters_.feed(std::string_view(first.bytes).substr(0, bytes), text);
        }
        first.bytes.erase(0, bytes);
        if (!first.bytes.empty()) break;
        pending_.pop_front();
    }
    parser_.feed(text, out);
}

}  // namespace colugo
