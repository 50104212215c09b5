#include "cli/reply_splitter.h"

#include <algorithm>

namespace colugo {

namespace {

std::string without_breaks(const std::string& text, bool at_end) {
    const size_t begin = std::min(text.find_first_not_of('\n'), text.size());
    const size_t end = at_end ? text.find_last_not_of('\n') + 1 : text.size();
    return text.substr(begin, std::max(begin, end) - begin);
}

}  // namespace

ReplySplitter::ReplySplitter(const Tokenizer& tokenizer, std::span<const int32_t> prompt, bool thinks)
    : detokenizer_(tokenizer), tokenizer_(&tokenizer) {
    open_ = tokenizer.find("<think>");
    close_ = tokenizer.find("</think>");
    if (!open_ || !close_) return;
    // The tokens are the template's: spelled in a message they are plain text.
    const auto last =
        std::find_if(prompt.rbegin(), prompt.rend(), [&](int32_t token) { return token == open_ || token == close_; });
    thought_ = last != prompt.rend() && *last == open_;
    state_ = thought_ ? State::thinking : (thinks ? State::before : State::speaking);
}

ReplyPiece ReplySplitter::switch_to(State next, int32_t token) {
    ReplyPiece piece;
    if (state_ == State::thinking) detokenizer_.flush(piece.reasoning);
    reasoning_ += piece.reasoning;
    piece.marker = tokenizer_->token_bytes(token);
    state_ = next;
    return piece;
}

ReplyPiece ReplySplitter::feed(int32_t token) {
    if (state_ == State::thinking && token == close_) return switch_to(State::speaking, token);
    if (state_ == State::before && token == open_) {
        content_.clear();  // blanks
        thought_ = true;
        return switch_to(State::thinking, token);
    }
    ReplyPiece piece;
    std::string& text = state_ == State::thinking ? piece.reasoning : piece.content;
    detokenizer_.feed(token, text);
    (state_ == State::thinking ? reasoning_ : content_) += text;
    if (state_ == State::before && text.find_first_not_of(" \t\n") != std::string::npos) state_ = State::speaking;
    return piece;
}

ReplyPiece ReplySplitter::finish() {
    ReplyPiece piece;
    std::string& text = state_ == State::thinking ? piece.reasoning : piece.content;
    detokenizer_.flush(text);
    (state_ == State::thinking ? reasoning_ : content_) += text;
    return piece;
}

Reply ReplySplitter::reply() const {
    if (!thought_) return {std::nullopt, content_};
    return {without_breaks(reasoning_, true), without_breaks(content_, false)};
}

}  // namespace colugo
