// Figures: percentiles, what could have been cached, energy.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "bench/ideal_cache.h"
#include "bench/machine_record.h"
#include "bench/statistics.h"
#include "support/temp_folder.h"

namespace colugo {
namespace {

TEST(Statistics, PercentilesLieBetweenTheNearestTwo) {
    const Spread spread({4.0, 1.0, 3.0, 2.0});
    EXPECT_EQ(spread.mean, 2.5);
    EXPECT_EQ(spread.at(0), 1.0);
    EXPECT_EQ(spread.at(50), 2.5);
    EXPECT_NEAR(spread.at(90), 3.7, 1e-12);
    EXPECT_NEAR(spread.at(99), 3.97, 1e-12);
    EXPECT_EQ(spread.at(100), 4.0);
    EXPECT_NEAR(spread.deviation, 1.118033988749895, 1e-12);
    EXPECT_EQ(spread.json()["count"], 4u);
    EXPECT_EQ(Spread({7.0}).at(99), 7.0);
    EXPECT_TRUE(Spread({}).json().is_null());
}

int64_t longest_common(const std::vector<std::vector<int32_t>>& earlier, const std::vector<int32_t>& prompt) {
    size_t best = 0;
    for (const std::vector<int32_t>& one : earlier) {
        size_t length = 0;
        while (length < std::min(one.size(), prompt.size()) && one[length] == prompt[length]) ++length;
        best = std::max(best, length);
    }
    return static_cast<int64_t>(std::min(best, prompt.size() - 1));
}

TEST(IdealCache, IsTheLongestPrefixOfAnyEarlierPrompt) {
    std::mt19937 random(1);
    for (int run = 0; run < 50; ++run) {
        IdealCache cache;
        std::vector<std::vector<int32_t>> earlier;
        for (int i = 0; i < 40; ++i) {
            std::vector<int32_t> prompt;
            if (!earlier.empty()) {  // most go on with one, from anywhere
                const std::vector<int32_t>& one = earlier[random() % earlier.size()];
                prompt.assign(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(random() % (one.size() + 1)));
            }
            do prompt.push_back(static_cast<int32_t>(random() % 3));
            while (random() % 4 != 0);
            EXPECT_EQ(cache.add(prompt), earlier.empty() ? 0 : longest_common(earlier, prompt));
            earlier.push_back(prompt);
        }
    }
}

TEST(IdealCache, ThePromptItselfIsNeverAllOfIt) {
    IdealCache cache;
    EXPECT_EQ(cache.add({1, 2, 3}), 0);
    EXPECT_EQ(cache.add({1, 2, 3}), 2);
    EXPECT_EQ(cache.add({1, 2, 3, 4}), 3);
    EXPECT_EQ(cache.add({1, 2}), 1);
    EXPECT_EQ(cache.add({}), 0);
}

class Energy : public ::testing::Test {
 protected:
    void put(const std::string& path, const std::string& text) {
        std::filesystem::create_directories(std::filesystem::path(folder_.path() + "/" + path).parent_path());
        folder_.write(path, text + "\n");
    }
    testing::TempFolder folder_;
};

TEST_F(Energy, SumsPackagesOverTheirOverflow) {
    put("class/powercap/intel-rapl:0/name", "package-0");
    put("class/powercap/intel-rapl:0/max_energy_range_uj", "9999999");
    put("class/powercap/intel-rapl:0/energy_uj", "9000000");
    put("class/powercap/intel-rapl:0:0/energy_uj", "5");  // a part of the package
    put("class/hwmon/hwmon0/energy1_input", "7");
    EnergyMeter meter(folder_.path());
    EXPECT_EQ(meter.sources(), std::vector<std::string>{"RAPL package-0"});
    put("class/powercap/intel-rapl:0/energy_uj", "1500000");
    meter.update();
    EXPECT_DOUBLE_EQ(meter.joules().value(), 2.5);
    put("class/powercap/intel-rapl:0/energy_uj", "2000000");
    meter.update();
    EXPECT_DOUBLE_EQ(meter.joules().value(), 3.0);
}

TEST_F(Energy, TakesOtherCountersWhereThereIsNoRapl) {
    put("class/hwmon/hwmon1/name", "amd_energy");
    put("class/hwmon/hwmon1/energy1_input", "100");
    EnergyMeter meter(folder_.path());
    put("class/hwmon/hwmon1/energy1_input", "2000100");
    meter.update();
    EXPECT_DOUBLE_EQ(meter.joules().value(), 2.0);
}

TEST_F(Energy, IsNotReadableWithoutACounter) {
    put("class/powercap/intel-rapl:0/energy_uj", "no number");
    EXPECT_FALSE(EnergyMeter(folder_.path()).joules());
    EXPECT_FALSE(EnergyMeter("/nonexistent").joules());
}

}  // namespace
}  // namespace colugo
