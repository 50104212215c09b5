// The tokens of a vocabulary by id, and a way back from bytes to the id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colugo {

class TokenTable {
 public:
    // Ids may have gaps and come in any order; an id is set once.
    void set(int32_t id, std::string_view bytes);

    bool has(int32_t id) const { return id >= 0 && id < id_limit() && entries_[static_cast<size_t>(id)].present; }
    // Empty for an id without a token.
    std::string_view bytes(int32_t id) const {
        if (!has(id)) return {};
        const Entry& entry = entries_[static_cast<size_t>(id)];
        return std::string_view(arena_).substr(entry.begin, entry.size);
    }
    int32_t size() const { return size_; }                                      // tokens with an entry
    int32_t id_limit() const { return static_cast<int32_t>(entries_.size()); }  // highest id + 1

 private:
    struct Entry {
        size_t begin = 0;
        uint32_t size = 0;
        bool present = false;
    };
    std::string arena_;
    std::vector<Entry> entries_;  // [id_limit]
    int32_t size_ = 0;
};

// Finds the id of a word among the ids put in. Refers to the table's bytes by id: it is asked with the table.
class WordIndex {
 public:
    WordIndex() = default;
    explicit WordIndex(size_t most_words);

    void insert(const TokenTable& table, int32_t id);
    // -1 if the word is not there.
    int32_t find(const TokenTable& table, std::string_view word) const;

 private:
    struct Slot {
        uint32_t hash;
        int32_t id;  // -1: free
    };
    std::vector<Slot> slots_;  // open addressing, linear probing, at most half full
};

}  // namespace colugo
