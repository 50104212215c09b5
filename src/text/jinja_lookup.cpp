// Attributes, items and slices of values, in the order and with the refusals of jinja2's immutable sandbox.
#include <algorithm>
#include <limits>

#include "text/jinja_fault.h"
#include "text/jinja_loop.h"
#include "text/jinja_operators.h"
#include "text/jinja_print.h"
#include "text/jinja_runtime.h"
#include "text/jinja_unicode.h"

namespace colugo::jinja {
namespace {

// ---- methods of dict, list and tuple -------------------------------------------------------------------------------

Value dict_get(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Parameters given("get", arguments, {"key", "default"}, 1);
    if (const Value* value = self.as<DictObject>().find(runtime, given[0])) return *value;
    return given.has(1) ? given[1] : Value::none();
}

Value dict_items(Runtime& runtime, const Value& self, const Arguments& arguments) {
    Parameters("items", arguments, {});
    const auto& entries = self.as<DictObject>().entries;
    runtime.charge(entries.size());
    std::vector<Value> items;
    items.reserve(entries.size());
    for (const auto& [key, value] : entries) items.push_back(Value::tuple({key, value}));
    return Value::view("dict_items", std::move(items)).mark_content(self.content());
}

Value dict_keys(Runtime& runtime, const Value& self, const Arguments& arguments) {
    Parameters("keys", arguments, {});
    runtime.charge(self.as<DictObject>().entries.size());
    return Value::view("dict_keys", iterate(runtime, self)).mark_content(self.content());
}

Value dict_values(Runtime& runtime, const Value& self, const Arguments& arguments) {
    Parameters("values", arguments, {});
    const auto& entries = self.as<DictObject>().entries;
    runtime.charge(entries.size());
    std::vector<Value> items;
    items.reserve(entries.size());
    for (const auto& entry : entries) items.push_back(entry.second);
    return Value::view("dict_values", std::move(items)).mark_content(self.content());
}

Value copy(Runtime&, const Value& self, const Arguments& arguments) {
    Parameters("copy", arguments, {});
    return self;  // values are immutable
}

Value sequence_index(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Parameters given("index", arguments, {"value"}, 1);
    const auto& items = self.items();
    const auto found =
        std::find_if(items.begin(), items.end(), [&](const Value& item) { return equals(runtime, item, given[0]); });
    if (found == items.end()) fault("index() does not find the value");
    return Value::integer(found - items.begin());
}

Value sequence_count(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Parameters given("count", arguments, {"value"}, 1);
    const auto& items = self.items();
    return Value::integer(
        std::count_if(items.begin(), items.end(), [&](const Value& item) { return equals(runtime, item, given[0]); }));
}

constexpr MethodDefinition kDictMethods[] = {
    {"copy", copy}, {"get", dict_get}, {"items", dict_items}, {"keys", dict_keys}, {"values", dict_values}};
constexpr MethodDefinition kListMethods[] = {{"copy", copy}, {"count", sequence_count}, {"index", sequence_index}};
constexpr MethodDefinition kTupleMethods[] = {{"count", sequence_count}, {"index", sequence_index}};

// What the immutable sandbox hides: the value is undefined, and calling it says why.
constexpr std::string_view kDictMutators[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kListMutators[] = {"append", "clear",  "extend",  "insert",
                                              "pop",    "remove", "reverse", "sort"};

// ---- methods of loops and helpers ----------------------------------------------------------------------------------

Value loop_cycle(Runtime&, const Value& self, const Arguments& arguments) {
    if (arguments.positional.empty()) fault("loop.cycle() needs at least one item");
    return arguments.positional[self.as<LoopObject>().index0() % arguments.positional.size()];
}

Value loop_changed(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return Value::boolean(self.as<LoopObject>().changed(runtime, Value::tuple(arguments.positional)));
}

Value cycler_next(Runtime&, const Value& self, const Arguments&) {
    auto& cycler = self.as<CyclerObject>();
    const Value item = cycler.items[cycler.position];
    cycler.position = (cycler.position + 1) % cycler.items.size();
    return item;
}

Value cycler_reset(Runtime&, const Value& self, const Arguments&) {
    self.as<CyclerObject>().position = 0;
    return Value::none();
}

constexpr MethodDefinition kLoopMethods[] = {{"changed", loop_changed}, {"cycle", loop_cycle}};
constexpr MethodDefinition kCyclerMethods[] = {{"next", cycler_next}, {"reset", cycler_reset}};

Value real_is_integer(Runtime&, const Value& self, const Arguments&) {
    const double value = self.as_double();
    return Value::boolean(value >= -9e18 && value <= 9e18 ? value == static_cast<double>(static_cast<int64_t>(value))
                                                          : value - value == 0);
}
constexpr MethodDefinition kRealMethods[] = {{"is_integer", real_is_integer}};

template <size_t N>
std::optional<Value> bound(const MethodDefinition (&methods)[N], const Value& self, std::string_view name) {
    for (const MethodDefinition& method : methods) {
        if (method.name == name) return Value::method(self, &method);
    }
    return std::nullopt;
}

template <size_t N>
bool among(const std::string_view (&names)[N], std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Value unsafe(const Value& object, std::string_view name) {
    return Value::undefined(
        fmt::format("access to attribute '{}' of '{}' object is unsafe: a template may not change its data", name,
                    type_name(object)));
}

std::optional<Value> loop_member(const Value& object, std::string_view name) {
    auto& loop = object.as<LoopObject>();
    const auto number = [](size_t value) { return Value::integer(static_cast<int64_t>(value)); };
    if (name == "index") return number(loop.index0() + 1);
    if (name == "index0") return number(loop.index0());
    if (name == "first") return Value::boolean(loop.index0() == 0);
    if (name == "last") return Value::boolean(loop.last());
    if (name == "length") return number(loop.length());
    if (name == "revindex") return number(loop.length() - loop.index0());
    if (name == "revindex0") return number(loop.length() - loop.index0() - 1);
    if (name == "depth") return Value::integer(loop.nesting() + 1);
    if (name == "depth0") return Value::integer(loop.nesting());
    if (name == "previtem") return loop.previous().value_or(Value::undefined("there is no previous item"));
    if (name == "nextitem") return loop.next().value_or(Value::undefined("there is no next item"));
    return bound(kLoopMethods, object, name);
}

// Python's getattr, as far as the sandbox shows it.
}  // namespace

std::optional<Value> get_member(const Value& object, std::string_view name) {
    if (name.starts_with("__") && name.ends_with("__")) {
        static constexpr std::string_view kSpecial[] = {"__class__", "__doc__",  "__init__",        "__dict__",
                                                        "__len__",   "__iter__", "__repr__",        "__str__",
                                                        "__eq__",    "__hash__", "__getattribute__"};
        if (among(kSpecial, name)) {
            return Value::undefined(
                fmt::format("access to attribute '{}' of '{}' object is unsafe", name, type_name(object)));
        }
    }
    if (object.is(Kind::undefined)) fault_undefined(object);
    switch (object.kind()) {
        case Kind::string:
            if (const MethodDefinition* method = find_string_method(name)) return Value::method(object, method);
            return std::nullopt;
        case Kind::dict:
            if (among(kDictMutators, name)) return unsafe(object, name);
            return bound(kDictMethods, object, name);
        case Kind::list:
            if (among(kListMutators, name)) return unsafe(object, name);
            return bound(kListMethods, object, name);
        case Kind::tuple:
            if (object.as<SequenceObject>().group) {
                if (name == "grouper") return object.items()[0];
                if (name == "list") return object.items()[1];
            }
            return bound(kTupleMethods, object, name);
        case Kind::real:
            return bound(kRealMethods, object, name);
        case Kind::name_space:
            if (const Value* value = object.as<NamespaceObject>().find(name)) return *value;
            return std::nullopt;
        case Kind::loop:
            return loop_member(object, name);
        case Kind::cycler:
            if (name == "current") return object.as<CyclerObject>().items[object.as<CyclerObject>().position];
            return bound(kCyclerMethods, object, name);
        default:
            return std::nullopt;
    }
}

namespace {

// Python's object[key] for everything but slices; nothing where Python raises TypeError or LookupError.
std::optional<Value> element(Budget& budget, const Value& object, const Value& key) {
    if (object.is(Kind::dict)) {
        if (!hashable(key)) return std::nullopt;
        const Value* value = object.as<DictObject>().find(budget, key);
        return value == nullptr ? std::nullopt : std::optional<Value>(*value);
    }
    if (!key.is_integral()) return std::nullopt;
    const bool sequence =
        object.is(Kind::list) || object.is(Kind::tuple) || object.is(Kind::string) || object.is(Kind::range);
    if (!sequence) return std::nullopt;
    const auto length = static_cast<Integer>(*length_of(object));
    Integer index = key.as_integer();
    if (index < 0) index += length;
    if (index < 0 || index >= length) return std::nullopt;
    if (object.is(Kind::string)) {
        const std::string& bytes = object.bytes();
        const size_t begin = offset_of_character(bytes, static_cast<size_t>(index));
        size_t end = begin;
        next_code_point(bytes, end);
        return Value::string(object.text().slice(begin, end));
    }
    if (object.is(Kind::range)) {
        const auto& range = object.as<RangeObject>();
        return Value::integer(range.start + index * range.step).mark_content(object.content());
    }
    return object.items()[static_cast<size_t>(index)];
}

}  // namespace

Value get_attribute(Runtime&, const Value& object, std::string_view name) {
    if (std::optional<Value> value = get_member(object, name)) return *value;
    if (object.is(Kind::dict)) {
        if (const Value* value = object.as<DictObject>().find(name)) return *value;
    }
    return Value::undefined(fmt::format("'{} object' has no attribute '{}'", type_name(object), name));
}

Value get_item(Runtime& runtime, const Value& object, const Value& key) {
    if (object.is(Kind::undefined)) fault_undefined(object);
    if (object.is(Kind::string)) runtime.charge_bytes(object.bytes().size());
    if (std::optional<Value> value = element(runtime, object, key)) return *value;
    if (key.is(Kind::string)) {
        if (std::optional<Value> value = get_member(object, key.bytes())) return *value;
        return Value::undefined(fmt::format("'{} object' has no attribute '{}'", type_name(object), key.bytes()));
    }
    return Value::undefined(
        fmt::format("{} object has no element {}", type_name(object), repr_of(runtime, key).bytes()));
}

Value get_slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop, const Value& step) {
    if (object.is(Kind::undefined)) fault_undefined(object);
    const bool sequence =
        object.is(Kind::list) || object.is(Kind::tuple) || object.is(Kind::string) || object.is(Kind::range);
    if (!sequence) return Value::undefined(fmt::format("{} object has no element of a slice", type_name(object)));
    const auto length = static_cast<int64_t>(*length_of(object));
    const int64_t stride = step.is(Kind::none) ? 1 : to_int64(step, "step");
    if (stride == 0) fault("a slice needs a step other than 0");
    // As CPython's slice.indices: bounds are clamped to [0, length], or [-1, length - 1] when stepping back.
    const int64_t low = stride < 0 ? -1 : 0;
    const int64_t high = stride < 0 ? length - 1 : length;
    const auto clamp = [&](const Value& bound, int64_t fallback) {
        if (bound.is(Kind::none)) return fallback;
        int64_t value = to_int64(bound, "slice");
        if (value < 0) value = value < -length ? low : value + length;
        return std::clamp(value, low, std::max(low, high));
    };
    const int64_t first = clamp(start, stride < 0 ? high : low);
    const int64_t end = clamp(stop, stride < 0 ? low : high);
    if (object.is(Kind::string) && stride == 1) {
        const std::string& bytes = object.bytes();
        runtime.admit_bytes(bytes.size());
        if (first >= end) return Value::string(Text().with_markup(object.text().markup()));
        return Value::string(object.text().slice(offset_of_character(bytes, static_cast<size_t>(first)),
                                                 offset_of_character(bytes, static_cast<size_t>(end))));
    }
    const std::vector<Value> items = iterate(runtime, object);
    runtime.charge(items.size());
    std::vector<Value> picked;
    // A stride past the length would overflow the counter and picks one item at most anyway.
    const int64_t stride_in_bounds = std::clamp<int64_t>(stride, -length - 1, length + 1);
    for (int64_t i = first; stride < 0 ? i > end : i < end; i += stride_in_bounds)
        picked.push_back(items[static_cast<size_t>(i)]);
    if (object.is(Kind::string)) {
        Text text;
        for (const Value& item : picked) text.append(item.text());
        text.set_markup(object.text().markup());
        return Value::string(std::move(text));
    }
    Value result = object.is(Kind::tuple) ? Value::tuple(std::move(picked)) : Value::list(std::move(picked));
    return result.mark_content(object.content());
}

}  // namespace colugo::jinja
