// The numbers of rows a kernel has code for: each is a function of its own, whose sums live in registers.
#pragma once

namespace colugo::kernels {

template <int kRows>
struct RowCount {
    static constexpr int value = kRows;
};

// Descending, the last one 1. More rows are taken apart into groups, always the largest that fits.
template <int... kSizes>
struct RowGroups {
    // This many rows are one group.
    [[gnu::always_inline]] static constexpr bool has(int rows) { return ((rows == kSizes) || ...); }

    // The rows of the next group of `rows` > 0 left.
    [[gnu::always_inline]] static constexpr int next(int rows) {
        int most = 0;
        ((most = most == 0 && kSizes <= rows ? kSizes : most), ...);
        return most;
    }

    // body(RowCount<rows>), for one group.
    template <class Body>
    [[gnu::always_inline]] static void with(int rows, const Body& body) {
        ((rows == kSizes ? body(RowCount<kSizes>()) : void()), ...);
    }

    // body(RowCount<n>, first row) for each group.
    template <class Body>
    [[gnu::always_inline]] static void for_each(int rows, const Body& body) {
        int row = 0;
        (
            [&] {
                for (; rows - row >= kSizes; row += kSizes) body(RowCount<kSizes>(), row);
            }(),
            ...);
    }
};

}  // namespace colugo::kernels
