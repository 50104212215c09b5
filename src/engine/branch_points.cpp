#include "engine/branch_points.h"

#include <algorithm>

#include "base/error.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;

bool is_role(const ordered_json& message, const char* role) {
    return message.is_object() && message.contains("role") && message["role"] == role;
}

// A user's message that shares no first letter with `message`.
ordered_json other_words(const ordered_json& message) {
    const auto content = message.find("content");
    const bool taken =
        content != message.end() && content->is_string() && content->get_ref<const std::string&>().starts_with('x');
    return {{"role", "user"}, {"content", taken ? "y" : "x"}};
}

// The messages before index `last` and other words of the user in its place.
ChatInput with_other_words(const ChatInput& input, size_t last) {
    ChatInput variant = input;
    variant.messages = ordered_json::array();
    for (size_t i = 0; i < last; ++i) variant.messages.push_back(input.messages[i]);
    variant.messages.push_back(other_words(input.messages[last]));
    return variant;
}

int64_t common_length(std::span<const int32_t> a, std::span<const int32_t> b) {
    const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return ends.first - a.begin();
}

// The part of the prompt that begins the reply: its tokens, and how many of them a reply in the past begins with too.
struct ReplyHeader {
    std::vector<int32_t> tokens;
    int64_t kept = 0;
};

// From the shortest conversation there is: what follows a user's message is the same in every one.
ReplyHeader reply_header(const ModelText& text, const ChatInput& input) {
    ChatInput asked = input, past = input;
    asked.tools = past.tools = nullptr;
    asked.messages = ordered_json::array({{{"role", "user"}, {"content", "x"}}});
    past.messages = asked.messages;
    past.messages.push_back({{"role", "assistant"}, {"content", "x"}});
    past.messages.push_back({{"role", "user"}, {"content", "x"}});
    past.add_generation_prompt = false;
    ChatInput closed = asked;
    closed.add_generation_prompt = false;
    const std::vector<int32_t> with = text.encode(text.render(std::move(asked)));
    const std::vector<int32_t> without = text.encode(text.render(std::move(closed)));
    const std::vector<int32_t> later = text.encode(text.render(std::move(past)));
    const int64_t before = common_length(with, without);
    return {{with.begin() + before, with.end()}, std::max<int64_t>(common_length(with, later) - before, 0)};
}

}  // namespace

std::vector<int64_t> branch_points(const ModelText& text, const ChatInput& input, std::span<const int32_t> tokens,
                                   const ScopedMemo* memo) {
    std::vector<int64_t> points;
    const auto add = [&](auto point) {
        try {
            const int64_t position = point();
            if (position > 0 && position < static_cast<int64_t>(tokens.size())) points.push_back(position);
        } catch (const Error&) {
            // A template may have no form for a variant; the prompt itself was rendered.
        }
    };
    const size_t count = input.messages.size();
    size_t first = 0, last = count;
    while (first < count && !is_role(input.messages[first], "user")) ++first;
    for (size_t i = first; i < count; ++i) {
        if (is_role(input.messages[i], "user")) last = i;
    }
    const auto common_with_other_words = [&](size_t message) {
        return common_length(tokens, text.encode(text.render(with_other_words(input, message)), memo));
    };
    if (last < count) {
        add([&] { return common_with_other_words(first); });
        if (last != first) add([&] { return common_with_other_words(last); });
    }
    if (input.add_generation_prompt) {
        add([&] {
            const ReplyHeader header = reply_header(text, input);
            const bool ends_so = header.tokens.size() <= tokens.size() &&
                                 std::equal(header.tokens.rbegin(), header.tokens.rend(), tokens.rbegin());
            return ends_so ? static_cast<int64_t>(tokens.size() - header.tokens.size()) + header.kept : 0;
        });
    }
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    return points;
}

}  // namespace colugo
