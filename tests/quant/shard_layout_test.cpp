#include "quant/shard_layout.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "checkpoint/safetensors.h"

namespace colugo {
namespace {

using ::testing::ElementsAre;

// The shard as a file whose data is all zero, read back.
std::vector<TensorRecord> records_of(const Shard& shard) {
    std::string file = shard.header;
    file.resize(shard.bytes);
    return parse_safetensors_header(std::as_bytes(std::span(file)), shard.name);
}

OutputTensor bytes_tensor(const std::string& name, int64_t bytes) {
    return {name, DType::u8, {bytes}};
}

std::vector<size_t> shards_of(const ShardLayout& layout, const std::vector<OutputTensor>& tensors) {
    std::vector<size_t> shards;
    for (const OutputTensor& tensor : tensors) shards.push_back(layout.tensors.at(tensor.name).shard);
    return shards;
}

TEST(ShardLayout, IsWhatTheReaderReads) {
    const std::vector<OutputTensor> tensors = {{"codes", DType::u8, {3, 5}},    {"scale", DType::f32, {}},
                                               {"half", DType::f16, {7}},       {"none", DType::bf16, {4, 0, 2}},
                                               {"wide", DType::i64, {2}},       {"ids", DType::i32, {3, 1}},
                                               {"weight", DType::bf16, {5, 3}}, {"eight", DType::fp8_e4m3, {2, 2}}};
    const ShardLayout layout = lay_out_shards(tensors, 1 << 20);
    ASSERT_EQ(layout.shards.size(), 1u);
    EXPECT_EQ(layout.shards[0].name, "model.safetensors");
    EXPECT_EQ(layout.index, "");
    EXPECT_EQ(layout.shards[0].header.size() % kShardAlignment, 0u);
    const std::vector<TensorRecord> records = records_of(layout.shards[0]);
    ASSERT_EQ(records.size(), tensors.size());
    for (const OutputTensor& tensor : tensors) {
        const auto record = std::find_if(records.begin(), records.end(),
                                         [&](const TensorRecord& candidate) { return candidate.name == tensor.name; });
        ASSERT_NE(record, records.end()) << tensor.name;
        EXPECT_EQ(record->dtype, tensor.dtype) << tensor.name;
        EXPECT_EQ(record->shape, tensor.shape) << tensor.name;
        const TensorPlace& place = layout.tensors.at(tensor.name);
        EXPECT_EQ(record->offset, place.offset) << tensor.name;
        EXPECT_EQ(record->length, place.length) << tensor.name;
        EXPECT_EQ(place.length, tensor.bytes()) << tensor.name;
        EXPECT_EQ(place.offset % dtype_size(tensor.dtype), 0u) << tensor.name;
    }
}

TEST(ShardLayout, NamesTheFormatAsOthersDo) {
    const ShardLayout layout = lay_out_shards(std::vector{bytes_tensor("a", 1)}, 10);
    const auto header = nlohmann::json::parse(layout.shards[0].header.substr(8));
    EXPECT_EQ(header.at("__metadata__"), nlohmann::json({{"format", "pt"}}));
    EXPECT_EQ(layout.shards[0].bytes, layout.shards[0].header.size() + 1);
}

TEST(ShardLayout, FillsShardsInOrderUpToTheirSize) {
    const std::vector<OutputTensor> tensors = {bytes_tensor("z", 6), bytes_tensor("y", 4), bytes_tensor("x", 1),
                                               bytes_tensor("w", 9), bytes_tensor("v", 1)};
    const ShardLayout layout = lay_out_shards(tensors, 10);
    EXPECT_THAT(shards_of(layout, tensors), ElementsAre(0, 0, 1, 1, 2));
    EXPECT_EQ(layout.shards[0].name, "model-00001-of-00003.safetensors");
    EXPECT_EQ(layout.shards[2].name, "model-00003-of-00003.safetensors");
    const auto index = nlohmann::json::parse(layout.index);
    EXPECT_EQ(index.at("metadata").at("total_size"), 21);
    EXPECT_EQ(index.at("weight_map").size(), 5u);
    EXPECT_EQ(index.at("weight_map").at("w"), "model-00002-of-00003.safetensors");
    for (const Shard& shard : layout.shards) records_of(shard);
}

TEST(ShardLayout, LeavesATensorBeyondAShardAlone) {
    const std::vector<OutputTensor> tensors = {bytes_tensor("a", 1), bytes_tensor("big", 100), bytes_tensor("none", 0),
                                               bytes_tensor("b", 1)};
    EXPECT_THAT(shards_of(lay_out_shards(tensors, 10), tensors), ElementsAre(0, 1, 2, 2));
}

TEST(ShardLayout, OfNothingIsAFileWithoutTensors) {
    const ShardLayout layout = lay_out_shards({}, 10);
    ASSERT_EQ(layout.shards.size(), 1u);
    EXPECT_TRUE(records_of(layout.shards[0]).empty());
}

TEST(ShardLayoutDeathTest, RefusesWhatOnlyAMistakeCanBring) {
    EXPECT_DEATH(lay_out_shards(std::vector{bytes_tensor("a", 1), bytes_tensor("a", 2)}, 10), "CHECK failed");
    EXPECT_DEATH(OutputTensor({"a", DType::f32, {int64_t{1} << 40, int64_t{1} << 40}}).bytes(), "CHECK failed");
    EXPECT_DEATH(OutputTensor({"a", DType::f32, {int64_t{1} << 61}}).bytes(), "CHECK failed");
    EXPECT_DEATH(OutputTensor({"a", DType::f32, {-1}}).bytes(), "CHECK failed");
}

}  // namespace
}  // namespace colugo
