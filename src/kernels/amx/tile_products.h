// The multiplier of the amx tier: tdpbf16ps, which adds the products of 32 k to 16 rows x 16 columns of sums. A chain
// is one of them for each 32 k, for one row as for sixteen: a row's sums depend on nothing else in its tile.
//
// Up to 32 rows read a weight once: two panels at a time, unpacked one unit of 64 k ahead of its multiplication,
// because a tile loaded right after its memory was written waits. More rows share a piece that is unpacked for all of
// them.
#pragma once

#include "kernels/amx/tiles.h"
#include "kernels/amx/vec.h"
#include "kernels/generic/bf16_panels.h"
#include "kernels/generic/matmul_bf16.h"

namespace colugo::kernels::amx {

using Panels = Bf16Panels<Vec>;

inline constexpr int kBlockRows = 2 * kTileRows;  // rows multiplied at once

// One or two row tiles, one or two panels.
template <int kRowTiles, int kPanels>
struct TileBlock {
    static constexpr bool kSecondRows = kRowTiles > 1;
    static constexpr bool kSecondPanel = kPanels > 1;

    // c [rows][kPanels][16]; ldc in floats.
    static void begin(const float* c, int64_t ldc, bool accumulate) {
        if (accumulate) {
            const size_t stride = static_cast<size_t>(ldc) * sizeof(float);
            load_sums<0, 0>(c, stride);
            if constexpr (kSecondPanel) load_sums<0, 1>(c + kPanel, stride);
            if constexpr (kSecondRows) load_sums<1, 0>(c + kTileRows * ldc, stride);
            if constexpr (kSecondRows && kSecondPanel) load_sums<1, 1>(c + kTileRows * ldc + kPanel, stride);
        } else {
            zero_sums<0, 0>();
            if constexpr (kSecondPanel) zero_sums<0, 1>();
            if constexpr (kSecondRows) zero_sums<1, 0>();
            if constexpr (kSecondRows && kSecondPanel) zero_sums<1, 1>();
        }
    }

    static void end(float* c, int64_t ldc) {
        const size_t stride = static_cast<size_t>(ldc) * sizeof(float);
        store_sums<0, 0>(c, stride);
        if constexpr (kSecondPanel) store_sums<0, 1>(c + kPanel, stride);
        if constexpr (kSecondRows) store_sums<1, 0>(c + kTileRows * ldc, stride);
        if constexpr (kSecondRows && kSecondPanel) store_sums<1, 1>(c + kTileRows * ldc + kPanel, stride);
    }

    // `steps` x 32 k. a: rows at k, lda bytes apart; pairs: panels at k, `stride` bytes apart. ahead: how far before
    // its use a byte of them is asked for; 0 where it is near anyway.
    static void multiply(const std::byte* a, size_t lda, const std::byte* pairs, size_t stride, int steps,
                         size_t ahead) {
        for (int step = 0; step < steps; ++step, a += kTileRowBytes, pairs += kTileBytes) {
            for (size_t line = 0; ahead != 0 && line < kPanels * kTileBytes; line += 64) {
                __builtin_prefetch(pairs + line / kTileBytes * stride + ahead + line % kTileBytes);
            }
            load_panel<0>(pairs);
            load_rows<0>(a, lda);
            multiply_tiles<0, 0>();
            if constexpr (kSecondPanel) {
                load_panel<1>(pairs + stride);
                multiply_tiles<0, 1>();
            }
            if constexpr (kSecondRows) {
                load_rows<1>(a + kTileRows * lda, lda);
                multiply_tiles<1, 0>();
                if constexpr (kSecondPanel) multiply_tiles<1, 1>();
            }
        }
    }
};

// Calls body(TileBlock type, rows' begin) for the rows' blocks, with the tiles set to their rows.
template <int kPanels, class Body>
void for_row_blocks(Tiles& tiles, int rows, const Body& body) {
    for (int row = 0; row < rows; row += kBlockRows) {
        const int left = rows - row;
        if (left > kTileRows) {
            tiles.set_rows(kTileRows, (left < kBlockRows ? left : kBlockRows) - kTileRows);
            body(TileBlock<2, kPanels>(), row);
        } else {
            tiles.set_rows(left, 0);
            body(TileBlock<1, kPanels>(), row);
        }
    }
}

class TileProducts {
 public:
    // Two panels' pieces, 32 KiB, stay in the first-level cache for all rows.
    int piece_k(const Bf16Product& product) const { return product.rows <= kBlockRows ? product.k : kPieceK; }

    template <int kPanels>
    void multiply(float* sums, const Bf16Product& product, const std::byte* data, int k_begin, int k, bool accumulate) {
        const WeightFormat format = product.weight->format;
        const std::byte* a = product.a + static_cast<size_t>(k_begin) * sizeof(uint16_t);
        if (format == WeightFormat::bf16) {
            constexpr size_t kBytesAhead = 4 * kTileBytes;
            return multiply_pairs<kPanels>(sums, kPanels * kPanel, a, product.row_bytes, product.rows, data,
                                           product.panel_bytes, k, accumulate, kBytesAhead);
        }
        if (product.rows <= kBlockRows) {
            return for_row_blocks<kPanels>(tiles_, product.rows, [&](auto block, int) {
                multiply_ahead<decltype(block), kPanels>(sums, product, a, data, k / kUnitK, accumulate);
            });
        }
        const size_t unpacked_bytes = static_cast<size_t>(k / 2) * kPairBytes;
        for (size_t p = 0; p < kPanels; ++p) {
            Panels::unpack(product.unpacked + p * unpacked_bytes, format, data + p * product.panel_bytes, k);
        }
        multiply_pairs<kPanels>(sums, kPanels * kPanel, a, product.row_bytes, product.rows, product.unpacked,
                                unpacked_bytes, k, accumulate);
    }

    // lda in bytes.
    void multiply_panels(float* c, int64_t ldc, const std::byte* a, size_t lda, int rows, const std::byte* tile,
                         int panels, int k, bool accumulate) {
        const size_t panel_bytes = static_cast<size_t>(k / 2) * kPairBytes;
        const int paired = panels / 2 * 2;
        for_row_blocks<2>(tiles_, rows, [&](auto block, int row) {
            for (int panel = 0; panel < paired; panel += 2) {
                multiply_block(block, c + row * ldc + panel * kPanel, ldc, a + static_cast<size_t>(row) * lda, lda,
                               tile + static_cast<size_t>(panel) * panel_bytes, panel_bytes, k, accumulate);
            }
        });
        if (paired == panels) return;
        multiply_pairs<1>(c + paired * kPanel, ldc, a, lda, rows, tile + static_cast<size_t>(paired) * panel_bytes,
                          panel_bytes, k, accumulate);
    }

 private:
    static constexpr int kPieceK = 512;
    static constexpr size_t kUnitBytes = kUnitK / kTileK * kTileBytes;  // of one panel, unpacked
    static constexpr int kAhead = 4;                                    // units asked for ahead of their use
    static_assert(2 * (kPieceK / 2) * kPairBytes <= kBf16UnpackedBytes);

    template <class Block>
    static void multiply_block(Block, float* c, int64_t ldc, const std::byte* a, size_t lda, const std::byte* pairs,
                               size_t stride, int k, bool accumulate, size_t ahead = 0) {
        Block::begin(c, ldc, accumulate);
        Block::multiply(a, lda, pairs, stride, k / kTileK, ahead);
        Block::end(c, ldc);
    }

    // Panels of bf16 pairs, `stride` bytes apart.
    template <int kPanels>
    void multiply_pairs(float* c, int64_t ldc, const std::byte* a, size_t lda, int rows, const std::byte* pairs,
                        size_t stride, int k, bool accumulate, size_t ahead = 0) {
        for_row_blocks<kPanels>(tiles_, rows, [&](auto block, int row) {
            multiply_block(block, c + row * ldc, ldc, a + static_cast<size_t>(row) * lda, lda, pairs, stride, k,
                           accumulate, row == 0 ? ahead : 0);
        });
    }

    // One unit of each panel, while memory is asked for those to come. A panel's end runs into its successor's begin.
    template <int kPanels>
    static void unpack_unit(std::byte* out, const Bf16Product& product, const std::byte* data, int unit) {
        const WeightFormat format = product.weight->format;
        const size_t bytes = format == WeightFormat::nvfp4 ? kNvfp4UnitBytes : kUnitK * kPanel;
        for (size_t p = 0; p < kPanels; ++p) {
            const std::byte* packed = data + p * product.panel_bytes + static_cast<size_t>(unit) * bytes;
            for (size_t line = 0; line < bytes; line += 64) __builtin_prefetch(packed + kAhead * bytes + line);
            Panels::unpack(out + p * kUnitBytes, format, packed, kUnitK);
        }
    }

    template <class Block, int kPanels>
    static void multiply_ahead(float* sums, const Bf16Product& product, const std::byte* a, const std::byte* data,
                               int units, bool accumulate) {
        std::byte* buffers[2] = {product.unpacked, product.unpacked + kPanels * kUnitBytes};
        Block::begin(sums, kPanels * kPanel, accumulate);
        unpack_unit<kPanels>(buffers[0], product, data, 0);
        for (int unit = 0; unit < units; ++unit, a += kUnitK * sizeof(uint16_t)) {
            if (unit + 1 < units) unpack_unit<kPanels>(buffers[(unit + 1) % 2], product, data, unit + 1);
            Block::multiply(a, product.row_bytes, buffers[unit % 2], kUnitBytes, kUnitK / kTileK, 0);
        }
        Block::end(sums, kPanels * kPanel);
    }

    Tiles tiles_;
};

}  // namespace colugo::kernels::amx
