// Filters on sequences and mappings. Those that are generators in jinja2 give an iterator here, so that printing,
// testing and reading them twice behave the same; their work is done at once.
#include <algorithm>

#include "text/jinja_fault.h"
#include "text/jinja_operators.h"
#include "text/jinja_print.h"
#include "text/jinja_text_functions.h"
#include "text/jinja_unicode.h"

namespace colugo::jinja {
namespace {

std::vector<Value> items_of(Runtime& runtime, const Value& value) {
    std::vector<Value> items = iterate(runtime, value);
    runtime.charge(items.size());
    return items;
}

Value generator(std::vector<Value> items, const Value& source) {
    return Value::iterator("generator", std::move(items)).mark_content(source.content());
}

// "a.0.b" -> a, 0, b; digits are indices.
class AttributePath {
 public:
    AttributePath() = default;
    explicit AttributePath(const Value& attribute) {
        if (!attribute.is(Kind::string)) {
            parts_.push_back(attribute);
            return;
        }
        std::string_view path = attribute.bytes();
        while (true) {
            const size_t dot = std::min(path.find('.'), path.size());
            const std::string_view part = path.substr(0, dot);
            const bool index = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
            parts_.push_back(index ? Value::integer(parse_integer(part, 10).value_or(0)) : Value::literal(part));
            if (dot == path.size()) break;
            path.remove_prefix(dot + 1);
        }
    }

    Value get(Runtime& runtime, Value item, const Value* fallback = nullptr) const {
        for (const Value& part : parts_) {
            runtime.charge(1);
            item = get_item(runtime, item, part);
            if (fallback != nullptr && item.is(Kind::undefined)) item = *fallback;
        }
        return item;
    }

 private:
    std::vector<Value> parts_;
};

AttributePath path_or_self(const Parameters& given, size_t index) {
    return given.given(index) == nullptr ? AttributePath() : AttributePath(given[index]);
}

Value ignore_case(Value value) {
    return value.is(Kind::string) ? Value::string(lower_text(value.text())) : value;
}

Value length(Runtime&, const Value& input, const Arguments& arguments) {
    Parameters("length", arguments, {});
    if (input.is(Kind::loop)) return get_member(input, "length").value();
    const std::optional<size_t> size = length_of(input);
    if (!size) fault("a {} has no length", type_name(input));
    return Value::integer(static_cast<int64_t>(*size));
}

Value list(Runtime& runtime, const Value& input, const Arguments& arguments) {
    Parameters("list", arguments, {});
    return Value::list(items_of(runtime, input)).mark_content(input.content());
}

Value first(Runtime& runtime, const Value& input, const Arguments& arguments) {
    Parameters("first", arguments, {});
    if (input.is(Kind::iterator)) {
        auto& iterator = input.as<IteratorObject>();
        if (iterator.next < iterator.items.size()) return iterator.items[iterator.next++];
        return Value::undefined("No first item, sequence was empty.");
    }
    const std::vector<Value> items = iterate(runtime, input);
    return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Value last(Runtime& runtime, const Value& input, const Arguments& arguments) {
    Parameters("last", arguments, {});
    if (input.is(Kind::iterator))
        fault("the filter last cannot read a {} backwards; make it a list first", type_name(input));
    const std::vector<Value> items = iterate(runtime, input);
    return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value join(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Parameters given("join", arguments, {"d", "attribute"});
    const Text separator = given.has(0) ? str_of(runtime, given[0]) : Text();
    const AttributePath path = path_or_self(given, 1);
    Text out;
    size_t counted = 0;
    bool begun = false;
    for (const Value& item : items_of(runtime, input)) {
        if (begun) out.append(separator);
        begun = true;
        out.append(str_of(runtime, path.get(runtime, item)));
        runtime.count_growth(out.size(), counted);
    }
    return Value::string(std::move(out));
}

Value items(Runtime& runtime, const Value& input, const Arguments& arguments) {
    Parameters("items", arguments, {});
    std::vector<Value> pairs;
    if (!input.is(Kind::undefined)) {
        if (!input.is(Kind::dict)) fault("the filter items needs a mapping, not a {}", type_name(input));
        for (const auto& [key, value] : input.as<DictObject>().entries) pairs.push_back(Value::tuple({key, value}));
    }
    runtime.charge(pairs.size());
    return generator(std::move(pairs), input);
}

Value reverse(Runtime& runtime, const Value& input, const Arguments& arguments) {
    Parameters("reverse", arguments, {});
    if (input.is(Kind::string)) {
        return get_slice(runtime, input, Value::none(), Value::none(), Value::integer(-1));
    }
    std::vector<Value> reversed = items_of(runtime, input);
    std::reverse(reversed.begin(), reversed.end());
    if (input.is(Kind::iterator)) return Value::list(std::move(reversed)).mark_content(input.content());
    return Value::iterator("list_reverseiterator", std::move(reversed)).mark_content(input.content());
}

// ---- order ---------------------------------------------------------------------------------------------------------

struct Keyed {
    std::vector<Value> keys;
    Value item;
};

// Python compares a bare key with < alone, and lists of keys (the filter sort) item by item with == first: with
// undefined keys one faults and the other does not.
void sort_keyed(Runtime& runtime, std::vector<Keyed>& keyed, bool descending, bool bare) {
    const auto before = [&runtime, bare](const Keyed& a, const Keyed& b) {
        runtime.charge(1);
        if (bare) return less(runtime, a.keys[0], b.keys[0]);
        for (size_t i = 0; i < a.keys.size(); ++i) {
            if (!equals(runtime, a.keys[i], b.keys[i])) return less(runtime, a.keys[i], b.keys[i]);
        }
        return false;
    };
    if (descending) {  // equal items keep their order, as in Python
        std::stable_sort(keyed.begin(), keyed.end(),
                         [&before](const Keyed& a, const Keyed& b) { return before(b, a); });
    } else {
        std::stable_sort(keyed.begin(), keyed.end(), before);
    }
}

Value sort(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Parameters given("sort", arguments, {"reverse", "case_sensitive", "attribute"});
    const bool case_sensitive = given.flag(1, false);
    std::vector<AttributePath> paths;
    if (const Value* attribute = given.given(2); attribute != nullptr && attribute->is(Kind::string)) {
        std::string_view names = attribute->bytes();
        while (true) {
            const size_t comma = std::min(names.find(','), names.size());
            paths.emplace_back(Value::literal(names.substr(0, comma)));
            if (comma == names.size()) break;
            names.remove_prefix(comma + 1);
        }
    } else {
        paths.push_back(path_or_self(given, 2));
    }
    std::vector<Keyed> keyed;
    for (Value& item : items_of(runtime, input)) {
        std::vector<Value> keys;
        for (const AttributePath& path : paths) {
            Value key = path.get(runtime, item);
            keys.push_back(case_sensitive ? std::move(key) : ignore_case(std::move(key)));
        }
        keyed.push_back({std::move(keys), std::move(item)});
    }
    sort_keyed(runtime, keyed, given.flag(0, false), false);
    std::vector<Value> sorted;
    for (Keyed& entry : keyed) sorted.push_back(std::move(entry.item));
    return Value::list(std::move(sorted)).mark_content(input.content());
}

Value dictsort(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Parameters given("dictsort", arguments, {"case_sensitive", "by", "reverse"});
    if (input.is(Kind::undefined)) fault_undefined(input);
    if (!input.is(Kind::dict)) fault("the filter dictsort needs a mapping, not a {}", type_name(input));
    const std::string by = given.has(1) ? str_of(runtime, given[1]).bytes() : "key";
    if (by != "key" && by != "value") fault("dictsort sorts by key or value, not by '{}'", by);
    std::vector<Keyed> keyed;
    for (const auto& [key, value] : input.as<DictObject>().entries) {
        Value order = by == "key" ? key : value;
        if (!given.flag(0, false)) order = ignore_case(std::move(order));
        keyed.push_back({{std::move(order)}, Value::tuple({key, value})});
    }
    sort_keyed(runtime, keyed, given.flag(2, false), true);
    std::vector<Value> sorted;
    for (Keyed& entry : keyed) sorted.push_back(std::move(entry.item));
    return Value::list(std::move(sorted)).mark_content(input.content());
}

Value extreme(Runtime& runtime, const Value& input, const Arguments& arguments, std::string_view name, bool largest) {
    const Parameters given(name, arguments, {"case_sensitive", "attribute"});
    const AttributePath path = path_or_self(given, 1);
    const auto key = [&](const Value& item) {
        Value value = path.get(runtime, item);
        return given.flag(0, false) ? value : ignore_case(std::move(value));
    };
    const std::vector<Value> candidates = items_of(runtime, input);
    if (candidates.empty()) return Value::undefined("No aggregated item, sequence was empty.");
    size_t best = 0;
    Value best_key = key(candidates[0]);
    for (size_t i = 1; i < candidates.size(); ++i) {
        Value candidate = key(candidates[i]);
        if (largest ? less(runtime, best_key, candidate) : less(runtime, candidate, best_key)) {
            best = i;
            best_key = std::move(candidate);
        }
    }
    return candidates[best];
}

Value min(Runtime& r, const Value& i, const Arguments& a) {
    return extreme(r, i, a, "min", false);
}
Value max(Runtime& r, const Value& i, const Arguments& a) {
    return extreme(r, i, a, "max", true);
}

Value sum(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Parameters given("sum", arguments, {"attribute", "start"});
    const AttributePath path = path_or_self(given, 0);
    Value total = given.has(1) ? given[1] : Value::integer(0);
    if (total.is(Kind::string)) fault("the filter sum does not add texts; use join");
    for (const Value& item : items_of(runtime, input)) {
        total = apply(runtime, Operator::add, total, path.get(runtime, item));
    }
    return total;
}

Value unique(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Parameters given("unique", arguments, {"case_sensitive", "attribute"});
    const AttributePath path = path_or_self(given, 1);
    std::vector<Value> seen;
    std::vector<Value> kept;
    for (Value& item : items_of(runtime, input)) {
        Value key = path.get(runtime, item);
        if (!given.flag(0, false)) key = ignore_case(std::move(key));
        if (!hashable(key)) fault("the filter unique cannot compare items of type {}", type_name(key));
        runtime.charge(seen.size());
        if (std::any_of(seen.begin(), seen.end(), [&](const Value& other) { return equals(runtime, other, key); }))
            continue;
        seen.push_back(std::move(key));
        kept.push_back(std::move(item));
    }
    return generator(std::move(kept), input);
}

// ---- pick and map --------------------------------------------------------------------------------------------------

Arguments without_first(const Arguments& arguments, size_t count) {
    Arguments rest;
    rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count),
                           arguments.positional.end());
    rest.named = arguments.named;
    return rest;
}

Value map(Runtime& runtime, const Value& input, const Arguments& arguments) {
    std::vector<Value> mapped;
    if (!truth(input)) return generator({}, input);
    const bool by_attribute = arguments.positional.empty() && !arguments.named.empty() &&
                              std::any_of(arguments.named.begin(), arguments.named.end(),
                                          [](const auto& named) { return named.first == "attribute"; });
    if (by_attribute) {
        const Parameters given("map", arguments, {"attribute", "default"});
        const AttributePath path = path_or_self(given, 0);
        const Value* fallback = given.given(1);
        for (const Value& item : items_of(runtime, input)) mapped.push_back(path.get(runtime, item, fallback));
        return generator(std::move(mapped), input);
    }
    if (arguments.positional.empty()) fault("the filter map needs the name of a filter or attribute=");
    const std::string name = str_of(runtime, arguments.positional[0]).bytes();
    const Filter filter = find_filter(name);
    if (filter == nullptr) fault("there is no filter '{}'", name);
    const Arguments rest = without_first(arguments, 1);
    for (const Value& item : items_of(runtime, input)) mapped.push_back(filter(runtime, item, rest));
    return generator(std::move(mapped), input);
}

Value pick(Runtime& runtime, const Value& input, const Arguments& arguments, bool keep, bool by_attribute) {
    if (!truth(input)) return generator({}, input);
    const size_t skip = by_attribute ? 1 : 0;
    if (arguments.positional.size() < skip) fault("the filter needs the name of an attribute");
    const AttributePath path = by_attribute ? AttributePath(arguments.positional[0]) : AttributePath();
    Test test = nullptr;
    Arguments rest;
    if (arguments.positional.size() > skip) {
        const std::string name = str_of(runtime, arguments.positional[skip]).bytes();
        test = find_test(name);
        if (test == nullptr) fault("there is no test '{}'", name);
        rest = without_first(arguments, skip + 1);
    }
    std::vector<Value> picked;
    for (Value& item : items_of(runtime, input)) {
        const Value subject = path.get(runtime, item);
        const bool passes = test == nullptr ? truth(subject) : test(runtime, subject, rest);
        if (passes == keep) picked.push_back(std::move(item));
    }
    return generator(std::move(picked), input);
}

Value select(Runtime& r, const Value& i, const Arguments& a) {
    return pick(r, i, a, true, false);
}
Value reject(Runtime& r, const Value& i, const Arguments& a) {
    return pick(r, i, a, false, false);
}
Value selectattr(Runtime& r, const Value& i, const Arguments& a) {
    return pick(r, i, a, true, true);
}
Value rejectattr(Runtime& r, const Value& i, const Arguments& a) {
    return pick(r, i, a, false, true);
}

// ---- groups --------------------------------------------------------------------------------------------------------

Value batch(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Parameters given("batch", arguments, {"linecount", "fill_with"}, 1);
    const int64_t size = to_int64(given[0], "linecount");
    std::vector<Value> batches;
    std::vector<Value> current;
    for (Value& item : items_of(runtime, input)) {
        if (static_cast<int64_t>(current.size()) == size) {
            batches.push_back(Value::list(std::move(current)));
            current.clear();
        }
        current.push_back(std::move(item));
    }
    if (!current.empty()) {
        const Value* fill = given.given(1);
        if (fill != nullptr && size > static_cast<int64_t>(current.size())) {
            runtime.admit_bytes(static_cast<size_t>(std::min<int64_t>(size, int64_t{1} << 40)) * sizeof(Value));
            current.resize(static_cast<size_t>(size), *fill);
        }
        batches.push_back(Value::list(std::move(current)));
    }
    return generator(std::move(batches), input);
}

Value slice(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Parameters given("slice", arguments, {"slices", "fill_with"}, 1);
    const int64_t slices = to_int64(given[0], "slices");
    const std::vector<Value> all = items_of(runtime, input);
    if (slices == 0) fault("the filter slice needs at least one slice");
    std::vector<Value> parts;
    if (slices > 0) {
        runtime.admit_bytes(static_cast<size_t>(std::min<int64_t>(slices, int64_t{1} << 40)) * sizeof(Value));
        const size_t count = static_cast<size_t>(slices);
        const size_t each = all.size() / count;
        const size_t extra = all.size() % count;
        size_t begin = 0;
        for (size_t i = 0; i < count; ++i) {
            const size_t end = begin + each + (i < extra ? 1 : 0);
            std::vector<Value> part(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                    all.begin() + static_cast<std::ptrdiff_t>(end));
            if (given.given(1) != nullptr && i >= extra) part.push_back(given[1]);
            parts.push_back(Value::list(std::move(part)));
            begin = end;
        }
    }
    return generator(std::move(parts), input);
}

Value groupby(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Parameters given("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
    const AttributePath path(given[0]);
    const Value* fallback = given.given(1);
    const bool case_sensitive = given.flag(2, false);
    std::vector<Keyed> keyed;
    for (Value& item : items_of(runtime, input)) {
        Value key = path.get(runtime, item, fallback);
        keyed.push_back({{case_sensitive ? std::move(key) : ignore_case(std::move(key))}, std::move(item)});
    }
    sort_keyed(runtime, keyed, false, true);
    std::vector<Value> groups;
    for (size_t begin = 0; begin < keyed.size();) {
        size_t end = begin;
        std::vector<Value> members;
        while (end < keyed.size() && equals(runtime, keyed[end].keys[0], keyed[begin].keys[0]))
            members.push_back(keyed[end++].item);
        Value grouper = path.get(runtime, members.front(), fallback);
        groups.push_back(Value::group(std::move(grouper), std::move(members)));
        begin = end;
    }
    return Value::list(std::move(groups)).mark_content(input.content());
}

constexpr FilterDefinition kFilters[] = {
    {"batch", batch},     {"count", length},    {"dictsort", dictsort},
    {"first", first},     {"groupby", groupby}, {"items", items},
    {"join", join},       {"last", last},       {"length", length},
    {"list", list},       {"map", map},         {"max", max},
    {"min", min},         {"reject", reject},   {"rejectattr", rejectattr},
    {"reverse", reverse}, {"select", select},   {"selectattr", selectattr},
    {"slice", slice},     {"sort", sort},       {"sum", sum},
    {"unique", unique},
};

}  // namespace

Filter find_sequence_filter(std::string_view name) {
    const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                     [name](const FilterDefinition& filter) { return filter.name == name; });
    return found == std::end(kFilters) ? nullptr : found->call;
}

}  // namespace colugo::jinja
