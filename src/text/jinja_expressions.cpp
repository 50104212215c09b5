// The evaluator's expressions.
#include <algorithm>

#include "text/jinja_evaluator.h"
#include "text/jinja_evaluator_guards.h"
#include "text/jinja_fault.h"
#include "text/jinja_print.h"

namespace colugo::jinja {

Value Evaluator::eval(const Expression& node, Scope& scope) {
    const DepthGuard guard(*this);
    charge(1);
    current_ = node.offset;
    switch (node.kind) {
        case ExpressionKind::constant:
            return node.constant;
        case ExpressionKind::name:
            return eval_name(node, scope);
        case ExpressionKind::list:
        case ExpressionKind::tuple:
            return eval_items(node, scope);
        case ExpressionKind::dict:
            return eval_dict(node, scope);
        case ExpressionKind::negate:
            return negate(eval(*node.operands[0], scope));
        case ExpressionKind::plus:
            return plus(eval(*node.operands[0], scope));
        case ExpressionKind::logical_not:
            return Value::boolean(!truth(eval(*node.operands[0], scope)));
        case ExpressionKind::logical_and: {
            Value left = eval(*node.operands[0], scope);
            return truth(left) ? eval(*node.operands[1], scope) : left;
        }
        case ExpressionKind::logical_or: {
            Value left = eval(*node.operands[0], scope);
            return truth(left) ? left : eval(*node.operands[1], scope);
        }
        case ExpressionKind::arithmetic:
            return eval_arithmetic(node, scope);
        case ExpressionKind::comparison:
            return eval_comparison(node, scope);
        case ExpressionKind::concatenation:
            return eval_concatenation(node, scope);
        case ExpressionKind::conditional:
            return eval_conditional(node, scope);
        case ExpressionKind::attribute: {
            const Value object = eval(*node.operands[0], scope);
            current_ = node.offset;
            return get_attribute(*this, object, node.text);
        }
        case ExpressionKind::item:
            return eval_item(node, scope);
        case ExpressionKind::slice:
            return eval_slice(node, scope);
        case ExpressionKind::call:
            return eval_call(node, scope, nullptr);
        case ExpressionKind::filter:
            return eval_filter(node, scope, nullptr);
        case ExpressionKind::test:
            return eval_test(node, scope);
    }
    return {};
}

Value Evaluator::eval_name(const Expression& node, Scope& scope) {
    for (Scope* at = &scope; at != nullptr; at = at->parent) {
        if (const Value* value = at->find(node.name)) return *value;
    }
    return Value::undefined(fmt::format("'{}' is undefined", tree_.names[static_cast<size_t>(node.name)]));
}

Value Evaluator::eval_items(const Expression& node, Scope& scope) {
    std::vector<Value> items;
    items.reserve(node.operands.size());
    for (const ExpressionPtr& operand : node.operands) items.push_back(eval(*operand, scope));
    return node.kind == ExpressionKind::list ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

Value Evaluator::eval_dict(const Expression& node, Scope& scope) {
    std::vector<std::pair<Value, Value>> entries;
    for (size_t i = 0; i < node.operands.size(); i += 2) {
        Value key = eval(*node.operands[i], scope);
        current_ = node.operands[i]->offset;
        if (!hashable(key)) fault("a {} cannot be the key of a dict", type_name(key));
        Value value = eval(*node.operands[i + 1], scope);
        charge(entries.size());
        const auto found = std::find_if(entries.begin(), entries.end(),
                                        [&](const auto& entry) { return equals(*this, entry.first, key); });
        if (found != entries.end()) {
            found->second = std::move(value);
        } else {
            entries.emplace_back(std::move(key), std::move(value));
        }
    }
    return Value::dict(std::move(entries));
}

Value Evaluator::eval_arithmetic(const Expression& node, Scope& scope) {
    const Value left = eval(*node.operands[0], scope);
    const Value right = eval(*node.operands[1], scope);
    current_ = node.offset;
    return apply(*this, node.op, left, right);
}

Value Evaluator::eval_comparison(const Expression& node, Scope& scope) {
    Value left = eval(*node.operands[0], scope);
    for (size_t i = 0; i < node.comparisons.size(); ++i) {
        Value right = eval(*node.operands[i + 1], scope);
        current_ = node.offset;
        if (!compare(*this, node.comparisons[i], left, right)) return Value::boolean(false);
        left = std::move(right);
    }
    return Value::boolean(true);
}

Value Evaluator::eval_concatenation(const Expression& node, Scope& scope) {
    Text out;
    size_t counted = 0;
    for (const ExpressionPtr& operand : node.operands) {
        out.append(str_of(*this, eval(*operand, scope)));
        count_growth(out.size(), counted);
    }
    return Value::string(std::move(out));
}

Value Evaluator::eval_conditional(const Expression& node, Scope& scope) {
    if (truth(eval(*node.operands[0], scope))) return eval(*node.operands[1], scope);
    if (node.operands.size() > 2) return eval(*node.operands[2], scope);
    return Value::undefined("an inline if without else was false");
}

Value Evaluator::eval_item(const Expression& node, Scope& scope) {
    const Value object = eval(*node.operands[0], scope);
    const Value key = eval(*node.operands[1], scope);
    current_ = node.offset;
    return get_item(*this, object, key);
}

Value Evaluator::eval_slice(const Expression& node, Scope& scope) {
    const Value object = eval(*node.operands[0], scope);
    Value bounds[3];
    for (size_t i = 0; i < 3; ++i) {
        bounds[i] = node.operands[i + 1] == nullptr ? Value::none() : eval(*node.operands[i + 1], scope);
    }
    current_ = node.offset;
    return get_slice(*this, object, bounds[0], bounds[1], bounds[2]);
}

Value Evaluator::eval_call(const Expression& node, Scope& scope, const Value* caller) {
    const Value callee = eval(*node.operands[0], scope);
    Arguments arguments = eval_arguments(node.arguments, scope);
    if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
    current_ = node.operands[0]->offset;
    return call(callee, arguments);
}

// `block` is the text of a filter block, the input of the innermost filter.
Value Evaluator::eval_filter(const Expression& node, Scope& scope, const Value* block) {
    const Expression* operand = node.operands[0].get();
    Value input;
    if (operand == nullptr) {
        input = *block;
    } else if (block != nullptr && operand->kind == ExpressionKind::filter) {
        input = eval_filter(*operand, scope, block);
    } else {
        input = eval(*operand, scope);
    }
    const Arguments arguments = eval_arguments(node.arguments, scope);
    current_ = node.offset;
    if (input.is(Kind::string)) charge_bytes(input.bytes().size());
    return node.filter(*this, input, arguments);
}

Value Evaluator::eval_test(const Expression& node, Scope& scope) {
    const Value input = eval(*node.operands[0], scope);
    const Arguments arguments = eval_arguments(node.arguments, scope);
    current_ = node.offset;
    return Value::boolean(node.test(*this, input, arguments));
}

Arguments Evaluator::eval_arguments(const CallArguments& arguments, Scope& scope) {
    Arguments result;
    result.positional.reserve(arguments.positional.size());
    for (const ExpressionPtr& argument : arguments.positional) result.positional.push_back(eval(*argument, scope));
    for (const auto& [name, argument] : arguments.named) result.named.emplace_back(name, eval(*argument, scope));
    if (arguments.unpacked != nullptr) {
        for (Value& item : iterate(*this, eval(*arguments.unpacked, scope)))
            result.positional.push_back(std::move(item));
        charge(result.positional.size());
    }
    if (arguments.unpacked_named != nullptr) {
        const Value mapping = eval(*arguments.unpacked_named, scope);
        if (!mapping.is(Kind::dict)) fault("** needs a mapping, not a {}", type_name(mapping));
        for (const auto& [key, value] : mapping.as<DictObject>().entries) {
            if (!key.is(Kind::string)) fault("** needs a mapping with text keys, not {}", type_name(key));
            result.named.emplace_back(key.bytes(), value);
        }
    }
    return result;
}

}  // namespace colugo::jinja
