// Steps on machines whose times are made up.
#include "engine/step_pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace colugo {
namespace {

constexpr double kDecode = 0.02;
constexpr int64_t kMost = 512;

// What a step of decoding and so many prompt rows takes.
using Machine = std::function<double(int64_t rows)>;

// From the first row on, each takes as long.
Machine even(double row) {
    return [row](int64_t rows) { return kDecode + row * static_cast<double>(rows); };
}
// Reading the weights hides the first rows, and nothing those behind them.
Machine hiding(double row) {
    return [row](int64_t rows) { return std::max(kDecode, row * static_cast<double>(rows)); };
}

// The slowest of `steps`, in decoding steps, and how many rows they read in all.
struct Seen {
    double slowest = 0.0;
    int64_t rows = 0;
};

// noise: what a measurement has on top, as a share of it.
Seen read(StepPace& pace, const Machine& machine, int steps, const std::function<double()>& noise) {
    Seen seen;
    for (int step = 0; step < steps; ++step) {
        const int64_t rows = pace.prefill_rows(1, kMost);
        const double seconds = machine(rows);
        seen.slowest = std::max(seen.slowest, seconds / kDecode);
        seen.rows += rows;
        pace.record(rows, 1, seconds * (1.0 + noise()));
    }
    return seen;
}

double quiet() {
    return 0.0;
}

TEST(StepPace, NoStepTakesMoreThanTwice) {
    for (const double row : {2e-5, 1e-4, 4e-4, 2e-3}) {
        for (const Machine& machine : {even(row), hiding(row)}) {
            StepPace pace;
            EXPECT_EQ(pace.prefill_rows(1, kMost), 0);
            pace.record(0, 1, kDecode);
            read(pace, machine, 30, quiet);
            const Seen seen = read(pace, machine, 30, quiet);
            EXPECT_LE(seen.slowest, 2.01) << row;
            // And no time is left unused.
            const int64_t rows = pace.prefill_rows(1, kMost);
            if (rows < kMost) {
                EXPECT_GE(machine(rows + 2) / kDecode, 1.95) << row << " rows " << rows;
            }
        }
    }
}

TEST(StepPace, NorTheFirstOnes) {
    for (const double row : {2e-5, 1e-4, 4e-4, 2e-3}) {
        for (const Machine& machine : {even(row), hiding(row)}) {
            StepPace pace;
            pace.record(0, 1, kDecode);
            EXPECT_LE(read(pace, machine, 30, quiet).slowest, 2.01) << row;
        }
    }
}

// A first measurement just above a decoding step's says next to nothing of what more rows take.
TEST(StepPace, NorWhereTheFirstRowsSeemFree) {
    StepPace pace;
    pace.record(0, 1, kDecode);
    pace.record(8, 1, kDecode * 1.0001);
    EXPECT_LE(pace.prefill_rows(1, kMost), 16);
    EXPECT_LE(read(pace, hiding(4e-4), 60, quiet).slowest, 2.01);
}

TEST(StepPace, NorBehindAPromptOfCheaperRows) {
    StepPace pace;
    pace.record(0, 1, kDecode);
    read(pace, even(4e-5), 60, quiet);
    EXPECT_GT(pace.prefill_rows(1, kMost), 300);
    pace.record(0, 1, kDecode);
    EXPECT_LE(read(pace, even(2e-3), 30, quiet).slowest, 2.01);  // far deeper
}

TEST(StepPace, AShortRestOfAPromptIsNoMeasure) {
    StepPace pace;
    pace.record(0, 1, kDecode);
    read(pace, even(4e-4), 60, quiet);
    const int64_t before = pace.prefill_rows(1, kMost);
    pace.record(3, 1, even(4e-4)(3));
    EXPECT_EQ(pace.prefill_rows(1, kMost), before);
    pace.record(3, 1, 3 * kDecode);  // except that it was slow
    EXPECT_LT(pace.prefill_rows(1, kMost), before);
}

TEST(StepPace, AStepThatWasSlowForOnceIsForgotten) {
    std::mt19937 random(5);
    const auto noise = [&]() { return random() % 20 == 0 ? 4.0 : 1e-3 * static_cast<double>(random() % 100); };
    StepPace pace;
    pace.record(0, 1, 5 * kDecode);
    for (int step = 0; step < 10; ++step) pace.record(0, 1, kDecode * (1.0 + noise()));
    pace.record(0, 1, kDecode);
    const Seen seen = read(pace, even(4e-4), 200, noise);
    EXPECT_LE(seen.slowest, 2.1);
    EXPECT_GT(seen.rows, 200 * 25);  // of 50 that would fit each time
}

TEST(StepPace, AnotherNumberOfSequencesIsMeasuredFirst) {
    StepPace pace;
    pace.record(0, 1, kDecode);
    EXPECT_GT(pace.prefill_rows(2, kMost), 0);
    EXPECT_EQ(pace.prefill_rows(3, kMost), 0);
    pace.record(0, 3, 3 * kDecode);
    EXPECT_GT(pace.prefill_rows(3, kMost), 0);
    EXPECT_EQ(pace.prefill_rows(1, kMost), 0);
}

}  // namespace
}  // namespace colugo
