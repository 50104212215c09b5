// Runs a parsed template. One evaluator renders once; it owns what the run creates.
#pragma once

#include <ctime>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_ast.h"
#include "text/jinja_loop.h"

namespace colugo::jinja {

// Variables of one block. A macro keeps the scopes it was defined in alive, and sees what they hold when it is called.
struct Scope {
    explicit Scope(Scope* outer) : parent(outer) {}
    Scope* parent;
    std::vector<std::pair<int, Value>> variables;
    bool captured = false;

    Value* find(int name);
    void set(int name, Value value);
};

struct MacroObject : Object {
    const MacroSignature* signature = nullptr;
    const Body* body = nullptr;
    Scope* closure = nullptr;
};

class Evaluator final : public Runtime {
 public:
    Evaluator(const Template& tree, const RenderLimits& limits, std::time_t now);

    // Before render(). A name the template never mentions can be skipped.
    bool mentions(std::string_view name) const;
    void define(std::string_view name, Value value);

    // Throws Error: invalid_argument for a fault at run time or raise_exception, resource_exhausted for a limit.
    Text render();

    Value call(const Value& callee, const Arguments& arguments) override;
    Value make_namespace(std::vector<std::pair<std::string, Value>> attributes) override;
    std::time_t now() const override { return now_; }

 private:
    enum class Flow { next, break_loop, continue_loop };
    class DepthGuard;
    class ScopeGuard;
    class Capture;

    Flow run(const Body& body, Scope& scope);
    Flow run(const Statement& statement, Scope& scope);
    Flow run_branch(const Statement& statement, Scope& scope);
    Flow run_for(const Statement& statement, Scope& scope);
    Flow run_loop(const Statement& statement, std::vector<Value> items, Scope& scope, int nesting);
    Flow run_inner(const Body& body, Scope& scope);
    Value run_captured(const Body& body, Scope& scope);
    void run_assign_block(const Statement& statement, Scope& scope);
    void run_call_block(const Statement& statement, Scope& scope);
    void run_with(const Statement& statement, Scope& scope);
    void write(const Text& text);
    void assign(const Target& target, const Value& value, Scope& scope);
    void assign_attribute(const Target& target, const Value& value, Scope& scope);

    Value eval(const Expression& node, Scope& scope);
    Value eval_name(const Expression& node, Scope& scope);
    Value eval_items(const Expression& node, Scope& scope);
    Value eval_dict(const Expression& node, Scope& scope);
    Value eval_arithmetic(const Expression& node, Scope& scope);
    Value eval_comparison(const Expression& node, Scope& scope);
    Value eval_concatenation(const Expression& node, Scope& scope);
    Value eval_conditional(const Expression& node, Scope& scope);
    Value eval_item(const Expression& node, Scope& scope);
    Value eval_slice(const Expression& node, Scope& scope);
    Value eval_call(const Expression& node, Scope& scope, const Value* caller);
    Value eval_filter(const Expression& node, Scope& scope, const Value* block);
    Value eval_test(const Expression& node, Scope& scope);
    Arguments eval_arguments(const CallArguments& arguments, Scope& scope);

    Value make_macro(const MacroSignature& signature, const Body& body, Scope& scope);
    Value call_macro(const MacroObject& macro, const Arguments& arguments);
    void bind_parameters(const MacroObject& macro, const Arguments& arguments, Scope& scope);
    int find_name(std::string_view name) const;

    const Template& tree_;
    std::time_t now_;
    uint32_t current_ = 0;  // offset of what is being evaluated, for faults
    int depth_ = 0;
    Text* out_ = nullptr;
    size_t counted_ = 0;  // bytes of *out_ already charged
    int loop_name_;
    int caller_name_;
    int varargs_name_;
    int kwargs_name_;
    Scope root_;
    std::vector<std::unique_ptr<Scope>> kept_scopes_;
    std::vector<std::unique_ptr<MacroObject>> macros_;
    std::vector<std::unique_ptr<NamespaceObject>> namespaces_;
};

}  // namespace colugo::jinja
