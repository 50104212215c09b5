// Finds control tokens in text: leftmost, then longest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace colugo {

class ControlMatcher {
 public:
    struct Match {
        size_t begin;
        size_t end;
        int32_t id;
    };

    // `content` is not empty; the contents given are different from each other.
    void add(std::string_view content, int32_t id);
    bool empty() const { return nodes_.empty(); }

    // The first match that lies wholly inside [begin, end) of the text.
    std::optional<Match> find(std::string_view text, size_t begin, size_t end) const;

 private:
    // A trie: (node, next byte) -> node. Node 0 is the root.
    struct Child {
        uint32_t node;
        int32_t id = -1;  // of the content that ends here, -1 if none does
    };
    std::unordered_map<uint64_t, Child> nodes_;
    std::array<bool, 256> first_byte_{};
    uint32_t num_nodes_ = 1;
};

}  // namespace colugo
