// JavaScript's expressions: literals, [...], new Array(...), {key: value}.
#include <algorithm>
#include <vector>

#include "bench/bfcl_cursor.h"
#include "bench/bfcl_literals.h"

namespace colugo::bfcl {
namespace {

constexpr NumberForm kWhole = {};
constexpr NumberForm kFloat = {.fraction = true};
constexpr NumberForm kBigint = {.suffixes = "n"};

bool is_quoted(std::string_view text) {
    return (text.starts_with('"') && text.ends_with('"')) || (text.starts_with('\'') && text.ends_with('\''));
}

// A literal whose type is read from its form.
Json untyped(std::string_view text) {
    text = strip(text);
    if (text == "true" || text == "false") return text == "true";
    if (is_quoted(text)) return without_ends(text);
    return number(text).value_or(Json(text));
}

// The end of the rows `[...], [...]` and the bracket that closes them. A row ends at its first ] unless the rest does
// not fit then.
class RowsEnd {
 public:
    RowsEnd(std::string_view text, char close) : text_(text), close_(close), hopeless_(text.size()) {}

    // row: where a row begins. As deep as there are rows, of which an expression has some thousand at most.
    std::optional<size_t> find(size_t row) {
        if (text_.substr(row, 1) != "[" || hopeless_[row]) return std::nullopt;
        for (size_t end = row + 1; end < text_.size() && text_[end] != '\n'; ++end) {
            if (text_[end] != ']') continue;
            Cursor behind{text_, end + 1};
            behind.skip_space();
            Cursor next = behind;
            if (next.take(",")) {
                next.skip_space();
                if (const auto found = find(next.at)) return found;
            }
            if (behind.take({&close_, 1})) return behind.at;
        }
        hopeless_[row] = true;
        return std::nullopt;
    }

 private:
    std::string_view text_;
    char close_;
    std::vector<bool> hopeless_;  // by position: no end from here
};

// Moves behind `[` or `new Array(` and says what closes it; 0 where neither begins the text.
char open_array(Cursor& cursor) {
    if (cursor.take("[")) return ']';
    return cursor.take("new") && cursor.skip_space() && cursor.take("Array(") ? ')' : '\0';
}

// `code`: rows up to their end. What is in the innermost brackets is a row.
Json array_of_rows(std::string_view code) {
    Json rows = Json::array();
    for (Cursor cursor{code}; (cursor.at = code.find('[', cursor.at)) != code.npos;) {
        ++cursor.at;
        const auto inside = cursor.take_until("]", 0, true);
        if (!inside) continue;
        std::string_view row = strip(*inside);
        if (rows.empty() && row.starts_with('[')) row.remove_prefix(1);
        Json elements = Json::array();
        for (const std::string_view element : split(row, ',')) elements.push_back(untyped(element));
        rows.push_back(std::move(elements));
    }
    return rows;
}

Json array(std::string_view text, std::string_view type) {
    const std::string_view code = strip(text);
    Cursor cursor{code};
    const char close = open_array(cursor);
    if (close == '\0') return code;
    Cursor row = cursor;
    row.skip_space();
    if (const auto end = RowsEnd(code, close).find(row.at)) return array_of_rows(code.substr(0, *end));
    const auto inside = cursor.take_until({&close, 1}, 0, true);
    if (!inside) return code;
    Json list = Json::array();
    if (strip(*inside).empty()) return list;
    for (const std::string_view part : split(*inside, ',')) {
        const std::string_view element = strip(part);
        list.push_back(type.empty() ? untyped(element) : javascript_value(element, type, {}));
    }
    return list;
}

// Whether the text begins with something without a comma and a colon behind it: the next key of an object.
bool begins_with_key(std::string_view text) {
    const size_t found = text.find_first_of(",:", 1);
    return !text.empty() && text[0] != ',' && found != text.npos && text[found] == ':';
}

// The end of a value that begins here, which is a comma in front of a key or the end; and where the next key begins.
std::pair<size_t, size_t> value_end(std::string_view inside, size_t begin) {
    for (size_t comma = inside.find(',', begin); comma != inside.npos; comma = inside.find(',', comma + 1)) {
        Cursor behind{inside, comma + 1};
        behind.skip_space();
        for (size_t key = behind.at; key > comma; --key)
            if (begins_with_key(inside.substr(key))) return {comma, key};
    }
    return {inside.size(), inside.size()};
}

// Up to the first }: an object within one is cut.
Json object(std::string_view text) {
    const std::string_view code = strip(text);
    Cursor cursor{code};
    const auto inside = cursor.take("{") ? cursor.take_until("}", 0, true) : std::nullopt;
    if (!inside) return code;
    constexpr std::string_view kQuotes = "'\"";
    Json object = Json::object();
    for (size_t key = 0; key < inside->size();) {
        if ((*inside)[key] == ':') {  // a key has a character at least
            ++key;
            continue;
        }
        const size_t colon = inside->find(':', key);
        if (colon == inside->npos) break;
        Cursor begin{*inside, colon + 1};
        begin.skip_space();
        const auto [end, next] = value_end(*inside, begin.at);
        const std::string_view value = strip(inside->substr(begin.at, end - begin.at));
        const std::string name(strip(strip(inside->substr(key, colon - key)), kQuotes));
        const bool list = value.starts_with('[') && value.ends_with(']');
        object[name] = list ? array(value, {}) : untyped(strip(value, kQuotes));
        key = next;
    }
    return object;
}

struct JavascriptType {
    std::string_view name;
    Type type;
    const NumberForm* form = nullptr;
};

constexpr JavascriptType kTypes[] = {
    {"integer", Type::integer, &kWhole},
    {"float", Type::real, &kFloat},
    {"Bigint", Type::integer, &kBigint},
    {"Boolean", Type::boolean},
    {"String", Type::text},
    {"any", Type::text},
    {"array", Type::list},
    {"dict", Type::dict},
};

const JavascriptType* find_type(std::string_view name) {
    const auto* found = std::ranges::find(kTypes, name, &JavascriptType::name);
    return found == std::end(kTypes) ? nullptr : found;
}

}  // namespace

std::optional<Type> javascript_type(std::string_view name) {
    const JavascriptType* found = find_type(name);
    return found == nullptr ? std::nullopt : std::optional(found->type);
}

Json javascript_value(std::string_view text, std::string_view type, std::string_view elements) {
    const JavascriptType* found = find_type(type);
    if (found == nullptr || text.size() > kMostExpression) return text;
    if (found->form != nullptr) return number(text, *found->form).value_or(Json(text));
    if (found->type == Type::boolean && (text == "true" || text == "false")) return text == "true";
    if (type == "String") return is_quoted(text) ? without_ends(text) : text;
    if (type == "array") return array(text, elements);
    return type == "dict" ? object(text) : Json(text);
}

}  // namespace colugo::bfcl
