#include "text/jinja_lexer.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "text/jinja_fault.h"
#include "text/jinja_print.h"
#include "text/jinja_unicode.h"

namespace colugo::jinja {
namespace {

bool is_digit_char(char c) {
    return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
    const auto lower = static_cast<char>(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_name_char(char c) {
    return is_name_start(c) || is_digit_char(c);
}

class Lexer {
 public:
    explicit Lexer(const std::string& source) : source_(source) {}

    std::vector<Token> run() {
        while (position_ < source_.size()) read_root();
        add(TokenKind::end, position_);
        return std::move(tokens_);
    }

 private:
    [[noreturn]] void fail_here(std::string_view sentence) { fail_at(source_, position_, sentence); }

    Token& add(TokenKind kind, size_t offset) {
        Token token;
        token.kind = kind;
        token.offset = static_cast<uint32_t>(offset);
        tokens_.push_back(std::move(token));
        return tokens_.back();
    }

    void add_data(size_t begin, size_t end) {
        if (begin < end) add(TokenKind::data, begin).text = source_.substr(begin, end - begin);
    }

    bool at(std::string_view text) const { return std::string_view(source_).substr(position_).starts_with(text); }

    char char_at(size_t position) const { return position < source_.size() ? source_[position] : '\0'; }

    void skip_space() {
        while (position_ < source_.size()) {
            size_t next = position_;
            if (!is_space(next_code_point(source_, next))) break;
            position_ = next;
        }
    }

    // Moves to `end` and remembers whether a line starts there, which decides lstrip_blocks for the next tag.
    void advance_to(size_t end) {
        position_ = end;
        line_starting_ = end > 0 && source_[end - 1] == '\n';
    }

    size_t find_tag(size_t from) const {
        for (size_t brace = source_.find('{', from); brace != std::string::npos; brace = source_.find('{', brace + 1)) {
            const char next = char_at(brace + 1);
            if (next == '{' || next == '%' || next == '#') return brace;
        }
        return std::string::npos;
    }

    // Where the data [begin, tag) ends, given the sign behind the tag's opening and whether the tag prints.
    size_t data_end(size_t begin, size_t tag, char sign, bool prints) const {
        const std::string_view data = std::string_view(source_).substr(begin, tag - begin);
        if (sign == '-') {
            const Trimmed kept = trim_space(data);
            return kept.begin == data.size() ? begin : begin + kept.end;
        }
        if (sign == '+' || prints) return tag;
        const size_t newline = data.rfind('\n');
        if (newline == std::string_view::npos && !line_starting_) return tag;
        const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
        const std::string_view lead = data.substr(line);
        return trim_space(lead).begin == lead.size() ? begin + line : tag;
    }

    void read_root() {
        const size_t begin = position_;
        const size_t tag = find_tag(begin);
        if (tag == std::string::npos) {
            add_data(begin, source_.size());
            advance_to(source_.size());
            return;
        }
        const char type = source_[tag + 1];
        const char next = char_at(tag + 2);
        const char sign = next == '-' || next == '+' ? next : '\0';
        add_data(begin, data_end(begin, tag, sign, type == '{'));
        const size_t inside = tag + 2 + (sign != '\0' ? 1 : 0);
        if (type == '#') {
            read_comment(tag, inside);
        } else if (type == '%' && begins_raw(inside)) {
            read_raw(tag);
        } else {
            position_ = inside;
            add(type == '{' ? TokenKind::variable_begin : TokenKind::block_begin, tag);
            read_tag(type == '{' ? '}' : '%', tag);
        }
    }

    void read_comment(size_t tag, size_t inside) {
        const size_t close = source_.find("#}", inside);
        if (close == std::string::npos) {
            position_ = tag;
            fail_here("the comment has no end");
        }
        close_tag(close + 2, close > inside ? source_[close - 1] : '\0', true);
    }

    // Behind a closing tag: "-" drops all white space, "+" keeps it, nothing drops one newline of a block or comment.
    void close_tag(size_t end, char sign, bool trims_newline) {
        position_ = end;
        if (sign == '-') {
            skip_space();
        } else if (sign != '+' && trims_newline && char_at(end) == '\n') {
            ++position_;
        }
        advance_to(position_);
    }

    // {% raw %} or {% raw -%}; leaves position_ behind it.
    bool begins_raw(size_t inside) {
        const size_t saved = position_;
        position_ = inside;
        skip_space();
        if (at("raw")) {
            position_ += 3;
            skip_space();
            const bool strips = at("-%}");
            if (strips || at("%}")) {
                position_ += strips ? 3 : 2;
                if (strips) skip_space();
                advance_to(position_);
                return true;
            }
        }
        position_ = saved;
        return false;
    }

    void read_raw(size_t tag) {
        const size_t begin = position_;
        for (size_t open = source_.find("{%", begin); open != std::string::npos; open = source_.find("{%", open + 1)) {
            const char next = char_at(open + 2);
            const char sign = next == '-' || next == '+' ? next : '\0';
            position_ = open + 2 + (sign != '\0' ? 1 : 0);
            skip_space();
            if (!at("endraw")) continue;
            position_ += 6;
            skip_space();
            const char close_sign = at("-%}") || at("+%}") ? source_[position_] : '\0';
            if (close_sign == '\0' && !at("%}")) continue;
            add_data(begin, data_end(begin, open, sign, false));
            close_tag(position_ + (close_sign != '\0' ? 3 : 2), close_sign, true);
            return;
        }
        position_ = tag;
        fail_here("the raw block has no endraw");
    }

    // Tokens of one {{ }} or {% %}; `mark` is the first letter of its end.
    void read_tag(char mark, size_t tag) {
        brackets_.clear();
        while (true) {
            skip_space();
            if (position_ >= source_.size()) {
                position_ = tag;
                fail_here("the tag has no end");
            }
            if (brackets_.empty() && ends_tag(mark)) return;
            read_token();
        }
    }

    bool ends_tag(char mark) {
        const char end[] = {mark, '}', '\0'};
        const char sign =
            source_[position_] == '-' || (source_[position_] == '+' && mark == '%') ? source_[position_] : '\0';
        const size_t close = position_ + (sign != '\0' ? 1 : 0);
        if (!std::string_view(source_).substr(close).starts_with(end)) return false;
        add(mark == '%' ? TokenKind::block_end : TokenKind::variable_end, position_);
        close_tag(close + 2, sign, mark == '%');
        return true;
    }

    void read_token() {
        const char c = source_[position_];
        if (is_digit_char(c)) {
            read_number();
        } else if (is_name_start(c)) {
            size_t end = position_;
            while (end < source_.size() && is_name_char(source_[end])) ++end;
            add(TokenKind::name, position_).text = source_.substr(position_, end - position_);
            position_ = end;
        } else if (c == '\'' || c == '"') {
            read_string(c);
        } else {
            read_operator();
        }
    }

    // Digits with single underscores between them; the end of the run.
    size_t digits_end(size_t from, bool (*accepts)(char)) const {
        size_t end = from;
        while (accepts(char_at(end)) || (char_at(end) == '_' && end > from && accepts(char_at(end + 1)))) ++end;
        return end;
    }

    void read_number() {
        const size_t begin = position_;
        const auto decimal = [](char c) { return is_digit_char(c); };
        const char prefix = static_cast<char>(char_at(begin + 1) | 0x20);
        size_t end = digits_end(begin, decimal);
        const bool after_dot = begin > 0 && source_[begin - 1] == '.';
        bool real = false;
        if (!after_dot) {
            if (char_at(end) == '.' && is_digit_char(char_at(end + 1))) {
                end = digits_end(end + 1, decimal);
                real = true;
            }
            if ((char_at(end) | 0x20) == 'e') {
                const size_t sign = char_at(end + 1) == '+' || char_at(end + 1) == '-' ? 1 : 0;
                if (is_digit_char(char_at(end + 1 + sign))) {
                    end = digits_end(end + 1 + sign, decimal);
                    real = true;
                }
            }
        }
        if (real) {
            Token& token = add(TokenKind::real, begin);
            token.real = parse_real(source_.substr(begin, end - begin)).value_or(0);
            position_ = end;
            return;
        }
        if (source_[begin] == '0' && (prefix == 'x' || prefix == 'o' || prefix == 'b')) {
            const auto accepts = prefix == 'x'
                                     ? [](char d) { return std::isxdigit(static_cast<unsigned char>(d)) != 0; }
                                 : prefix == 'o' ? [](char d) { return d >= '0' && d <= '7'; }
                                                 : [](char d) { return d == '0' || d == '1'; };
            const size_t first = begin + 2 + (char_at(begin + 2) == '_' ? 1 : 0);
            if (accepts(char_at(first))) end = digits_end(first, accepts);
        } else if (source_[begin] == '0') {
            end = digits_end(begin, [](char d) { return d == '0'; });  // as jinja2: 01 is 0 and then 1
        }
        Token& token = add(TokenKind::integer, begin);
        try {
            token.integer = parse_integer(source_.substr(begin, end - begin), 0).value_or(0);
        } catch (const Fault& too_large) {
            fail_here(too_large.what());
        }
        position_ = end;
    }

    void read_operator() {
        static constexpr std::string_view kLong[] = {"//", "**", "==", "!=", ">=", "<="};
        static constexpr std::string_view kShort = "+-/*%~[](){}><=.:|,;";
        std::string_view symbol = std::string_view(source_).substr(position_, 2);
        if (std::find(std::begin(kLong), std::end(kLong), symbol) == std::end(kLong)) {
            symbol = symbol.substr(0, 1);
            if (kShort.find(symbol) == std::string_view::npos) {
                const auto code = static_cast<unsigned char>(symbol[0]);
                fail_here(code < 0x20 || code > 0x7E ? fmt::format("unexpected character \\x{:02x}", code)
                                                     : fmt::format("unexpected character '{}'", symbol));
            }
        }
        balance(symbol[0]);
        add(TokenKind::op, position_).text = std::string(symbol);
        position_ += symbol.size();
    }

    void balance(char c) {
        if (c == '(' || c == '[' || c == '{') brackets_.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
        if (c != ')' && c != ']' && c != '}') return;
        if (brackets_.empty()) fail_here(fmt::format("unexpected '{}'", c));
        if (brackets_.back() != c) fail_here(fmt::format("unexpected '{}', expected '{}'", c, brackets_.back()));
        brackets_.pop_back();
    }

    void read_string(char quote) {
        const size_t begin = position_;
        size_t end = begin + 1;
        while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
        if (end >= source_.size()) fail_here("the string has no end");
        std::string text = unescape(begin + 1, end);
        add(TokenKind::string, begin).text = std::move(text);
        position_ = end + 1;
    }

    // The escapes of a Python string literal; an unknown one stays as it is.
    std::string unescape(size_t begin, size_t end) {
        std::string text;
        for (size_t i = begin; i < end;) {
            if (source_[i] != '\\') {
                text.push_back(source_[i++]);
                continue;
            }
            const char c = source_[i + 1];
            i += 2;
            static constexpr std::string_view kLetters = "abfnrtv\\'\"";
            static constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";
            if (const size_t simple = kLetters.find(c); simple != std::string_view::npos) {
                text.push_back(kMeanings[simple]);
            } else if (c == '\n') {
                // a line that goes on
            } else if (c >= '0' && c <= '7') {
                char32_t code = 0;
                --i;
                for (int digit = 0; digit < 3 && i < end && source_[i] >= '0' && source_[i] <= '7'; ++digit) {
                    code = code * 8 + static_cast<char32_t>(source_[i++] - '0');
                }
                append_code_point(text, code);
            } else if (c == 'x' || c == 'u' || c == 'U') {
                append_hex(text, i, end, c == 'x' ? 2 : c == 'u' ? 4 : 8);
            } else if (c == 'N') {
                fail_here("the escape \\N{...} is not supported");
            } else {
                text.push_back('\\');
                text.push_back(c);
            }
        }
        return text;
    }

    char32_t read_hex(size_t& i, size_t end, int digits) {
        const std::string number = source_.substr(i, std::min<size_t>(static_cast<size_t>(digits), end - i));
        const bool valid = static_cast<int>(number.size()) == digits &&
                           std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isxdigit(c); });
        if (!valid) fail_here("an escape in the string has too few hexadecimal digits");
        i += number.size();
        return static_cast<char32_t>(std::stoul(number, nullptr, 16));
    }

    void append_hex(std::string& text, size_t& i, size_t end, int digits) {
        char32_t code = read_hex(i, end, digits);
        if (code >= 0xD800 && code < 0xDC00 && i + 6 <= end && source_[i] == '\\' && source_[i + 1] == 'u') {
            i += 2;
            const char32_t low = read_hex(i, end, 4);
            if (low < 0xDC00 || low > 0xDFFF) fail_here("an escape in the string is half of a character");
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
            fail_here("an escape in the string is not a character");
        append_code_point(text, code);
    }

    const std::string& source_;
    size_t position_ = 0;
    bool line_starting_ = true;
    std::vector<char> brackets_;
    std::vector<Token> tokens_;
};

}  // namespace

std::string normalize_source(std::string_view source) {
    std::string result;
    result.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] == '\r') {
            result.push_back('\n');
            if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
        } else {
            result.push_back(source[i]);
        }
    }
    if (result.ends_with('\n')) result.pop_back();
    return result;
}

std::vector<Token> tokenize(const std::string& normalized_source) {
    if (normalized_source.size() > std::numeric_limits<uint32_t>::max() / 2) {
        fail(ErrorCode::unsupported, "a chat template of {} bytes is too large", normalized_source.size());
    }
    return Lexer(normalized_source).run();
}

std::string describe_position(std::string_view normalized_source, size_t offset) {
    const std::string_view before = normalized_source.substr(0, std::min(offset, normalized_source.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t newline = before.rfind('\n');
    const std::string_view row = newline == std::string_view::npos ? before : before.substr(newline + 1);
    return fmt::format("line {}, column {}", line, count_code_points(row) + 1);
}

void fail_at(std::string_view normalized_source, size_t offset, std::string_view sentence) {
    fail(ErrorCode::unsupported, "chat template, {}: {}", describe_position(normalized_source, offset), sentence);
}

}  // namespace colugo::jinja
