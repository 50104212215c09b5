#include "text/jinja_evaluator.h"

#include <algorithm>

#include "base/error.h"
#include "text/jinja_evaluator_guards.h"
#include "text/jinja_fault.h"
#include "text/jinja_lexer.h"
#include "text/jinja_print.h"

namespace colugo::jinja {

Value* Scope::find(int name) {
    for (auto& [id, value] : variables) {
        if (id == name) return &value;
    }
    return nullptr;
}

void Scope::set(int name, Value value) {
    if (Value* slot = find(name)) {
        *slot = std::move(value);
    } else {
        variables.emplace_back(name, std::move(value));
    }
}

Evaluator::Evaluator(const Template& tree, const RenderLimits& limits, std::time_t now)
    : Runtime(limits),
      tree_(tree),
      now_(now),
      loop_name_(find_name("loop")),
      caller_name_(find_name("caller")),
      varargs_name_(find_name("varargs")),
      kwargs_name_(find_name("kwargs")),
      root_(nullptr) {
    for (size_t i = 0; i < tree_.names.size(); ++i) {
        if (const FunctionDefinition* function = find_global(tree_.names[i])) {
            root_.set(static_cast<int>(i), Value::function(function));
        }
    }
}

int Evaluator::find_name(std::string_view name) const {
    const auto found = std::find(tree_.names.begin(), tree_.names.end(), name);
    return found == tree_.names.end() ? -1 : static_cast<int>(found - tree_.names.begin());
}

bool Evaluator::mentions(std::string_view name) const {
    return find_name(name) >= 0;
}

void Evaluator::define(std::string_view name, Value value) {
    if (const int id = find_name(name); id >= 0) root_.set(id, std::move(value));
}

Text Evaluator::render() {
    Text out;
    out_ = &out;
    try {
        run(tree_.body, root_);
    } catch (const Fault& problem) {
        if (problem.cause() == Fault::Cause::raised) {
            fail(ErrorCode::invalid_argument, "the chat template refuses the request: {}", problem.what());
        }
        const ErrorCode code =
            problem.cause() == Fault::Cause::limit ? ErrorCode::resource_exhausted : ErrorCode::invalid_argument;
        fail(code, "chat template, {}: {}", describe_position(tree_.source, current_), problem.what());
    }
    return out;
}

Value Evaluator::make_namespace(std::vector<std::pair<std::string, Value>> attributes) {
    charge(attributes.size() + 1);
    namespaces_.push_back(std::make_unique<NamespaceObject>());
    namespaces_.back()->attributes = std::move(attributes);
    // Values only borrow it: namespaces may refer to each other, and owning pointers would form a cycle.
    return Value::object(Kind::name_space,
                         std::shared_ptr<Object>(std::shared_ptr<Object>(), namespaces_.back().get()));
}

// ---- statements ----------------------------------------------------------------------------------------------------

Evaluator::Flow Evaluator::run(const Body& body, Scope& scope) {
    for (const StatementPtr& statement : body) {
        const Flow flow = run(*statement, scope);
        if (flow != Flow::next) return flow;
    }
    return Flow::next;
}

Evaluator::Flow Evaluator::run_inner(const Body& body, Scope& scope) {
    ScopeGuard inner(*this, scope);
    return run(body, inner.scope());
}

Evaluator::Flow Evaluator::run(const Statement& statement, Scope& scope) {
    const DepthGuard guard(*this);
    charge(1);
    current_ = statement.offset;
    switch (statement.kind) {
        case StatementKind::text:
            write(statement.text);
            break;
        case StatementKind::output:
            for (const ExpressionPtr& expression : statement.expressions)
                write(str_of(*this, eval(*expression, scope)));
            break;
        case StatementKind::branch:
            return run_branch(statement, scope);
        case StatementKind::loop:
            return run_for(statement, scope);
        case StatementKind::assign:
            assign(statement.targets[0], eval(*statement.expressions[0], scope), scope);
            break;
        case StatementKind::assign_block:
            run_assign_block(statement, scope);
            break;
        case StatementKind::macro:
            scope.set(statement.targets[0].name, make_macro(statement.signature, statement.bodies[0], scope));
            break;
        case StatementKind::call_block:
            run_call_block(statement, scope);
            break;
        case StatementKind::filter_block: {
            const Value block = run_captured(statement.bodies[0], scope);
            write(str_of(*this, eval_filter(*statement.filter, scope, &block)));
            break;
        }
        case StatementKind::with:
            run_with(statement, scope);
            break;
        case StatementKind::scope:
            return run_inner(statement.bodies[0], scope);
        case StatementKind::break_loop:
            return Flow::break_loop;
        case StatementKind::continue_loop:
            return Flow::continue_loop;
    }
    return Flow::next;
}

void Evaluator::write(const Text& text) {
    if (out_->size() + text.size() > limits().bytes) limit_fault("the text grows past {} bytes", limits().bytes);
    charge_bytes(text.size());
    out_->append(text);
}

Value Evaluator::run_captured(const Body& body, Scope& scope) {
    Capture capture(*this);
    run_inner(body, scope);
    return Value::string(capture.take());
}

Evaluator::Flow Evaluator::run_branch(const Statement& statement, Scope& scope) {
    for (size_t i = 0; i < statement.expressions.size(); ++i) {
        if (truth(eval(*statement.expressions[i], scope))) return run(statement.bodies[i], scope);
    }
    return statement.otherwise ? run(*statement.otherwise, scope) : Flow::next;
}

Evaluator::Flow Evaluator::run_for(const Statement& statement, Scope& scope) {
    const Value iterable = eval(*statement.expressions[0], scope);
    current_ = statement.expressions[0]->offset;
    return run_loop(statement, iterate(*this, iterable), scope, 0);
}

Evaluator::Flow Evaluator::run_loop(const Statement& statement, std::vector<Value> items, Scope& scope, int nesting) {
    charge(items.size());
    std::function<bool(const Value&)> accept;
    if (statement.condition != nullptr) {
        accept = [this, &statement, &scope](const Value& item) {
            ScopeGuard inner(*this, scope);
            assign(statement.targets[0], item, inner.scope());
            return truth(eval(*statement.condition, inner.scope()));
        };
    }
    auto loop = std::make_shared<LoopObject>(std::move(items), std::move(accept), nesting);
    const LoopFinisher finisher(*loop);
    if (statement.recursive) {
        loop->render = [this, &statement, &scope, nesting](const Value& iterable) {
            Capture capture(*this);
            run_loop(statement, iterate(*this, iterable), scope, nesting + 1);
            return Value::string(capture.take());
        };
    }
    bool any_completed = false;
    while (loop->advance()) {
        ScopeGuard inner(*this, scope);
        current_ = statement.offset;
        assign(statement.targets[0], loop->current(), inner.scope());
        if (loop_name_ >= 0) inner.scope().set(loop_name_, Value::object(Kind::loop, loop));
        const Flow flow = run(statement.bodies[0], inner.scope());
        if (flow == Flow::break_loop) break;
        // As in jinja2, an iteration that ends by continue does not keep the else branch from running.
        any_completed = any_completed || flow == Flow::next;
    }
    if (!any_completed && statement.otherwise) return run_inner(*statement.otherwise, scope);
    return Flow::next;
}

void Evaluator::run_assign_block(const Statement& statement, Scope& scope) {
    Value block = run_captured(statement.bodies[0], scope);
    if (statement.filter != nullptr) {
        const Value input = std::move(block);
        block = eval_filter(*statement.filter, scope, &input);
    }
    assign(statement.targets[0], block, scope);
}

void Evaluator::run_call_block(const Statement& statement, Scope& scope) {
    const Value caller = make_macro(statement.signature, statement.bodies[0], scope);
    write(str_of(*this, eval_call(*statement.expressions[0], scope, &caller)));
}

void Evaluator::run_with(const Statement& statement, Scope& scope) {
    ScopeGuard inner(*this, scope);
    for (size_t i = 0; i < statement.targets.size(); ++i) {
        assign(statement.targets[i], eval(*statement.expressions[i], scope), inner.scope());
    }
    run(statement.bodies[0], inner.scope());
}

void Evaluator::assign(const Target& target, const Value& value, Scope& scope) {
    switch (target.kind) {
        case Target::Kind::name:
            scope.set(target.name, value);
            break;
        case Target::Kind::attribute:
            assign_attribute(target, value, scope);
            break;
        case Target::Kind::tuple: {
            current_ = target.offset;
            const std::vector<Value> items = iterate(*this, value);
            if (items.size() != target.items.size()) {
                fault("cannot unpack {} values into {} names", items.size(), target.items.size());
            }
            for (size_t i = 0; i < items.size(); ++i) assign(target.items[i], items[i], scope);
            break;
        }
    }
}

void Evaluator::assign_attribute(const Target& target, const Value& value, Scope& scope) {
    current_ = target.offset;
    Value* holder = nullptr;
    for (Scope* at = &scope; at != nullptr && holder == nullptr; at = at->parent) holder = at->find(target.name);
    if (holder == nullptr || !holder->is(Kind::name_space)) {
        fault("'{}' is not a namespace, so '{}' cannot be set on it", tree_.names[static_cast<size_t>(target.name)],
              target.attribute);
    }
    if (target.attribute.starts_with('_'))
        fault("a namespace cannot hold '{}': names may not begin with _", target.attribute);
    auto& space = holder->as<NamespaceObject>();
    if (Value* slot = space.find(target.attribute)) {
        *slot = value;
    } else {
        space.attributes.emplace_back(target.attribute, value);
    }
}

// ---- calls ---------------------------------------------------------------------------------------------------------

Value Evaluator::make_macro(const MacroSignature& signature, const Body& body, Scope& scope) {
    for (Scope* at = &scope; at != nullptr; at = at->parent) at->captured = true;
    charge(10);
    macros_.push_back(std::make_unique<MacroObject>());
    MacroObject& macro = *macros_.back();
    macro.signature = &signature;
    macro.body = &body;
    macro.closure = &scope;
    return Value::object(Kind::macro, std::shared_ptr<Object>(std::shared_ptr<Object>(), &macro));
}

Value Evaluator::call(const Value& callee, const Arguments& arguments) {
    const DepthGuard guard(*this);
    switch (callee.kind()) {
        case Kind::undefined:
            fault_undefined(callee);
        case Kind::function:
            return callee.as<FunctionObject>().definition->call(*this, arguments);
        case Kind::method: {
            const auto& method = callee.as<MethodObject>();
            if (method.self.is(Kind::string)) charge_bytes(method.self.bytes().size());
            return method.definition->call(*this, method.self, arguments);
        }
        case Kind::macro:
            return call_macro(callee.as<MacroObject>(), arguments);
        case Kind::joiner: {
            auto& joiner = callee.as<JoinerObject>();
            return std::exchange(joiner.used, true) ? joiner.separator : Value::literal("");
        }
        case Kind::loop: {
            const auto render = callee.as<LoopObject>().render;
            if (!render) fault("only a loop marked recursive, while it runs, can be called");
            return render(Parameters("loop", arguments, {"iterable"}, 1)[0]);
        }
        default:
            fault("'{}' object is not callable", type_name(callee));
    }
}

Value Evaluator::call_macro(const MacroObject& macro, const Arguments& arguments) {
    ScopeGuard inner(*this, *macro.closure);
    bind_parameters(macro, arguments, inner.scope());
    Capture capture(*this);
    run(*macro.body, inner.scope());
    return Value::string(capture.take());
}

void Evaluator::bind_parameters(const MacroObject& macro, const Arguments& arguments, Scope& scope) {
    const MacroSignature& signature = *macro.signature;
    const size_t count = signature.parameters.size();
    const size_t positional = std::min(count, arguments.positional.size());
    for (size_t i = 0; i < positional; ++i) scope.set(signature.parameters[i].first, arguments.positional[i]);
    std::vector<std::pair<Value, Value>> rest;
    bool has_caller = false;
    for (const auto& [name, value] : arguments.named) {
        const auto found = std::find_if(signature.parameters.begin(), signature.parameters.end(),
                                        [&name = name](const auto& parameter) { return parameter.second == name; });
        if (found != signature.parameters.end() &&
            static_cast<size_t>(found - signature.parameters.begin()) >= positional) {
            scope.set(found->first, value);
        } else if (name == "caller" && signature.uses_caller) {
            scope.set(caller_name_, value);
            has_caller = true;
        } else if (signature.uses_kwargs) {
            rest.emplace_back(Value::literal(name), value);
        } else {
            fault("macro '{}' takes no keyword argument '{}'", signature.name, name);
        }
    }
    if (arguments.positional.size() > count && !signature.uses_varargs) {
        fault("macro '{}' takes not more than {} arguments", signature.name, count);
    }
    const auto is_parameter = [&signature](std::string_view name) {
        return std::any_of(signature.parameters.begin(), signature.parameters.end(),
                           [name](const auto& parameter) { return parameter.second == name; });
    };
    if (signature.uses_caller && !has_caller && !is_parameter("caller")) {
        scope.set(caller_name_, Value::undefined("No caller defined"));
    }
    if (signature.uses_kwargs && !is_parameter("kwargs")) scope.set(kwargs_name_, Value::dict(std::move(rest)));
    if (signature.uses_varargs && !is_parameter("varargs")) {
        scope.set(varargs_name_, Value::tuple({arguments.positional.begin() + static_cast<std::ptrdiff_t>(positional),
                                               arguments.positional.end()}));
    }
    const size_t first_default = count - signature.defaults.size();
    for (size_t i = positional; i < count; ++i) {
        const auto& [id, name] = signature.parameters[i];
        if (scope.find(id) != nullptr) continue;
        scope.set(id, i >= first_default ? eval(*signature.defaults[i - first_default], scope)
                                         : Value::undefined(fmt::format("parameter '{}' was not provided", name)));
    }
}

}  // namespace colugo::jinja
