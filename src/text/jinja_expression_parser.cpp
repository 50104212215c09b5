#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/jinja_parser.h"

namespace colugo::jinja {
namespace {

constexpr int kMaxExpressionDepth = 400;

// Methods of Python's str that no prompt needs and this engine does not have: better refused at load than when called.
constexpr std::array<std::string_view, 3> kUnsupportedMethods = {"encode", "maketrans", "translate"};

}  // namespace

// ---- nodes ---------------------------------------------------------------------------------------------------------

int ExpressionParser::intern(const std::string& name) {
    const auto [entry, added] = ids_.emplace(name, static_cast<int>(names_.size()));
    if (added) names_.push_back(name);
    return entry->second;
}

ExpressionPtr ExpressionParser::make(ExpressionKind kind, uint32_t offset) {
    auto node = std::make_unique<Expression>();
    node->kind = kind;
    node->offset = offset;
    return node;
}

ExpressionPtr ExpressionParser::finish(ExpressionPtr node) {
    const auto include = [&node](const ExpressionPtr& child) {
        if (child != nullptr) node->depth = std::max(node->depth, child->depth + 1);
    };
    for (const ExpressionPtr& child : node->operands) include(child);
    for (const ExpressionPtr& child : node->arguments.positional) include(child);
    for (const auto& [name, child] : node->arguments.named) include(child);
    include(node->arguments.unpacked);
    include(node->arguments.unpacked_named);
    if (node->depth > kMaxExpressionDepth) {
        stream_.fail_at_offset(node->offset,
                               fmt::format("the expression is more than {} levels deep", kMaxExpressionDepth));
    }
    return node;
}

ExpressionPtr ExpressionParser::binary(ExpressionKind kind, uint32_t offset, ExpressionPtr left, ExpressionPtr right) {
    ExpressionPtr node = make(kind, offset);
    node->operands.push_back(std::move(left));
    node->operands.push_back(std::move(right));
    return finish(std::move(node));
}

// ---- operators, from the loosest to the tightest -------------------------------------------------------------------

ExpressionPtr ExpressionParser::parse_expression(bool conditional) {
    const NestingGuard guard(nesting_, stream_);
    return conditional ? parse_conditional() : parse_or();
}

ExpressionPtr ExpressionParser::parse_conditional() {
    ExpressionPtr value = parse_or();
    while (stream_.current().is_name("if")) {
        ExpressionPtr node = make(ExpressionKind::conditional, stream_.take().offset);
        node->operands.push_back(parse_or());
        node->operands.push_back(std::move(value));
        if (stream_.skip_name("else")) node->operands.push_back(parse_expression());
        value = finish(std::move(node));
    }
    return value;
}

ExpressionPtr ExpressionParser::parse_or() {
    ExpressionPtr left = parse_and();
    while (stream_.current().is_name("or")) {
        const uint32_t offset = stream_.take().offset;
        left = binary(ExpressionKind::logical_or, offset, std::move(left), parse_and());
    }
    return left;
}

ExpressionPtr ExpressionParser::parse_and() {
    ExpressionPtr left = parse_not();
    while (stream_.current().is_name("and")) {
        const uint32_t offset = stream_.take().offset;
        left = binary(ExpressionKind::logical_and, offset, std::move(left), parse_not());
    }
    return left;
}

ExpressionPtr ExpressionParser::parse_not() {
    if (!stream_.current().is_name("not")) return parse_comparison();
    const NestingGuard guard(nesting_, stream_);
    ExpressionPtr node = make(ExpressionKind::logical_not, stream_.take().offset);
    node->operands.push_back(parse_not());
    return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_comparison() {
    static constexpr std::pair<std::string_view, Comparison> kSymbols[] = {
        {"==", Comparison::equal},      {"!=", Comparison::not_equal}, {"<", Comparison::less},
        {"<=", Comparison::less_equal}, {">", Comparison::greater},    {">=", Comparison::greater_equal}};
    ExpressionPtr first = parse_sum();
    ExpressionPtr node;
    while (true) {
        const uint32_t offset = stream_.offset();
        std::optional<Comparison> comparison;
        const auto* symbol = std::find_if(std::begin(kSymbols), std::end(kSymbols),
                                          [this](const auto& entry) { return stream_.current().is_op(entry.first); });
        if (symbol != std::end(kSymbols)) {
            stream_.take();
            comparison = symbol->second;
        } else if (stream_.skip_name("in")) {
            comparison = Comparison::in;
        } else if (stream_.current().is_name("not") && stream_.ahead().is_name("in")) {
            stream_.take();
            stream_.take();
            comparison = Comparison::not_in;
        }
        if (!comparison) break;
        if (node == nullptr) {
            node = make(ExpressionKind::comparison, offset);
            node->operands.push_back(std::move(first));
        }
        node->comparisons.push_back(*comparison);
        node->operands.push_back(parse_sum());
    }
    return node == nullptr ? std::move(first) : finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_sum() {
    ExpressionPtr left = parse_concatenation();
    while (stream_.current().is_op("+") || stream_.current().is_op("-")) {
        const Token token = stream_.take();
        left = binary(ExpressionKind::arithmetic, token.offset, std::move(left), parse_concatenation());
        left->op = token.text == "+" ? Operator::add : Operator::subtract;
    }
    return left;
}

ExpressionPtr ExpressionParser::parse_concatenation() {
    ExpressionPtr first = parse_product();
    if (!stream_.current().is_op("~")) return first;
    ExpressionPtr node = make(ExpressionKind::concatenation, stream_.offset());
    node->operands.push_back(std::move(first));
    while (stream_.skip_op("~")) node->operands.push_back(parse_product());
    return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_product() {
    static constexpr std::pair<std::string_view, Operator> kSymbols[] = {
        {"*", Operator::multiply}, {"/", Operator::divide}, {"//", Operator::floor_divide}, {"%", Operator::modulo}};
    ExpressionPtr left = parse_power();
    while (true) {
        const auto* symbol = std::find_if(std::begin(kSymbols), std::end(kSymbols),
                                          [this](const auto& entry) { return stream_.current().is_op(entry.first); });
        if (symbol == std::end(kSymbols)) return left;
        const uint32_t offset = stream_.take().offset;
        left = binary(ExpressionKind::arithmetic, offset, std::move(left), parse_power());
        left->op = symbol->second;
    }
}

ExpressionPtr ExpressionParser::parse_power() {
    ExpressionPtr left = parse_unary(true);
    while (stream_.current().is_op("**")) {  // to the left, as jinja2, unlike Python
        const uint32_t offset = stream_.take().offset;
        left = binary(ExpressionKind::arithmetic, offset, std::move(left), parse_unary(true));
        left->op = Operator::power;
    }
    return left;
}

ExpressionPtr ExpressionParser::parse_unary(bool filters) {
    ExpressionPtr node;
    if (stream_.current().is_op("-") || stream_.current().is_op("+")) {
        const NestingGuard guard(nesting_, stream_);
        const Token token = stream_.take();
        node = make(token.text == "-" ? ExpressionKind::negate : ExpressionKind::plus, token.offset);
        node->operands.push_back(parse_unary(false));
        node = finish(std::move(node));
    } else {
        node = parse_primary();
    }
    node = parse_postfix(std::move(node));
    return filters ? parse_filter_chain(std::move(node)) : std::move(node);
}

// ---- atoms ---------------------------------------------------------------------------------------------------------

ExpressionPtr ExpressionParser::parse_primary() {
    const Token& token = stream_.current();
    if (token.is_op("(")) return parse_parenthesis();
    if (token.is_op("[")) return parse_list();
    if (token.is_op("{")) return parse_dict();
    ExpressionPtr node = make(ExpressionKind::constant, token.offset);
    switch (token.kind) {
        case TokenKind::name: {
            const std::string name = stream_.take().text;
            if (name == "true" || name == "True" || name == "false" || name == "False") {
                node->constant = Value::boolean(name == "true" || name == "True");
            } else if (name == "none" || name == "None") {
                node->constant = Value::none();
            } else {
                node->kind = ExpressionKind::name;
                node->name = intern(name);
                special_.varargs += name == "varargs" ? 1 : 0;
                special_.kwargs += name == "kwargs" ? 1 : 0;
                special_.caller += name == "caller" ? 1 : 0;
            }
            return node;
        }
        case TokenKind::string: {
            std::string text;
            while (stream_.current().kind == TokenKind::string) text += stream_.take().text;
            node->constant = Value::literal(text);
            return node;
        }
        case TokenKind::integer:
            node->constant = Value::integer(stream_.take().integer);
            return node;
        case TokenKind::real:
            node->constant = Value::real(stream_.take().real);
            return node;
        default:
            stream_.fail_here(fmt::format("expected an expression, got {}", TokenStream::describe(token)));
    }
}

ExpressionPtr ExpressionParser::parse_parenthesis() {
    const uint32_t offset = stream_.offset();
    stream_.expect_op("(");
    ExpressionPtr node;
    if (stream_.current().is_op(")")) {
        node = make(ExpressionKind::tuple, offset);
    } else {
        node = parse_tuple();
    }
    stream_.expect_op(")");
    return node;
}

ExpressionPtr ExpressionParser::parse_tuple(bool conditional, std::string_view stop) {
    ExpressionPtr tuple = make(ExpressionKind::tuple, stream_.offset());
    bool commas = false;
    const auto ends = [&] {
        const Token& token = stream_.current();
        return token.kind == TokenKind::variable_end || token.kind == TokenKind::block_end || token.is_op(")") ||
               (!stop.empty() && token.is_name(stop));
    };
    while (true) {
        if (!tuple->operands.empty()) stream_.expect_op(",");
        if (ends()) break;
        tuple->operands.push_back(parse_expression(conditional));
        if (!stream_.current().is_op(",")) break;
        commas = true;
    }
    if (commas) return finish(std::move(tuple));
    if (tuple->operands.empty()) {
        stream_.fail_here(fmt::format("expected an expression, got {}", TokenStream::describe(stream_.current())));
    }
    return std::move(tuple->operands.front());
}

ExpressionPtr ExpressionParser::parse_list() {
    ExpressionPtr node = make(ExpressionKind::list, stream_.offset());
    stream_.expect_op("[");
    while (!stream_.current().is_op("]")) {
        if (!node->operands.empty()) stream_.expect_op(",");
        if (stream_.current().is_op("]")) break;
        node->operands.push_back(parse_expression());
    }
    stream_.expect_op("]");
    return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_dict() {
    ExpressionPtr node = make(ExpressionKind::dict, stream_.offset());
    stream_.expect_op("{");
    while (!stream_.current().is_op("}")) {
        if (!node->operands.empty()) stream_.expect_op(",");
        if (stream_.current().is_op("}")) break;
        node->operands.push_back(parse_expression());
        stream_.expect_op(":");
        node->operands.push_back(parse_expression());
    }
    stream_.expect_op("}");
    return finish(std::move(node));
}

// ---- what follows an atom ------------------------------------------------------------------------------------------

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr node) {
    while (true) {
        if (stream_.current().is_op(".")) {
            node = parse_dot(std::move(node));
        } else if (stream_.current().is_op("[")) {
            node = parse_subscript(std::move(node));
        } else if (stream_.current().is_op("(")) {
            node = parse_call(std::move(node));
        } else {
            return node;
        }
    }
}

ExpressionPtr ExpressionParser::parse_filter_chain(ExpressionPtr node) {
    while (true) {
        if (stream_.current().is_op("|")) {
            node = parse_filters(std::move(node), false);
        } else if (stream_.current().is_name("is")) {
            node = parse_test(std::move(node));
        } else if (stream_.current().is_op("(")) {
            node = parse_call(std::move(node));
        } else {
            return node;
        }
    }
}

ExpressionPtr ExpressionParser::parse_dot(ExpressionPtr object) {
    const uint32_t offset = stream_.offset();
    stream_.expect_op(".");
    if (stream_.current().kind == TokenKind::integer) {
        ExpressionPtr index = make(ExpressionKind::constant, stream_.offset());
        index->constant = Value::integer(stream_.take().integer);
        return binary(ExpressionKind::item, offset, std::move(object), std::move(index));
    }
    ExpressionPtr node = make(ExpressionKind::attribute, stream_.offset());
    node->text = stream_.expect_any_name("a name or number behind '.'");
    node->operands.push_back(std::move(object));
    return finish(std::move(node));
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr object) {
    const uint32_t offset = stream_.offset();
    stream_.expect_op("[");
    std::vector<ExpressionPtr> items;
    bool sliced = false;
    while (!stream_.current().is_op("]")) {
        if (!items.empty()) stream_.expect_op(",");
        items.push_back(parse_subscript_item());
        sliced = sliced || items.back()->kind == ExpressionKind::slice;
    }
    if (sliced && items.size() > 1) stream_.fail_at_offset(offset, "a slice among several subscripts is not supported");
    stream_.expect_op("]");
    if (sliced) {
        ExpressionPtr node = std::move(items.front());
        node->operands.insert(node->operands.begin(), std::move(object));
        return finish(std::move(node));
    }
    if (items.size() == 1) return binary(ExpressionKind::item, offset, std::move(object), std::move(items.front()));
    ExpressionPtr tuple = make(ExpressionKind::tuple, offset);
    tuple->operands = std::move(items);
    return binary(ExpressionKind::item, offset, std::move(object), finish(std::move(tuple)));
}

// An index, or a slice whose operands are start, stop and step (each may be missing).
ExpressionPtr ExpressionParser::parse_subscript_item() {
    ExpressionPtr start;
    if (!stream_.current().is_op(":")) {
        start = parse_expression();
        if (!stream_.current().is_op(":")) return start;
    }
    ExpressionPtr node = make(ExpressionKind::slice, stream_.offset());
    stream_.expect_op(":");
    const auto optional_bound = [this]() -> ExpressionPtr {
        const Token& token = stream_.current();
        if (token.is_op(":") || token.is_op("]") || token.is_op(",")) return nullptr;
        return parse_expression();
    };
    node->operands.push_back(std::move(start));
    node->operands.push_back(optional_bound());
    node->operands.push_back(stream_.skip_op(":") ? optional_bound() : nullptr);
    return node;
}

ExpressionPtr ExpressionParser::parse_call(ExpressionPtr callee) {
    if (callee->kind == ExpressionKind::attribute &&
        std::find(kUnsupportedMethods.begin(), kUnsupportedMethods.end(), callee->text) != kUnsupportedMethods.end()) {
        stream_.fail_at_offset(callee->offset, fmt::format("the method '{}' is not supported", callee->text));
    }
    ExpressionPtr node = make(ExpressionKind::call, stream_.offset());
    node->arguments = parse_arguments();
    node->operands.push_back(std::move(callee));
    return finish(std::move(node));
}

CallArguments ExpressionParser::parse_arguments() {
    CallArguments arguments;
    const uint32_t offset = stream_.offset();
    stream_.expect_op("(");
    const auto require = [&](bool allowed) {
        if (!allowed) stream_.fail_at_offset(offset, "the arguments of the call are in an order Python does not allow");
    };
    bool first = true;
    while (!stream_.current().is_op(")")) {
        if (!first) {
            stream_.expect_op(",");
            if (stream_.current().is_op(")")) break;
        }
        first = false;
        if (stream_.skip_op("*")) {
            require(arguments.unpacked == nullptr && arguments.unpacked_named == nullptr);
            arguments.unpacked = parse_expression();
        } else if (stream_.skip_op("**")) {
            require(arguments.unpacked_named == nullptr);
            arguments.unpacked_named = parse_expression();
        } else if (stream_.current().kind == TokenKind::name && stream_.ahead().is_op("=")) {
            require(arguments.unpacked_named == nullptr);
            std::string name = stream_.take().text;
            stream_.take();
            arguments.named.emplace_back(std::move(name), parse_expression());
        } else {
            require(arguments.unpacked == nullptr && arguments.unpacked_named == nullptr && arguments.named.empty());
            arguments.positional.push_back(parse_expression());
        }
    }
    stream_.expect_op(")");
    return arguments;
}

std::string ExpressionParser::parse_dotted_name(std::string_view what) {
    std::string name = stream_.expect_any_name(what);
    while (stream_.skip_op(".")) name.append(1, '.').append(stream_.expect_any_name(what));
    return name;
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr input, bool starts_inline) {
    while (starts_inline || stream_.current().is_op("|")) {
        if (!starts_inline) stream_.take();
        starts_inline = false;
        ExpressionPtr node = make(ExpressionKind::filter, stream_.offset());
        node->text = parse_dotted_name("the name of a filter");
        node->filter = find_filter(node->text);
        if (node->filter == nullptr) {
            stream_.fail_at_offset(node->offset, fmt::format("the filter '{}' is not supported", node->text));
        }
        if (stream_.current().is_op("(")) node->arguments = parse_arguments();
        check_named_builtin(*node);
        node->operands.push_back(std::move(input));
        input = finish(std::move(node));
    }
    return input;
}

// map('name') and select('name') name another filter or test: an unknown one is found now, not in the middle of a
// request.
void ExpressionParser::check_named_builtin(const Expression& filter) const {
    const bool maps = filter.text == "map";
    const bool selects = filter.text == "select" || filter.text == "reject";
    const bool selects_attribute = filter.text == "selectattr" || filter.text == "rejectattr";
    if (!maps && !selects && !selects_attribute) return;
    const size_t index = selects_attribute ? 1 : 0;
    if (filter.arguments.positional.size() <= index) return;
    const Expression& name = *filter.arguments.positional[index];
    if (name.kind != ExpressionKind::constant || !name.constant.is(Kind::string)) return;
    const std::string& text = name.constant.bytes();
    if (maps ? find_filter(text) == nullptr : find_test(text) == nullptr) {
        stream_.fail_at_offset(name.offset,
                               fmt::format("the {} '{}' is not supported", maps ? "filter" : "test", text));
    }
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr input) {
    const uint32_t offset = stream_.take().offset;  // is
    const bool negated = stream_.skip_name("not");
    ExpressionPtr node = make(ExpressionKind::test, stream_.offset());
    node->text = parse_dotted_name("the name of a test");
    node->test = find_test(node->text);
    if (node->test == nullptr) {
        stream_.fail_at_offset(node->offset, fmt::format("the test '{}' is not supported", node->text));
    }
    const Token& token = stream_.current();
    const bool operand = token.kind == TokenKind::name || token.kind == TokenKind::string ||
                         token.kind == TokenKind::integer || token.kind == TokenKind::real || token.is_op("[") ||
                         token.is_op("{");
    if (token.is_op("(")) {
        node->arguments = parse_arguments();
    } else if (operand && !token.is_name("else") && !token.is_name("or") && !token.is_name("and")) {
        if (token.is_name("is")) stream_.fail_here("tests cannot be chained with 'is'");
        node->arguments.positional.push_back(parse_postfix(parse_primary()));
    }
    node->operands.push_back(std::move(input));
    node = finish(std::move(node));
    if (!negated) return node;
    ExpressionPtr inverted = make(ExpressionKind::logical_not, offset);
    inverted->operands.push_back(std::move(node));
    return finish(std::move(inverted));
}

// ---- targets -------------------------------------------------------------------------------------------------------

Target ExpressionParser::parse_target(std::string_view stop, bool attributes) {
    Target tuple;
    tuple.kind = Target::Kind::tuple;
    tuple.offset = stream_.offset();
    bool commas = false;
    while (true) {
        if (!tuple.items.empty()) {
            if (!stream_.skip_op(",")) break;
            commas = true;
        }
        const Token& token = stream_.current();
        if (token.is_op(")") || token.kind == TokenKind::block_end || (!stop.empty() && token.is_name(stop))) break;
        tuple.items.push_back(parse_target_item(attributes));
    }
    if (tuple.items.empty())
        stream_.fail_here(fmt::format("expected a name, got {}", TokenStream::describe(stream_.current())));
    if (!commas) return std::move(tuple.items.front());
    return tuple;
}

Target ExpressionParser::parse_target_item(bool attributes) {
    const NestingGuard guard(nesting_, stream_);
    if (stream_.skip_op("(")) {
        Target inner = parse_target({}, attributes);
        stream_.expect_op(")");
        return inner;
    }
    Target target;
    target.offset = stream_.offset();
    const std::string name = stream_.expect_any_name("a name to assign to");
    static constexpr std::array<std::string_view, 6> kReserved = {"true", "True", "false", "False", "none", "None"};
    if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) {
        stream_.fail_at_offset(target.offset, fmt::format("cannot assign to '{}'", name));
    }
    target.name = intern(name);
    if (attributes && stream_.skip_op(".")) {
        target.kind = Target::Kind::attribute;
        target.attribute = stream_.expect_any_name("the name of an attribute");
    }
    return target;
}

}  // namespace colugo::jinja
