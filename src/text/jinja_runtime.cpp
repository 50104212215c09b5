#include "text/jinja_runtime.h"

#include <algorithm>
#include <limits>

#include "text/jinja_fault.h"

namespace colugo::jinja {

Parameters::Parameters(std::string_view function, const Arguments& arguments,
                       std::initializer_list<std::string_view> names, size_t required)
    : function_(function), names_(names), values_(names.size(), nullptr) {
    if (arguments.positional.size() > names_.size()) {
        fault("{}() takes at most {} arguments, {} were given", function_, names_.size(), arguments.positional.size());
    }
    for (size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
    for (const auto& [name, value] : arguments.named) {
        const auto found = std::find(names_.begin(), names_.end(), name);
        if (found == names_.end()) fault("{}() has no argument '{}'", function_, name);
        const Value*& slot = values_[static_cast<size_t>(found - names_.begin())];
        if (slot != nullptr) fault("{}() was given '{}' twice", function_, name);
        slot = &value;
    }
    for (size_t i = 0; i < required; ++i) {
        if (values_[i] == nullptr) fault("{}() needs its argument '{}'", function_, names_[i]);
    }
}

const Value* Parameters::given(size_t index) const {
    return values_[index] == nullptr || values_[index]->is(Kind::none) ? nullptr : values_[index];
}

bool Parameters::flag(size_t index, bool fallback) const {
    return has(index) ? truth(*values_[index]) : fallback;
}

int64_t Parameters::integer(size_t index, int64_t fallback) const {
    return has(index) ? to_int64(*values_[index], names_[index]) : fallback;
}

int64_t to_int64(const Value& value, std::string_view what) {
    if (value.is(Kind::undefined)) fault_undefined(value);
    if (!value.is_integral()) fault("'{}' must be an integer, not a {}", what, type_name(value));
    const Integer integer = value.as_integer();
    if (integer < std::numeric_limits<int64_t>::min() || integer > std::numeric_limits<int64_t>::max()) {
        fault("'{}' does not fit 64 bits", what);
    }
    return static_cast<int64_t>(integer);
}

void fault_undefined(const Value& undefined) {
    if (undefined.identity() == nullptr) fault("the value is undefined");
    fault("{}", undefined.as<UndefinedObject>().why);
}

}  // namespace colugo::jinja
