#include "text/byte_pair_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

namespace colugo {
namespace {

std::array<int32_t, 256> byte_is_token() {
    std::array<int32_t, 256> tokens;
    std::iota(tokens.begin(), tokens.end(), 0);
    return tokens;
}

std::vector<int32_t> encode(const BytePairEncoder& encoder, std::string_view piece) {
    BytePairEncoder::Scratch scratch;
    std::vector<int32_t> ids;
    encoder.encode(piece, scratch, ids);
    return ids;
}

// The definition: of all neighbouring pairs the one of lowest rank, leftmost, again and again.
std::vector<int32_t> encode_by_definition(std::span<const Merge> merges, std::string_view piece) {
    std::vector<int32_t> ids;
    for (const char byte : piece) ids.push_back(static_cast<unsigned char>(byte));
    while (true) {
        size_t best_rank = merges.size();
        size_t best = 0;
        for (size_t i = 0; i + 1 < ids.size(); ++i) {
            for (size_t rank = 0; rank < best_rank; ++rank) {
                if (merges[rank].left == ids[i] && merges[rank].right == ids[i + 1]) {
                    best_rank = rank;
                    best = i;
                }
            }
        }
        if (best_rank == merges.size()) return ids;
        ids[best] = merges[best_rank].result;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
}

TEST(BytePairEncoder, LowestRankFirstLeftmostFirst) {
    const std::vector<Merge> merges = {{'b', 'c', 256}, {'a', 'b', 257}, {'a', 256, 258}, {'a', 'a', 259}};
    const BytePairEncoder encoder(byte_is_token(), merges);
    EXPECT_EQ(encode(encoder, ""), (std::vector<int32_t>{}));
    EXPECT_EQ(encode(encoder, "x"), (std::vector<int32_t>{'x'}));
    EXPECT_EQ(encode(encoder, "abc"), (std::vector<int32_t>{258}));
    EXPECT_EQ(encode(encoder, "abd"), (std::vector<int32_t>{257, 'd'}));
    EXPECT_EQ(encode(encoder, "aaa"), (std::vector<int32_t>{259, 'a'}));
}

TEST(BytePairEncoder, OfTwoMergesOfAPairTheLaterCounts) {
    const std::vector<Merge> merges = {{'a', 'b', 256}, {'b', 'c', 257}, {'a', 'b', 256}};
    EXPECT_EQ(encode(BytePairEncoder(byte_is_token(), merges), "abc"), (std::vector<int32_t>{'a', 257}));
}

// Short pieces are merged by scanning, long ones with a heap: both are the definition.
TEST(BytePairEncoder, RandomMergesOnRandomPiecesOfEveryLength) {
    std::mt19937 random(1);
    for (int round = 0; round < 60; ++round) {
        std::vector<Merge> merges;
        for (int32_t result = 256; result < 300; ++result) {
            const auto part = [&] {
                const auto choice = static_cast<int32_t>(random() % static_cast<uint32_t>(result - 252));
                return choice < 4 ? 'a' + choice : 252 + choice;
            };
            merges.push_back({part(), part(), result});
        }
        std::shuffle(merges.begin(), merges.end(), random);
        const BytePairEncoder encoder(byte_is_token(), merges);
        // A pair that is there twice has the later rank: the definition above wants it once.
        std::vector<Merge> unique;
        for (size_t i = 0; i < merges.size(); ++i) {
            const auto same = [&](const Merge& m) { return m.left == merges[i].left && m.right == merges[i].right; };
            const auto later = merges.begin() + static_cast<std::ptrdiff_t>(i) + 1;
            if (std::none_of(later, merges.end(), same)) unique.push_back(merges[i]);
        }
        for (size_t length = 0; length < 80; ++length) {
            std::string piece(length, 'a');
            for (char& c : piece) c = static_cast<char>('a' + random() % 4);
            ASSERT_EQ(encode(encoder, piece), encode_by_definition(unique, piece)) << piece;
        }
    }
}

TEST(BytePairEncoder, StepsOfALongPieceAreNotQuadratic) {
    std::vector<Merge> merges = {{'A', 'A', 256}};
    for (int32_t result = 257; result < 272; ++result) merges.push_back({result - 1, result - 1, result});
    const BytePairEncoder encoder(byte_is_token(), merges);
    BytePairEncoder::Scratch scratch;
    std::vector<int32_t> ids;
    encoder.encode(std::string(50'000, 'A'), scratch, ids);
    EXPECT_LT(scratch.steps, 50'000u * 8);
    EXPECT_EQ(ids.size(), 6u);  // 50,000 has six bits set: a token for each
}

}  // namespace
}  // namespace colugo
