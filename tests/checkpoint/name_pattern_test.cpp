#include "checkpoint/name_pattern.h"

#include <chrono>

#include "support/expect_error.h"

namespace colugo {
namespace {

TEST(NamePattern, GlobsMatchWholeNames) {
    EXPECT_TRUE(glob_matches("*lm_head*", "model.lm_head"));
    EXPECT_TRUE(glob_matches("*", ""));
    EXPECT_TRUE(glob_matches("a?c", "abc"));
    EXPECT_FALSE(glob_matches("a?c", "ac"));
    EXPECT_TRUE(glob_matches("layers.[0-3].x", "layers.2.x"));
    EXPECT_FALSE(glob_matches("layers.[!0-3].x", "layers.2.x"));
    EXPECT_TRUE(glob_matches("a[b", "a[b"));
    EXPECT_FALSE(glob_matches("mlp", "mlp.gate"));
    EXPECT_FALSE(glob_matches("*mlp.gate.*", "layers.0.mlp.gate_proj"));
    EXPECT_TRUE(glob_matches("*a*b*", "xxaxxabxx"));
}

TEST(NamePattern, ManyStarsStayFast) {
    std::string pattern;
    for (int i = 0; i < 200; ++i) pattern += "*a";
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(glob_matches(pattern + "b", std::string(2000, 'a')));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(NamePattern, NameOfAModuleCoversWhatIsBelow) {
    const NamePattern pattern("model.layers.1", "f");
    EXPECT_TRUE(pattern.matches({"model.layers.1"}));
    EXPECT_TRUE(pattern.matches({"x", "model.layers.1.mlp.up_proj"}));
    EXPECT_FALSE(pattern.matches({"model.layers.10.mlp.up_proj"}));
}

TEST(NamePattern, ExpressionsMatchFromTheBeginning) {
    const NamePattern pattern("re:model\\.layers\\.\\d+\\.(self_attn|mlp)", "f");
    EXPECT_TRUE(pattern.matches({"model.layers.12.mlp.up_proj"}));
    EXPECT_FALSE(pattern.matches({"x.model.layers.12.mlp.up_proj"}));
    EXPECT_FALSE(NamePattern("re:.*mlp.gate$", "f").matches({"a.mlp.gate_proj"}));
    // A backtracking matcher would not end in this century.
    EXPECT_FALSE(NamePattern("re:(a+)+$", "f").matches({std::string(200, 'a') + "b"}));
    EXPECT_ERROR(ErrorCode::invalid_file, "f: re:(a is not a regular expression", NamePattern("re:(a", "f"));
    EXPECT_ERROR(ErrorCode::invalid_file, "has 603 characters", NamePattern("re:" + std::string(600, '('), "f"));
}

}  // namespace
}  // namespace colugo
