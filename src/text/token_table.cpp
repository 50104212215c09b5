#include "text/token_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>

#include "base/error.h"

namespace colugo {
namespace {

uint32_t word_hash(std::string_view word) {
    return static_cast<uint32_t>(XXH3_64bits(word.data(), word.size()));
}

}  // namespace

void TokenTable::set(int32_t id, std::string_view bytes) {
    COLUGO_CHECK(id >= 0 && !has(id));
    if (id >= id_limit()) entries_.resize(static_cast<size_t>(id) + 1);
    entries_[static_cast<size_t>(id)] = {arena_.size(), static_cast<uint32_t>(bytes.size()), true};
    arena_.append(bytes);
    ++size_;
}

WordIndex::WordIndex(size_t most_words) : slots_(std::bit_ceil(most_words * 2 + 2), Slot{0, -1}) {}

void WordIndex::insert(const TokenTable& table, int32_t id) {
    const uint32_t hash = word_hash(table.bytes(id));
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at].id >= 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {hash, id};
}

int32_t WordIndex::find(const TokenTable& table, std::string_view word) const {
    const uint32_t hash = word_hash(word);
    size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].id >= 0; at = (at + 1) & (slots_.size() - 1)) {
        if (slots_[at].hash == hash && table.bytes(slots_[at].id) == word) return slots_[at].id;
    }
    return -1;
}

}  // namespace colugo
