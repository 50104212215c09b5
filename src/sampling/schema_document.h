// A JSON Schema as it was sent: where its parts are, which keywords they have, and the sentences that refuse one.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace colugo {

// A text of the schema as sentences have it, which clients are told: its beginning where it has more bytes.
std::string excerpt(std::string_view text, size_t most_bytes = 60);

// A part of a schema. Borrows the document.
struct SchemaPlace {
    const nlohmann::ordered_json* value = nullptr;
    std::string pointer = "#";  // as in "#/properties/a~1b"

    std::string excerpt() const { return colugo::excerpt(pointer, 160); }

    SchemaPlace at(std::string_view key) const;
    SchemaPlace at(size_t index) const;
    bool has(std::string_view key) const { return value->is_object() && value->contains(key); }
};

// Types of values, as bits.
using SchemaTypes = uint8_t;
inline constexpr SchemaTypes kNullType = 1, kBooleanType = 2, kIntegerType = 4, kNumberType = 8, kStringType = 16,
                             kArrayType = 32, kObjectType = 64, kAllTypes = 127;

class SchemaDocument {
 public:
    static constexpr int kMaxDepth = 128;  // nested objects and arrays of the schema's own JSON

    // Borrows the schema. `name`: what sentences call it. Throws invalid_argument when it nests too deep or has text
    // that is not UTF-8.
    SchemaDocument(const nlohmann::ordered_json& schema, std::string name);

    const std::string& name() const { return name_; }
    SchemaPlace root() const { return {&schema_}; }

    // invalid_argument: "<name>: "<keyword>" at <pointer to it> <reason>".
    template <typename... Args>
    [[noreturn]] void refuse(const SchemaPlace& place, std::string_view keyword, fmt::format_string<Args...> reason,
                             Args&&... args) const {
        fail(ErrorCode::invalid_argument, "{} {}", subject(place, keyword),
             fmt::format(reason, std::forward<Args>(args)...));
    }
    // The beginning of that sentence.
    std::string subject(const SchemaPlace& place, std::string_view keyword) const;

    // Refuses what is no schema, a keyword that is not supported, and keywords that do not go together.
    void check(const SchemaPlace& place) const;
    // What `$ref` names; one that it names in turn is not followed.
    SchemaPlace resolve(const SchemaPlace& place) const;
    // Of a schema without $ref and combinations: those that `type` names, else those its keywords are about, else all.
    SchemaTypes types(const SchemaPlace& place) const;
    // Has `enum` or `const`.
    bool is_enumeration(const SchemaPlace& place) const { return place.has("enum") || place.has("const"); }
    // Their values, of these types.
    std::vector<const nlohmann::ordered_json*> values(const SchemaPlace& place, SchemaTypes types) const;
    // The members of an array of schemas, at least one.
    std::vector<SchemaPlace> list(const SchemaPlace& place, std::string_view keyword) const;
    // A number of things, whole and not negative; capped at UINT32_MAX - 1.
    std::optional<uint32_t> count(const SchemaPlace& place, std::string_view keyword) const;
    // A text.
    std::string_view string(const SchemaPlace& place, std::string_view keyword) const;

 private:
    void check_company(const SchemaPlace& place, std::string_view keyword,
                       std::initializer_list<std::string_view> company) const;
    SchemaTypes type_named(const SchemaPlace& place, const nlohmann::ordered_json& name) const;

    const nlohmann::ordered_json& schema_;
    std::string name_;
};

}  // namespace colugo
