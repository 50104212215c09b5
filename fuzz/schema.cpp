// A JSON schema, to a grammar, to the tokens that are allowed: it is refused, or every way through it goes on, and what
// is written satisfies it. Input: a byte of options, the schema, a zero byte, and the choices of a way.
#include "sampling/schema_checker.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "fuzz/fuzz_input.h"
#include "sampling/reply_grammar.h"
#include "sampling/token_grammar.h"
#include "text/output_parser.h"

namespace colugo::fuzz {
namespace {

using Json = nlohmann::ordered_json;

// Ids 0 .. 255 are the bytes, then these, then control tokens.
constexpr std::string_view kWords[] = {"\"}",         "\"]",      "}",        "]",     "\"",   "\n</parameter>\n",
                                       "</function>", "\": ",     "\",\"",    "{\"",   "null", "true",
                                       "false",       "abc",      "12",       "-1",    "0.5",  "e+",
                                       "\n  ",        "\xC3\xA9", "a\xC3",    "\\u00", "\\\"", "</",
                                       "<parameter=", ">\n",      "\xF0\x9F", "2024-", "\xED", "T12:"};
constexpr int32_t kFirstWord = 256, kFirstControl = kFirstWord + static_cast<int32_t>(std::size(kWords));
constexpr int32_t kOpen = kFirstControl, kClose = kOpen + 1, kEnd = kOpen + 2, kTokens = kOpen + 3;
constexpr int kMostSteps = 300;

std::string token_text(int32_t token) {
    if (token < kFirstWord) return std::string(1, static_cast<char>(token));
    if (token < kFirstControl) return std::string(kWords[token - kFirstWord]);
    return token == kOpen ? "<tool_call>" : "</tool_call>";
}

std::shared_ptr<const GrammarVocabulary> vocabulary() {
    static const auto shared = [] {
        std::vector<std::string> texts;
        for (int32_t token = 0; token < kTokens; ++token) texts.push_back(token_text(token));
        return std::make_shared<const GrammarVocabulary>(kTokens, [&](int32_t token) {
            return VocabularyToken{texts[static_cast<size_t>(token)], token >= kFirstControl};
        });
    }();
    return shared;
}

// Tokens that are allowed lead somewhere, the others nowhere.
void check_mask(TokenGrammar& grammar, GrammarState state) {
    const TokenMask mask = grammar.allowed(state);
    for (int32_t token = 0; token < kTokens; ++token) {
        COLUGO_CHECK(mask.contains(token) == grammar.after(state, token).has_value());
    }
}

// By the input's choice, then towards an end. Nothing where that is far.
std::optional<std::vector<int32_t>> walk(TokenGrammar& grammar, FuzzInput& choices) {
    std::vector<int32_t> tokens;
    GrammarState state = grammar.start();
    const int checked_step = choices.byte();
    for (int step = 0; step < kMostSteps; ++step) {
        const TokenMask& mask = grammar.allowed(state);
        const bool may_end = grammar.may_end(state);
        COLUGO_CHECK(mask.count() > 0 && mask.contains(kEnd) == may_end);
        std::vector<int32_t> ways;
        for (int32_t token = 0; token < kEnd; ++token) {
            if (mask.contains(token)) ways.push_back(token);
        }
        if (const auto only = grammar.only_choice(state)) {
            COLUGO_CHECK(ways.size() + may_end == 1 && (may_end ? *only == kEnd : *only == ways[0]));
        }
        if (ways.empty() || (choices.empty() && may_end)) return tokens;
        int32_t token = ways[(choices.empty() ? static_cast<size_t>(step) * 31 : choices.two_bytes()) % ways.size()];
        for (int32_t word = kFirstWord + 6; word >= kFirstWord && choices.empty(); --word) {
            if (grammar.allowed(state).contains(word)) token = word;
        }
        if (step == checked_step) check_mask(grammar, state);
        const auto next = grammar.after(state, token);
        COLUGO_CHECK(next.has_value());
        tokens.push_back(token);
        state = *next;
    }
    return std::nullopt;
}

std::string text_of(const std::vector<int32_t>& tokens) {
    std::string text;
    for (const int32_t token : tokens) text += token_text(token);
    return text;
}

// The checker reads patterns byte by byte, and references without escapes.
bool can_be_checked(std::string_view schema, std::string_view text) {
    return schema.find("pattern") == schema.npos && schema.find('%') == schema.npos && text.size() < 2000;
}

void check_value(const std::string& source, const Json& schema, FuzzInput& choices) {
    TokenGrammar grammar(std::make_shared<const ByteGrammar>(json_schema_grammar(schema)), vocabulary(),
                         std::vector<int32_t>{kEnd});
    const auto tokens = walk(grammar, choices);
    if (!tokens) return;
    const std::string text = text_of(*tokens);
    const Json value = Json::parse(text, nullptr, false);
    COLUGO_CHECK(!value.is_discarded());
    COLUGO_CHECK(!can_be_checked(source, text) || testing::satisfies(value, schema, schema));
}

// A call that is written so is read as one, with arguments that the schema has.
void check_call(const Json& schema, uint8_t options, FuzzInput& choices) {
    const std::vector<CallTool> tools = {{"f", schema, (options & 4) == 0}};
    const CallRules rules{
        .choice = CallRules::Choice::required, .parallel = (options & 8) != 0, .open = kOpen, .close = kClose};
    TokenGrammar grammar(std::make_shared<const ByteGrammar>(call_grammar(tools, rules)), vocabulary(),
                         std::vector<int32_t>{kEnd});
    const auto tokens = walk(grammar, choices);
    if (!tokens) return;
    const std::vector<ToolTypes> types =
        tool_types(Json::array({{{"function", {{"name", "f"}, {"parameters", schema}}}}}));
    OutputParser parser({.tools = &types});
    std::vector<ReplyPiece> pieces;
    std::string text;
    for (const int32_t token : *tokens) {
        if (token < kFirstControl) {
            text += token_text(token);
            continue;
        }
        parser.feed(text, pieces);
        parser.feed(token == kOpen ? ReplyMark::tool_call : ReplyMark::end_tool_call, pieces);
        text.clear();
    }
    parser.feed(text, pieces);
    parser.finish(false, pieces);
    COLUGO_CHECK(parser.calls() == std::count(tokens->begin(), tokens->end(), kOpen) && parser.calls() > 0);
    for (const ReplyPiece& piece : pieces) {
        COLUGO_CHECK(piece.kind != ReplyPiece::Kind::content);
        if (piece.kind == ReplyPiece::Kind::call) COLUGO_CHECK(piece.text == "f");
        if (piece.kind != ReplyPiece::Kind::arguments) continue;
        const Json arguments = Json::parse(piece.text, nullptr, false);
        COLUGO_CHECK(arguments.is_object());
        if ((options & 4) != 0 || !schema.is_object() || !schema.contains("required")) continue;
        for (const Json& name : schema["required"]) COLUGO_CHECK(arguments.contains(name.get<std::string>()));
    }
}

}  // namespace
}  // namespace colugo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colugo;
    fuzz::FuzzInput input(data, size);
    const uint8_t options = input.byte();
    const std::string source(input.text());
    const fuzz::Json schema = fuzz::Json::parse(source, nullptr, false);
    if (schema.is_discarded()) return 0;
    try {
        if ((options & 1) == 0) {
            fuzz::check_value(source, schema, input);
        } else {
            fuzz::check_call(schema, options, input);
        }
    } catch (const Error& error) {
        COLUGO_CHECK(error.code() == ErrorCode::invalid_argument);
    }
    return 0;
}
