#include "text/tool_types.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "text/compact_json.h"
#include "text/python_literal.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;

constexpr int kMostNesting = 32;      // of schemas within one another, by way of references too
constexpr int kMostReferences = 256;  // schemas that are looked at for one parameter, or for where parameters are

uint8_t type_named(const ordered_json& name) {
    if (name == "string") return ValueTypes::string;
    if (name == "integer") return ValueTypes::integer;
    if (name == "number") return ValueTypes::number;
    if (name == "boolean") return ValueTypes::boolean;
    if (name == "null") return ValueTypes::null;
    if (name == "object") return ValueTypes::object;
    if (name == "array") return ValueTypes::array;
    return 0;
}

uint8_t type_of(const ordered_json& value) {
    switch (value.type()) {
        case ordered_json::value_t::string:
            return ValueTypes::string;
        case ordered_json::value_t::number_integer:
        case ordered_json::value_t::number_unsigned:
            return ValueTypes::integer;
        case ordered_json::value_t::number_float:
            return ValueTypes::number;
        case ordered_json::value_t::boolean:
            return ValueTypes::boolean;
        case ordered_json::value_t::null:
            return ValueTypes::null;
        case ordered_json::value_t::object:
            return ValueTypes::object;
        case ordered_json::value_t::array:
            return ValueTypes::array;
        default:
            return 0;
    }
}

const ordered_json* member(const ordered_json& object, const char* key) {
    if (!object.is_object()) return nullptr;
    const auto at = object.find(key);
    return at != object.end() ? &*at : nullptr;
}

// What a value of both sets of types is of; of one of them where there is no such value.
uint8_t narrowed(uint8_t a, uint8_t b) {
    const auto whole_too = [](uint8_t bits) { return bits & ValueTypes::number ? bits | ValueTypes::integer : bits; };
    const int both = whole_too(a) & whole_too(b);
    if (both == 0) return a | b;
    // A number is what both call one; what is whole is then said already.
    return static_cast<uint8_t>(both & ValueTypes::number ? both & ~(ValueTypes::integer & ~(a & b)) : both);
}

// Reads one tool's schema.
class SchemaReader {
 public:
    explicit SchemaReader(const ordered_json& root) : root_(root) {}

    // Of all parts that the schema is put together from.
    std::vector<ToolTypes::Parameter> parameters() {
        seen_ = 0;
        gather(root_, 0, false);
        std::vector<ToolTypes::Parameter> read;
        for (const Found& found : found_) {
            read.push_back({found.name, found.types != 0 ? ValueTypes{found.types} : ValueTypes{}});
        }
        return read;
    }

 private:
    struct Found {
        std::string name;
        uint8_t types;
    };

    // joined: with what other parts say of the same parameter, instead of one or the other.
    void gather(const ordered_json& schema, int nesting, bool joined) {
        if (nesting > kMostNesting || ++seen_ > kMostReferences) return;
        if (const auto* properties = member(schema, "properties"); properties != nullptr && properties->is_object()) {
            for (const auto& [name, value] : properties->items()) add(name, types_of(value), joined);
        }
        if (const auto* target = referenced(schema)) gather(*target, nesting + 1, joined);
        for (const char* key : kCombinations) {
            const auto* parts = member(schema, key);
            if (parts == nullptr || !parts->is_array()) continue;
            for (const ordered_json& part : *parts) gather(part, nesting + 1, key == kCombinations[0]);
        }
    }

    void add(const std::string& name, uint8_t types, bool joined) {
        const auto [place, fresh] = places_.emplace(name, found_.size());
        if (fresh) return found_.push_back({name, types});
        uint8_t& known = found_[place->second].types;
        known = joined && known != 0 && types != 0 ? narrowed(known, types) : known | types;
    }

    uint8_t types_of(const ordered_json& schema) {
        visited_ = 0;
        return bits_of(schema, 0);
    }

    // 0: nothing is said of them.
    uint8_t bits_of(const ordered_json& schema, int nesting) {
        if (nesting > kMostNesting || ++visited_ > kMostReferences) return 0;
        uint8_t bits = 0;
        if (const auto* type = member(schema, "type")) {
            bits |= type_named(*type);
            if (type->is_array()) {
                for (const ordered_json& one : *type) bits |= type_named(one);
            }
        }
        if (bits != 0) return bits;
        if (const auto* constant = member(schema, "const")) bits |= type_of(*constant);
        if (const auto* values = member(schema, "enum"); values != nullptr && values->is_array()) {
            for (const ordered_json& value : *values) bits |= type_of(value);
        }
        for (const char* key : kCombinations) bits |= bits_of_parts(schema, key, nesting);
        if (const auto* target = referenced(schema)) bits |= bits_of(*target, nesting + 1);
        if (bits != 0) return bits;
        if (member(schema, "properties") != nullptr) return ValueTypes::object;
        if (member(schema, "items") != nullptr) return ValueTypes::array;
        return 0;
    }

    uint8_t bits_of_parts(const ordered_json& schema, const char* key, int nesting) {
        const auto* parts = member(schema, key);
        if (parts == nullptr || !parts->is_array()) return 0;
        uint8_t bits = 0;
        for (const ordered_json& part : *parts) {
            const uint8_t more = bits_of(part, nesting + 1);
            bits = key == kCombinations[0] && bits != 0 && more != 0 ? narrowed(bits, more) : bits | more;
        }
        return bits;
    }

    // What its $ref names; nullptr: it has none, or one that leads nowhere.
    const ordered_json* referenced(const ordered_json& schema) const {
        const auto* reference = member(schema, "$ref");
        const auto* text = reference != nullptr ? reference->get_ptr<const std::string*>() : nullptr;
        if (text == nullptr || !text->starts_with('#')) return nullptr;
        try {
            const ordered_json::json_pointer pointer(text->substr(1));
            return root_.contains(pointer) ? &root_.at(pointer) : nullptr;
        } catch (const ordered_json::exception&) {
            return nullptr;
        }
    }

    static constexpr const char* kCombinations[] = {"allOf", "anyOf", "oneOf"};

    const ordered_json& root_;
    std::vector<Found> found_;
    std::unordered_map<std::string, size_t> places_;  // in found_
    int seen_ = 0, visited_ = 0;
};

bool same_word(std::string_view text, std::string_view lower) {
    return std::ranges::equal(text, lower, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kSpaces = " \t\r\n";
    const size_t begin = text.find_first_not_of(kSpaces);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

// A JSON number's text as it is, so that nothing of it is rounded; a whole one without its fraction, for an integer.
std::string number_json(std::string_view text, const ordered_json& value, ValueTypes types) {
    if (!value.is_number_float() || types.has(ValueTypes::number)) return std::string(text);
    constexpr double kExact = 9007199254740992.0;  // 2^53
    const double number = value.get<double>();
    if (number != std::floor(number) || std::abs(number) > kExact) return {};
    return std::to_string(static_cast<int64_t>(number));
}

// Empty where the text is no value of the types, string left aside.
std::string typed_json(std::string_view text, ValueTypes types) {
    const bool is_null = text == "null" || text == "None";
    if (is_null && (types.has(ValueTypes::null) || !types.has(ValueTypes::string))) return "null";
    if (types.has(ValueTypes::boolean) && same_word(text, "true")) return "true";
    if (types.has(ValueTypes::boolean) && same_word(text, "false")) return "false";
    if (types.only(ValueTypes::string | ValueTypes::null | ValueTypes::boolean)) return {};
    const ordered_json value = parse_literal(text);
    if (value.is_number()) {
        return types.has(ValueTypes::integer) || types.has(ValueTypes::number) ? number_json(text, value, types) : "";
    }
    const bool structures = types.has(ValueTypes::object) || types.has(ValueTypes::array);
    return structures && value.is_structured() ? compact_json(value) : "";
}

}  // namespace

const ToolTypes::Parameter* ToolTypes::find(std::string_view parameter) const {
    const auto at =
        std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& one) { return one.name == parameter; });
    return at != parameters.end() ? &*at : nullptr;
}

std::vector<ToolTypes> tool_types(const ordered_json& tools) {
    std::vector<ToolTypes> all;
    if (!tools.is_array()) return all;
    for (const ordered_json& tool : tools) {
        const auto* function = member(tool, "function");
        const auto* name = function != nullptr ? member(*function, "name") : nullptr;
        if (name == nullptr || !name->is_string()) continue;
        ToolTypes& types = all.emplace_back();
        types.name = name->get<std::string>();
        if (const auto* schema = member(*function, "parameters")) types.parameters = SchemaReader(*schema).parameters();
    }
    return all;
}

std::string argument_json(std::string_view text, ValueTypes types) {
    if (!types.only(ValueTypes::string)) {
        if (std::string json = typed_json(trimmed(text), types); !json.empty()) return json;
    }
    return '"' + json_escaped(text) + '"';
}

}  // namespace colugo
