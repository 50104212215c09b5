#include "text/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/mapped_file.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer_file.h"
#include "text/utf8.h"

namespace colugo {
namespace {

// The stretches of [0, size) outside the spans.
std::vector<TextSpan> outside(std::span<const TextSpan> spans, size_t size) {
    std::vector<TextSpan> result;
    size_t from = 0;
    for (const TextSpan& span : spans) {
        COLUGO_CHECK(from <= span.begin && span.begin <= span.end && span.end <= size);
        if (span.begin == span.end) continue;
        if (from < span.begin) result.push_back({from, span.begin});
        from = span.end;
    }
    if (from < size) result.push_back({from, size});
    return result;
}

// What of the spans lies between, counted from its beginning.
std::vector<TextSpan> clipped(std::span<const TextSpan> spans, TextSpan between) {
    std::vector<TextSpan> result;
    auto span =
        std::partition_point(spans.begin(), spans.end(), [&](const TextSpan& s) { return s.end <= between.begin; });
    for (; span != spans.end() && span->begin < between.end; ++span) {
        const size_t begin = std::max(span->begin, between.begin);
        const size_t end = std::min(span->end, between.end);
        if (begin < end) result.push_back({begin - between.begin, end - between.begin});
    }
    return result;
}

// Calls on_text and on_control in the order of the text; controls lie inside one of the `allowed` stretches.
template <typename OnText, typename OnControl>
void cut_at_controls(const ControlMatcher& matcher, std::string_view text, std::span<const TextSpan> allowed,
                     OnText&& on_text, OnControl&& on_control) {
    size_t text_begin = 0;
    for (const TextSpan& stretch : allowed) {
        size_t from = stretch.begin;
        while (const auto match = matcher.find(text, from, stretch.end)) {
            if (text_begin < match->begin) on_text(text_begin, match->begin);
            on_control(match->id);
            from = text_begin = match->end;
        }
    }
    if (text_begin < text.size()) on_text(text_begin, text.size());
}

}  // namespace

// The state of one call.
struct Tokenizer::Encoding {
    std::span<const TextSpan> content_spans;
    const ScopedMemo* memo;  // may be null
    std::vector<int32_t> ids;
    BytePairEncoder::Scratch scratch;
    std::string valid_text;
    std::string normalized_text;
};

Tokenizer Tokenizer::from_file(const std::string& path) {
    const MappedFile file(path);
    const auto bytes = file.bytes();
    return from_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& name) {
    return Tokenizer(parse_tokenizer_file(text, name));
}

Tokenizer::Tokenizer(TokenizerFile&& file)
    : encoder_(file.byte_tokens, file.merges),
      nfc_(file.nfc),
      splitter_(std::move(file.splitter)),
      notices_(std::move(file.notices)) {
    add_control_tokens(file);
    for (const TokenizerFile::Token& token : file.tokens) {
        if (!tokens_.has(token.id)) tokens_.set(token.id, token.bytes);
    }
    flags_.resize(static_cast<size_t>(tokens_.id_limit()));
    index_words(file);
}

void Tokenizer::add_control_tokens(const TokenizerFile& file) {
    for (const TokenizerFile::AddedToken& token : file.added_tokens) {
        tokens_.set(token.id, token.content);
        (token.normalized ? normalized_controls_ : raw_controls_).add(token.content, token.id);
        control_ids_.emplace(token.content, token.id);
    }
    flags_.resize(static_cast<size_t>(tokens_.id_limit()));
    for (const TokenizerFile::AddedToken& token : file.added_tokens) {
        flags_[static_cast<size_t>(token.id)] = static_cast<uint8_t>(kControl | (token.special ? kSpecial : 0));
    }
}

// Most pieces of ordinary text are tokens: one look-up in place of the merges, which gave the same for it here.
void Tokenizer::index_words(const TokenizerFile& file) {
    words_ = WordIndex(file.tokens.size());
    BytePairEncoder::Scratch scratch;
    std::vector<int32_t> ids;
    for (const TokenizerFile::Token& token : file.tokens) {
        if (!token.encodable || token.bytes.empty() || token.bytes != tokens_.bytes(token.id)) continue;
        if (!file.ignore_merges) {
            ids.clear();
            encoder_.encode(token.bytes, scratch, ids);
            if (ids.size() != 1 || ids[0] != token.id) continue;
        }
        words_.insert(tokens_, token.id);
    }
}

std::optional<int32_t> Tokenizer::find(std::string_view content) const {
    const auto found = control_ids_.find(std::string(content));
    if (found == control_ids_.end()) return std::nullopt;
    return found->second;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, ControlTokens control_tokens) const {
    if (control_tokens == ControlTokens::recognised) return encode(text);
    const TextSpan whole{0, text.size()};
    return encode(text, std::span(&whole, 1));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, std::span<const TextSpan> content_spans,
                                       const ScopedMemo* memo) const {
    Encoding encoding;
    encoding.content_spans = content_spans;
    encoding.memo = memo;
    encoding.ids.reserve(text.size() / 4 + 16);
    cut_at_controls(
        raw_controls_, text, outside(content_spans, text.size()),
        [&](size_t begin, size_t end) {
            encode_between_raw_controls(text, {begin, end}, encoding);
        },
        [&](int32_t id) { encoding.ids.push_back(id); });
    return std::move(encoding.ids);
}

std::string_view Tokenizer::prepare(std::string_view raw, Encoding& encoding) const {
    const std::string_view valid = to_valid_utf8(raw, encoding.valid_text);
    return nfc_ ? to_nfc(valid, encoding.normalized_text) : valid;
}

void Tokenizer::encode_between_raw_controls(std::string_view text, TextSpan between, Encoding& encoding) const {
    const std::string_view raw = text.substr(between.begin, between.end - between.begin);
    if (normalized_controls_.empty()) return encode_without_controls(raw, encoding);
    const std::string_view prepared = prepare(raw, encoding);
    std::vector<TextSpan> content = clipped(encoding.content_spans, between);
    // Where the text was changed the spans' places in it are not known: all of it counts as content.
    if (!content.empty() && prepared.data() != raw.data()) content = {{0, prepared.size()}};
    cut_at_controls(
        normalized_controls_, prepared, outside(content, prepared.size()),
        [&](size_t begin, size_t end) { encode_plain(prepared.substr(begin, end - begin), encoding); },
        [&](int32_t id) { encoding.ids.push_back(id); });
}

// The ids depend on the text alone, so it may be looked up.
void Tokenizer::encode_without_controls(std::string_view raw, Encoding& encoding) const {
    const ScopedMemo* known = encoding.memo;
    if (known != nullptr && known->memo.append(known->scope, raw, encoding.ids)) return;
    const size_t first = encoding.ids.size();
    encode_plain(prepare(raw, encoding), encoding);
    if (known != nullptr) known->memo.keep(known->scope, raw, std::span(encoding.ids).subspan(first));
}

void Tokenizer::encode_plain(std::string_view text, Encoding& encoding) const {
    if (splitter_ != nullptr) {
        splitter_->split(text, [&](std::string_view piece) { encode_piece(piece, encoding); });
        return;
    }
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = family_piece_end(text, begin);
        encode_piece(text.substr(begin, end - begin), encoding);
        begin = end;
    }
}

void Tokenizer::encode_piece(std::string_view piece, Encoding& encoding) const {
    if (const int32_t id = words_.find(tokens_, piece); id >= 0) {
        encoding.ids.push_back(id);
    } else {
        encoder_.encode(piece, encoding.scratch, encoding.ids);
    }
}

}  // namespace colugo
