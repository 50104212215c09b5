#include "text/jinja_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace colugo::jinja {
namespace {

class Parser {
 public:
    Parser(Template& tree, std::vector<Token> tokens)
        : stream_(tree.source, std::move(tokens)), expressions_(stream_, tree.names) {}

    Body parse() {
        Body body = parse_body({}, "", 0);
        return body;
    }

 private:
    using EndTags = std::initializer_list<std::string_view>;

    StatementPtr make(StatementKind kind, uint32_t offset) {
        auto node = std::make_unique<Statement>();
        node->kind = kind;
        node->offset = offset;
        return node;
    }

    // Statements up to one of the end tags, whose name is then the current token. Without end tags: to the end.
    Body parse_body(EndTags ends, std::string_view opener, uint32_t opened_at) {
        const NestingGuard guard(expressions_.nesting(), stream_);
        Body body;
        while (stream_.current().kind != TokenKind::end) {
            const Token token = stream_.take();
            if (token.kind == TokenKind::data) {
                body.push_back(make(StatementKind::text, token.offset));
                body.back()->text = Text(token.text, false);
            } else if (token.kind == TokenKind::variable_begin) {
                body.push_back(make(StatementKind::output, token.offset));
                body.back()->expressions.push_back(expressions_.parse_tuple());
                stream_.expect_kind(TokenKind::variable_end, "'}}'");
            } else {
                const Token& name = stream_.current();
                if (name.kind != TokenKind::name) stream_.fail_here("expected the name of a tag");
                if (std::find(ends.begin(), ends.end(), name.text) != ends.end()) return body;
                body.push_back(parse_statement(ends));
                stream_.expect_kind(TokenKind::block_end, "'%}'");
            }
        }
        if (ends.size() != 0) stream_.fail_at_offset(opened_at, fmt::format("the tag '{}' is never closed", opener));
        return body;
    }

    // The body behind an opening tag: up to the end tag, which is taken.
    Body parse_block(std::string_view end, std::string_view opener, uint32_t opened_at) {
        open_body();
        Body body = parse_body({end}, opener, opened_at);
        stream_.take();
        return body;
    }

    void open_body() {
        stream_.skip_op(":");
        stream_.expect_kind(TokenKind::block_end, "'%}'");
    }

    StatementPtr parse_statement(EndTags ends) {
        const Token tag = stream_.take();
        const std::string& name = tag.text;
        if (name == "if") return parse_if(tag.offset);
        if (name == "for") return parse_for(tag.offset);
        if (name == "set") return parse_set(tag.offset);
        if (name == "macro") return parse_macro(tag.offset);
        if (name == "call") return parse_call_block(tag.offset);
        if (name == "filter") return parse_filter_block(tag.offset);
        if (name == "with") return parse_with(tag.offset);
        if (name == "print") return parse_print(tag.offset);
        if (name == "generation") {
            StatementPtr node = make(StatementKind::scope, tag.offset);
            node->bodies.push_back(parse_block("endgeneration", name, tag.offset));
            return node;
        }
        if (name == "break" || name == "continue") {
            if (loops_ == 0) stream_.fail_at_offset(tag.offset, fmt::format("'{}' outside a loop", name));
            return make(name == "break" ? StatementKind::break_loop : StatementKind::continue_loop, tag.offset);
        }
        fail_unknown_tag(tag, ends);
    }

    [[noreturn]] void fail_unknown_tag(const Token& tag, EndTags ends) {
        static constexpr std::array<std::string_view, 8> kKnown = {"autoescape", "block",  "do",      "extends",
                                                                   "from",       "import", "include", "trans"};
        std::string expected;
        for (const std::string_view end : ends)
            expected += fmt::format("{}'{}'", expected.empty() ? ", expected " : " or ", end);
        if (std::find(kKnown.begin(), kKnown.end(), tag.text) != kKnown.end()) expected.clear();
        stream_.fail_at_offset(tag.offset, fmt::format("the tag '{}' is not supported{}", tag.text, expected));
    }

    StatementPtr parse_if(uint32_t offset) {
        StatementPtr node = make(StatementKind::branch, offset);
        while (true) {
            node->expressions.push_back(expressions_.parse_tuple(false));
            open_body();
            node->bodies.push_back(parse_body({"elif", "else", "endif"}, "if", offset));
            const Token end = stream_.take();
            if (end.is_name("elif")) continue;
            if (end.is_name("else")) node->otherwise = parse_block("endif", "if", offset);
            return node;
        }
    }

    StatementPtr parse_for(uint32_t offset) {
        StatementPtr node = make(StatementKind::loop, offset);
        node->targets.push_back(expressions_.parse_target("in", false));
        if (!stream_.skip_name("in")) {
            stream_.fail_here(fmt::format("expected 'in', got {}", TokenStream::describe(stream_.current())));
        }
        node->expressions.push_back(expressions_.parse_tuple(false, "recursive"));
        if (stream_.skip_name("if")) node->condition = expressions_.parse_expression();
        node->recursive = stream_.skip_name("recursive");
        open_body();
        ++loops_;
        node->bodies.push_back(parse_body({"endfor", "else"}, "for", offset));
        --loops_;
        if (stream_.take().text == "else") node->otherwise = parse_block("endfor", "for", offset);
        return node;
    }

    StatementPtr parse_set(uint32_t offset) {
        Target target = expressions_.parse_target({}, true);
        StatementPtr node;
        if (stream_.skip_op("=")) {
            node = make(StatementKind::assign, offset);
            node->expressions.push_back(expressions_.parse_tuple());
        } else {
            node = make(StatementKind::assign_block, offset);
            node->filter = expressions_.parse_filters(nullptr, false);
            node->bodies.push_back(parse_block("endset", "set", offset));
        }
        node->targets.push_back(std::move(target));
        return node;
    }

    void parse_signature(MacroSignature& signature) {
        stream_.expect_op("(");
        while (!stream_.current().is_op(")")) {
            if (!signature.parameters.empty()) stream_.expect_op(",");
            const std::string name = stream_.expect_any_name("the name of a parameter");
            signature.parameters.emplace_back(expressions_.intern(name), name);
            if (stream_.skip_op("=")) {
                signature.defaults.push_back(expressions_.parse_expression());
            } else if (!signature.defaults.empty()) {
                stream_.fail_here("a parameter without a default follows one that has a default");
            }
        }
        stream_.expect_op(")");
    }

    // The body of a macro or call block, which is a function: break and continue do not reach out of it.
    Body parse_function_body(MacroSignature& signature, std::string_view end, std::string_view opener,
                             uint32_t offset) {
        const SpecialUses before = expressions_.special_uses();
        const int loops = std::exchange(loops_, 0);
        Body body = parse_block(end, opener, offset);
        loops_ = loops;
        const SpecialUses& after = expressions_.special_uses();
        signature.uses_varargs = after.varargs > before.varargs;
        signature.uses_kwargs = after.kwargs > before.kwargs;
        signature.uses_caller = after.caller > before.caller;
        for (const char* special : {"varargs", "kwargs", "caller"}) expressions_.intern(special);
        return body;
    }

    StatementPtr parse_macro(uint32_t offset) {
        StatementPtr node = make(StatementKind::macro, offset);
        node->signature.name = stream_.expect_any_name("the name of a macro");
        Target target;
        target.name = expressions_.intern(node->signature.name);
        node->targets.push_back(std::move(target));
        parse_signature(node->signature);
        node->bodies.push_back(parse_function_body(node->signature, "endmacro", "macro", offset));
        return node;
    }

    StatementPtr parse_call_block(uint32_t offset) {
        StatementPtr node = make(StatementKind::call_block, offset);
        node->signature.name = "caller";
        if (stream_.current().is_op("(")) parse_signature(node->signature);
        node->expressions.push_back(expressions_.parse_expression());
        if (node->expressions.back()->kind != ExpressionKind::call)
            stream_.fail_at_offset(offset, "a call block needs a call");
        node->bodies.push_back(parse_function_body(node->signature, "endcall", "call", offset));
        return node;
    }

    StatementPtr parse_filter_block(uint32_t offset) {
        StatementPtr node = make(StatementKind::filter_block, offset);
        node->filter = expressions_.parse_filters(nullptr, true);
        node->bodies.push_back(parse_block("endfilter", "filter", offset));
        return node;
    }

    StatementPtr parse_with(uint32_t offset) {
        StatementPtr node = make(StatementKind::with, offset);
        while (stream_.current().kind != TokenKind::block_end) {
            if (!node->targets.empty()) stream_.expect_op(",");
            node->targets.push_back(expressions_.parse_target({}, false));
            stream_.expect_op("=");
            node->expressions.push_back(expressions_.parse_expression());
        }
        node->bodies.push_back(parse_block("endwith", "with", offset));
        return node;
    }

    StatementPtr parse_print(uint32_t offset) {
        StatementPtr node = make(StatementKind::output, offset);
        while (stream_.current().kind != TokenKind::block_end) {
            if (!node->expressions.empty()) stream_.expect_op(",");
            node->expressions.push_back(expressions_.parse_expression());
        }
        return node;
    }

    TokenStream stream_;
    ExpressionParser expressions_;
    int loops_ = 0;
};

}  // namespace

Template parse_template(std::string_view source) {
    Template tree;
    tree.source = normalize_source(source);
    tree.body = Parser(tree, tokenize(tree.source)).parse();
    return tree;
}

}  // namespace colugo::jinja
