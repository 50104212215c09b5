#include "sampling/schema_object.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

namespace colugo {
namespace {

using nlohmann::ordered_json;

constexpr int kMaxJoined = 64;  // nested allOf and $ref

const ordered_json& anything() {
    static const ordered_json schema = true;
    return schema;
}

class ObjectReader {
 public:
    explicit ObjectReader(const SchemaDocument& document) : document_(document) {}

    SchemaObject read(const SchemaPlace& place) {
        gather(place, 0);
        if (parts_ > 1 && closed_)
            document_.refuse(*closed_, "additionalProperties", "is not supported beside or inside \"allOf\"");
        if (others_ && !(others_->value->is_boolean() && !others_->value->get<bool>())) object_.others = others_;
        if (!others_ && object_.properties.empty()) object_.others = SchemaPlace{&anything()};
        require();
        return std::move(object_);
    }

 private:
    void gather(const SchemaPlace& place, int depth) {
        document_.check(place);
        if (place.value->is_boolean()) return;
        if (depth == kMaxJoined)
            document_.refuse(place, "allOf", "is nested deeper than {} or refers to itself", kMaxJoined);
        if (place.has("$ref")) return gather(document_.resolve(place), depth + 1);
        if (depth > 0 || place.has("allOf")) check_joined(place);
        if (place.has("properties") || place.has("required") || place.has("additionalProperties")) ++parts_;
        gather_properties(place);
        if (place.has("required")) required_.push_back(place);
        if (place.has("additionalProperties")) {
            closed_ = place;
            others_ = place.at("additionalProperties");
            if (!others_->value->is_boolean()) document_.check(*others_);
        }
        if (!place.has("allOf")) return;
        for (const SchemaPlace& part : document_.list(place, "allOf")) gather(part, depth + 1);
    }

    // What other types the schema has is for its reader to say, except where parts are joined.
    void check_joined(const SchemaPlace& place) const {
        for (const auto& [keyword, value] : place.value->items())
            if (!is_about_objects(keyword)) document_.refuse(place, keyword, "is not supported in a part of \"allOf\"");
        if (place.has("type") && document_.types(place) != kObjectType)
            document_.refuse(place, "type",
                             "is not \"object\", the one type that \"allOf\" of several schemas can join");
    }

    static bool is_about_objects(std::string_view keyword) {
        constexpr std::array kOthers = std::to_array<std::string_view>(
            {"anyOf", "oneOf", "enum", "const", "items", "prefixItems", "minItems", "maxItems", "uniqueItems",
             "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum",
             "exclusiveMaximum", "multipleOf"});
        return std::find(kOthers.begin(), kOthers.end(), keyword) == kOthers.end();
    }

    void gather_properties(const SchemaPlace& place) {
        if (!place.has("properties")) return;
        const SchemaPlace properties = place.at("properties");
        if (!properties.value->is_object()) document_.refuse(place, "properties", "is not an object");
        for (const auto& [name, schema] : properties.value->items()) {
            if (!names_.insert(name).second)
                document_.refuse(properties, name, "is a property that another part of \"allOf\" has too");
            object_.properties.push_back({name, {&schema, properties.at(name).pointer}, false});
        }
    }

    void require() {
        std::unordered_set<std::string> required;
        std::vector<SchemaProperty> more;
        for (const SchemaPlace& place : required_) {
            const ordered_json& list = *place.at("required").value;
            if (!list.is_array()) document_.refuse(place, "required", "is not a list of names");
            for (const ordered_json& name : list) {
                if (!name.is_string()) document_.refuse(place, "required", "is not a list of names");
                const auto& text = name.get_ref<const std::string&>();
                if (!required.insert(text).second || names_.count(text) != 0) continue;
                if (others_ && !object_.others)
                    document_.refuse(place, "required", "names \"{}\", which additionalProperties forbids",
                                     excerpt(text));
                more.push_back({text, object_.others.value_or(SchemaPlace{&anything()}), true});
            }
        }
        for (SchemaProperty& property : object_.properties) property.required = required.count(property.name) != 0;
        object_.properties.insert(object_.properties.end(), more.begin(), more.end());
    }

    const SchemaDocument& document_;
    SchemaObject object_;
    std::unordered_set<std::string> names_;
    std::vector<SchemaPlace> required_;
    std::optional<SchemaPlace> others_, closed_;
    int parts_ = 0;
};

}  // namespace

SchemaObject read_object(const SchemaDocument& document, const SchemaPlace& place) {
    return ObjectReader(document).read(place);
}

}  // namespace colugo
