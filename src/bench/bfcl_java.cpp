// Java's expressions: literals, `new T[]{...}`, `new ArrayList<...>(...)` and `new HashMap<...>() {{ put(...); }}`.
#include <algorithm>

#include "bench/bfcl_cursor.h"
#include "bench/bfcl_literals.h"

namespace colugo::bfcl {
namespace {

constexpr NumberForm kWhole = {};
constexpr NumberForm kLong = {.suffixes = "lL"};
constexpr NumberForm kDouble = {.fraction = true, .exponent = true};
constexpr NumberForm kFloat = {.fraction = true, .exponent = true, .suffixes = "fF"};

// A literal whose type is read from its form.
Json untyped(std::string_view text) {
    if (text == "true" || text == "false") return text == "true";
    if (text.starts_with('"') && text.ends_with('"')) return without_ends(text);
    if (const auto value = number(text, kLong)) return *value;
    if (const auto value = number(text, kFloat)) return *value;
    if (const auto value = number(text)) return *value;
    return text;
}

Json list_element(std::string_view text, std::string_view type) {
    text = strip(text);
    if (type == "char" || type == "String") return without_ends(text);
    return type.empty() ? untyped(text) : java_value(text, type, {});
}

// What read(cursor) makes of the first `new` behind which it makes something.
template <typename Read>
std::optional<Json> behind_new(std::string_view text, Read read) {
    for (size_t at = text.find("new"); at != text.npos; at = text.find("new", at + 1)) {
        Cursor cursor{text, at + 3};
        if (!cursor.skip_space()) continue;
        if (std::optional<Json> value = read(cursor)) return value;
    }
    return std::nullopt;
}

bool take_array_list(Cursor& cursor) {
    if (!cursor.take("ArrayList<")) return false;
    cursor.skip_word();
    return cursor.take(">(");
}

std::optional<Json> listed_elements(Cursor cursor, std::string_view type) {
    if (!take_array_list(cursor) || !cursor.take("Arrays.asList(")) return std::nullopt;
    const auto inside = cursor.take_until("))", 1, true);
    if (!inside) return std::nullopt;
    Json list = Json::array();
    for (const std::string_view element : split(*inside, ',')) list.push_back(list_element(element, type));
    return list;
}

std::optional<Json> added_elements(Cursor cursor, std::string_view type) {
    if (!take_array_list(cursor) || !cursor.take(")")) return std::nullopt;
    cursor.skip_space();
    if (!cursor.take("{{")) return std::nullopt;
    cursor.skip_space();
    const auto inside = cursor.take_until("}}", 1, false);
    if (!inside) return std::nullopt;
    Json list = Json::array();
    for (Cursor adds{*inside}; (adds.at = inside->find("add(", adds.at)) != inside->npos;) {
        adds.at += 4;
        if (const auto element = adds.take_until(")", 1, true)) list.push_back(list_element(*element, type));
    }
    return list;
}

Json array_list(std::string_view text, std::string_view type) {
    if (auto list = behind_new(text, [&](Cursor at) { return listed_elements(at, type); })) return *list;
    if (auto list = behind_new(text, [&](Cursor at) { return added_elements(at, type); })) return *list;
    const auto empty = behind_new(text, [](Cursor at) {
        return take_array_list(at) && at.take(")") ? std::optional(Json::array()) : std::nullopt;
    });
    return empty ? *empty : Json(text);
}

std::optional<Json> array_elements(Cursor cursor, std::string_view type) {
    if (!cursor.skip_word() || !cursor.take("[]")) return std::nullopt;
    cursor.skip_space();
    if (!cursor.take("{")) return std::nullopt;
    const auto inside = cursor.take_until("}", 0, true);
    if (!inside) return std::nullopt;
    Json list = Json::array();
    for (const std::string_view part : split(*inside, ',')) {
        const std::string_view element = strip(part);
        if (element.empty()) continue;
        list.push_back(type.empty() ? untyped(element) : java_value(element, type, {}));
    }
    return list;
}

// The value of put("key", value) where `cursor` is in front of the key's characters; moves behind it.
bool take_put(Cursor& cursor, Json& map) {
    const size_t key = cursor.at;
    if (cursor.text.find(')', key) == cursor.text.npos) return false;
    const size_t line = std::min(cursor.text.find('\n', key), cursor.text.size());  // a key is in one
    for (size_t end = key; (end = cursor.text.find("\",", end)) < line; ++end) {
        Cursor behind{cursor.text, end + 2};
        behind.skip_space();
        if (const auto value = behind.take_until(")", 0, true)) {
            map[std::string(cursor.text.substr(key, end - key))] = untyped(strip(*value));
            cursor = behind;
            return true;
        }
    }
    return false;
}

Json put_entries(std::string_view inside) {
    Json map = Json::object();
    constexpr std::string_view kPut = "put(\"";
    for (Cursor cursor{inside}; (cursor.at = inside.find(kPut, cursor.at)) != inside.npos;) {
        cursor.at += kPut.size();
        take_put(cursor, map);
    }
    return map;
}

// read(cursor) behind the () of `HashMap<...>()`, for each > that may end the type.
template <typename Read>
std::optional<Json> behind_hash_map(Cursor cursor, Read read) {
    if (!cursor.take("HashMap<")) return std::nullopt;
    for (size_t end = cursor.at; (end = cursor.text.find('>', end)) != cursor.text.npos; ++end) {
        Cursor behind{cursor.text, end + 1};
        behind.skip_space();
        if (!behind.take("()")) continue;
        if (std::optional<Json> map = read(behind)) return map;
    }
    return std::nullopt;
}

// Up to the first }: a } within a value ends the map.
std::optional<Json> initialized_entries(Cursor cursor) {
    cursor.skip_space();
    if (!cursor.take("{")) return std::nullopt;
    cursor.skip_space();
    cursor.take("{");
    const auto inside = cursor.take_until("}", 0, false);
    return inside ? std::optional(put_entries(*inside)) : std::nullopt;
}

Json hash_map(std::string_view text) {
    const auto with_entries =
        behind_new(text, [](Cursor cursor) { return behind_hash_map(cursor, initialized_entries); });
    if (with_entries) return *with_entries;
    const auto empty = behind_new(text, [](Cursor cursor) {
        return behind_hash_map(cursor, [](Cursor) { return std::optional(Json::object()); });
    });
    return empty ? *empty : Json(text);
}

struct JavaType {
    std::string_view name;
    Type type;
    const NumberForm* form = nullptr;  // of the literals of a number
};

// Set, Hashtable, Queue and Stack are types of BFCL's too; no expression of theirs can be read.
constexpr JavaType kTypes[] = {
    {"byte", Type::integer, &kWhole},
    {"short", Type::integer, &kWhole},
    {"integer", Type::integer, &kWhole},
    {"long", Type::integer, &kLong},
    {"float", Type::real, &kFloat},
    {"double", Type::real, &kDouble},
    {"boolean", Type::boolean},
    {"char", Type::text},
    {"String", Type::text},
    {"any", Type::text},
    {"Array", Type::list},
    {"ArrayList", Type::list},
    {"HashMap", Type::dict},
};

const JavaType* find_type(std::string_view name) {
    const auto* found = std::ranges::find(kTypes, name, &JavaType::name);
    return found == std::end(kTypes) ? nullptr : found;
}

}  // namespace

std::optional<Type> java_type(std::string_view name) {
    const JavaType* found = find_type(name);
    return found == nullptr ? std::nullopt : std::optional(found->type);
}

Json java_value(std::string_view text, std::string_view type, std::string_view elements) {
    const JavaType* found = find_type(type);
    if (found == nullptr || text.size() > kMostExpression) return text;
    if (found->form != nullptr) return number(text, *found->form).value_or(Json(text));
    if (found->type == Type::boolean && (text == "true" || text == "false")) return text == "true";
    if (type == "ArrayList") return array_list(text, elements);
    if (type == "Array")
        return behind_new(text, [&](Cursor at) { return array_elements(at, elements); }).value_or(text);
    return type == "HashMap" ? hash_map(text) : Json(text);
}

}  // namespace colugo::bfcl
