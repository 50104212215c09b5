// The tree of a parsed template.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja_operators.h"

namespace colugo::jinja {

enum class ExpressionKind : uint8_t {
    constant,
    name,
    list,
    tuple,
    dict,
    negate,
    plus,
    logical_not,
    logical_and,
    logical_or,
    arithmetic,
    comparison,
    concatenation,
    conditional,
    attribute,
    item,
    slice,
    call,
    filter,
    test,
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArguments {
    std::vector<ExpressionPtr> positional;
    std::vector<std::pair<std::string, ExpressionPtr>> named;
    ExpressionPtr unpacked;        // *args
    ExpressionPtr unpacked_named;  // **kwargs
};

// One node for every kind: what a kind does not use stays empty.
struct Expression {
    ExpressionKind kind;
    uint32_t offset;  // of its first token, or of its operator
    int depth = 1;

    Value constant;                       // constant
    int name = -1;                        // name: index into Template::names
    std::string text;                     // attribute, filter, test: its name
    std::vector<ExpressionPtr> operands;  // in reading order; a filter block's filter has no first operand
    std::vector<Comparison> comparisons;  // comparison: operands.size() - 1 of them
    Operator op = Operator::add;          // arithmetic
    CallArguments arguments;              // call, filter, test
    Filter filter = nullptr;
    Test test = nullptr;
};

enum class StatementKind : uint8_t {
    text,
    output,
    branch,
    loop,
    assign,
    assign_block,
    macro,
    call_block,
    filter_block,
    with,
    scope,  // {% generation %}: its own variables, nothing else
    break_loop,
    continue_loop,
};

// What an assignment or a for loop writes to.
struct Target {
    enum class Kind : uint8_t { name, attribute, tuple } kind = Kind::name;
    int name = -1;
    std::string attribute;  // of the namespace `name`
    std::vector<Target> items;
    uint32_t offset = 0;
};

struct Statement;
using StatementPtr = std::unique_ptr<Statement>;
using Body = std::vector<StatementPtr>;

struct MacroSignature {
    std::string name;
    std::vector<std::pair<int, std::string>> parameters;  // name index and name
    std::vector<ExpressionPtr> defaults;                  // of the last parameters
    bool uses_varargs = false;
    bool uses_kwargs = false;
    bool uses_caller = false;
};

struct Statement {
    StatementKind kind;
    uint32_t offset;

    Text text;                               // text
    std::vector<ExpressionPtr> expressions;  // output; branch: tests; with: values; else the one expression
    std::vector<Target> targets;             // loop, assign, assign_block, with
    std::vector<Body> bodies;                // branch: one per test; loop, macro, ...: the one body
    std::optional<Body> otherwise;           // else of a branch or loop
    ExpressionPtr condition;                 // loop: for ... if
    ExpressionPtr filter;                    // assign_block, filter_block
    bool recursive = false;                  // loop
    MacroSignature signature;                // macro, call_block
};

struct Template {
    std::string source;              // normalized
    std::vector<std::string> names;  // of variables
    Body body;
};

// Throws Error (unsupported) with line and column on anything this engine cannot run: syntax, tags, filters, tests.
Template parse_template(std::string_view source);

}  // namespace colugo::jinja
