// A vocabulary to try grammars on, and ways through it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/reply_grammar.h"
#include "sampling/token_grammar.h"

namespace colugo::testing {

// Ids 0 .. 255 are the bytes; then words, then control tokens, then two ids without a token.
inline const std::vector<std::string>& words() {
    static const std::vector<std::string> list = {
        "\": ",
        "\", \"",
        "\",\"",
        "{\"",
        "\"}",
        "\"]",
        "[\"",
        "]}",
        "}}",
        "},{",
        ", ",
        "null",
        "true",
        "false",
        "the",
        " the",
        "ab",
        "abc",
        "abcd",
        "\n  ",
        "\n\n",
        "\\n",
        "\\\"",
        "\\u00",
        "12",
        "123",
        "-1",
        "0.5",
        "e+",
        "\xC3\xA9",
        "\xE2\x82\xAC",
        "\xE2\x82",
        "\xF0\x9F\x98\x80",
        "a\xC3",
        "\x98\x80",
        "\n</",
        "</parameter>",
        "\n</parameter>\n",
        "<function=",
        "</function>\n",
        "<parameter=",
        ">\n",
        "\n<",
        "<b>",
        "x\ny",
        "tr",
        "ue",
        "\"a",
        "\"b\":",
        "    ",
        "  \"",
        "--",
    };
    return list;
}

inline constexpr int32_t kFirstWord = 256;
inline int32_t first_control() {
    return kFirstWord + static_cast<int32_t>(words().size());
}
inline int32_t tool_open() {
    return first_control();
}
inline int32_t tool_close() {
    return first_control() + 1;
}
inline int32_t thought_end() {
    return first_control() + 2;
}
inline int32_t reply_end() {
    return first_control() + 3;
}
inline int32_t other_control() {
    return first_control() + 4;
}
inline int64_t vocabulary_size() {
    return first_control() + 7;
}

inline std::string token_text(int32_t id) {
    if (id < kFirstWord) return std::string(1, static_cast<char>(id));
    return id < first_control() ? words()[static_cast<size_t>(id - kFirstWord)] : "";
}

inline std::shared_ptr<const GrammarVocabulary> vocabulary() {
    static const auto shared = [] {
        std::vector<std::string> texts;
        for (int32_t id = 0; id < first_control(); ++id) texts.push_back(token_text(id));
        return std::make_shared<const GrammarVocabulary>(vocabulary_size(), [&](int32_t id) {
            if (id < first_control()) return VocabularyToken{texts[static_cast<size_t>(id)], false};
            return id <= other_control() ? VocabularyToken{"<control>", true} : VocabularyToken{};
        });
    }();
    return shared;
}

inline TokenGrammar token_grammar(ByteGrammar grammar) {
    return TokenGrammar(std::make_shared<const ByteGrammar>(std::move(grammar)), vocabulary(),
                        std::vector<int32_t>{reply_end()});
}

inline nlohmann::ordered_json json(std::string_view text) {
    return nlohmann::ordered_json::parse(text);
}

// The text as tokens: bytes, or the longest words where `long_words`. "<+>", "<->" and "<.>" are the control tokens
// that open and close a call and end a thought.
inline std::vector<int32_t> tokens_of(std::string_view text, bool long_words = false) {
    std::vector<int32_t> tokens;
    while (!text.empty()) {
        int32_t token = static_cast<uint8_t>(text[0]);
        size_t size = 1;
        const std::string_view head = text.substr(0, 3);
        if (head == "<+>" || head == "<->" || head == "<.>") {
            token = head == "<+>" ? tool_open() : head == "<->" ? tool_close() : thought_end();
            size = 3;
        }
        for (size_t i = 0; long_words && i < words().size(); ++i)
            if (words()[i].size() > size && text.substr(0, words()[i].size()) == words()[i]) {
                token = kFirstWord + static_cast<int32_t>(i);
                size = words()[i].size();
            }
        tokens.push_back(token);
        text.remove_prefix(size);
    }
    return tokens;
}

inline std::optional<GrammarState> state_after(TokenGrammar& grammar, const std::vector<int32_t>& tokens) {
    std::optional<GrammarState> state = grammar.start();
    for (const int32_t token : tokens)
        if (state) state = grammar.after(*state, token);
    return state;
}

// Whether the text is a whole reply.
inline bool accepts(TokenGrammar& grammar, std::string_view text) {
    const auto state = state_after(grammar, tokens_of(text));
    return state && grammar.may_end(*state);
}

// Whether a reply can begin with the text.
inline bool begins(TokenGrammar& grammar, std::string_view text) {
    return state_after(grammar, tokens_of(text)).has_value();
}

// A random way through a grammar until the reply ends, with a bias towards closing what is open that grows with its
// length. Each step is checked: there is a way on, and the mask is what `after` says. Control tokens are written as in
// tokens_of.
class Walker {
 public:
    explicit Walker(uint64_t seed) : random_(seed) {}

    std::string walk(TokenGrammar& grammar) {
        std::string text;
        GrammarState state = grammar.start();
        for (int step = 0;; ++step) {
            if (step == 20'000) {
                ADD_FAILURE() << "no end in sight: " << text.substr(0, 200);
                return text;
            }
            const TokenMask& mask = grammar.allowed(state);
            if (mask.count() == 0) {
                ADD_FAILURE() << "no way on behind " << text;
                return text;
            }
            EXPECT_EQ(mask.contains(reply_end()), grammar.may_end(state));
            if (grammar.may_end(state) && (step > 60 || pick(3) == 0)) return text;
            const int32_t token = choose(mask, step);
            if (pick(8) == 0) check_mask(grammar, state, text);
            const auto next = grammar.after(state, token);
            if (!next) {
                ADD_FAILURE() << "token " << token << " is allowed behind " << text << " and leads nowhere";
                return text;
            }
            state = *next;
            text += token == tool_open()     ? "<+>"
                    : token == tool_close()  ? "<->"
                    : token == thought_end() ? "<.>"
                                             : token_text(token);
        }
    }

    uint64_t pick(uint64_t count) { return random_() % count; }

 private:
    void check_mask(TokenGrammar& grammar, GrammarState state, const std::string& text) {
        const TokenMask mask = grammar.allowed(state);
        for (int32_t id = 0; id < vocabulary_size(); ++id)
            EXPECT_EQ(mask.contains(id), grammar.after(state, id).has_value()) << "token " << id << " behind " << text;
    }

    int32_t choose(const TokenMask& mask, int step) {
        if (step > 40 && pick(40) + 40 < static_cast<uint64_t>(step) && pick(4) != 0) {
            std::vector<int32_t> closing = {thought_end()};
            for (const std::string_view text : {"\"}", "\"]", "}", "]", "\n</parameter>\n", "\""})
                closing.push_back(tokens_of(text, true)[0]);
            std::erase_if(closing, [&](int32_t token) { return !mask.contains(token); });
            if (!closing.empty()) return closing[pick(closing.size())];
        }
        std::vector<int32_t> structure, any;
        for (int32_t id = 0; id < first_control() + 3; ++id) {
            if (!mask.contains(id)) continue;
            any.push_back(id);
            const bool is_structure =
                id >= first_control() ||
                std::string_view("\"{}[],:\n").find(static_cast<char>(id)) != std::string_view::npos;
            if (id < 128 ? is_structure : id >= first_control()) structure.push_back(id);
        }
        if (!structure.empty() && pick(3) == 0) return structure[pick(structure.size())];
        if (any.empty()) return reply_end();
        return any[pick(any.size())];
    }

    std::mt19937_64 random_;
};

}  // namespace colugo::testing
