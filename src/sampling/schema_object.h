// What a schema says about an object: its properties in their order, of one schema or of several joined by `allOf`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sampling/schema_document.h"

namespace colugo {

struct SchemaProperty {
    std::string name;
    SchemaPlace schema;
    bool required = false;
};

struct SchemaObject {
    std::vector<SchemaProperty> properties;  // names that only `required` has come last
    // The schema of any other property; none may be written where this is empty: where additionalProperties is false,
    // and where it is absent but properties are named, which is less than the schema allows.
    std::optional<SchemaPlace> others;
};

// Of a schema without combinations other than allOf, or one that refers to such a schema. Throws invalid_argument for
// what cannot be joined: the same property twice, additionalProperties beside allOf, anything that is not about
// objects.
SchemaObject read_object(const SchemaDocument& document, const SchemaPlace& place);

}  // namespace colugo
