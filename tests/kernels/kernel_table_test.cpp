#include "kernels/kernel_table.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "kernels/each_tier.h"

namespace colugo::kernels {
namespace {

using ::testing::HasSubstr;

// Sets COLUGO_FORCE_ISA for one test and puts the old value back.
class SelectTierTest : public ::testing::Test {
 protected:
    void SetUp() override {
        if (const char* value = std::getenv("COLUGO_FORCE_ISA")) before_ = value;
    }
    void TearDown() override { setenv("COLUGO_FORCE_ISA", before_.c_str(), 1); }
    static void force(const char* value) { setenv("COLUGO_FORCE_ISA", value, 1); }

    static Error refusal() {
        try {
            select_tier();
        } catch (const Error& error) {
            return error;
        }
        return {ErrorCode::io, "nothing was thrown"};
    }

 private:
    std::string before_;
};

TEST_F(SelectTierTest, EmptyCountsAsUnset) {
    force("");
    const Tier fastest = select_tier();
    std::vector<Tier> tiers = available_tiers();
    std::erase(tiers, Tier::avx512_bf16);  // has to be named
    EXPECT_EQ(fastest, tiers.back());
    unsetenv("COLUGO_FORCE_ISA");
    EXPECT_EQ(select_tier(), fastest);
}

TEST_F(SelectTierTest, TakesTheTierThatIsNamed) {
    for (Tier tier : available_tiers()) {
        force(tier_name(tier));
        EXPECT_EQ(select_tier(), tier);
        EXPECT_EQ(kernel_table(select_tier()).tier, tier);
    }
}

TEST_F(SelectTierTest, RefusesAnUnknownName) {
    for (const char* name : {"avx", "AVX2", "sse4", " scalar"}) {
        force(name);
        const Error error = refusal();
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_EQ(std::string(error.what()), std::string("COLUGO_FORCE_ISA=") + name +
                                                 " is not a tier: expected scalar, avx2, avx512, avx512_bf16 or amx");
    }
}

TEST_F(SelectTierTest, RefusesATierThatCannotRun) {
    for (Tier tier : {Tier::avx2, Tier::avx512, Tier::avx512_bf16, Tier::amx}) {
        if (tier_available(tier)) continue;
        force(tier_name(tier));
        const Error error = refusal();
        EXPECT_EQ(error.code(), ErrorCode::unsupported);
        EXPECT_THAT(error.what(), HasSubstr(std::string("COLUGO_FORCE_ISA=") + tier_name(tier) + " is unsupported: "));
    }
}

TEST(KernelTableTest, EveryFunctionIsThere) {
    for (const TestedTier& tier : tested_tiers()) {
        SCOPED_TRACE(tier.name);
        const KernelTable& table = tier.table;
        EXPECT_EQ(tier.name, std::string(tier_name(table.tier)) + (tier.emulated ? "_emulated" : ""));
        EXPECT_TRUE(table.matmul_activation && table.activation_row_bytes && table.prepare_activation &&
                    table.activation_value && table.matmul);
        EXPECT_TRUE(table.rms_norm && table.gated_rms_norm && table.l2_norm && table.rope && table.silu_mul &&
                    table.sigmoid_mul && table.conv_silu && table.gdn_gates && table.round_bf16);
        EXPECT_TRUE(table.store_kv && table.attention_query_format && table.attention_pages && table.attention_merge &&
                    table.gdn_page && table.gdn_advance);
    }
}

TEST(KernelTableTest, ScalarIsAlwaysThere) {
    EXPECT_TRUE(tier_available(Tier::scalar));
}

}  // namespace
}  // namespace colugo::kernels
