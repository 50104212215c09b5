#include "text/control_matcher.h"

#include "base/error.h"

namespace colugo {
namespace {

uint64_t edge(uint32_t node, char byte) {
    return uint64_t{node} << 8 | static_cast<unsigned char>(byte);
}

}  // namespace

void ControlMatcher::add(std::string_view content, int32_t id) {
    COLUGO_CHECK(!content.empty());
    first_byte_[static_cast<unsigned char>(content.front())] = true;
    Child* child = nullptr;
    uint32_t node = 0;
    for (const char byte : content) {
        const auto [place, added] = nodes_.try_emplace(edge(node, byte), Child{num_nodes_});
        if (added) ++num_nodes_;
        child = &place->second;
        node = child->node;
    }
    child->id = id;
}

std::optional<ControlMatcher::Match> ControlMatcher::find(std::string_view text, size_t begin, size_t end) const {
    for (; begin < end; ++begin) {
        if (!first_byte_[static_cast<unsigned char>(text[begin])]) continue;
        std::optional<Match> longest;
        uint32_t node = 0;
        for (size_t i = begin; i < end; ++i) {
            const auto child = nodes_.find(edge(node, text[i]));
            if (child == nodes_.end()) break;
            node = child->second.node;
            if (child->second.id >= 0) longest = Match{begin, i + 1, child->second.id};
        }
        if (longest) return longest;
    }
    return std::nullopt;
}

}  // namespace colugo
