#include "sampling/grammar_vocabulary.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "sampling/call_tags.h"

namespace colugo {
namespace {

// Code points of whole and valid UTF-8; empty: it is not.
std::optional<uint32_t> utf8_length(std::string_view text) {
    uint32_t length = 0;
    for (size_t i = 0; i < text.size(); ++length) {
        const auto byte = [&](size_t k) { return k < text.size() ? static_cast<uint8_t>(text[k]) : uint8_t{0}; };
        const uint8_t lead = byte(i), second = byte(i + 1);
        const size_t size = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
        if (size == 0) return std::nullopt;
        for (size_t k = i + 1; k < i + size; ++k)
            if ((byte(k) & 0xC0) != 0x80) return std::nullopt;
        if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
            (lead == 0xF4 && second > 0x8F))
            return std::nullopt;
        i += size;
    }
    return length;
}

bool is_filling(GrammarFill fill, std::string_view text) {
    if (has_call_tag(text)) return false;
    if (fill == GrammarFill::raw_text) return text.find('\n') == std::string_view::npos;
    if (text.find("\xE2\x80\xA8") != text.npos || text.find("\xE2\x80\xA9") != text.npos) return false;
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return static_cast<uint8_t>(c) < ' ' || c == '"' || c == '\\'; });
}

}  // namespace

GrammarVocabulary::GrammarVocabulary(int64_t size, FunctionRef<VocabularyToken(int32_t)> token)
    : controls_(size, false), all_(size, false) {
    std::vector<int32_t> sorted;
    std::array<bool, 256> single{};
    offsets_.reserve(static_cast<size_t>(size) + 1);
    for (int32_t id = 0; id < size; ++id) {
        offsets_.push_back(bytes_.size());
        const VocabularyToken entry = token(id);
        if (entry.control) controls_.set(id, true);
        if (entry.bytes.empty() && !entry.control) continue;
        all_.set(id, true);
        if (entry.control) continue;
        bytes_ += entry.bytes;
        sorted.push_back(id);
        if (entry.bytes.size() == 1) single[static_cast<uint8_t>(entry.bytes[0])] = true;
    }
    offsets_.push_back(bytes_.size());
    for (int byte = 0; byte < 0xF5; ++byte)
        if (!single[static_cast<size_t>(byte)] && byte != 0xC0 && byte != 0xC1)
            fail(ErrorCode::unsupported,
                 "the tokenizer has no token for the byte {:#04x} alone, which the form of "
                 "replies can only be held to with",
                 byte);
    std::sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) {
        const int order = bytes(a).compare(bytes(b));
        return order != 0 ? order < 0 : a < b;
    });
    tree_ = make_tree(sorted);
    for (const GrammarFill fill : {GrammarFill::json_string, GrammarFill::raw_text}) make_filler(fill, sorted);
}

void GrammarVocabulary::make_filler(GrammarFill fill, std::span<const int32_t> sorted) {
    Filler& filler = fillers_[static_cast<size_t>(fill)];
    filler.mask = TokenMask(size(), false);
    std::vector<int32_t> others;
    for (const int32_t id : sorted) {
        const std::optional<uint32_t> length = is_filling(fill, bytes(id)) ? utf8_length(bytes(id)) : std::nullopt;
        if (!length) {
            others.push_back(id);
            continue;
        }
        filler.mask.set(id, true);
        filler.longest_first.push_back({id, *length});
        filler.max_length = std::max(filler.max_length, *length);
    }
    std::stable_sort(filler.longest_first.begin(), filler.longest_first.end(),
                     [](const Filler::Counted& a, const Filler::Counted& b) { return a.length > b.length; });
    filler.others = make_tree(others);
}

TokenTree GrammarVocabulary::make_tree(std::span<const int32_t> sorted) const {
    TokenTree tree;
    std::vector<uint32_t> open;  // the nodes of the token before
    std::string_view before;
    const auto close = [&](size_t depth) {
        for (; open.size() > depth; open.pop_back())
            tree.nodes[open.back()].skip = static_cast<uint32_t>(tree.nodes.size());
    };
    for (const int32_t id : sorted) {
        const std::string_view text = bytes(id);
        COLUGO_CHECK(text.size() <= UINT16_MAX);
        const auto [end, same] = std::mismatch(before.begin(), before.end(), text.begin(), text.end());
        close(static_cast<size_t>(end - before.begin()));
        while (open.size() < text.size()) {
            open.push_back(static_cast<uint32_t>(tree.nodes.size()));
            tree.nodes.push_back({0, static_cast<uint32_t>(tree.tokens.size()), static_cast<uint16_t>(open.size()),
                                  static_cast<uint8_t>(text[open.size() - 1])});
        }
        tree.tokens.push_back(id);
        tree.max_depth = std::max(tree.max_depth, static_cast<int>(text.size()));
        before = text;
    }
    close(0);
    tree.nodes.push_back({0, static_cast<uint32_t>(tree.tokens.size()), 0, 0});
    return tree;
}

}  // namespace colugo
