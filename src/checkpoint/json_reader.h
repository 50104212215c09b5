// JSON from files nobody vouches for: parsed with a limit on nesting, no duplicate keys, and fields that are read by
// type and range, so that a wrong one ends in a sentence and not in a conversion.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colugo {

inline constexpr int kMaxJsonDepth = 64;

// Throws invalid_file naming `source`: not JSON, nested deeper than max_depth, or an object with the same key twice.
nlohmann::json parse_json(std::string_view text, const std::string& source, int max_depth = kMaxJsonDepth);
// The same with the keys in the file's order.
nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& source,
                                          int max_depth = kMaxJsonDepth);
// parse_json, and the document has to be an object.
nlohmann::json parse_json_object(std::string_view text, const std::string& source, int max_depth = kMaxJsonDepth);

// A value as it would be written, cut to a length that fits in a sentence.
std::string json_excerpt(const nlohmann::json& value);

// One object's fields. A field that is null counts as absent. Borrows the object. All readers throw invalid_file with
// "<source>: <path><key> is <value>; expected ...".
class JsonFields {
 public:
    JsonFields(const nlohmann::json& object, std::string source, std::string path = "");

    bool has(const char* key) const { return get(key) != nullptr; }
    // nullptr when absent.
    const nlohmann::json* get(const char* key) const;

    // A whole number written as one: 4.0 and true are refused.
    std::optional<int64_t> integer(const char* key, int64_t min, int64_t max) const;
    int64_t required_integer(const char* key, int64_t min, int64_t max) const;
    std::optional<double> number(const char* key, double min, double max) const;
    std::optional<bool> boolean(const char* key) const;
    std::optional<std::string> string(const char* key) const;
    std::optional<std::vector<std::string>> strings(const char* key) const;
    std::optional<JsonFields> object(const char* key) const;
    std::vector<std::string> keys() const;

    const std::string& source() const { return source_; }
    // "<source>: <path><key>", the beginning of a sentence about this field.
    std::string where(std::string_view key) const;
    [[noreturn]] void refuse(const char* key, const std::string& expected) const;

 private:
    const nlohmann::json* object_;
    std::string source_;
    std::string path_;
};

}  // namespace colugo
