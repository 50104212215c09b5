#include "sampling/schema_compiler.h"

#include <algorithm>
#include <utility>

#include "sampling/integer_bounds.h"
#include "sampling/integer_range.h"
#include "sampling/pattern.h"
#include "sampling/string_format.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxLeaves = 1000;

}  // namespace

uint32_t SchemaCompiler::reference(const SchemaPlace& place) {
    const SchemaPlace target = document_.resolve(place);
    const auto [found, fresh] = starts_.emplace(target.value, 0);
    if (fresh) {
        found->second = json_.builder().add_node();
        json_.builder().name(found->second, fmt::format("{}: what is at {}", document_.name(), target.excerpt()));
        references_.push_back({target, found->second});
    }
    return found->second;
}

void SchemaCompiler::compile_references() {
    for (; num_compiled_ < references_.size(); ++num_compiled_) {
        const Reference reference = references_[num_compiled_];
        const uint32_t end = json_.builder().add_node();
        json_.builder().node(end).accepts = true;
        value(reference.place, reference.start, end);
    }
}

void SchemaCompiler::value(const SchemaPlace& place, uint32_t from, uint32_t to) {
    document_.check(place);
    if (place.has("$ref")) return json_.builder().call(from, reference(place), to);
    for (const char* keyword : {"anyOf", "oneOf"}) {
        if (!place.has(keyword)) continue;
        for (const SchemaPlace& member : document_.list(place, keyword)) value(member, from, to);
        return;
    }
    if (const auto member = sole_member(place)) return value(*member, from, to);
    if (place.has("allOf")) return object(place, from, to);
    values_of_types({place, document_.types(place)}, kAllTypes, from, to);
}

// An allOf of one schema with nothing beside it is that schema.
std::optional<SchemaPlace> SchemaCompiler::sole_member(const SchemaPlace& place) const {
    if (!place.has("allOf")) return std::nullopt;
    for (const char* keyword : {"type", "properties", "required", "additionalProperties"})
        if (place.has(keyword)) return std::nullopt;
    const std::vector<SchemaPlace> members = document_.list(place, "allOf");
    return members.size() == 1 ? std::optional(members[0]) : std::nullopt;
}

std::vector<SchemaLeaf> SchemaCompiler::leaves(const SchemaPlace& place) const {
    std::vector<SchemaLeaf> leaves;
    std::vector<SchemaPlace> open = {place};
    for (size_t seen = 0; !open.empty(); ++seen) {
        const SchemaPlace next = std::move(open.back());
        open.pop_back();
        document_.check(next);
        if (seen == kMaxLeaves)
            fail(ErrorCode::invalid_argument, "{}: what is at {} has too many alternatives or refers to itself",
                 document_.name(), place.excerpt());
        if (next.has("$ref")) {
            open.push_back(document_.resolve(next));
        } else if (next.has("anyOf") || next.has("oneOf")) {
            const std::vector<SchemaPlace> members = document_.list(next, next.has("anyOf") ? "anyOf" : "oneOf");
            open.insert(open.end(), members.rbegin(), members.rend());
        } else if (const auto member = sole_member(next)) {
            open.push_back(*member);
        } else if (next.has("allOf")) {
            leaves.push_back({next, kObjectType});
        } else {
            leaves.push_back({next, document_.types(next)});
        }
    }
    return leaves;
}

void SchemaCompiler::values_of_types(const SchemaLeaf& leaf, SchemaTypes types, uint32_t from, uint32_t to) {
    const SchemaPlace& place = leaf.place;
    if (place.has("allOf")) return value(place, from, to);
    if (document_.is_enumeration(place)) return enumeration(leaf, types, from, to);
    types &= leaf.types;
    if (types == kAllTypes && leaf.types == kAllTypes && !place.has("type")) return json_.any_value(from, to);
    if (types & kNullType) json_.null(from, to);
    if (types & kBooleanType) json_.boolean(from, to);
    if (types & kNumberType)
        number(place, from, to);
    else if (types & kIntegerType)
        integer(place, from, to);
    if (types & kStringType) string(place, from, to);
    if (types & kArrayType) array(place, from, to);
    if (types & kObjectType) object(place, from, to);
}

void SchemaCompiler::enumeration(const SchemaLeaf& leaf, SchemaTypes types, uint32_t from, uint32_t to) {
    if (document_.values(leaf.place, kAllTypes).empty())
        document_.refuse(leaf.place, leaf.place.has("const") ? "const" : "enum", "has no value of the schema's type");
    std::vector<const ordered_json*> scalars;
    for (const ordered_json* value : document_.values(leaf.place, types)) {
        if (value->is_structured() && !value->empty())
            json_.constant(from, *value, to);
        else
            scalars.push_back(value);
    }
    json_.scalars(from, scalars, to);
}

SchemaStrings SchemaCompiler::strings(const SchemaPlace& place) const {
    SchemaStrings strings;
    if (place.has("pattern"))
        strings.automaton = compile_pattern(document_.string(place, "pattern"), document_.subject(place, "pattern"));
    if (place.has("format")) {
        const CharDfa format = compile_pattern(format_pattern(document_.string(place, "format")).value(),
                                               document_.subject(place, "format"));
        strings.automaton =
            strings.automaton ? intersect(*strings.automaton, format, document_.subject(place, "pattern")) : format;
    }
    uint32_t limit = strings.automaton ? kMaxMatchedLength : kMaxLength;
    if (place.has("format") && !place.has("pattern")) {  // a longer text would need more states than there may be
        limit = std::min(limit, CharDfa::kMaxStates / static_cast<uint32_t>(strings.automaton->states.size()) - 1);
    }
    strings.min = document_.count(place, "minLength").value_or(0);
    if (strings.min > limit) document_.refuse(place, "minLength", "is {}; at most {} is supported", strings.min, limit);
    if (const auto max = document_.count(place, "maxLength")) strings.max = std::min(*max, limit);
    if (strings.max < strings.min) document_.refuse(place, "maxLength", "is less than \"minLength\"");
    if (!strings.automaton) return strings;
    if (strings.min > 0 || strings.max != kNoMaximum)
        strings.automaton = intersect(*strings.automaton, strings_of_length(strings.min, strings.max),
                                      document_.subject(place, place.has("pattern") ? "pattern" : "format"));
    if (strings.automaton->is_empty())
        document_.refuse(place, place.has("pattern") ? "pattern" : "format",
                         "matches no string that the other keywords allow");
    return strings;
}

void SchemaCompiler::string(const SchemaPlace& place, uint32_t from, uint32_t to) {
    const SchemaStrings strings = this->strings(place);
    if (strings.automaton)
        json_.string(from, *strings.automaton, document_.subject(place, place.has("pattern") ? "pattern" : "format"),
                     to);
    else
        json_.string_of_length(from, strings.min, strings.max, to);
}

void SchemaCompiler::number(const SchemaPlace& place, uint32_t from, uint32_t to) {
    for (const char* keyword : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
        if (place.has(keyword))
            document_.refuse(place, keyword, "is supported for integers only, and these numbers need not be whole");
    json_.number(from, to);
}

void SchemaCompiler::integer(const SchemaPlace& place, uint32_t from, uint32_t to) {
    const std::optional<IntegerBounds> bounds = read_integer_bounds(document_, place);
    if (!bounds) return json_.integer(from, std::nullopt, to);
    const CharDfa range =
        integers_between(bounds->low, bounds->high, bounds->factor, document_.subject(place, "multipleOf"));
    if (range.is_empty()) document_.refuse(place, "multipleOf", "divides no number within the bounds");
    json_.integer(from, range, to);
}

// In the schema's order. Of the nodes for property i, `first` is where none has been written yet, `after` is behind a
// comma, and `written` is behind one that was written before it.
void SchemaCompiler::object(const SchemaPlace& place, uint32_t from, uint32_t to) {
    const SchemaObject object = read_object(document_, place);
    if (object.properties.empty() && object.others && object.others->value->is_boolean())
        return json_.any_object(from, to);
    GrammarBuilder& builder = json_.builder();
    const uint32_t inside = builder.add_node(), end = builder.add_node(), close = builder.add_node();
    builder.node(end).accepts = true;
    builder.nest(from, '{', inside, to);
    builder.byte(close, '}', end);
    const auto count = static_cast<uint32_t>(object.properties.size());
    const uint32_t first = builder.add_nodes(count + 1), after = builder.add_nodes(count + 1),
                   written = builder.add_nodes(count + 1);
    json_.blank(inside, first);
    bool rest_optional = true;
    for (uint32_t i = count + 1; i-- > 0;) {
        if (i < count) rest_optional &= !object.properties[i].required;
        if (rest_optional) {
            builder.empty(first + i, close);
            if (i > 0) json_.blank(written + i, close);
        }
        if (i == 0 || (i == count && !object.others)) continue;
        const uint32_t comma = builder.add_node();
        builder.byte(written + i, ',', comma);
        json_.blank(comma, after + i);
    }
    for (uint32_t i = 0; i < count; ++i) {
        const SchemaProperty& property = object.properties[i];
        const uint32_t key = builder.add_node(), named = builder.add_node(), behind = builder.add_node();
        builder.empty(first + i, key);
        builder.empty(after + i, key);
        if (!property.required) {
            builder.empty(first + i, first + i + 1);
            builder.empty(after + i, after + i + 1);
        }
        json_.key(key, property.name, named);
        json_.colon(named, behind);
        value(property.schema, behind, written + i + 1);
    }
    if (!object.others) return;
    const uint32_t other = other_properties(object, place, written + count);
    builder.empty(first + count, other);
    builder.empty(after + count, other);
    if (count == 0) {
        // Nothing is named, so `written` of the last property is never behind one, only behind others.
        const uint32_t comma = builder.add_node();
        builder.byte(written, ',', comma);
        json_.blank(comma, after);
        json_.blank(written, close);
    }
}

// One property that is not named; the node where it begins.
uint32_t SchemaCompiler::other_properties(const SchemaObject& object, const SchemaPlace& place, uint32_t written) {
    GrammarBuilder& builder = json_.builder();
    const uint32_t begin = builder.add_node(), named = builder.add_node(), behind = builder.add_node();
    std::vector<std::string> names;
    for (const SchemaProperty& property : object.properties) names.push_back(property.name);
    if (names.empty())
        json_.any_string(begin, named);
    else
        json_.string(begin, strings_except(names, document_.subject(place, "properties")),
                     document_.subject(place, "properties"), named);
    json_.colon(named, behind);
    value(*object.others, behind, written);
    return begin;
}

void SchemaCompiler::array(const SchemaPlace& place, uint32_t from, uint32_t to) {
    if (place.has("uniqueItems") && *place.at("uniqueItems").value != false)
        document_.refuse(place, "uniqueItems", "is not supported");
    std::vector<SchemaPlace> prefix;
    if (place.has("prefixItems")) prefix = document_.list(place, "prefixItems");
    const uint32_t min = document_.count(place, "minItems").value_or(0);
    if (min > kMaxItems) document_.refuse(place, "minItems", "is {}; at most {} is supported", min, kMaxItems);
    std::optional<uint32_t> max = document_.count(place, "maxItems");
    if (max) max = std::min(*max, kMaxItems);
    if (max && *max < min) document_.refuse(place, "maxItems", "is less than \"minItems\"");
    static const ordered_json kAnything = true;
    SchemaPlace rest{&kAnything};
    if (place.has("items")) rest = place.at("items");
    if (rest.value->is_array()) document_.refuse(place, "items", "is a list, which is \"prefixItems\" now");
    const auto prefix_count = static_cast<uint32_t>(prefix.size());
    const bool closed = rest.value->is_boolean() && !rest.value->get<bool>();
    if (closed) {
        max = std::min(max.value_or(prefix_count), prefix_count);
        if (*max < min) document_.refuse(place, "minItems", "is more than \"items\": false allows");
    }
    // Tuples are complete with what prefixItems names, unless the schema asks for more.
    if (!place.has("items") && !prefix.empty() && min <= prefix_count)
        max = std::min(max.value_or(prefix_count), prefix_count);
    if (!closed) document_.check(rest);

    GrammarBuilder& builder = json_.builder();
    const uint32_t inside = builder.add_node(), end = builder.add_node(), close = builder.add_node();
    builder.node(end).accepts = true;
    builder.nest(from, '[', inside, to);
    builder.byte(close, ']', end);
    // The items that are written one by one; behind them, without a maximum, the last is written again.
    const uint32_t count = max.value_or(std::max({min, prefix_count + 1, 1u}));
    uint32_t shared_item = 0;
    uint32_t begin = builder.add_node();
    const uint32_t first = builder.add_node();
    json_.blank(inside, first);
    if (min == 0) builder.empty(first, close);
    builder.empty(first, begin);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t written = builder.add_node();
        if (i < prefix_count) {
            value(prefix[i], begin, written);
        } else {
            if (shared_item == 0) {
                shared_item = builder.add_node();
                const uint32_t item_end = builder.add_node();
                builder.node(item_end).accepts = true;
                value(rest, shared_item, item_end);
            }
            builder.call(begin, shared_item, written);
        }
        if (i + 1 >= min) json_.blank(written, close);
        if (i + 1 == count && max) break;
        const uint32_t comma = builder.add_node();
        builder.byte(written, ',', comma);
        const uint32_t next = i + 1 == count ? begin : builder.add_node();
        json_.blank(comma, next);
        begin = next;
    }
}

}  // namespace colugo
