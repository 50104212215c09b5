// Reads the fields of one JSON object of a request by type and range, so that a wrong one ends in a sentence that names
// it, and remembers which ones it was asked for.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colugo {

// A value as a sentence shows it: short, whatever it holds.
std::string excerpt(const nlohmann::ordered_json& value);

// A field that is null counts as absent. Borrows the object. What reads throws ApiError (400) for a value of another
// type or out of range: "tools[0].type is 5; expected a string", with the path as param.
class RequestFields {
 public:
    // path: what the names of fields stand behind, "tools[0]."; empty for the body's own. Throws where it is no object.
    RequestFields(const nlohmann::ordered_json& object, std::string path);

    // nullptr when absent. name: a literal, which is kept.
    const nlohmann::ordered_json* get(std::string_view name);
    bool has(std::string_view name) { return get(name) != nullptr; }

    // A whole number, which may be written 4.0.
    std::optional<int64_t> integer(std::string_view name, int64_t min, int64_t max);
    std::optional<double> number(std::string_view name, double min, double max);
    std::optional<bool> boolean(std::string_view name);
    std::optional<std::string> string(std::string_view name);
    std::string required_string(std::string_view name);
    // nullptr when absent.
    const nlohmann::ordered_json* list(std::string_view name);
    std::optional<RequestFields> object(std::string_view name);

    std::string path(std::string_view name) const { return path_ + std::string(name); }
    // "NAME is VALUE; expected ...", or that it is missing.
    [[noreturn]] void refuse_value(std::string_view name, std::string_view expected);
    [[noreturn]] void refuse_type(std::string_view name, std::string_view expected);
    // Names of fields nobody asked for, shortened.
    std::vector<std::string> unknown() const;

 private:
    [[noreturn]] void refuse_with(const char* code, std::string_view name, std::string_view expected);

    const nlohmann::ordered_json* object_;
    std::string path_;
    std::set<std::string_view> known_;
};

// The body's unknown fields and `others`: what a log is to name, which is 16 at most, sorted.
std::vector<std::string> unknown_fields(const RequestFields& body, std::set<std::string> others);

// The whole number a value is, however it is written; nothing for another value, or one beyond the range.
std::optional<int64_t> whole_number(const nlohmann::ordered_json& value, int64_t min, int64_t max);

}  // namespace colugo
