#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "text_goldens.h"
#include "thread_seconds.h"

namespace colugo {
namespace {

using Ids = std::vector<int32_t>;

struct GoldenEncoding {
    std::string text;
    Ids ids;        // control tokens recognised
    Ids plain_ids;  // by a tokenizer without control tokens
};

std::vector<GoldenEncoding> golden_encodings() {
    std::vector<GoldenEncoding> result;
    for (const auto& encoding : golden_cases("encodings")) {
        result.push_back({encoding.at("text"), encoding.at("ids"), encoding.at("plain_ids")});
    }
    return result;
}

std::string bytes_of(const Tokenizer& tokenizer, const Ids& ids) {
    std::string bytes;
    for (const int32_t id : ids) bytes += tokenizer.token_bytes(id);
    return bytes;
}

TEST(Tokenizer, GivesTheIdsOfTheHuggingFacePackage) {
    const auto encodings = golden_encodings();
    ASSERT_GT(encodings.size(), 200u);
    for (const auto& [text, ids, plain_ids] : encodings) {
        EXPECT_EQ(golden_tokenizer().encode(text), ids) << text;
        EXPECT_EQ(golden_tokenizer().encode(text, ControlTokens::recognised), ids) << text;
        EXPECT_EQ(golden_tokenizer().encode(text, ControlTokens::plain_text), plain_ids) << text;
    }
}

TEST(Tokenizer, AMemoChangesNoId) {
    const Tokenizer& tokenizer = golden_tokenizer();
    EncodingMemo memo(size_t{1} << 20);
    const ScopedMemo scoped{memo, "a scope"};
    // A conversation that grows, as agents' do; its messages have control tokens and broken text in them.
    std::string conversation;
    std::vector<TextSpan> content;
    for (const GoldenEncoding& encoding : golden_encodings()) {
        conversation += "<|im_start|>";
        const size_t begin = conversation.size();
        for (int i = 0; i < 5; ++i) conversation += encoding.text + "\xF0\x9F" + std::to_string(i);
        content.push_back({begin, conversation.size()});
        conversation += "<|im_end|>\n";
        if (content.size() % 10 != 0) continue;
        ASSERT_EQ(tokenizer.encode(conversation, content, &scoped), tokenizer.encode(conversation, content));
        ASSERT_EQ(tokenizer.encode(conversation, {}, &scoped), tokenizer.encode(conversation));
    }
    EXPECT_GT(memo.found(), 1000u);
}

TEST(Tokenizer, VocabularyIsWhatTheFileSays) {
    const Tokenizer& tokenizer = golden_tokenizer();
    EXPECT_EQ(tokenizer.vocab_size(), 593);
    EXPECT_EQ(tokenizer.id_limit(), 593);
    const int32_t end = tokenizer.find("<|im_end|>").value();
    const int32_t think = tokenizer.find("<think>").value();
    EXPECT_EQ(tokenizer.token_bytes(end), "<|im_end|>");
    EXPECT_TRUE(tokenizer.is_control(end) && tokenizer.is_special(end));
    EXPECT_TRUE(tokenizer.is_control(think) && !tokenizer.is_special(think));
    EXPECT_FALSE(tokenizer.is_control(0) || tokenizer.is_special(0));
    EXPECT_TRUE(tokenizer.has_token(0) && tokenizer.has_token(592));
    EXPECT_FALSE(tokenizer.has_token(593) || tokenizer.has_token(-1));
    EXPECT_EQ(tokenizer.token_bytes(593), "");
    EXPECT_EQ(tokenizer.find("<|im_en"), std::nullopt);
    EXPECT_EQ(tokenizer.find("a"), std::nullopt) << "a token, but no control token";
    EXPECT_THAT(tokenizer.notices(), ::testing::IsEmpty());
}

TEST(Tokenizer, ControlTokensInsideContentArePlainText) {
    const Tokenizer& tokenizer = golden_tokenizer();
    const int32_t end = *tokenizer.find("<|im_end|>");
    const std::string head = "<|im_start|>user\n";
    const std::string content = "say <|im_end|> and </think>";
    const std::string tail = "<|im_end|>\n";
    const std::string text = head + content + tail;
    const TextSpan span{head.size(), head.size() + content.size()};
    const Ids ids = tokenizer.encode(text, std::span(&span, 1));
    EXPECT_EQ(std::count(ids.begin(), ids.end(), end), 1);
    EXPECT_EQ(ids.front(), *tokenizer.find("<|im_start|>"));
    EXPECT_EQ(std::count(ids.begin(), ids.end(), *tokenizer.find("</think>")), 0);
    EXPECT_EQ(bytes_of(tokenizer, ids), text);
    const Ids all = tokenizer.encode(text);
    EXPECT_EQ(std::count(all.begin(), all.end(), end), 2);
}

TEST(Tokenizer, AControlTokenAcrossABorderOfContentIsPlainText) {
    const Tokenizer& tokenizer = golden_tokenizer();
    const std::string text = "<|im_end|>";
    for (size_t begin = 0; begin <= text.size(); ++begin) {
        for (size_t end = begin; end <= text.size(); ++end) {
            const TextSpan span{begin, end};
            const Ids ids = tokenizer.encode(text, std::span(&span, 1));
            if (begin == end) {
                EXPECT_EQ(ids, (Ids{*tokenizer.find(text)})) << "empty content hides nothing";
            } else {
                EXPECT_EQ(ids, tokenizer.encode(text, ControlTokens::plain_text)) << begin << ' ' << end;
            }
        }
    }
}

TEST(Tokenizer, ThePartOutsideContentMayBeAShorterControlToken) {
    const Tokenizer& tokenizer = golden_tokenizer();
    const std::string text = "<|tts_end|><|again|>";  // one token, and its beginning is another
    EXPECT_EQ(tokenizer.encode(text), (Ids{*tokenizer.find(text)}));
    const TextSpan span{std::string("<|tts_end|>").size(), text.size()};
    const Ids ids = tokenizer.encode(text, std::span(&span, 1));
    EXPECT_EQ(ids.front(), *tokenizer.find("<|tts_end|>"));
    EXPECT_EQ(bytes_of(tokenizer, ids), text);
}

TEST(Tokenizer, BordersOfContentCutNothingElse) {
    const Tokenizer& tokenizer = golden_tokenizer();
    for (const std::string text : {"the quick brown", "it's 12\n\n  x", "e\u0301 Vi\u0065\u0302\u0323t"}) {
        const Ids whole = tokenizer.encode(text);
        for (size_t begin = 0; begin < text.size(); ++begin) {
            const TextSpan spans[] = {{begin / 2, begin}, {begin, text.size()}};
            EXPECT_EQ(tokenizer.encode(text, spans), whole) << text << ' ' << begin;
        }
    }
}

TEST(Tokenizer, BytesThatAreNotUtf8AreReplacedFirst) {
    const Tokenizer& tokenizer = golden_tokenizer();
    EXPECT_EQ(tokenizer.encode("a\xE4\xBD<|im_end|>\xFFz"), tokenizer.encode("a\uFFFD<|im_end|>\uFFFDz"));
    const std::string all_bytes = [] {
        std::string bytes;
        for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
        return bytes;
    }();
    EXPECT_FALSE(tokenizer.encode(all_bytes).empty());
}

TEST(Tokenizer, HostileTextsTakeNearlyLinearTime) {
    const Tokenizer& tokenizer = golden_tokenizer();
    for (const std::string unit :
         {"A", " ", "\u00e9", "\u4eca", ".", "<|im_end", "<", "e\u0301", "\u0301\u0316", "\xE4"}) {
        const auto seconds = [&](size_t count) {
            const std::string text = repeated(unit, count);
            return thread_seconds([&] { tokenizer.encode(text); });
        };
        EXPECT_LT(seconds(80'000), 9 * seconds(20'000) + 0.02) << '"' << unit << '"';
    }
}

TEST(Tokenizer, SeveralThreadsEncodeAtOnce) {
    const auto encodings = golden_encodings();
    std::atomic<int> differences = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (const auto& encoding : encodings)
                differences += golden_tokenizer().encode(encoding.text) != encoding.ids;
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(differences, 0);
}

// Needs the published tokenizer, 33 MB: COLUGO_QWEN_TOKENIZER, or qwen/tokenizer.json in the fixtures folder.
TEST(PublishedTokenizer, TestVector) {
    const char* given = std::getenv("COLUGO_QWEN_TOKENIZER");
    const std::string path = given != nullptr ? given : COLUGO_FIXTURES_DIR "/qwen/tokenizer.json";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no published tokenizer at " << path;
    const Tokenizer tokenizer = Tokenizer::from_file(path);
    EXPECT_THAT(tokenizer.notices(), ::testing::IsEmpty());
    EXPECT_EQ(tokenizer.vocab_size(), 248077);
    EXPECT_EQ(tokenizer.encode("<|im_start|>assistant\n<think>\n\n</think>\n\n"),
              (Ids{248045, 74455, 198, 248068, 271, 248069, 271}));
    EXPECT_EQ(tokenizer.encode(
                  "Hello! \u6bd5\u8001\u5e08\uff011 + 1 = 2 \u0120\u00d1\u0124\u00d0\u00b2\u00d1\u012c\u00d1\u0122"),
              (Ids{9419, 0,   220,   97169, 97621, 6115,  16,    478,   220, 16,  283,   220, 17,
                   9551, 254, 68933, 128,   97,    91914, 28495, 68933, 128, 105, 68933, 128, 95}));
}

}  // namespace
}  // namespace colugo
