// The alternatives of kFamilyPattern in their order; the first that matches wins. None needs more than one step back:
// within an alternative neighbouring repetitions share no character, but for white space, where the place to step back
// to is known from the scan.
#include "text/pre_tokenizer.h"

#include <cstdint>

#include "text/unicode.h"
#include "text/utf8.h"

namespace colugo {
namespace {

constexpr uint8_t kLetterOrMark = kLetter | kMark;
constexpr uint8_t kNotSymbol = kWhiteSpace | kLetter | kMark | kNumber;

struct Character {
    uint8_t properties;
    uint32_t length;  // bytes
};

Character character_at(std::string_view text, size_t position) {
    const Utf8Character character = decode_valid_utf8(text.data() + position);
    return {code_point_properties(character.code_point), character.length};
}

bool is_newline(char byte) {
    return byte == '\r' || byte == '\n';
}

size_t letters_end(std::string_view text, size_t position) {
    while (position < text.size()) {
        const Character character = character_at(text, position);
        if ((character.properties & kLetterOrMark) == 0) break;
        position += character.length;
    }
    return position;
}

size_t symbols_end(std::string_view text, size_t position) {
    while (position < text.size()) {
        const Character character = character_at(text, position);
        if ((character.properties & kNotSymbol) != 0) break;
        position += character.length;
    }
    return position;
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d) after its apostrophe: the bytes that match, 0 if none. Without regard to case, `s` is
// also U+017F, the long s; the other letters have no further case form.
size_t contraction_length(std::string_view rest) {
    const auto lower = [rest](size_t i) {
        const char c = i < rest.size() ? rest[i] : '\0';
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    switch (lower(0)) {
        case 's':
        case 't':
        case 'm':
        case 'd':
            return 1;
        case 'r':
        case 'v':
            return lower(1) == 'e' ? 2 : 0;
        case 'l':
            return lower(1) == 'l' ? 2 : 0;
        default:
            return rest.starts_with("\xC5\xBF") ? 2 : 0;
    }
}

// \s*[\r\n]+|\s+(?!\S)|\s+ at a white-space character.
size_t white_space_end(std::string_view text, size_t begin) {
    size_t last = begin;           // the last character of the run
    size_t after_newline = begin;  // behind the last \r or \n of the run
    size_t end = begin;
    while (end < text.size()) {
        const Character character = character_at(text, end);
        if ((character.properties & kWhiteSpace) == 0) break;
        last = end;
        end += character.length;
        if (is_newline(text[last])) after_newline = end;
    }
    if (after_newline > begin) return after_newline;
    // Before a word the run leaves its last character to it, unless that is all there is.
    return end == text.size() || last == begin ? end : last;
}

}  // namespace

size_t family_piece_end(std::string_view text, size_t begin) {
    const Character first = character_at(text, begin);
    const size_t second = begin + first.length;
    if (text[begin] == '\'') {
        if (const size_t length = contraction_length(text.substr(second)); length > 0) return second + length;
    }
    if ((first.properties & kLetterOrMark) != 0) return letters_end(text, second);
    if ((first.properties & kNumber) != 0) return second;
    if (!is_newline(text[begin]) && second < text.size() &&
        (character_at(text, second).properties & kLetterOrMark) != 0) {
        return letters_end(text, second);
    }
    const size_t symbols_begin = text[begin] == ' ' ? second : begin;
    if (size_t end = symbols_end(text, symbols_begin); end > symbols_begin) {
        while (end < text.size() && is_newline(text[end])) ++end;
        return end;
    }
    return white_space_end(text, begin);
}

}  // namespace colugo
