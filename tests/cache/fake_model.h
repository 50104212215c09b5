// A model whose whole state is a hash of the prefix, so that a piece which belongs to another sequence or position is
// seen at once. It reads everything a forward pass would read, and writes it by the same rules.
#pragma once

#include <cstring>
#include <string>

#include "cache/cache_manager.h"

namespace colugo::testing {

class FakeModel {
 public:
    static constexpr int64_t kPage = kernels::kPage;
    using Hash = uint64_t;

    static StateFormat format() {
        return {.page_bytes = kPage * sizeof(Hash),
                .border_bytes = sizeof(Hash),
                .rows_bytes = kPage * sizeof(Hash),
                .tail_bytes = sizeof(Hash),
                .copy_page = copy_page};
    }
    static void copy_page(std::byte* to, const std::byte* from, int columns) {
        std::memcpy(to, from, static_cast<size_t>(columns) * sizeof(Hash));
    }

    static Hash next(Hash before, int32_t token) {
        uint64_t hash = (before ^ static_cast<uint64_t>(token + 1)) * 0x9e3779b97f4a7c15u;
        return hash ^ hash >> 29;
    }

    // Feeds tokens[state.length ..  + count) and checks all that the pass reads. tokens: of the sequence from its
    // begin. Returns what was wrong.
    static std::string forward(Lease& lease, std::span<const int32_t> tokens, int64_t count) {
        SequenceState& state = lease.state();
        const std::string fault = read(state, tokens);
        if (!fault.empty()) return fault;
        Hash hash = get(state.tail);
        auto tail = lease.tails().begin();
        size_t page = 0;
        for (int64_t row = 1; row <= count; ++row) {
            hash = next(hash, tokens[static_cast<size_t>(state.length)]);
            const PassPage& pass_page = lease.pass_pages()[page];
            const int64_t column = state.length % kPage;
            put(state.pages[static_cast<size_t>(state.length / kPage)], hash, column);
            put(pass_page.rows, hash, column);
            state.rows = pass_page.rows;
            ++state.length;
            for (; tail != lease.tails().end() && tail->rows == row; ++tail) put(tail->tail, hash);
            if (column + 1 < kPage) continue;
            put(pass_page.next_border, hash);
            state.border = pass_page.next_border;
            ++page;
        }
        put(state.tail, hash);
        return {};
    }

 private:
    static Hash get(const std::byte* memory, int64_t index = 0) {
        Hash hash;
        std::memcpy(&hash, memory + static_cast<size_t>(index) * sizeof hash, sizeof hash);
        return hash;
    }
    static void put(std::byte* memory, Hash hash, int64_t index = 0) {
        std::memcpy(memory + static_cast<size_t>(index) * sizeof hash, &hash, sizeof hash);
    }

    static std::string read(const SequenceState& state, std::span<const int32_t> tokens) {
        Hash hash = 0, border = 0;
        for (int64_t position = 0; position < state.length; ++position) {
            hash = next(hash, tokens[static_cast<size_t>(position)]);
            if (get(state.pages[static_cast<size_t>(position / kPage)], position % kPage) != hash) {
                return "page " + std::to_string(position / kPage) + " column " + std::to_string(position % kPage);
            }
            if (position >= state.length / kPage * kPage && get(state.rows, position % kPage) != hash) {
                return "row " + std::to_string(position);
            }
            if ((position + 1) % kPage == 0) border = hash;
        }
        if (get(state.border) != border) return "border of " + std::to_string(state.length);
        if (get(state.tail) != hash) return "tail of " + std::to_string(state.length);
        return {};
    }
};

}  // namespace colugo::testing
