#include "checkpoint/checkpoint_files.h"

#include "support/expect_error.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::safetensors_file;
using testing::TempFolder;

std::string text_of(const StoredTensor& tensor) {
    return {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()};
}

std::string one_tensor(const std::string& name, const std::string& bytes) {
    return safetensors_file({{name, {"U8", {static_cast<int64_t>(bytes.size())}, bytes}}});
}

// Two shards; the second also holds a foreign copy of "a".
void write_shards(const TempFolder& folder, const std::string& weight_map) {
    folder.write("s1.safetensors", one_tensor("a", "right"));
    folder.write("s2.safetensors", safetensors_file({{"a", {"U8", {5}, "wrong"}}, {"b", {"U8", {3}, "bbb"}}}));
    folder.write("model.safetensors.index.json", "{\"weight_map\":" + weight_map + "}");
}

TEST(CheckpointFiles, ReadsASingleFile) {
    const TempFolder folder;
    folder.write("model.safetensors", one_tensor("a", "xyz"));
    folder.write("other.safetensors", "not even a tensor file");
    const CheckpointFiles files(folder.path());
    EXPECT_EQ(text_of(files.tensors().at("a")), "xyz");
    EXPECT_THAT(files.notices(), ElementsAre(HasSubstr("other.safetensors is ignored")));
}

TEST(CheckpointFiles, ReadsTheOnlyFileWhateverItsName) {
    const TempFolder folder;
    folder.write("weights.safetensors", one_tensor("a", "xyz"));
    EXPECT_EQ(CheckpointFiles(folder.path()).tensors().size(), 1u);
    folder.write("more.safetensors", one_tensor("b", "xyz"));
    EXPECT_ERROR(ErrorCode::not_found, "2 *.safetensors files (more.safetensors, weights.safetensors",
                 CheckpointFiles(folder.path()));
}

TEST(CheckpointFiles, TheIndexDecides) {
    const TempFolder folder;
    write_shards(folder, R"({"a":"s1.safetensors","b":"s2.safetensors"})");
    folder.write("model.safetensors", one_tensor("a", "stray"));
    const CheckpointFiles files(folder.path());
    EXPECT_EQ(text_of(files.tensors().at("a")), "right");
    EXPECT_EQ(text_of(files.tensors().at("b")), "bbb");
    EXPECT_THAT(files.notices(),
                ElementsAre(HasSubstr("a in s2.safetensors is ignored"), HasSubstr("model.safetensors is ignored")));
}

TEST(CheckpointFiles, RefusesBrokenIndexes) {
    const struct {
        const char* weight_map;
        ErrorCode code;
        const char* words;
    } cases[] = {
        {R"({"a":"s1.safetensors","b":"s3.safetensors"})", ErrorCode::not_found, "s3.safetensors is missing"},
        {R"({"b":"s1.safetensors"})", ErrorCode::invalid_file, "s1.safetensors has no tensor b"},
        {R"({"a":"../s1.safetensors"})", ErrorCode::invalid_file, "maps a to \"../s1.safetensors\""},
        {R"({"a":"/etc/passwd"})", ErrorCode::invalid_file, "maps a to \"/etc/passwd\""},
        {R"({"a":"x/../s1.safetensors"})", ErrorCode::invalid_file, "name of a file in the same folder"},
        {R"({"a":".."})", ErrorCode::invalid_file, "name of a file in the same folder"},
        {R"({"a":""})", ErrorCode::invalid_file, "name of a file in the same folder"},
        {R"({"a":"s1.safetensors\u0000"})", ErrorCode::invalid_file, "name of a file in the same folder"},
        {R"({"a":5})", ErrorCode::invalid_file, "a is 5; expected a string"},
        {R"({"a":null})", ErrorCode::invalid_file, "maps a to null"},
        {R"([1])", ErrorCode::invalid_file, "weight_map is [1]; expected an object"},
        {R"(null)", ErrorCode::invalid_file, "weight_map is missing"},
        {R"({"a":)", ErrorCode::invalid_file, "is not JSON"},
        {R"({"a":"s1.safetensors","a":"s2.safetensors"})", ErrorCode::invalid_file, "\"a\" twice"},
    };
    for (const auto& entry : cases) {
        SCOPED_TRACE(entry.weight_map);
        const TempFolder folder;
        write_shards(folder, entry.weight_map);
        EXPECT_ERROR(entry.code, entry.words, CheckpointFiles(folder.path()));
    }
}

TEST(CheckpointFiles, RefusesABrokenShard) {
    const TempFolder folder;
    write_shards(folder, R"({"a":"s1.safetensors","b":"s2.safetensors"})");
    folder.write("s2.safetensors", one_tensor("b", "bbb").substr(0, 30));
    EXPECT_ERROR(ErrorCode::invalid_file, "s2.safetensors is cut short", CheckpointFiles(folder.path()));
}

TEST(CheckpointFiles, NamesWhatIsNotThere) {
    const TempFolder folder;
    EXPECT_ERROR(ErrorCode::not_found, "holds no weights", CheckpointFiles(folder.path()));
    EXPECT_ERROR(ErrorCode::not_found, "/none does not exist", CheckpointFiles(folder.path() + "/none"));
    EXPECT_ERROR(ErrorCode::invalid_argument, "is not a folder", CheckpointFiles(folder.write("model.gguf", "GGUF")));
}

TEST(CheckpointFiles, ReadsTextUpToALimit) {
    const TempFolder folder;
    const std::string path = folder.write("t", "12345");
    EXPECT_EQ(read_text_file(path, 5), "12345");
    EXPECT_EQ(read_text_file(path + "x", 5), std::nullopt);
    EXPECT_ERROR(ErrorCode::invalid_file, "has 5 bytes; accepted: up to 4", read_text_file(path, 4));
}

}  // namespace
}  // namespace colugo
