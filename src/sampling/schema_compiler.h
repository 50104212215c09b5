// From JSON Schema to a grammar of the JSON text of its values (docs/structured-output.md has what is supported).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sampling/char_automaton.h"
#include "sampling/json_grammar.h"
#include "sampling/schema_document.h"
#include "sampling/schema_object.h"

namespace colugo {

// The strings a schema allows: of a length, and taken by the automaton if there is one.
struct SchemaStrings {
    uint32_t min = 0, max = kNoMaximum;
    std::optional<CharDfa> automaton;
};

// A schema without $ref or combinations.
struct SchemaLeaf {
    SchemaPlace place;
    SchemaTypes types;
};

// All of it throws invalid_argument naming the keyword and where it is.
class SchemaCompiler {
 public:
    static constexpr uint32_t kMaxLength = 32'768;       // of strings: a greater maxLength counts as this
    static constexpr uint32_t kMaxMatchedLength = 4096;  // the same, where the string has a pattern or format too
    static constexpr uint32_t kMaxItems = 4096;          // of arrays: a greater maxItems counts as this

    // Borrows both.
    SchemaCompiler(JsonGrammar& json, const SchemaDocument& document) : json_(json), document_(document) {}

    // The values of the schema at `place`. Schemas it refers to are left to compile_references.
    void value(const SchemaPlace& place, uint32_t from, uint32_t to);
    // The values of a leaf that are of these types.
    void values_of_types(const SchemaLeaf& leaf, SchemaTypes types, uint32_t from, uint32_t to);
    void compile_references();

    // What the schema is one of, with references followed. An allOf of several is a leaf of objects.
    std::vector<SchemaLeaf> leaves(const SchemaPlace& place) const;
    SchemaStrings strings(const SchemaPlace& place) const;

 private:
    std::optional<SchemaPlace> sole_member(const SchemaPlace& place) const;
    void enumeration(const SchemaLeaf& leaf, SchemaTypes types, uint32_t from, uint32_t to);
    void string(const SchemaPlace& place, uint32_t from, uint32_t to);
    void integer(const SchemaPlace& place, uint32_t from, uint32_t to);
    void number(const SchemaPlace& place, uint32_t from, uint32_t to);
    void object(const SchemaPlace& place, uint32_t from, uint32_t to);
    uint32_t other_properties(const SchemaObject& object, const SchemaPlace& place, uint32_t written);
    void array(const SchemaPlace& place, uint32_t from, uint32_t to);
    uint32_t reference(const SchemaPlace& place);

    JsonGrammar& json_;
    const SchemaDocument& document_;
    struct Reference {
        SchemaPlace place;
        uint32_t start;
    };
    std::vector<Reference> references_;  // all that were met
    size_t num_compiled_ = 0;            // of them
    std::unordered_map<const nlohmann::ordered_json*, uint32_t> starts_;
};

}  // namespace colugo
