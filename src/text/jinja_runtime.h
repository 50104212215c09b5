// What a builtin may ask of the running template, and how it reads the arguments of its call.
#pragma once

#include <ctime>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_budget.h"
#include "text/jinja_value.h"

namespace colugo::jinja {

struct Arguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> named;
};

class Runtime : public Budget {
 public:
    using Budget::Budget;
    virtual ~Runtime() = default;

    virtual Value call(const Value& callee, const Arguments& arguments) = 0;
    virtual Value make_namespace(std::vector<std::pair<std::string, Value>> attributes) = 0;
    virtual std::time_t now() const = 0;  // seconds since 1970
};

struct FunctionDefinition {
    std::string_view name;
    Value (*call)(Runtime&, const Arguments&);
};

struct MethodDefinition {
    std::string_view name;
    Value (*call)(Runtime&, const Value& self, const Arguments&);
};

// Binds the arguments of a call to parameter names as Python does; faults on too many, unknown, doubled or missing
// ones.
class Parameters {
 public:
    Parameters(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> names,
               size_t required = 0);

    bool has(size_t index) const { return values_[index] != nullptr; }
    const Value& operator[](size_t index) const { return *values_[index]; }
    // The value, unless it was not given or is None.
    const Value* given(size_t index) const;
    bool flag(size_t index, bool fallback) const;
    int64_t integer(size_t index, int64_t fallback) const;

 private:
    std::string_view function_;
    std::vector<std::string_view> names_;
    std::vector<const Value*> values_;
};

int64_t to_int64(const Value& value, std::string_view what);  // faults unless an integer of 64 bits

// Members and items (jinja_lookup.cpp): obj.name prefers the attribute, obj[key] the item, as jinja2's sandbox does.
std::optional<Value> get_member(const Value& object, std::string_view name);  // the attribute alone
Value get_attribute(Runtime& runtime, const Value& object, std::string_view name);
Value get_item(Runtime& runtime, const Value& object, const Value& key);
Value get_slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop, const Value& step);
[[noreturn]] void fault_undefined(const Value& undefined);

// Tables; nullptr when there is no such name.
const MethodDefinition* find_string_method(std::string_view name);
const FunctionDefinition* find_global(std::string_view name);

using Filter = Value (*)(Runtime&, const Value& input, const Arguments&);
using Test = bool (*)(Runtime&, const Value& input, const Arguments&);
struct FilterDefinition {
    std::string_view name;
    Filter call;
};
Filter find_filter(std::string_view name);
Filter find_sequence_filter(std::string_view name);  // of jinja_sequence_filters.cpp; find_filter asks it too
Test find_test(std::string_view name);

}  // namespace colugo::jinja
