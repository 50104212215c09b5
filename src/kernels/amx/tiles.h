// The AMX tile registers in the roles the amx tier gives them:
//   tmm0..3  sums of row tile 0, 1 with panel 0, 1   [rows][16] f32
//   tmm4, 5  row tiles                               [rows][16 pairs of k] bf16
//   tmm6, 7  panels                                  [16 pairs of k][16 columns] bf16 pairs
// The compiler does not know what the tile instructions read, so no access to memory may move past one.
#pragma once

#include "kernels/generic/intrinsics_avx512.h"

namespace colugo::kernels::amx {

inline constexpr int kTileRows = 16;
inline constexpr int kTileK = 32;
inline constexpr size_t kTileRowBytes = 64;
inline constexpr size_t kTileBytes = kTileRows * kTileRowBytes;

inline void memory_barrier() {
    asm volatile("" : : : "memory");
}

// The tile registers of this thread, from here to the end of the scope. They are given back at once: what a thread has
// in them the system saves at every switch.
class Tiles {
 public:
    Tiles() = default;
    Tiles(const Tiles&) = delete;
    Tiles& operator=(const Tiles&) = delete;
    ~Tiles() {
        if (rows_[0] != 0) _tile_release();
    }

    // Row tiles of this many rows, the second possibly none. Whatever was in the registers is lost if they change.
    void set_rows(int first, int second) {
        if (rows_[0] == first && rows_[1] == second) return;
        rows_[0] = first;
        rows_[1] = second;
        Config config{};
        config.palette = 1;
        for (int tile = 0; tile < 8; ++tile) {
            const int rows = tile >= 6 ? kTileRows : rows_[tile < 4 ? tile / 2 : tile - 4];
            if (rows == 0) continue;
            config.rows[tile] = static_cast<uint8_t>(rows);
            config.row_bytes[tile] = kTileRowBytes;
        }
        asm volatile("" : : "r"(&config) : "memory");
        _tile_loadconfig(&config);
    }

 private:
    struct alignas(64) Config {
        uint8_t palette;
        uint8_t start_row;
        uint8_t reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    };
    static_assert(sizeof(Config) == 64);

    int rows_[2] = {0, 0};
};

template <int kRowTile, int kPanel>
void zero_sums() {
    if constexpr (kRowTile == 0 && kPanel == 0) _tile_zero(0);
    if constexpr (kRowTile == 0 && kPanel == 1) _tile_zero(1);
    if constexpr (kRowTile == 1 && kPanel == 0) _tile_zero(2);
    if constexpr (kRowTile == 1 && kPanel == 1) _tile_zero(3);
}

// Strides in bytes.
template <int kRowTile, int kPanel>
void load_sums(const float* c, size_t stride) {
    memory_barrier();
    if constexpr (kRowTile == 0 && kPanel == 0) _tile_loadd(0, c, stride);
    if constexpr (kRowTile == 0 && kPanel == 1) _tile_loadd(1, c, stride);
    if constexpr (kRowTile == 1 && kPanel == 0) _tile_loadd(2, c, stride);
    if constexpr (kRowTile == 1 && kPanel == 1) _tile_loadd(3, c, stride);
    memory_barrier();
}

template <int kRowTile, int kPanel>
void store_sums(float* c, size_t stride) {
    if constexpr (kRowTile == 0 && kPanel == 0) _tile_stored(0, c, stride);
    if constexpr (kRowTile == 0 && kPanel == 1) _tile_stored(1, c, stride);
    if constexpr (kRowTile == 1 && kPanel == 0) _tile_stored(2, c, stride);
    if constexpr (kRowTile == 1 && kPanel == 1) _tile_stored(3, c, stride);
}

template <int kRowTile>
void load_rows(const std::byte* a, size_t stride) {
    memory_barrier();
    if constexpr (kRowTile == 0) _tile_loadd(4, a, stride);
    if constexpr (kRowTile == 1) _tile_loadd(5, a, stride);
    memory_barrier();
}

template <int kPanel>
void load_panel(const std::byte* pairs) {
    memory_barrier();
    if constexpr (kPanel == 0) _tile_loadd(6, pairs, kTileRowBytes);
    if constexpr (kPanel == 1) _tile_loadd(7, pairs, kTileRowBytes);
    memory_barrier();
}

// sums += rows x panel over 32 k.
template <int kRowTile, int kPanel>
void multiply_tiles() {
    if constexpr (kRowTile == 0 && kPanel == 0) _tile_dpbf16ps(0, 4, 6);
    if constexpr (kRowTile == 0 && kPanel == 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kRowTile == 1 && kPanel == 0) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kRowTile == 1 && kPanel == 1) _tile_dpbf16ps(3, 5, 7);
}

}  // namespace colugo::kernels::amx
