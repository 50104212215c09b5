#include "engine/branch_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;

class BranchPoints : public ::testing::Test {
 protected:
    std::vector<int32_t> tokens(const ChatInput& input) { return text_.encode(text_.render(input)); }
    // The text before each point.
    std::vector<std::string> texts(const ChatInput& input) {
        const std::vector<int32_t> all = tokens(input);
        std::vector<std::string> out;
        for (const int64_t point : branch_points(text_, input, all)) {
            out.emplace_back();
            for (int64_t i = 0; i < point; ++i)
                out.back() += text_.tokenizer().token_bytes(all[static_cast<size_t>(i)]);
        }
        return out;
    }
    static ChatInput conversation(ordered_json messages) {
        ChatInput input;
        input.messages = std::move(messages);
        return input;
    }

    ModelText text_{std::string(COLUGO_FIXTURES_DIR) + "/tiny-bf16"};
};

TEST_F(BranchPoints, BehindTheSystemMessageTheLastUserAndTheReplysHeader) {
    const ChatInput input = conversation({{{"role", "system"}, {"content", "Be brief."}},
                                          {{"role", "user"}, {"content", "One?"}},
                                          {{"role", "assistant"}, {"content", "Two."}},
                                          {{"role", "user"}, {"content", "Three?"}}});
    const std::vector<std::string> found = texts(input);
    ASSERT_EQ(found.size(), 3u);
    EXPECT_TRUE(found[0].ends_with("Be brief.<|im_end|>\n<|im_start|>user\n")) << found[0];
    EXPECT_TRUE(found[1].ends_with("Two.<|im_end|>\n<|im_start|>user\n")) << found[1];
    EXPECT_TRUE(found[2].ends_with("Three?<|im_end|>\n<|im_start|>assistant\n")) << found[2];
}

// An agent's turn: results of tools, and no new words of the user.
TEST_F(BranchPoints, AnAgentsTurnPartsInTheReplysHeader) {
    ordered_json call = {{"type", "function"}, {"function", {{"name", "f"}, {"arguments", ordered_json::object()}}}};
    ChatInput input = conversation({{{"role", "user"}, {"content", "xylophone"}},
                                    {{"role", "assistant"},
                                     {"content", ""},
                                     {"reasoning_content", "I call f."},
                                     {"tool_calls", ordered_json::array({call})}},
                                    {{"role", "tool"}, {"content", "done"}}});
    input.tools = ordered_json::array({{{"type", "function"}, {"function", {{"name", "f"}, {"parameters", {}}}}}});
    for (const bool thinking : {true, false}) {
        input.extra["enable_thinking"] = thinking;
        const std::vector<std::string> found = texts(input);
        ASSERT_EQ(found.size(), 2u);
        EXPECT_TRUE(found[0].ends_with("<|im_start|>user\n")) << found[0];
        EXPECT_TRUE(found[1].ends_with("</tool_response><|im_end|>\n<|im_start|>assistant\n")) << found[1];
    }
}

// What comes after a point is what differs: the next turn's prompt begins with the text before it.
TEST_F(BranchPoints, TheNextTurnBeginsWithWhatIsBeforeTheLastPoint) {
    ChatInput input = conversation({{{"role", "user"}, {"content", "One?"}}});
    input.extra["enable_thinking"] = false;
    const std::vector<int32_t> before = tokens(input);
    const int64_t point = branch_points(text_, input, before).back();
    input.messages.push_back({{"role", "assistant"}, {"content", "Two."}});
    input.messages.push_back({{"role", "user"}, {"content", "Three?"}});
    const std::vector<int32_t> after = tokens(input);
    const auto ends = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
    EXPECT_EQ(ends.first - before.begin(), point);
    EXPECT_LT(point, static_cast<int64_t>(before.size()));
}

TEST_F(BranchPoints, NoneWhereTheTemplateHasNoOtherForm) {
    ChatInput input = conversation(ordered_json::array({{{"role", "system"}, {"content", "Alone."}}}));
    input.add_generation_prompt = false;
    try {
        const std::vector<int32_t> all = tokens(input);
        EXPECT_THAT(branch_points(text_, input, all), ::testing::IsEmpty());
    } catch (const Error&) {
        EXPECT_THAT(branch_points(text_, input, std::vector<int32_t>{1, 2, 3}), ::testing::IsEmpty());
    }
}

}  // namespace
}  // namespace colugo
