#include "sampling/schema_document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sampling/string_format.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxValues = 1000;  // of an enum

// Keywords that say nothing about which values are right.
constexpr std::array kAnnotations =
    std::to_array<std::string_view>({"title", "description", "default", "examples", "$schema", "$id", "$comment",
                                     "deprecated", "readOnly", "writeOnly", "$defs", "definitions"});

// The rest, with the types they are about.
constexpr std::array kKeywords = std::to_array<std::pair<std::string_view, SchemaTypes>>({
    {"type", 0},
    {"enum", 0},
    {"const", 0},
    {"anyOf", 0},
    {"oneOf", 0},
    {"allOf", 0},
    {"$ref", 0},
    {"properties", kObjectType},
    {"required", kObjectType},
    {"additionalProperties", kObjectType},
    {"items", kArrayType},
    {"prefixItems", kArrayType},
    {"minItems", kArrayType},
    {"maxItems", kArrayType},
    {"uniqueItems", kArrayType},
    {"minLength", kStringType},
    {"maxLength", kStringType},
    {"pattern", kStringType},
    {"format", kStringType},
    {"minimum", kNumberType},
    {"maximum", kNumberType},
    {"exclusiveMinimum", kNumberType},
    {"exclusiveMaximum", kNumberType},
    {"multipleOf", kNumberType},
});

bool is_annotation(std::string_view keyword) {
    return std::find(kAnnotations.begin(), kAnnotations.end(), keyword) != kAnnotations.end();
}

bool is_whole(const ordered_json& value) {
    return value.is_number_integer() ||
           (value.is_number_float() && std::floor(value.get<double>()) == value.get<double>());
}

SchemaTypes type_of(const ordered_json& value) {
    switch (value.type()) {
        case ordered_json::value_t::null:
            return kNullType;
        case ordered_json::value_t::boolean:
            return kBooleanType;
        case ordered_json::value_t::string:
            return kStringType;
        case ordered_json::value_t::array:
            return kArrayType;
        case ordered_json::value_t::object:
            return kObjectType;
        default:
            return is_whole(value) ? kIntegerType | kNumberType : kNumberType;
    }
}

// Without recursion: how deep it is is what is asked.
bool is_deeper(const ordered_json& schema, int limit) {
    std::vector<std::pair<const ordered_json*, int>> open = {{&schema, 0}};
    while (!open.empty()) {
        const auto [value, depth] = open.back();
        open.pop_back();
        if (!value->is_structured()) continue;
        if (depth == limit) return true;
        for (const ordered_json& part : *value) open.emplace_back(&part, depth + 1);
    }
    return false;
}

// A step of a JSON pointer in the fragment of a URI. Empty: %-escapes that are none.
std::optional<std::string> unescape(std::string_view step) {
    std::string text;
    for (size_t i = 0; i < step.size(); ++i) {
        if (step[i] != '%') {
            text += step[i];
            continue;
        }
        const std::string digits(step.substr(i + 1, 2));
        if (digits.size() < 2 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
            return std::nullopt;
        text += static_cast<char>(std::stoi(digits, nullptr, 16));
        i += 2;
    }
    std::string name;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool escaped = text[i] == '~' && i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1');
        name += !escaped ? text[i] : text[i + 1] == '0' ? '~' : '/';
        if (escaped) ++i;
    }
    return name;
}

}  // namespace

std::string excerpt(std::string_view text, size_t most_bytes) {
    if (text.size() <= most_bytes) return std::string(text);
    size_t end = most_bytes;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
    return std::string(text.substr(0, end)) + "...";
}

SchemaPlace SchemaPlace::at(std::string_view key) const {
    std::string step;
    for (const char c : key) step += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return {&value->at(std::string(key)), pointer + "/" + step};
}

SchemaPlace SchemaPlace::at(size_t index) const {
    return {&value->at(index), fmt::format("{}/{}", pointer, index)};
}

SchemaDocument::SchemaDocument(const ordered_json& schema, std::string name) : schema_(schema), name_(std::move(name)) {
    if (is_deeper(schema, kMaxDepth))
        fail(ErrorCode::invalid_argument, "{}: it is nested deeper than {} levels", name_, kMaxDepth);
    try {
        static_cast<void>(schema.dump());
    } catch (const ordered_json::exception&) {
        fail(ErrorCode::invalid_argument, "{}: it has text that is not UTF-8", name_);
    }
}

std::string SchemaDocument::subject(const SchemaPlace& place, std::string_view keyword) const {
    return fmt::format("{}: \"{}\" at {}/{}", name_, excerpt(keyword), place.excerpt(), excerpt(keyword));
}

void SchemaDocument::check_company(const SchemaPlace& place, std::string_view keyword,
                                   std::initializer_list<std::string_view> company) const {
    if (!place.has(keyword)) return;
    for (const auto& [other, value] : place.value->items())
        if (other != keyword && !is_annotation(other) &&
            std::find(company.begin(), company.end(), other) == company.end())
            refuse(place, other, "is not supported beside \"{}\"", keyword);
}

void SchemaDocument::check(const SchemaPlace& place) const {
    if (place.value->is_boolean() && !place.value->get<bool>())
        fail(ErrorCode::invalid_argument, "{}: the schema at {} is false, which no value satisfies", name_,
             place.excerpt());
    if (place.value->is_boolean()) return;
    if (!place.value->is_object())
        fail(ErrorCode::invalid_argument, "{}: what is at {} is no schema: it is neither an object nor true", name_,
             place.excerpt());
    for (const auto& [keyword, value] : place.value->items()) {
        const auto known = [&keyword = keyword](const auto& entry) { return entry.first == keyword; };
        if (!is_annotation(keyword) && std::none_of(kKeywords.begin(), kKeywords.end(), known))
            refuse(place, keyword, "is not supported");
    }
    if (place.has("format") && !format_pattern(string(place, "format")))
        refuse(place, "format", "is \"{}\", which is not supported", excerpt(string(place, "format")));
    check_company(place, "$ref", {});
    check_company(place, "anyOf", {});
    check_company(place, "oneOf", {});
    check_company(place, "const", {"type"});
    check_company(place, "enum", {"type"});
    check_company(place, "allOf", {"type", "properties", "required", "additionalProperties"});
}

SchemaPlace SchemaDocument::resolve(const SchemaPlace& place) const {
    const std::string_view reference = string(place, "$ref");
    SchemaPlace target = root();
    if (reference.empty() || reference[0] != '#' || (reference.size() > 1 && reference[1] != '/'))
        refuse(place, "$ref", "is \"{}\"; only what begins with #/ is supported", excerpt(reference));
    for (size_t begin = 1; begin < reference.size();) {
        const size_t end = std::min(reference.find('/', begin + 1), reference.size());
        const auto step = unescape(reference.substr(begin + 1, end - begin - 1));
        begin = end;
        if (step && target.value->is_object() && target.value->contains(*step)) {
            target = target.at(*step);
            continue;
        }
        const bool number =
            step && !step->empty() && step->size() < 7 && step->find_first_not_of("0123456789") == std::string::npos;
        if (!number || !target.value->is_array() || std::stoul(*step) >= target.value->size())
            refuse(place, "$ref", "is \"{}\", which the schema does not have", excerpt(reference));
        target = target.at(std::stoul(*step));
    }
    return target;
}

SchemaTypes SchemaDocument::type_named(const SchemaPlace& place, const ordered_json& name) const {
    constexpr std::array kNames = std::to_array<std::pair<std::string_view, SchemaTypes>>({{"null", kNullType},
                                                                                           {"boolean", kBooleanType},
                                                                                           {"integer", kIntegerType},
                                                                                           {"number", kNumberType},
                                                                                           {"string", kStringType},
                                                                                           {"array", kArrayType},
                                                                                           {"object", kObjectType}});
    if (name.is_string())
        for (const auto& [known, type] : kNames)
            if (name.get_ref<const std::string&>() == known) return type;
    refuse(place, "type", "is not a type or a list of types");
}

SchemaTypes SchemaDocument::types(const SchemaPlace& place) const {
    if (!place.value->is_object()) return kAllTypes;
    SchemaTypes types = 0;
    if (const auto named = place.value->find("type"); named != place.value->end()) {
        if (!named->is_array()) return type_named(place, *named);
        for (const ordered_json& name : *named) types |= type_named(place, name);
        if (types == 0) refuse(place, "type", "is an empty list");
        return types;
    }
    for (const auto& [keyword, about] : kKeywords)
        if (place.has(keyword)) types |= about;
    return types == 0 ? kAllTypes : types;
}

std::vector<const ordered_json*> SchemaDocument::values(const SchemaPlace& place, SchemaTypes types) const {
    std::vector<const ordered_json*> values;
    const auto add = [&](const ordered_json& value) {
        if ((type_of(value) & types & this->types(place)) != 0) values.push_back(&value);
    };
    if (place.has("const")) {
        add(*place.at("const").value);
        return values;
    }
    const ordered_json& list = *place.at("enum").value;
    if (!list.is_array() || list.empty()) refuse(place, "enum", "is not a list of values");
    if (list.size() > kMaxValues)
        refuse(place, "enum", "has {} values; at most {} are supported", list.size(), kMaxValues);
    for (const ordered_json& value : list) add(value);
    return values;
}

std::vector<SchemaPlace> SchemaDocument::list(const SchemaPlace& place, std::string_view keyword) const {
    const SchemaPlace list = place.at(keyword);
    if (!list.value->is_array() || list.value->empty()) refuse(place, keyword, "is not a list of schemas");
    std::vector<SchemaPlace> members;
    for (size_t i = 0; i < list.value->size(); ++i) members.push_back(list.at(i));
    return members;
}

std::optional<uint32_t> SchemaDocument::count(const SchemaPlace& place, std::string_view keyword) const {
    if (!place.has(keyword)) return std::nullopt;
    const ordered_json& value = *place.at(keyword).value;
    if (!value.is_number() || !is_whole(value) || value.get<double>() < 0)
        refuse(place, keyword, "is {}; expected a whole number that is not negative", excerpt(value.dump()));
    return static_cast<uint32_t>(std::min(value.get<double>(), 4294967294.0));
}

std::string_view SchemaDocument::string(const SchemaPlace& place, std::string_view keyword) const {
    const ordered_json& value = *place.at(keyword).value;
    if (!value.is_string()) refuse(place, keyword, "is not a string");
    return value.get_ref<const std::string&>();
}

}  // namespace colugo
