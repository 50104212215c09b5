#include <fmt/format.h>

#include "text/jinja_parser.h"

namespace colugo::jinja {
namespace {

constexpr int kMaxNesting = 150;

}  // namespace

Token TokenStream::take() {
    Token token = tokens_[position_];
    if (token.kind != TokenKind::end) ++position_;
    return token;
}

bool TokenStream::skip_op(std::string_view symbol) {
    if (!current().is_op(symbol)) return false;
    ++position_;
    return true;
}

bool TokenStream::skip_name(std::string_view name) {
    if (!current().is_name(name)) return false;
    ++position_;
    return true;
}

void TokenStream::expect_op(std::string_view symbol) {
    if (!skip_op(symbol)) fail_here(fmt::format("expected '{}', got {}", symbol, describe(current())));
}

void TokenStream::expect_kind(TokenKind kind, std::string_view what) {
    if (current().kind != kind) fail_here(fmt::format("expected {}, got {}", what, describe(current())));
    take();
}

std::string TokenStream::expect_any_name(std::string_view what) {
    if (current().kind != TokenKind::name) fail_here(fmt::format("expected {}, got {}", what, describe(current())));
    return take().text;
}

std::string TokenStream::describe(const Token& token) {
    switch (token.kind) {
        case TokenKind::data:
            return "text";
        case TokenKind::variable_begin:
            return "'{{'";
        case TokenKind::variable_end:
            return "'}}'";
        case TokenKind::block_begin:
            return "'{%'";
        case TokenKind::block_end:
            return "'%}'";
        case TokenKind::string:
            return "a string";
        case TokenKind::integer:
        case TokenKind::real:
            return "a number";
        case TokenKind::end:
            return "the end of the template";
        default:
            return fmt::format("'{}'", token.text);
    }
}

NestingGuard::NestingGuard(int& nesting, const TokenStream& stream) : nesting_(nesting) {
    if (nesting_ >= kMaxNesting)
        stream.fail_here(fmt::format("the template nests more than {} levels deep", kMaxNesting));
    ++nesting_;
}

}  // namespace colugo::jinja
