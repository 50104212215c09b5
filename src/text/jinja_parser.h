// Recursive descent over the tokens of a template. Expressions are in jinja_expression_parser.cpp, statements in
// jinja_parser.cpp.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/jinja_ast.h"
#include "text/jinja_lexer.h"

namespace colugo::jinja {

// Names with a meaning inside a macro, counted so that a macro knows whether its body uses them.
struct SpecialUses {
    int varargs = 0;
    int kwargs = 0;
    int caller = 0;
};

class TokenStream {
 public:
    TokenStream(const std::string& source, std::vector<Token> tokens) : source_(source), tokens_(std::move(tokens)) {}

    const Token& current() const { return tokens_[position_]; }
    const Token& ahead() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
    Token take();  // the current token; stays at the end
    bool skip_op(std::string_view symbol);
    bool skip_name(std::string_view name);
    uint32_t offset() const { return current().offset; }
    void expect_op(std::string_view symbol);
    void expect_kind(TokenKind kind, std::string_view what);
    std::string expect_any_name(std::string_view what);
    [[noreturn]] void fail_here(std::string_view sentence) const { fail_at(source_, offset(), sentence); }
    [[noreturn]] void fail_at_offset(size_t offset, std::string_view sentence) const {
        fail_at(source_, offset, sentence);
    }
    static std::string describe(const Token& token);

 private:
    const std::string& source_;
    std::vector<Token> tokens_;
    size_t position_ = 0;
};

// Counts how deep the parser is inside itself, so that a hostile template cannot exhaust the stack.
class NestingGuard {
 public:
    NestingGuard(int& nesting, const TokenStream& stream);
    ~NestingGuard() { --nesting_; }

 private:
    int& nesting_;
};

class ExpressionParser {
 public:
    ExpressionParser(TokenStream& stream, std::vector<std::string>& names) : stream_(stream), names_(names) {}

    ExpressionPtr parse_expression(bool conditional = true);
    // Several expressions with commas between them are a tuple. `stop` is a name that ends it.
    ExpressionPtr parse_tuple(bool conditional = true, std::string_view stop = {});
    ExpressionPtr parse_filters(ExpressionPtr input, bool starts_inline);  // |a|b, or a|b; input may be empty
    Target parse_target(std::string_view stop, bool attributes);

    int intern(const std::string& name);
    const SpecialUses& special_uses() const { return special_; }
    int& nesting() { return nesting_; }

 private:
    ExpressionPtr make(ExpressionKind kind, uint32_t offset);
    ExpressionPtr finish(ExpressionPtr node);
    ExpressionPtr parse_conditional();
    ExpressionPtr parse_or();
    ExpressionPtr parse_and();
    ExpressionPtr parse_not();
    ExpressionPtr parse_comparison();
    ExpressionPtr parse_sum();
    ExpressionPtr parse_concatenation();
    ExpressionPtr parse_product();
    ExpressionPtr parse_power();
    ExpressionPtr parse_unary(bool filters);
    ExpressionPtr parse_primary();
    ExpressionPtr parse_parenthesis();
    ExpressionPtr parse_list();
    ExpressionPtr parse_dict();
    ExpressionPtr parse_postfix(ExpressionPtr node);
    ExpressionPtr parse_filter_chain(ExpressionPtr node);
    ExpressionPtr parse_dot(ExpressionPtr object);
    ExpressionPtr parse_subscript(ExpressionPtr object);
    ExpressionPtr parse_subscript_item();
    ExpressionPtr parse_call(ExpressionPtr callee);
    ExpressionPtr parse_test(ExpressionPtr input);
    CallArguments parse_arguments();
    std::string parse_dotted_name(std::string_view what);
    Target parse_target_item(bool attributes);
    void check_named_builtin(const Expression& filter) const;
    ExpressionPtr binary(ExpressionKind kind, uint32_t offset, ExpressionPtr left, ExpressionPtr right);

    TokenStream& stream_;
    std::vector<std::string>& names_;
    std::unordered_map<std::string, int> ids_;
    SpecialUses special_;
    int nesting_ = 0;
};

}  // namespace colugo::jinja
