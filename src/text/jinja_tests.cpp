// The tests of `x is test`, which select and its siblings call by name too.
#include <algorithm>

#include "text/jinja_fault.h"
#include "text/jinja_operators.h"
#include "text/jinja_print.h"
#include "text/jinja_text_functions.h"

namespace colugo::jinja {
namespace {

struct TestDefinition {
    std::string_view name;
    Test call;
};

void refuse_arguments(const Arguments& arguments) {
    Parameters("the test", arguments, {});
}

Value remainder(Runtime& runtime, const Value& input, const Value& divisor) {
    return apply(runtime, Operator::modulo, input, divisor);
}

bool is_odd(Runtime& r, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    return equals(r, remainder(r, i, Value::integer(2)), Value::integer(1));
}
bool is_even(Runtime& r, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    return equals(r, remainder(r, i, Value::integer(2)), Value::integer(0));
}
bool is_divisible(Runtime& r, const Value& i, const Arguments& a) {
    const Parameters given("divisibleby", a, {"num"}, 1);
    return equals(r, remainder(r, i, given[0]), Value::integer(0));
}

template <Comparison op>
bool is_compared(Runtime& r, const Value& i, const Arguments& a) {
    const Parameters given("a comparison test", a, {"other"}, 1);
    return compare(r, op, i, given[0]);
}

template <Kind kind>
bool is_kind(Runtime&, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    return i.is(kind);
}

bool is_defined(Runtime&, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    return !i.is(Kind::undefined);
}
bool is_true(Runtime&, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    return i.is(Kind::boolean) && i.as_boolean();
}
bool is_false(Runtime&, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    return i.is(Kind::boolean) && !i.as_boolean();
}
bool is_number(Runtime&, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    return i.is_number();
}
bool is_iterable(Runtime&, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    return iterable(i);
}
bool is_escaped(Runtime&, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    return i.is(Kind::string) && i.text().markup();
}
bool is_lower(Runtime& r, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    return has_only_case(str_of(r, i).bytes(), false);
}
bool is_upper(Runtime& r, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    return has_only_case(str_of(r, i).bytes(), true);
}

bool is_sequence(Runtime&, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    return length_of(i).has_value() && !i.is(Kind::view);
}

bool is_callable(Runtime&, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    switch (i.kind()) {
        case Kind::undefined:
        case Kind::loop:
        case Kind::macro:
        case Kind::function:
        case Kind::method:
        case Kind::joiner:
            return true;
        default:
            return false;
    }
}

// Python's `is`: exact for None and booleans; for the rest, the same object or the same small integer.
bool is_same(Runtime&, const Value& i, const Arguments& a) {
    const Parameters given("sameas", a, {"other"}, 1);
    const Value& other = given[0];
    if (i.kind() != other.kind()) return false;
    if (i.is(Kind::none)) return true;
    if (i.is_integral()) return i.as_integer() == other.as_integer();
    if (i.is(Kind::real)) return false;
    return i.identity() == other.identity() && i.identity() != nullptr;
}

bool is_filter(Runtime&, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    // from_json is ours alone: a template that asks first must hear what jinja2 would say.
    return i.is(Kind::string) && find_filter(i.bytes()) != nullptr && i.bytes() != "from_json" &&
           i.bytes() != "fromjson";
}
bool is_test(Runtime&, const Value& i, const Arguments& a) {
    refuse_arguments(a);
    return i.is(Kind::string) && find_test(i.bytes()) != nullptr;
}

constexpr TestDefinition kTests[] = {
    {"!=", is_compared<Comparison::not_equal>},
    {"<", is_compared<Comparison::less>},
    {"<=", is_compared<Comparison::less_equal>},
    {"==", is_compared<Comparison::equal>},
    {">", is_compared<Comparison::greater>},
    {">=", is_compared<Comparison::greater_equal>},
    {"boolean", is_kind<Kind::boolean>},
    {"callable", is_callable},
    {"defined", is_defined},
    {"divisibleby", is_divisible},
    {"eq", is_compared<Comparison::equal>},
    {"equalto", is_compared<Comparison::equal>},
    {"escaped", is_escaped},
    {"even", is_even},
    {"false", is_false},
    {"filter", is_filter},
    {"float", is_kind<Kind::real>},
    {"ge", is_compared<Comparison::greater_equal>},
    {"greaterthan", is_compared<Comparison::greater>},
    {"gt", is_compared<Comparison::greater>},
    {"in", is_compared<Comparison::in>},
    {"integer", is_kind<Kind::integer>},
    {"iterable", is_iterable},
    {"le", is_compared<Comparison::less_equal>},
    {"lessthan", is_compared<Comparison::less>},
    {"lower", is_lower},
    {"lt", is_compared<Comparison::less>},
    {"mapping", is_kind<Kind::dict>},
    {"ne", is_compared<Comparison::not_equal>},
    {"none", is_kind<Kind::none>},
    {"number", is_number},
    {"odd", is_odd},
    {"sameas", is_same},
    {"sequence", is_sequence},
    {"string", is_kind<Kind::string>},
    {"test", is_test},
    {"true", is_true},
    {"undefined", is_kind<Kind::undefined>},
    {"upper", is_upper},
};

}  // namespace

Test find_test(std::string_view name) {
    const auto* found = std::find_if(std::begin(kTests), std::end(kTests),
                                     [name](const TestDefinition& test) { return test.name == name; });
    return found == std::end(kTests) ? nullptr : found->call;
}

}  // namespace colugo::jinja
