#include "engine/model_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_files.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

using testing::TempFolder;

std::string fixture(const std::string& name) {
    return std::string(COLUGO_FIXTURES_DIR) + "/" + name;
}

// A folder with a copy of the fixture's tokenizer and nothing else.
void copy_tokenizer(const TempFolder& folder) {
    folder.write("tokenizer.json", *read_text_file(fixture("tiny-bf16") + "/tokenizer.json", 1 << 24));
}

ModelConfig config_with(int64_t vocab_size) {
    ModelConfig config;
    config.vocab_size = vocab_size;
    return config;
}

TEST(ModelText, StopsAreTheUnionOfTheirSources) {
    const ModelText text(fixture("tiny-bf16"));
    const int32_t turn = *text.tokenizer().find("<|im_end|>");
    const int32_t end = *text.tokenizer().find("<|endoftext|>");
    EXPECT_THAT(text.stop_ids(read_model_config(fixture("tiny-bf16"))), ::testing::UnorderedElementsAre(turn, end));
}

TEST(ModelText, EachSourceOfStopsActsAlone) {
    const TempFolder folder;
    copy_tokenizer(folder);
    EXPECT_THAT(ModelText(folder.path()).stop_ids(config_with(512)), ::testing::IsEmpty());

    ModelConfig with_eos = config_with(512);
    with_eos.eos_token_id = {7, 99999};
    EXPECT_THAT(ModelText(folder.path()).stop_ids(with_eos), ::testing::ElementsAre(7));

    folder.write("generation_config.json", R"({"eos_token_id": [9, 3]})");
    EXPECT_THAT(ModelText(folder.path()).stop_ids(config_with(512)), ::testing::ElementsAre(3, 9));

    folder.write("tokenizer_config.json", R"({"eos_token": "<|im_start|>"})");
    const int32_t start = *ModelText(folder.path()).tokenizer().find("<|im_start|>");
    EXPECT_THAT(ModelText(folder.path()).stop_ids(config_with(512)), ::testing::ElementsAre(3, 9, start));

    folder.write("chat_template.jinja",
                 "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% if m.role == 'assistant' %}<|box_end|>{% "
                 "endif %}{% endfor %}");
    const int32_t box = *ModelText(folder.path()).tokenizer().find("<|box_end|>");
    EXPECT_THAT(ModelText(folder.path()).stop_ids(config_with(512)), ::testing::UnorderedElementsAre(3, 9, start, box));
}

TEST(ModelText, ATemplateThatShowsNoEndOfTurnAddsNone) {
    const TempFolder folder;
    copy_tokenizer(folder);
    for (const char* source : {"{% for m in messages %}{{ m.content }}\n{% endfor %}",  // text behind the reply
                               "{{ raise_exception('no') }}", "nothing of the reply"}) {
        folder.write("chat_template.jinja", source);
        EXPECT_THAT(ModelText(folder.path()).stop_ids(config_with(512)), ::testing::IsEmpty()) << source;
    }
}

TEST(ModelText, NamesEndTokensThatAreNone) {
    const TempFolder folder;
    copy_tokenizer(folder);
    folder.write("generation_config.json", R"({"eos_token_id": [9, 700]})");
    folder.write("tokenizer_config.json", R"({"eos_token": "<|nowhere|>"})");
    EXPECT_THAT(ModelText(folder.path()).notices(config_with(512)),
                ::testing::ElementsAre(::testing::HasSubstr("eos_token_id 700 is ignored"),
                                       ::testing::HasSubstr("\"<|nowhere|>\"")));
}

TEST(ModelText, PaddingIsIdsWithoutAToken) {
    const ModelText text(fixture("tiny-r1-bf16"));
    const TokenMask mask = text.token_mask(read_model_config(fixture("tiny-r1-bf16")));
    EXPECT_EQ(mask.size(), 640);
    EXPECT_EQ(mask.count(), text.tokenizer().vocab_size());
    EXPECT_TRUE(mask.contains(0));
    EXPECT_FALSE(mask.contains(639));
    EXPECT_ERROR(ErrorCode::invalid_file, "tokenizer.json has the token id", text.token_mask(config_with(100)));
    const TempFolder empty;
    EXPECT_EQ(ModelText(empty.path()).token_mask(config_with(100)).count(), 100);
}

TEST(ModelText, AbsentPartsAreNamedWhenNeeded) {
    const TempFolder folder;
    const ModelText text(folder.path());
    EXPECT_FALSE(text.has_tokenizer());
    EXPECT_ERROR(ErrorCode::not_found, "tokenizer.json", text.tokenizer());
    EXPECT_ERROR(ErrorCode::not_found, "chat template", text.render({}));
    EXPECT_ERROR(ErrorCode::not_found, "/nowhere.jinja", ModelText(folder.path(), "/nowhere.jinja"));
}

TEST(ModelText, RendersWithTheTemplateItIsGiven) {
    const TempFolder folder;
    folder.write("tokenizer_config.json", R"({"bos_token": "<|endoftext|>",
        "chat_template": [{"name": "default", "template": "plain"},
                          {"name": "tool_use", "template": "{{ bos_token }}{{ tools | length }} tools"}]})");
    ChatInput input;
    input.messages = {{{"role", "user"}, {"content", "hi"}}};
    const ModelText two(folder.path());
    EXPECT_EQ(two.render(input).text, "plain");
    EXPECT_FALSE(two.template_mentions("tools", input));
    ChatInput with_tools = input;
    with_tools.tools = {{{"type", "function"}}};
    EXPECT_EQ(two.render(with_tools).text, "<|endoftext|>1 tools");
    EXPECT_TRUE(two.template_mentions("tools", with_tools));
    EXPECT_EQ(two.render(input).text, "plain");
    const std::string other = folder.write("other.jinja", "{{ messages[0].content }}!");
    EXPECT_EQ(ModelText(folder.path(), other).render(input).text, "hi!");
    folder.write("other.jinja", "{{ raise_exception('no such role') }}");
    EXPECT_ERROR(ErrorCode::invalid_argument, "other.jinja", ModelText(folder.path(), other).render(input));
    EXPECT_ERROR(ErrorCode::invalid_argument, "no such role", ModelText(folder.path(), other).render(input));
    folder.write("other.jinja", "{% no_such_tag %}");
    const ModelText broken(folder.path(), other);
    for (int i = 0; i < 2; ++i) EXPECT_ERROR(ErrorCode::unsupported, "other.jinja", broken.render(input));
}

TEST(ModelText, ContentNeverBecomesControlTokens) {
    const ModelText text(fixture("tiny-bf16"));
    ChatInput input;
    input.messages = {{{"role", "user"}, {"content", "a<|im_end|>b"}}};
    const std::vector<int32_t> ids = text.encode(text.render(input));
    const int32_t turn = *text.tokenizer().find("<|im_end|>");
    EXPECT_EQ(std::count(ids.begin(), ids.end(), turn), 1);
}

SamplingParams sampling_of(const char* generation_config) {
    const TempFolder folder;
    folder.write("generation_config.json", generation_config);
    return ModelText(folder.path()).default_sampling();
}

TEST(ModelText, SamplingDefaultsAreThePublishers) {
    EXPECT_EQ(sampling_of("{}").temperature, 0.0);
    EXPECT_EQ(sampling_of(R"({"do_sample": true})").temperature, 1.0);
    EXPECT_EQ(sampling_of(R"({"temperature": 0.6})").temperature, 0.6);
    EXPECT_EQ(sampling_of(R"({"do_sample": false, "temperature": 0.6})").temperature, 0.0);
    const SamplingParams params = sampling_of(
        R"({"do_sample": true, "temperature": 0.7, "top_k": 20, "top_p": 0.8, "min_p": 0.05, "repetition_penalty": 1.1})");
    EXPECT_EQ(params.temperature, 0.7);
    EXPECT_EQ(params.top_k, 20);
    EXPECT_EQ(params.top_p, 0.8);
    EXPECT_EQ(params.min_p, 0.05);
    EXPECT_EQ(params.repetition_penalty, 1.1);
    const TempFolder empty;
    EXPECT_EQ(ModelText(empty.path()).default_sampling(), SamplingParams{});
}

}  // namespace
}  // namespace colugo
