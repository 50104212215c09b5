#include "text/terminal_text.h"

#include <gtest/gtest.h>

namespace colugo {
namespace {

TEST(TerminalText, ShowsControlCharacters) {
    EXPECT_EQ(on_one_line("a\nb\r\tc"), R"(a\x0ab\x0d\x09c)");
    EXPECT_EQ(on_one_line("\033[31mred\033[0m\x7f"), R"(\x1b[31mred\x1b[0m\x7f)");
    EXPECT_EQ(on_one_line(std::string_view("\0", 1)), R"(\x00)");
}

// CSI is one character of C1, whose second byte is also one of other characters.
TEST(TerminalText, KnowsThoseOfC1FromOtherCharacters) {
    EXPECT_EQ(on_one_line("\u009b31m"), R"(\xc2\x9b31m)");
    EXPECT_EQ(on_one_line("\u0080\u009f"), R"(\xc2\x80\xc2\x9f)");
    EXPECT_EQ(on_one_line("\u00a0\u00db\u201b"), "\u00a0\u00db\u201b");
    EXPECT_EQ(on_one_line("\xc2"), "\xc2");
    EXPECT_EQ(on_one_line(""), "");
}

}  // namespace
}  // namespace colugo
