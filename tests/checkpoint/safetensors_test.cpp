#include "checkpoint/safetensors.h"

#include "support/expect_error.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

using testing::safetensors_file;
using testing::TempFolder;
using testing::TestTensors;

std::vector<TensorRecord> parse(const std::string& file) {
    return parse_safetensors_header(std::as_bytes(std::span(file)), "a.safetensors");
}

TestTensors two_tensors() {
    return {{"b", {"BF16", {2, 3}, "0123456789ab"}}, {"a", {"U8", {5}, "vwxyz"}}};
}

TEST(Safetensors, FindsTensorsByName) {
    const TempFolder folder;
    const SafetensorsFile file(folder.write("a.safetensors", safetensors_file(two_tensors())));
    ASSERT_EQ(file.tensors().size(), 2u);
    const TensorRecord* tensor = file.find("b");
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->dtype, DType::bf16);
    EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 3}));
    const std::span<const std::byte> bytes = file.bytes(*tensor);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "0123456789ab");
    EXPECT_EQ(file.find("c"), nullptr);
    file.drop(*tensor, 0, tensor->length);
    EXPECT_EQ(static_cast<char>(file.bytes(*tensor)[0]), '0');
}

TEST(Safetensors, AcceptsWhatTheFormatAllows) {
    // Spaces behind the header, a scalar, an empty tensor, a type nothing here reads.
    const auto tensors = parse(safetensors_file(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},
        "e":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},
        "x":{"dtype":"F4_NEW","shape":[3],"data_offsets":[4,6]}}   )",
                                                "012345"));
    ASSERT_EQ(tensors.size(), 3u);
    EXPECT_EQ(tensors[0].name, "e");
    EXPECT_EQ(tensors[0].length, 0u);
    EXPECT_EQ(tensors[2].dtype_word, "F4_NEW");
    EXPECT_EQ(tensors[2].dtype, std::nullopt);
    EXPECT_TRUE(parse(safetensors_file("{}", "")).empty());
}

struct BrokenFile {
    const char* label;
    std::string file;
    const char* words;
};

void PrintTo(const BrokenFile& broken, std::ostream* out) {
    *out << broken.label;
}

std::string one(const std::string& entry, const std::string& data) {
    return safetensors_file("{\"x\":" + entry + "}", data);
}

std::vector<BrokenFile> broken_files() {
    const std::string whole = safetensors_file(two_tensors());
    const std::string deep(200000, '[');
    return {
        {"empty", "", "has 0 bytes"},
        {"cut_in_length", whole.substr(0, 7), "cut short"},
        {"cut_in_header", whole.substr(0, 40), "cut short"},
        {"cut_in_data", whole.substr(0, whole.size() - 1),
         "tensor b ends at byte 17 of the data, the file has only 16"},
        {"trailing_bytes", whole + "x", "1 bytes at the end"},
        {"length_beyond_file", safetensors_file(1000, "{}", ""), "its header has 1000 bytes"},
        {"length_overflows", safetensors_file(UINT64_MAX, "{}", ""), "18446744073709551615"},
        {"length_near_overflow", safetensors_file(UINT64_MAX - 7, "{}", ""), "accepted: up to"},
        {"no_header", safetensors_file("", ""), "not a safetensors file"},
        {"not_json", safetensors_file("{nonsense", ""), "is not JSON"},
        {"not_an_object", safetensors_file("[1, 2]", ""), "not a safetensors file"},
        {"not_utf8", safetensors_file("{\"\xff\":1}", ""), "is not JSON"},
        {"nested", safetensors_file("{\"x\":" + deep, ""), "nested deeper"},
        {"twice",
         safetensors_file(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                          R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                          "a"),
         "\"x\" twice"},
        {"entry_no_object", one("7", ""), "tensor x is described by 7"},
        {"no_dtype", one(R"({"shape":[1],"data_offsets":[0,1]})", "a"), "tensor x has no dtype"},
        {"dtype_number", one(R"({"dtype":5,"shape":[1],"data_offsets":[0,1]})", "a"), "tensor x has no dtype"},
        {"no_shape", one(R"({"dtype":"U8","data_offsets":[0,1]})", "a"), "tensor x has no shape"},
        {"no_offsets", one(R"({"dtype":"U8","shape":[1]})", "a"), "tensor x has no data_offsets"},
        {"three_offsets", one(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1,2]})", "a"), "expected [begin, end]"},
        {"negative_size", one(R"({"dtype":"U8","shape":[-1],"data_offsets":[0,1]})", "a"),
         "tensor x has a dimension -1"},
        {"float_size", one(R"({"dtype":"U8","shape":[1.0],"data_offsets":[0,1]})", "a"), "a dimension 1.0"},
        {"many_dimensions", one(R"({"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]})", "a"),
         "9 dimensions"},
        {"negative_offset", one(R"({"dtype":"U8","shape":[1],"data_offsets":[-1,0]})", "a"), "a data offset -1"},
        {"huge_offset", one(R"({"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551615]})", "a"),
         "a data offset"},
        {"begin_after_end", one(R"({"dtype":"U8","shape":[1],"data_offsets":[2,1]})", "ab"),
         "begins at byte 2 and ends before"},
        {"end_beyond_data", one(R"({"dtype":"U8","shape":[9],"data_offsets":[0,9]})", "a"), "ends at byte 9"},
        {"wrong_length", one(R"({"dtype":"BF16","shape":[2,3],"data_offsets":[0,11]})", "0123456789a"),
         "needs 12 bytes, its data_offsets give 11"},
        {"overflowing_shape", one(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]})", ""),
         "more bytes than can be counted"},
        {"wrapping_shape", one(R"({"dtype":"U8","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]})", ""),
         "more bytes than can be counted"},
        {"no_name", safetensors_file(R"({"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "a"),
         "a tensor is named \"\""},
        {"control_in_name", safetensors_file(R"({"a\nb":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "a"),
         "a tensor is named \"a\\nb\""},
        {"overlap",
         safetensors_file(R"({"x":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                          R"("y":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
                          "abcd"),
         "tensors x and y overlap"},
        {"same_bytes",
         safetensors_file(R"({"x":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                          R"("y":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})",
                          "abc"),
         "overlap"},
        {"hole",
         safetensors_file(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                          R"("y":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})",
                          "abcd"),
         "2 bytes before tensor y"},
    };
}

class BrokenSafetensors : public ::testing::TestWithParam<BrokenFile> {};

TEST_P(BrokenSafetensors, IsRefusedByName) {
    EXPECT_ERROR(ErrorCode::invalid_file, GetParam().words, parse(GetParam().file));
    EXPECT_ERROR(ErrorCode::invalid_file, "a.safetensors", parse(GetParam().file));
}

INSTANTIATE_TEST_SUITE_P(All, BrokenSafetensors, ::testing::ValuesIn(broken_files()),
                         [](const auto& param) { return param.param.label; });

// Whatever single byte of the file is changed, the reader refuses or gives records that lie inside the file.
TEST(Safetensors, SurvivesAnyChangedByte) {
    const std::string whole = safetensors_file(two_tensors());
    for (size_t at = 0; at < whole.size(); ++at) {
        for (const int flip : {1, 8, 32, 128, 255}) {
            std::string file = whole;
            file[at] = static_cast<char>(file[at] ^ flip);
            try {
                for (const TensorRecord& tensor : parse(file)) {
                    ASSERT_LE(tensor.offset, file.size());
                    ASSERT_LE(tensor.length, file.size() - tensor.offset);
                }
            } catch (const Error&) {
            }
        }
    }
}

TEST(Safetensors, MissingFileIsNamed) {
    EXPECT_ERROR(ErrorCode::not_found, "/no/such/file", SafetensorsFile("/no/such/file"));
}

}  // namespace
}  // namespace colugo
