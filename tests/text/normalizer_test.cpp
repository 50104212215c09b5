#include "text/normalizer.h"

#include <gtest/gtest.h>

#include "text/unicode.h"
#include "text_goldens.h"
#include "thread_seconds.h"

namespace colugo {
namespace {

std::string nfc(std::string_view text) {
    std::string storage;
    return std::string(to_nfc(text, storage));
}

TEST(Unicode, PropertiesOfWellKnownCodePoints) {
    EXPECT_EQ(code_point_properties('a'), kLetter);
    EXPECT_EQ(code_point_properties('7'), kNumber);
    EXPECT_EQ(code_point_properties(' '), kWhiteSpace);
    EXPECT_EQ(code_point_properties('_'), 0);
    EXPECT_EQ(code_point_properties(0x0301), kMark | kNfcUnsettled);
    EXPECT_EQ(code_point_properties(0x180E), 0);  // was a space before Unicode 6.3
    EXPECT_EQ(code_point_properties(0x1C89), kLetter) << "new in Unicode 16";
    EXPECT_EQ(code_point_properties(0x0897), kMark | kNfcFixed) << "new in Unicode 16";
    EXPECT_EQ(code_point_properties(0x0378), kNfcFixed) << "not assigned";
    EXPECT_EQ(code_point_properties(0x10FFFF), kNfcFixed);
}

TEST(Normalizer, ComposesAndReorders) {
    EXPECT_EQ(nfc("e\u0301"), "\u00e9");
    EXPECT_EQ(nfc("abc e\u0301 def o\u0308"), "abc \u00e9 def \u00f6");
    EXPECT_EQ(nfc("q\u0307\u0323"), "q\u0323\u0307");
    EXPECT_EQ(nfc("a\u0302\u0323"), "\u1ead");
    EXPECT_EQ(nfc("\u1112\u1161\u11ab"), "\ud55c");
    EXPECT_EQ(nfc("\ud558\u11ab"), "\ud55c");
    EXPECT_EQ(nfc("\u212b\u037e"), "\u00c5;");
    EXPECT_EQ(nfc("\u0958"), "\u0915\u093c");
    EXPECT_EQ(nfc(">\u0338"), "\u226f");
}

TEST(Normalizer, TextInNfcIsNotCopied) {
    for (const std::string text : {"plain ASCII", "d\u00e9j\u00e0 vu \u4eca", "\u0e2a\u0e27\u0e31\u0e2a",
                                   "q\u0323\u0307", "\u0301 at the start", ""}) {
        std::string storage;
        EXPECT_EQ(to_nfc(text, storage).data(), text.data()) << text;
    }
}

TEST(Normalizer, CodePointsAfterUnicode9StayWhereTheyAre) {
    EXPECT_EQ(nfc("\u07fd\u0334"), "\u07fd\u0334");                  // a mark of Unicode 11, class 220
    EXPECT_EQ(nfc("\u0345\u0898"), "\u0345\u0898");                  // a mark of Unicode 14, class 230
    EXPECT_EQ(nfc("\U00011935\U00011930"), "\U00011935\U00011930");  // a composite of Unicode 13
    EXPECT_EQ(nfc("\U000105d2\u0307"), "\U000105d2\u0307");          // a composite of Unicode 16
    EXPECT_EQ(nfc("\u07fde\u0301"), "\u07fd\u00e9");                 // what follows is another matter
    EXPECT_EQ(nfc("\u07fd\u0301\u0316"), "\u07fd\u0316\u0301");
}

// 200,000 marks that have to be sorted: a quadratic reordering would take about 10^10 steps.
TEST(Normalizer, TimeIsNotQuadraticInTheNumberOfMarks) {
    const auto seconds = [](size_t count) {
        const std::string text = repeated("\u0301\u0316", count / 2);
        return thread_seconds([&] { nfc(text); });
    };
    EXPECT_LT(seconds(200'000), 8 * seconds(50'000) + 0.01);
    EXPECT_EQ(nfc(repeated("\u0301\u0316", 1000)), repeated("\u0316", 1000) + repeated("\u0301", 1000));
}

}  // namespace
}  // namespace colugo
