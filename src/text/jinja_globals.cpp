// The functions every chat template can call.
#include <algorithm>
#include <ctime>
#include <limits>

#include "text/jinja_fault.h"
#include "text/jinja_print.h"
#include "text/jinja_runtime.h"

namespace colugo::jinja {
namespace {

constexpr size_t kMaxRange = 100'000;  // as jinja2's sandbox

Value range(Runtime& runtime, const Arguments& arguments) {
    const Parameters given("range", arguments, {"start", "stop", "step"}, 1);
    if (!arguments.named.empty()) fault("range() takes no named arguments");
    auto object = std::make_shared<RangeObject>();
    object->start = given.has(1) ? to_int64(given[0], "start") : 0;
    object->stop = to_int64(given[given.has(1) ? 1 : 0], "stop");
    object->step = given.integer(2, 1);
    constexpr int64_t kBound = std::numeric_limits<int64_t>::max() / 4;  // keeps start + i * step in range
    for (const int64_t bound : {object->start, object->stop, object->step}) {
        if (bound > kBound || bound < -kBound) fault("range() of {} is too large", bound);
    }
    if (object->step == 0) fault("range() needs a step other than 0");
    if (object->size() > kMaxRange) limit_fault("range() of {} items; {} are allowed", object->size(), kMaxRange);
    runtime.charge(1);
    Value result = Value::object(Kind::range, std::move(object));
    for (const Value& argument : arguments.positional) result.mark_content(argument.content());
    return result;
}

std::vector<std::pair<Value, Value>> dict_entries(Budget& budget, const Arguments& arguments, std::string_view name) {
    std::vector<std::pair<Value, Value>> entries;
    const auto put = [&](const Value& key, const Value& value) {
        if (!hashable(key)) fault("a {} cannot be the key of a dict", type_name(key));
        const auto found =
            std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return equals(budget, e.first, key); });
        if (found != entries.end()) {
            found->second = value;
        } else {
            entries.emplace_back(key, value);
        }
    };
    if (arguments.positional.size() > 1) fault("{}() takes at most one mapping", name);
    if (!arguments.positional.empty()) {
        const Value& source = arguments.positional[0];
        if (source.is(Kind::undefined)) fault_undefined(source);
        if (source.is(Kind::dict)) {
            entries = source.as<DictObject>().entries;
        } else {
            for (const Value& pair : iterate(budget, source)) {
                const std::vector<Value> parts = iterate(budget, pair);
                if (parts.size() != 2) fault("{}() needs pairs, not {} items", name, parts.size());
                put(parts[0], parts[1]);
            }
        }
    }
    for (const auto& [key, value] : arguments.named) put(Value::literal(key), value);
    return entries;
}

Value dict(Runtime& runtime, const Arguments& arguments) {
    auto entries = dict_entries(runtime, arguments, "dict");
    runtime.charge(entries.size());
    const bool content = !arguments.positional.empty() && arguments.positional[0].content();
    return Value::dict(std::move(entries)).mark_content(content);
}

Value name_space(Runtime& runtime, const Arguments& arguments) {
    std::vector<std::pair<std::string, Value>> attributes;
    for (auto& [key, value] : dict_entries(runtime, arguments, "namespace")) {
        if (!key.is(Kind::string)) fault("namespace() needs names, not a {}", type_name(key));
        if (key.bytes().starts_with('_'))
            fault("a namespace cannot hold '{}': names may not begin with _", key.bytes());
        attributes.emplace_back(key.bytes(), value);
    }
    return runtime.make_namespace(std::move(attributes));
}

Value cycler(Runtime&, const Arguments& arguments) {
    if (arguments.positional.empty()) fault("cycler() needs at least one item");
    auto object = std::make_shared<CyclerObject>();
    object->items = arguments.positional;
    object->depth = depth_over(object->items);
    return Value::object(Kind::cycler, std::move(object));
}

Value joiner(Runtime&, const Arguments& arguments) {
    const Parameters given("joiner", arguments, {"sep"});
    auto object = std::make_shared<JoinerObject>();
    object->separator = given.has(0) ? given[0] : Value::literal(", ");
    object->depth = depth_over(object->separator);
    return Value::object(Kind::joiner, std::move(object));
}

Value raise_exception(Runtime& runtime, const Arguments& arguments) {
    const Parameters given("raise_exception", arguments, {"message"}, 1);
    throw Fault(Fault::Cause::raised, str_of(runtime, given[0]).bytes());
}

Value strftime_now(Runtime& runtime, const Arguments& arguments) {
    const Parameters given("strftime_now", arguments, {"format"}, 1);
    if (!given[0].is(Kind::string)) fault("strftime_now() needs a text, not a {}", type_name(given[0]));
    const Text& format = given[0].text();
    if (format.size() > 1000) fault("the format of strftime_now() is longer than 1000 bytes");
    // datetime.now() has no time zone, so %z and %Z are empty; the clock has whole seconds.
    std::string pattern;
    for (size_t i = 0; i < format.size(); ++i) {
        const char c = format.bytes()[i];
        const char next = i + 1 < format.size() ? format.bytes()[i + 1] : '\0';
        if (c == '%' && next == 'f') {
            pattern += "000000";
            ++i;
        } else if (c == '%' && (next == 'z' || next == 'Z')) {
            ++i;
        } else if (c == '%' && next == '%') {
            pattern += "%%";
            ++i;
        } else {
            pattern += c;
        }
    }
    const std::time_t now = runtime.now();
    std::tm local{};
    localtime_r(&now, &local);
    pattern += '.';  // strftime says 0 for "nothing" and for "does not fit" alike
    std::string out(pattern.size() * 32 + 128, '\0');
    const size_t size = std::strftime(out.data(), out.size(), pattern.c_str(), &local);
    if (size == 0) fault("strftime_now() cannot format '{}'", format.bytes());
    out.resize(size - 1);
    return Value::string(Text(out, format.has_content()));
}

constexpr FunctionDefinition kGlobals[] = {
    {"cycler", cycler},
    {"dict", dict},
    {"joiner", joiner},
    {"namespace", name_space},
    {"range", range},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
};

}  // namespace

const FunctionDefinition* find_global(std::string_view name) {
    const auto* found = std::find_if(std::begin(kGlobals), std::end(kGlobals),
                                     [name](const FunctionDefinition& function) { return function.name == name; });
    return found == std::end(kGlobals) ? nullptr : found;
}

}  // namespace colugo::jinja
