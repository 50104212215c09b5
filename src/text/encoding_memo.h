// The ids of texts that were encoded before: agents send the same messages again and again, each in a longer
// conversation. Those longest unused make room for others. Calls may come from several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace colugo {

class EncodingMemo {
 public:
    explicit EncodingMemo(size_t max_bytes) : max_bytes_(max_bytes) {}

    // Appends the ids of `text`, where it is known in the scope, to `ids`, and says whether it is. What is kept in one
    // scope makes nothing faster in another.
    bool append(std::string_view scope, std::string_view text, std::vector<int32_t>& ids);
    // Short texts, which are encoded as fast as found, and such as would fill a quarter of the room are not kept.
    void keep(std::string_view scope, std::string_view text, std::span<const int32_t> ids);

    // Of texts, ids and scopes.
    size_t bytes() const;
    // Texts that append() knew.
    uint64_t found() const;

 private:
    // Of a scope and a text.
    using Key = std::pair<std::string_view, std::string_view>;
    struct KeyHash {
        size_t operator()(const Key& key) const {
            const std::hash<std::string_view> hash;
            return hash(key.first) * 0x9E3779B97F4A7C15u ^ hash(key.second);
        }
    };
    struct Entry {
        std::string scope, text;
        std::vector<int32_t> ids;
        Key key() const { return {scope, text}; }
        size_t bytes() const { return scope.size() + text.size() + ids.size() * sizeof(int32_t); }
    };

    static constexpr size_t kLeastBytes = 64;

    const size_t max_bytes_;
    mutable std::mutex mutex_;
    std::list<Entry> entries_;  // the one used last is the first
    std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> by_key_;
    size_t bytes_ = 0;
    uint64_t found_ = 0;
};

// A memo as the requests of one scope see it.
struct ScopedMemo {
    EncodingMemo& memo;
    std::string_view scope;
};

}  // namespace colugo
