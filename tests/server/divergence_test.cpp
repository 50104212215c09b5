#include "server/divergence.h"

#include <gtest/gtest.h>

#include "text/text_goldens.h"

namespace colugo {
namespace {

// Of two prompts that begin with so many words more.
std::string note(std::string_view prompt, std::string_view known, int words = 40) {
    const Tokenizer& tokenizer = golden_tokenizer();
    std::string shared;
    for (int i = 0; i < words; ++i) shared += "word ";
    const std::vector<int32_t> tokens = tokenizer.encode(shared + std::string(prompt)),
                               before = tokenizer.encode(shared + std::string(known));
    const auto parts = std::mismatch(tokens.begin(), tokens.end(), before.begin(), before.end());
    return divergence_note(tokenizer, tokens, parts.first - tokens.begin());
}

TEST(Divergence, TellsTheByteAndWhatStandsThere) {
    const std::string said = note("You are helpful. Be brief.", "You are helpful. Go on.");
    EXPECT_NE(said.find("byte 21"), std::string::npos) << said;
    EXPECT_NE(said.find("Be brief."), std::string::npos) << said;
    EXPECT_EQ(said.find("seems"), std::string::npos) << said;
}

TEST(Divergence, KnowsWhatChangesFromRequestToRequest) {
    EXPECT_NE(note("Today is 2026-11-30.", "Today is 2026-11-29.").find("a date"), std::string::npos);
    EXPECT_EQ(changing_thing("it is 12:45 now"), "a clock");
    EXPECT_EQ(changing_thing("id 123e4567-e89b-12d3-a456-426614174000"), "a uuid");
    EXPECT_EQ(changing_thing("cch=0123456789abcdef"), "a hash");
    EXPECT_EQ(changing_thing("nothing of the kind"), "");
}

TEST(Divergence, SaysNothingWhereNothingParts) {
    EXPECT_EQ(note("the same", "the same"), "");
    EXPECT_EQ(note("one", "other", 0), "");
}

TEST(Divergence, SaysNothingOfWhatAllPromptsShare) {
    EXPECT_EQ(note("You are helpful. Be brief.", "You are helpful. Go on.", 0), "");
}

TEST(Divergence, ShowsHalfACharacterToo) {
    EXPECT_NO_THROW(note("caf\xC3\xA9 \xE4\xBB\x8A", "caf\xC3\xA8 \xE4\xBB\x8A"));
}

}  // namespace
}  // namespace colugo
