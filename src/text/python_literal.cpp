#include "text/python_literal.h"

#include <algorithm>
#include <charconv>

#include "text/compact_json.h"
#include "text/utf8.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;

constexpr int kMostNesting = 128;
constexpr std::string_view kBlanks = " \t\r\n";

// Thrown inside, where the text is no literal.
struct NoLiteral {};

class LiteralParser {
 public:
    explicit LiteralParser(std::string_view text) : text_(text) {}

    ordered_json parse() {
        ordered_json value = parse_value(0);
        skip_blanks();
        if (at_ != text_.size()) throw NoLiteral();
        return value;
    }

 private:
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

    ordered_json parse_value(int nesting) {
        if (nesting > kMostNesting) throw NoLiteral();
        skip_blanks();
        switch (peek()) {
            case '{':
                return parse_object(nesting);
            case '[':
                return parse_items(']', nesting);
            case '(':
                return parse_items(')', nesting);
            case '"':
            case '\'':
                return parse_string();
            default:
                break;
        }
        if (take("True") || take("true")) return true;
        if (take("False") || take("false")) return false;
        if (take("None") || take("null")) return nullptr;
        return parse_number();
    }

    ordered_json parse_object(int nesting) {
        ordered_json object = ordered_json::object();
        ++at_;
        for (skip_blanks(); !take("}"); skip_blanks()) {
            if (peek() != '"' && peek() != '\'') throw NoLiteral();
            std::string key = parse_string();
            skip_blanks();
            if (!take(":")) throw NoLiteral();
            object[std::move(key)] = parse_value(nesting + 1);
            skip_blanks();
            if (!take(",") && peek() != '}') throw NoLiteral();
        }
        return object;
    }

    ordered_json parse_items(char close, int nesting) {
        ordered_json array = ordered_json::array();
        ++at_;
        for (skip_blanks(); peek() != close; skip_blanks()) {
            array.push_back(parse_value(nesting + 1));
            skip_blanks();
            if (!take(",") && peek() != close) throw NoLiteral();
        }
        ++at_;
        return array;
    }

    std::string parse_string() {
        const char quote = text_[at_++];
        std::string out;
        while (true) {
            if (at_ == text_.size() || text_[at_] == '\n') throw NoLiteral();
            const char byte = text_[at_++];
            if (byte == quote) return out;
            if (byte == '\\') {
                append_escape(out);
            } else {
                out += byte;
            }
        }
    }

    void append_escape(std::string& out) {
        constexpr std::string_view kNames = "ntrbfav0\\'\"/";
        constexpr std::string_view kBytes{"\n\t\r\b\f\a\v\0\\'\"/", 12};
        const char name = peek();
        ++at_;
        if (const size_t known = kNames.find(name); known != kNames.npos) {
            out += kBytes[known];
        } else if (name == 'x') {
            append_utf8(parse_hex(2), out);
        } else if (name == 'u') {
            append_utf8(parse_hex(4), out);
        } else if (name == 'U') {
            append_utf8(parse_hex(8), out);
        } else {
            throw NoLiteral();
        }
    }

    uint32_t parse_hex(size_t digits) {
        if (text_.size() - std::min(at_, text_.size()) < digits) throw NoLiteral();
        uint32_t code_point = 0;
        const char* const begin = text_.data() + at_;
        const auto [end, error] = std::from_chars(begin, begin + digits, code_point, 16);
        const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
        if (error != std::errc() || end != begin + digits || surrogate || code_point > 0x10FFFF) throw NoLiteral();
        at_ += digits;
        return code_point;
    }

    ordered_json parse_number() {
        const size_t begin = at_;
        at_ = std::min(text_.find_first_not_of("+-.0123456789eE", at_), text_.size());
        ordered_json number = ordered_json::parse(text_.substr(begin, at_ - begin), nullptr, false);
        if (!number.is_number()) throw NoLiteral();
        return number;
    }

    std::string_view text_;
    size_t at_ = 0;
};

// nlohmann's parser keeps its own stack, on the heap, and its values are taken apart without recursion; writing them
// recurses.
bool is_deep(std::string_view text) {
    int nesting = 0;
    for (const char byte : text) {
        if (byte == '[' || byte == '{') ++nesting;
        if (byte == ']' || byte == '}') --nesting;
        if (nesting > kMostNesting) return true;
    }
    return false;
}

}  // namespace

ordered_json parse_literal(std::string_view text) {
    if (is_deep(text)) return ordered_json(ordered_json::value_t::discarded);
    if (ordered_json value = parse_json(text); !value.is_discarded()) return value;
    try {
        return LiteralParser(text).parse();
    } catch (const NoLiteral&) {
        return ordered_json(ordered_json::value_t::discarded);
    }
}

void LiteralProgress::feed(std::string_view text) {
    for (const char byte : text) {
        if (state_ == State::broken) return;
        if (state_ == State::escaped) {
            state_ = State::in_string;
        } else if (state_ == State::in_string) {
            if (byte == '\\') state_ = State::escaped;
            if (byte == quote_) state_ = State::open;
        } else if (state_ == State::closed) {
            if (kBlanks.find(byte) == kBlanks.npos) state_ = State::broken;
        } else if (byte == '"' || byte == '\'') {
            quote_ = byte;
            state_ = State::in_string;
        } else if (byte == '[' || byte == '{' || byte == '(') {
            ++nesting_;
        } else if ((byte == ']' || byte == '}' || byte == ')') && --nesting_ == 0) {
            state_ = State::closed;
        }
    }
}

}  // namespace colugo
