#include "checkpoint/text_files.h"

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

using ::testing::ElementsAre;
using testing::TempFolder;

TEST(TextFiles, EverythingMayBeAbsent) {
    const TempFolder folder;
    const TextFiles files = read_text_files(folder.path());
    EXPECT_TRUE(files.chat_templates.empty());
    EXPECT_EQ(files.chat_template(), nullptr);
    EXPECT_FALSE(files.tokenizer.eos_token);
    EXPECT_TRUE(files.generation.eos_token_id.empty());
    EXPECT_ERROR(ErrorCode::not_found, "tokenizer.json does not exist: without it no text",
                 files.read_tokenizer_json());
}

TEST(TextFiles, ReadsTokensAsTextOrObject) {
    const TempFolder folder;
    folder.write("tokenizer.json", "{}");
    folder.write("tokenizer_config.json", R"({"eos_token":"<|im_end|>","pad_token":{"content":"<|pad|>","lstrip":false},
        "bos_token":null,"add_bos_token":false,"model_max_length":1e30,"chat_template":"T"})");
    const TextFiles files = read_text_files(folder.path());
    EXPECT_EQ(files.tokenizer.eos_token, "<|im_end|>");
    EXPECT_EQ(files.tokenizer.pad_token, "<|pad|>");
    EXPECT_EQ(files.tokenizer.bos_token, std::nullopt);
    EXPECT_EQ(files.tokenizer.add_bos_token, false);
    ASSERT_NE(files.chat_template(), nullptr);
    EXPECT_EQ(files.chat_template()->source, "T");
    EXPECT_EQ(files.read_tokenizer_json(), "{}");
}

TEST(TextFiles, TemplateFilesComeFirst) {
    const TempFolder folder;
    folder.write("tokenizer_config.json", R"({"chat_template":[{"name":"default","template":"A"},
                                                               {"name":"tool_use","template":"B"}]})");
    TextFiles files = read_text_files(folder.path());
    EXPECT_EQ(files.chat_template("tool_use")->source, "B");
    EXPECT_EQ(files.chat_template()->source, "A");
    EXPECT_EQ(files.chat_template("rag"), nullptr);
    folder.write("chat_template.json", R"({"chat_template":"C"})");
    EXPECT_EQ(read_text_files(folder.path()).chat_template()->source, "C");
    folder.write("chat_template.jinja", "D\n");
    files = read_text_files(folder.path());
    EXPECT_EQ(files.chat_template()->source, "D\n");
    EXPECT_THAT(files.chat_template_origin, ::testing::EndsWith("chat_template.jinja"));
}

TEST(TextFiles, ReadsGenerationDefaults) {
    const GenerationConfig config = parse_generation_config(
        R"({"eos_token_id":[7,5],"do_sample":true,"temperature":0.6,"top_k":20,"top_p":0.95})", "g");
    EXPECT_THAT(config.eos_token_id, ElementsAre(7, 5));
    EXPECT_EQ(config.do_sample, true);
    EXPECT_EQ(config.temperature, 0.6);
    EXPECT_EQ(config.top_k, 20);
    EXPECT_EQ(config.top_p, 0.95);
    EXPECT_EQ(config.min_p, std::nullopt);
    EXPECT_THAT(parse_generation_config(R"({"eos_token_id":3})", "g").eos_token_id, ElementsAre(3));
}

TEST(TextFiles, RefusesMalformedOnes) {
    for (const char* text : {R"({"eos_token_id":"x"})", R"({"eos_token_id":[-1]})", R"({"eos_token_id":[1.5]})",
                             R"({"eos_token_id":4294967296})"}) {
        EXPECT_ERROR(ErrorCode::invalid_file, "g: eos_token_id is ", parse_generation_config(text, "g"));
    }
    EXPECT_ERROR(ErrorCode::invalid_file, "g: temperature is -1",
                 parse_generation_config(R"({"temperature":-1})", "g"));
    EXPECT_ERROR(ErrorCode::invalid_file, "g: top_p is 0", parse_generation_config(R"({"top_p":0})", "g"));
    EXPECT_ERROR(ErrorCode::invalid_file, "g: top_p is 1.5", parse_generation_config(R"({"top_p":1.5})", "g"));
    EXPECT_ERROR(ErrorCode::invalid_file, "g: top_k is 2.5", parse_generation_config(R"({"top_k":2.5})", "g"));
    const TempFolder folder;
    folder.write("tokenizer_config.json", R"({"chat_template":[{"name":"default"}]})");
    EXPECT_ERROR(ErrorCode::invalid_file, "chat_template is ", read_text_files(folder.path()));
    folder.write("tokenizer_config.json", R"({"eos_token":5})");
    EXPECT_ERROR(ErrorCode::invalid_file, "eos_token is 5; expected a string", read_text_files(folder.path()));
}

}  // namespace
}  // namespace colugo
