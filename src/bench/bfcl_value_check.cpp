#include "bench/bfcl_value_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/bfcl_literals.h"
#include "text/jinja_unicode.h"

namespace colugo::bfcl {
namespace {

// A value in a sentence.
std::string shown(const Json& value) {
    constexpr size_t kMost = 200;
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > kMost) text.replace(jinja::previous_boundary(text, kMost), text.npos, "...");
    return text;
}

// Spelling that makes no difference: case, blanks, which quotes, and the marks a date or a name is written with.
std::string standard_text(std::string_view text) {
    std::string kept;
    std::ranges::copy_if(text, std::back_inserter(kept),
                         [](char c) { return std::string_view(" ,./-_*^").find(c) == std::string_view::npos; });
    kept = lower(kept);
    std::ranges::replace(kept, '\'', '"');
    return kept;
}

Json standard_value(const Json& value) {
    return value.is_string() ? Json(standard_text(value.get_ref<const std::string&>())) : value;
}

// A list's elements; a text's characters, as the data have one text where a list of texts should be; else nothing.
std::optional<Json> standard_elements(const Json& value) {
    Json elements = Json::array();
    if (value.is_array()) {
        for (const Json& element : value) elements.push_back(standard_value(element));
    } else if (value.is_string()) {
        for (const std::string_view c : characters(value.get_ref<const std::string&>()))
            elements.push_back(standard_text(c));
    } else {
        return std::nullopt;
    }
    return elements;
}

// ---- Types -----------------------------------------------------------------------------------------------------

struct Expected {
    Type type;
    Type elements = Type::none;  // of a list
};

std::optional<Type> python_type(std::string_view name) {
    if (name == "string" || name == "any") return Type::text;
    if (name == "integer") return Type::integer;
    if (name == "float") return Type::real;
    if (name == "boolean") return Type::boolean;
    if (name == "array" || name == "tuple") return Type::list;
    return name == "dict" ? std::optional(Type::dict) : std::nullopt;
}

std::optional<Type> named_type(BfclLanguage language, std::string_view name) {
    if (language == BfclLanguage::java) return java_type(name);
    return language == BfclLanguage::javascript ? javascript_type(name) : python_type(name);
}

std::string type_in(const Json& schema) {
    if (!schema.is_object()) return {};
    const auto found = schema.find("type");
    return found != schema.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string element_type_in(const Json& schema) {
    return schema.contains("items") ? type_in(schema["items"]) : std::string();
}

// The type of the possible values: that of the first which is no mark of an optional parameter.
std::optional<Type> type_of_answers(const Json& answers) {
    const auto found = std::ranges::find_if(answers, [](const Json& answer) { return answer != ""; });
    return found == answers.end() ? std::nullopt : std::optional(type_of(*found));
}

bool fits_element(const Json& value, Type expected, const Json& answers) {
    const Type type = type_of(value);
    return type == expected || type == type_of_answers(answers);
}

bool fits_elements(const Json& list, Type expected, const Json& answers) {
    return std::ranges::any_of(answers, [&](const Json& answer) {
        return !answer.is_array() ||
               std::ranges::all_of(list, [&](const Json& element) { return fits_element(element, expected, answer); });
    });
}

// The declared type or, where a variable stands for the value, that of the possible values.
bool fits(const Json& value, const Expected& expected, const Json& answers) {
    if (type_of(value) != expected.type) return type_of(value) == type_of_answers(answers);
    return expected.type != Type::list || fits_elements(value, expected.elements, answers);
}

// ---- Values ----------------------------------------------------------------------------------------------------

bool is_possible_text(const Json& value, const Json& answers) {
    const std::string wanted = standard_text(value.get_ref<const std::string&>());
    return std::ranges::any_of(answers, [&](const Json& answer) {
        return answer.is_string() && standard_text(answer.get_ref<const std::string&>()) == wanted;
    });
}

// Texts in lists are compared as texts are, except those in lists of lists.
bool is_possible_list(const Json& value, const Json& answers) {
    const std::optional<Json> wanted = standard_elements(value);
    return std::ranges::any_of(answers, [&](const Json& answer) {
        const std::optional<Json> elements = standard_elements(answer);
        return elements && equal(*wanted, *elements);
    });
}

// answer: {key: [possible value, ...]}.
bool is_dict(const Json& value, const Json& answer) {
    if (!value.is_object() || !answer.is_object()) return false;
    for (const auto& [key, entry] : value.items()) {
        const auto possible = answer.find(key);
        if (possible == answer.end()) return false;
        const std::optional<Json> values = standard_elements(*possible);
        if (!values || !contains(*values, standard_value(entry))) return false;
    }
    return std::ranges::all_of(answer.items(), [&](const auto& possible) {
        return value.contains(possible.key()) || is_optional(possible.value());
    });
}

bool is_possible_dict(const Json& value, const Json& answers) {
    return std::ranges::any_of(answers, [&](const Json& answer) { return is_dict(value, answer); });
}

// In the order of the answer. The mark of an optional parameter is a list without elements.
bool is_possible_list_of_dicts(const Json& value, const Json& answers) {
    return std::ranges::any_of(answers, [&](const Json& answer) {
        if (answer == "") return value.empty();
        return answer.is_array() && std::ranges::equal(value, answer, is_dict);
    });
}

bool is_possible(const Json& value, const Expected& expected, const Json& answers) {
    // Where the possible values have another type, they are names of variables, which are compared as they are.
    const bool variable = type_of_answers(answers).value_or(expected.type) != expected.type;
    if (!variable && type_of(value) == expected.type) {
        if (expected.type == Type::text) return is_possible_text(value, answers);
        if (expected.type == Type::dict) return is_possible_dict(value, answers);
        if (expected.type == Type::list && expected.elements == Type::dict)
            return is_possible_list_of_dicts(value, answers);
        if (expected.type == Type::list) return is_possible_list(value, answers);
    }
    return contains(answers, value);
}

// Arguments for Java and JavaScript are texts with expressions.
Json converted(BfclLanguage language, const Json& schema, const Json& value) {
    const auto text = [&]() -> const std::string& { return value.get_ref<const std::string&>(); };
    if (language == BfclLanguage::java) return java_value(text(), type_in(schema), element_type_in(schema));
    if (language == BfclLanguage::javascript) return javascript_value(text(), type_in(schema), element_type_in(schema));
    return type_in(schema) == "float" && type_of(value) == Type::integer ? Json(value.get<double>()) : value;
}

}  // namespace

bool is_optional(const Json& answers) {
    return answers.is_string() || (answers.is_array() && contains(answers, ""));
}

std::string value_fault(BfclLanguage language, const std::string& parameter, const Json& schema, const Json& value,
                        const Json& answers) {
    const std::string name = type_in(schema);
    const std::optional<Type> type = named_type(language, name);
    if (!type) return fmt::format("the type \"{}\" of parameter {} is unknown", name, parameter);
    if (language != BfclLanguage::python && !value.is_string())
        return fmt::format("parameter {} is {}, not a text with an expression", parameter, shown(value));
    const std::optional<Type> elements = named_type(language, element_type_in(schema));
    if (*type == Type::list && !elements)
        return fmt::format("the type of the elements of parameter {} is unknown", parameter);
    const Expected expected{*type, elements.value_or(Type::none)};
    const Json read = converted(language, schema, value);
    if (!fits(read, expected, answers))
        return fmt::format("parameter {} is {}, not of type {}", parameter, shown(value), name);
    if (!is_possible(read, expected, answers))
        return fmt::format("parameter {} is {}, not one of {}", parameter, shown(value), shown(answers));
    return {};
}

}  // namespace colugo::bfcl
