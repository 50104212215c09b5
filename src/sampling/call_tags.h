// The tags of tool calls, which are bytes like any others: what separates the parameters of a call.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace colugo {

inline constexpr std::string_view kParameterEnd = "\n</parameter>";

// What means something to readers of calls, wherever it is in a parameter's text.
inline constexpr std::array<std::string_view, 3> kCallTags = {"</parameter>", "<parameter=", "<function="};

inline bool has_call_tag(std::string_view text) {
    return std::any_of(kCallTags.begin(), kCallTags.end(),
                       [&](std::string_view tag) { return text.find(tag) != std::string_view::npos; });
}

}  // namespace colugo
