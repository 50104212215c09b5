// tokenizer.json files that are broken, or ask for what this program does not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "text_goldens.h"

namespace colugo {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

void expect_error(std::string_view text, ErrorCode code, const std::string& words) {
    try {
        Tokenizer::from_json(text, "some/tokenizer.json");
        ADD_FAILURE() << "accepted, expected: " << words;
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_THAT(error.what(), HasSubstr(words));
        EXPECT_THAT(error.what(), HasSubstr("some/tokenizer.json"));
    }
}

// The golden file with one value put in, at a JSON pointer.
std::string with(const std::string& pointer, const Json& value) {
    Json document = golden_document();
    document[Json::json_pointer(pointer)] = value;
    return document.dump();
}

void expect_invalid(const std::string& text, const std::string& words) {
    expect_error(text, ErrorCode::invalid_file, words);
}

void expect_refused(const std::string& pointer, const Json& value, const std::string& words) {
    expect_error(with(pointer, value), ErrorCode::unsupported, words);
}

Json byte_level(bool use_regex, bool add_prefix_space = false) {
    return {{"type", "ByteLevel"}, {"add_prefix_space", add_prefix_space}, {"use_regex", use_regex}};
}

Json split(const std::string& pattern) {
    return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
}

Json sequence(const Json& first, const Json& second) {
    return {{"type", "Sequence"}, {"pretokenizers", {first, second}}};
}

TEST(TokenizerFile, AFileCutShortIsInvalid) {
    const std::string text = read_golden("tokenizer.json");
    for (size_t size = 0; size + 2 < text.size(); size += 97) {
        expect_error(text.substr(0, size), ErrorCode::invalid_file, "not valid JSON at byte");
    }
}

TEST(TokenizerFile, OtherJsonIsInvalid) {
    expect_invalid("[]", "not a JSON object");
    expect_invalid("3", "not a JSON object");
    expect_invalid("{}", "there is no model");
    expect_invalid(R"({"model":[]})", "model has no type");
    expect_invalid(R"({"model":{"type":"BPE"}})", "model.vocab has to be an object");
    expect_invalid(R"({"model":{"type":"BPE","vocab":[],"merges":[]}})", "model.vocab has to be an object");
    expect_invalid(R"({"model":{"type":"BPE","vocab":{},"merges":[]}})", "no token for byte 0x00");
    expect_invalid(std::string(100'000, '['), "not valid JSON");
}

TEST(TokenizerFile, VocabularyErrorsNameTheToken) {
    expect_invalid(with("/model/vocab/a", "1"), "model.vocab[\"a\"] has to be an integer");
    expect_invalid(with("/model/vocab/a", Json::array({1})), "model.vocab[\"a\"] has to be an integer");
    expect_invalid(with("/model/vocab/a", Json::object()), "model.vocab[\"a\"] has to be an integer");
    expect_invalid(with("/model/vocab/a", 1.5), "model.vocab[\"a\"] has to be an integer");
    expect_invalid(with("/model/vocab/a", -1), "\"a\" has id -1");
    expect_invalid(with("/model/vocab/a", 4'000'000'000), "\"a\" has id 4000000000");
    expect_invalid(with("/model/vocab/a", 0), "both have id 0");
    Json document = golden_document();
    document["model"]["vocab"].erase("a");
    expect_invalid(document.dump(), "no token for byte 0x61");
    std::string text = read_golden("tokenizer.json");
    text.insert(text.find("\"vocab\":{") + 9, "\"a\":777,");
    expect_invalid(text, "token \"a\" is in model.vocab twice");
}

TEST(TokenizerFile, MergeErrorsNameTheMerge) {
    const std::string shape = "has to be \"left right\" or [\"left\", \"right\"]";
    expect_invalid(with("/model/merges", "none"), "model.merges has to be an array");
    expect_invalid(with("/model/merges", Json::object()), "model.merges has to be an array");
    expect_invalid(with("/model/merges/3", 7), shape);
    expect_invalid(with("/model/merges/3", "ab"), shape);
    expect_invalid(with("/model/merges/3", "a b c"), shape);
    expect_invalid(with("/model/merges/3", {"a"}), shape);
    expect_invalid(with("/model/merges/3", {"a", "b", "c"}), shape);
    expect_invalid(with("/model/merges/3", Json::array({Json::array({"a", "b"}), "c"})), shape);
    expect_invalid(with("/model/merges/3", {"a", nullptr}), shape);
    expect_invalid(with("/model/merges/3", "a nowhere"), "model.merges[3] (\"a\", \"nowhere\"): \"nowhere\"");
    expect_invalid(with("/model/merges/3", "\\ \\"), "model.merges[3]");
}

TEST(TokenizerFile, BothFormsOfMergesAreRead) {
    Json document = golden_document();
    Json& merges = document["model"]["merges"];
    ASSERT_TRUE(merges[0].is_array());
    for (Json& merge : merges) merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    const std::string text = "def encode(self, text: str) -> list[int]:";
    EXPECT_EQ(tokenizer_of(document).encode(text), golden_tokenizer().encode(text));
}

TEST(TokenizerFile, AddedTokenErrorsNameTheToken) {
    expect_invalid(with("/added_tokens", 3), "added_tokens has to be an array");
    expect_invalid(with("/added_tokens/1", "x"), "added_tokens[1] has to be an object");
    expect_invalid(with("/added_tokens/1/content", ""), "added_tokens[1].content");
    expect_invalid(with("/added_tokens/1/content", nullptr), "added_tokens[1].content");
    expect_invalid(with("/added_tokens/1/id", "561"), "added_tokens[1].id");
    expect_invalid(with("/added_tokens/1/id", -5), "has id -5");
    expect_invalid(with("/added_tokens/1/id", 560), "both have id 560");
    expect_invalid(with("/added_tokens/1/id", 0), "both have id 0");
    expect_invalid(with("/added_tokens/1/content", "<|endoftext|>"), "\"<|endoftext|>\"");
    expect_invalid(with("/added_tokens/1/content", "a"), "(\"a\") has id 561, in model.vocab it has");
    expect_invalid(with("/added_tokens/1/special", 1), "added_tokens[1].special");
    for (const std::string flag : {"single_word", "lstrip", "rstrip"}) {
        expect_refused("/added_tokens/1/" + flag, true, "added_tokens[1] (\"<|im_start|>\") has " + flag);
    }
}

TEST(TokenizerFile, WhatTheProgramDoesNotDoIsRefusedByName) {
    expect_refused("/version", "2.0", "version \"2.0\"");
    expect_refused("/model/type", "WordPiece", "model type \"WordPiece\"");
    expect_error(R"({"model":{"type":"Unigram","vocab":[["a",0.5]]}})", ErrorCode::unsupported, "Unigram");
    expect_refused("/model/dropout", 0.1, "model.dropout 0.1");
    expect_refused("/model/unk_token", "<unk>", "model.unk_token \"<unk>\"");
    expect_refused("/model/continuing_subword_prefix", "##", "model.continuing_subword_prefix");
    expect_refused("/model/end_of_word_suffix", "</w>", "model.end_of_word_suffix");
    expect_refused("/model/fuse_unk", true, "model.fuse_unk");
    expect_refused("/model/byte_fallback", true, "model.byte_fallback");
    expect_refused("/normalizer", {{"type", "Lowercase"}}, "normalizer \"Lowercase\"");
    expect_refused("/decoder", {{"type", "WordPiece"}}, "decoder \"WordPiece\"");
    expect_refused("/decoder", nullptr, "decoder \"\"");
    expect_refused("/post_processor", {{"type", "TemplateProcessing"}}, "post_processor \"TemplateProcessing\"");
    expect_refused("/pre_tokenizer", nullptr, "pre_tokenizer \"\"");
    expect_refused("/pre_tokenizer", {{"type", "Metaspace"}}, "pre_tokenizer \"Metaspace\"");
    expect_refused("/pre_tokenizer", byte_level(false), "use_regex");
    expect_refused("/pre_tokenizer", byte_level(true, true), "add_prefix_space");
    expect_refused("/pre_tokenizer", sequence({{"type", "Digits"}}, byte_level(false)), "[Digits, ByteLevel]");
    expect_refused("/pre_tokenizer", sequence(split("x"), byte_level(true)), "use_regex");
    expect_refused("/pre_tokenizer", sequence(split("a("), byte_level(false)), "not accepted by PCRE2");
    expect_refused("/pre_tokenizer", sequence(split("^\\C|"), byte_level(false)), "not accepted by PCRE2");
    expect_refused("/pre_tokenizer/pretokenizers/0/behavior", "Removed", "behavior \"Removed\"");
    expect_refused("/pre_tokenizer/pretokenizers/0/invert", true, "invert");
    expect_refused("/pre_tokenizer/pretokenizers/0/pattern", {{"String", " "}}, "accepted is a Regex");
    expect_invalid(with("/normalizer", 3), "normalizer has no type");
    expect_invalid(with("/pre_tokenizer", {{"type", 3}}), "pre_tokenizer has no type");
}

TEST(TokenizerFile, NeutralValuesAreAccepted) {
    Json document = golden_document();
    document["model"]["dropout"] = 0.0;
    document["model"]["continuing_subword_prefix"] = "";
    document["model"]["unk_token"] = nullptr;
    document["post_processor"] = nullptr;
    document.erase("version");
    EXPECT_EQ(tokenizer_of(document).encode("it's"), golden_tokenizer().encode("it's"));
}

TEST(TokenizerFile, WithoutANormalizerTextIsEncodedAsItIs) {
    Json document = golden_document();
    document["normalizer"] = nullptr;
    const Tokenizer tokenizer = tokenizer_of(document);
    EXPECT_NE(tokenizer.encode("e\u0301"), tokenizer.encode("\u00e9"));
    EXPECT_EQ(golden_tokenizer().encode("e\u0301"), golden_tokenizer().encode("\u00e9"));
}

TEST(TokenizerFile, AnotherPatternIsMatchedWithANotice) {
    Json document = golden_document();
    document["pre_tokenizer"] = sequence(split("[a-z]|[^a-z]+"), byte_level(false));
    const Tokenizer letters = tokenizer_of(document);
    ASSERT_EQ(letters.notices().size(), 1u);
    EXPECT_THAT(letters.notices()[0], HasSubstr("PCRE2"));
    EXPECT_EQ(letters.encode("the").size(), 3u);
    EXPECT_EQ(golden_tokenizer().encode(" the").size(), 1u);

    document["pre_tokenizer"] = byte_level(true);
    const Tokenizer gpt2 = tokenizer_of(document);
    ASSERT_EQ(gpt2.notices().size(), 1u);
    EXPECT_EQ(gpt2.encode("it's the text"), golden_tokenizer().encode("it's the text"));
}

TEST(TokenizerFile, IgnoreMergesTakesAPieceThatIsAToken) {
    Json document = golden_document();
    document["model"]["vocab"]["zqzq"] = 600;  // no merge leads there
    EXPECT_EQ(tokenizer_of(document).encode("zqzq").size(), 4u);
    document["model"]["ignore_merges"] = true;
    EXPECT_EQ(tokenizer_of(document).encode("zqzq"), (std::vector<int32_t>{600}));
    EXPECT_EQ(tokenizer_of(document).vocab_size(), 594);
    EXPECT_EQ(tokenizer_of(document).id_limit(), 601);
    EXPECT_FALSE(tokenizer_of(document).has_token(599));
}

TEST(TokenizerFile, NormalizedControlTokensAreMatchedAfterNormalization) {
    Json document = golden_document();
    document["added_tokens"].push_back({{"id", 600}, {"content", "\u00e9>"}, {"normalized", true}, {"special", false}});
    const Tokenizer tokenizer = tokenizer_of(document);
    const auto found = [&](std::string_view text, std::vector<TextSpan> spans = {}) {
        const auto ids = tokenizer.encode(text, spans);
        return std::count(ids.begin(), ids.end(), 600);
    };
    EXPECT_EQ(found("a\u00e9>b"), 1);
    EXPECT_EQ(found("ae\u0301>b"), 1);
    EXPECT_EQ(found("a\u00e9>\u0338b"), 0);
    EXPECT_EQ(found("a\u00e9>b", {{0, 1}}), 1);
    EXPECT_EQ(found("a\u00e9>b", {{2, 3}}), 0);
    EXPECT_EQ(found("ae\u0301>b", {{0, 1}}), 0) << "not recognised in changed text with content";
    EXPECT_EQ(found("x<|im_end|>\u00e9>", {{0, 1}}), 1);
}

TEST(TokenizerFile, AControlTokenMayAlsoBeInTheVocabulary) {
    Json document = golden_document();
    const int32_t id = document["model"]["vocab"]["a"];
    document["added_tokens"].push_back({{"id", id}, {"content", "a"}, {"normalized", false}, {"special", true}});
    const Tokenizer tokenizer = tokenizer_of(document);
    EXPECT_TRUE(tokenizer.is_special(id));
    EXPECT_EQ(tokenizer.find("a"), id);
    EXPECT_EQ(tokenizer.vocab_size(), 593);
}

TEST(TokenizerFile, TruncationAndPaddingAreIgnoredWithANotice) {
    Json document = golden_document();
    document["truncation"] = {{"max_length", 2}};
    document["padding"] = Json::object();
    const Tokenizer tokenizer = tokenizer_of(document);
    EXPECT_EQ(tokenizer.notices().size(), 2u);
    EXPECT_GT(tokenizer.encode("a b c d").size(), 2u);
}

TEST(TokenizerFile, AMissingFileIsNamed) {
    try {
        Tokenizer::from_file("no/such/tokenizer.json");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::not_found);
        EXPECT_THAT(error.what(), HasSubstr("no/such/tokenizer.json"));
    }
}

}  // namespace
}  // namespace colugo
