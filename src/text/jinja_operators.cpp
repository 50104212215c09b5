#include "text/jinja_operators.h"

#include <algorithm>
#include <cmath>

#include "text/jinja_fault.h"
#include "text/jinja_print.h"

namespace colugo::jinja {
namespace {

const char* symbol(Operator op) {
    switch (op) {
        case Operator::add:
            return "+";
        case Operator::subtract:
            return "-";
        case Operator::multiply:
            return "*";
        case Operator::divide:
            return "/";
        case Operator::floor_divide:
            return "//";
        case Operator::modulo:
            return "%";
        case Operator::power:
            return "**";
    }
    return "?";
}

[[noreturn]] void fault_types(Operator op, const Value& left, const Value& right) {
    for (const Value* side : {&left, &right}) {
        if (side->is(Kind::undefined)) fault_undefined(*side);
    }
    fault("'{}' and '{}' cannot be combined with {}", type_name(left), type_name(right), symbol(op));
}

[[noreturn]] void fault_range() {
    fault("the result of an integer operation is too large");
}

Integer floor_divide(Integer a, Integer b) {
    const Integer quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

double modulo(double a, double b) {
    double remainder = std::fmod(a, b);
    if (remainder != 0) {
        if ((b < 0) != (remainder < 0)) remainder += b;
    } else {
        remainder = std::copysign(0.0, b);
    }
    return remainder;
}

// As CPython: from the exact remainder, so that a == (a // b) * b + a % b stays as true as it can.
double floor_divide(double a, double b) {
    const double quotient = (a - modulo(a, b)) / b;
    if (quotient == 0) return std::copysign(0.0, a / b);
    const double floored = std::floor(quotient);
    return quotient - floored > 0.5 ? floored + 1 : floored;
}

Value power(Integer base, Integer exponent) {
    if (exponent < 0) {
        if (base == 0) fault("0 cannot be raised to a negative power");
        return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
    }
    Integer result = 1;
    while (exponent > 0) {
        if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) fault_range();
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) fault_range();
    }
    return Value::integer(result);
}

Value integer_operation(Operator op, Integer a, Integer b) {
    Integer result = 0;
    bool overflow = false;
    switch (op) {
        case Operator::add:
            overflow = __builtin_add_overflow(a, b, &result);
            break;
        case Operator::subtract:
            overflow = __builtin_sub_overflow(a, b, &result);
            break;
        case Operator::multiply:
            overflow = __builtin_mul_overflow(a, b, &result);
            break;
        case Operator::divide:
            if (b == 0) fault("division by zero");
            return Value::real(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
        case Operator::floor_divide:
            if (b == 0) fault("division by zero");
            if (b == -1) return integer_operation(Operator::subtract, 0, a);
            result = floor_divide(a, b);
            break;
        case Operator::modulo:
            if (b == 0) fault("division by zero");
            result = b == -1 ? 0 : a - floor_divide(a, b) * b;
            break;
        case Operator::power:
            return power(a, b);
    }
    if (overflow) fault_range();
    return Value::integer(result);
}

Value real_operation(Operator op, double a, double b) {
    switch (op) {
        case Operator::add:
            return Value::real(a + b);
        case Operator::subtract:
            return Value::real(a - b);
        case Operator::multiply:
            return Value::real(a * b);
        case Operator::power:
            if (a < 0 && b != std::floor(b)) fault("a negative number has no real power of {}", format_real(b));
            if (a == 0 && b < 0) fault("0 cannot be raised to a negative power");
            return Value::real(std::pow(a, b));
        default:
            break;
    }
    if (b == 0) fault("division by zero");
    if (op == Operator::divide) return Value::real(a / b);
    return Value::real(op == Operator::modulo ? modulo(a, b) : floor_divide(a, b));
}

Value concatenate(Runtime& runtime, const Value& left, const Value& right) {
    if (left.is(Kind::string)) {
        const bool markup = left.text().markup() || right.text().markup();
        runtime.admit_bytes(left.bytes().size() + right.bytes().size());
        Text result = markup && !left.text().markup() ? escape_html(left.text()) : left.text();
        result.append(markup && !right.text().markup() ? escape_html(right.text()) : right.text());
        result.set_markup(markup);
        return Value::string(std::move(result));
    }
    std::vector<Value> items = left.items();
    runtime.charge(items.size() + right.items().size());
    items.insert(items.end(), right.items().begin(), right.items().end());
    Value result = left.is(Kind::list) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
    return result.mark_content(left.content() || right.content());
}

bool repeatable(const Value& value) {
    return value.is(Kind::string) || value.is(Kind::list) || value.is(Kind::tuple);
}

Value repeat(Runtime& runtime, const Value& value, const Value& count) {
    const int64_t times = std::max<int64_t>(0, to_int64(count, "count"));
    const size_t unit = value.is(Kind::string) ? value.bytes().size() : value.items().size() * sizeof(Value);
    if (unit != 0 && static_cast<uint64_t>(times) > runtime.limits().bytes / unit) {
        limit_fault("a text or list repeated {} times would take more than {} bytes", times, runtime.limits().bytes);
    }
    runtime.admit_bytes(unit * static_cast<size_t>(times));
    if (value.is(Kind::string)) {
        Text result;
        if (unit != 0) {
            for (int64_t i = 0; i < times; ++i) result.append(value.text());
        }
        result.set_markup(value.text().markup());
        return Value::string(std::move(result));
    }
    std::vector<Value> items;
    if (unit != 0) {
        for (int64_t i = 0; i < times; ++i) items.insert(items.end(), value.items().begin(), value.items().end());
    }
    Value result = value.is(Kind::list) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
    return result.mark_content(value.content());
}

}  // namespace

Value apply(Runtime& runtime, Operator op, const Value& left, const Value& right) {
    if (left.is_number() && right.is_number()) {
        Value result = left.is_integral() && right.is_integral()
                           ? integer_operation(op, left.as_integer(), right.as_integer())
                           : real_operation(op, left.as_double(), right.as_double());
        return result.mark_content(left.content() || right.content());
    }
    if (op == Operator::add && left.kind() == right.kind() && repeatable(left))
        return concatenate(runtime, left, right);
    if (op == Operator::multiply && repeatable(left) && right.is_integral()) return repeat(runtime, left, right);
    if (op == Operator::multiply && repeatable(right) && left.is_integral()) return repeat(runtime, right, left);
    if (op == Operator::modulo && left.is(Kind::string)) {
        return format_percent(runtime, left.text(), right);
    }
    fault_types(op, left, right);
}

bool compare(Runtime& runtime, Comparison op, const Value& left, const Value& right) {
    switch (op) {
        case Comparison::equal:
            return equals(runtime, left, right);
        case Comparison::not_equal:
            return !equals(runtime, left, right);
        case Comparison::less:
            return less(runtime, left, right);
        case Comparison::greater:
            return less(runtime, right, left);
        case Comparison::less_equal:
            return less(runtime, left, right) || equals(runtime, left, right);
        case Comparison::greater_equal:
            return less(runtime, right, left) || equals(runtime, left, right);
        case Comparison::in:
            return contains(runtime, right, left);
        case Comparison::not_in:
            return !contains(runtime, right, left);
    }
    return false;
}

Value negate(const Value& value) {
    if (value.is(Kind::undefined)) fault_undefined(value);
    if (!value.is_number()) fault("a {} has no negative", type_name(value));
    Value result = value.is_integral() ? integer_operation(Operator::subtract, 0, value.as_integer())
                                       : Value::real(-value.as_double());
    return result.mark_content(value.content());
}

Value plus(const Value& value) {
    if (value.is(Kind::undefined)) fault_undefined(value);
    if (!value.is_number()) fault("unary + needs a number, not a {}", type_name(value));
    Value result = value.is_integral() ? Value::integer(value.as_integer()) : value;
    return result.mark_content(value.content());
}

bool contains(Runtime& runtime, const Value& container, const Value& item) {
    switch (container.kind()) {
        case Kind::string:
            if (item.is(Kind::undefined)) fault_undefined(item);
            if (!item.is(Kind::string)) fault("'in' a text needs a text on its left, not a {}", type_name(item));
            runtime.charge_bytes(container.bytes().size());
            return container.bytes().find(item.bytes()) != std::string::npos;
        case Kind::dict:
            return container.as<DictObject>().find(runtime, item) != nullptr;
        case Kind::iterator: {
            auto& iterator = container.as<IteratorObject>();
            while (iterator.next < iterator.items.size()) {
                runtime.charge(1);
                if (equals(runtime, iterator.items[iterator.next++], item)) return true;
            }
            return false;
        }
        case Kind::list:
        case Kind::tuple:
        case Kind::view:
            runtime.charge(container.items().size());
            return std::any_of(container.items().begin(), container.items().end(),
                               [&](const Value& candidate) { return equals(runtime, candidate, item); });
        default: {
            const std::vector<Value> items = iterate(runtime, container);
            runtime.charge(items.size());
            return std::any_of(items.begin(), items.end(),
                               [&](const Value& candidate) { return equals(runtime, candidate, item); });
        }
    }
}

Text escape_html(const Text& text) {
    if (text.markup()) return text;
    Text result;
    const std::string& bytes = text.bytes();
    size_t plain = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
        std::string_view escaped;
        switch (bytes[i]) {
            case '&':
                escaped = "&amp;";
                break;
            case '<':
                escaped = "&lt;";
                break;
            case '>':
                escaped = "&gt;";
                break;
            case '\'':
                escaped = "&#39;";
                break;
            case '"':
                escaped = "&#34;";
                break;
            default:
                continue;
        }
        result.append(text, plain, i);
        result.append(escaped, text.content_at(i));
        plain = i + 1;
    }
    result.append(text, plain, bytes.size());
    result.set_markup(true);
    return result;
}

}  // namespace colugo::jinja
