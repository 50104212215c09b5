// What a request gets from the engine is what it gets from a cold run of its own, whatever ran before and beside it.
// Each case also shows that what it is about has happened.
#include "engine/engine.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "engine/engine_harness.h"
#include "support/allocation_counter.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace colugo::testing {
namespace {

using Tokens = std::vector<int32_t>;

ColdRuns& cold() {
    static ColdRuns runs;
    return runs;
}

Tokens first(const Tokens& tokens, int64_t count) {
    return Tokens(tokens.begin(), tokens.begin() + count);
}

TEST(EngineEquality, EveryTailBehindASnapshot) {
    const Tokens trunk = tokens_of(150, 1);
    EngineHarness harness({.cached_sequences = 200});  // nothing has to go
    int restored_inside_a_page = 0;
    for (int tail = 1; tail <= 70; ++tail) {
        // The snapshot lies everywhere in a page as the tails grow.
        const int64_t begin = 150 - tail;
        Request trunk_request = request_of(first(trunk, begin), 0);
        trunk_request.branch_points = {begin};
        harness.run(trunk_request);
        for (const double temperature : {0.0, 1.0}) {
            const Request request = request_of(trunk, 3, temperature);
            const auto heard = harness.run(request);
            EXPECT_EQ(heard->result().prompt_tokens, 150);
            if (temperature == 0.0 && tail == 1) {
                EXPECT_EQ(heard->result().cached_tokens, 149);
            }
            cold().expect_same(request, *heard, "tail " + std::to_string(tail));
        }
        const Request other =
            request_of(joined(first(trunk, begin), tokens_of(tail, 100 + static_cast<uint64_t>(tail))));
        const auto heard = harness.run(other);
        EXPECT_EQ(heard->result().cached_tokens, begin) << tail;
        EXPECT_EQ(heard->first_position(), begin);
        restored_inside_a_page += begin % 32 != 0;
        cold().expect_same(other, *heard, "other tail " + std::to_string(tail));
    }
    EXPECT_GT(restored_inside_a_page, 60);
}

// Conversations that take turns: each turn's prompt is the one before, its reply and some more.
TEST(EngineEquality, InterleavedConversations) {
    EngineHarness harness;
    std::vector<Tokens> conversations = {tokens_of(40, 1), tokens_of(61, 2), tokens_of(33, 3)};
    int64_t cached = 0;
    for (int turn = 0; turn < 4; ++turn) {
        for (size_t i = 0; i < conversations.size(); ++i) {
            const Request request = request_of(conversations[i], 5, i == 1 ? 0.8 : 0.0);
            const auto heard = harness.run(request);
            cold().expect_same(request, *heard, "turn " + std::to_string(turn));
            if (turn > 0) {
                // All but the reply's last token, which nobody has fed, and the new ones.
                EXPECT_EQ(heard->result().cached_tokens, static_cast<int64_t>(conversations[i].size()) - 24);
            }
            cached += heard->result().cached_tokens;
            conversations[i] =
                joined(joined(conversations[i], heard->tokens()), tokens_of(23, 50 + static_cast<uint64_t>(turn)));
        }
    }
    EXPECT_GT(cached, 500);
    EXPECT_EQ(harness.engine().metrics().cache.hits, 9);
}

TEST(EngineEquality, EditsGoingBackAndTheSameAgain) {
    EngineHarness harness;
    const Tokens long_one = tokens_of(200, 4);
    std::vector<Request> requests = {request_of(long_one)};
    Tokens edited = long_one;
    edited[90] += 1;
    requests.push_back(request_of(edited));
    requests.push_back(request_of(first(long_one, 120)));
    requests.push_back(request_of(long_one));
    requests.push_back(request_of(edited));
    requests.push_back(request_of(joined(first(long_one, 110), tokens_of(30, 9))));
    requests.push_back(request_of(joined(first(long_one, 110), tokens_of(30, 10))));
    for (const double temperature : {0.0, 1.2}) {
        for (size_t i = 0; i < requests.size(); ++i) {
            requests[i].sampling.temperature = temperature;
            const auto heard = harness.run(requests[i]);
            cold().expect_same(requests[i], *heard, "request " + std::to_string(i));
            // The same prompt: all but its last token. Where ways part for the third time, they have been seen to part.
            if (i == 3 || i == 4) {
                EXPECT_EQ(heard->result().cached_tokens, 199);
            }
            if (i == 6 && temperature == 0.0) {
                EXPECT_EQ(heard->result().cached_tokens, 110);
            }
        }
    }
}

TEST(EngineEquality, ACancelledPrefillGoesOnWhereItStopped) {
    const Tokens prompt = tokens_of(200, 5);
    for (int chunks = 0; chunks <= 7; ++chunks) {
        EngineHarness harness({.max_rows = 29});
        const Request request = request_of(prompt);
        const auto cancelled = harness.submit(request);
        for (int chunk = 0; chunk < chunks; ++chunk) harness.step();
        harness.engine().cancel(cancelled.id);
        harness.finish();
        ASSERT_TRUE(cancelled.heard->done());
        const bool was_done = cancelled.heard->result().finish != FinishReason::cancelled;
        EXPECT_EQ(was_done, false);
        const auto heard = harness.run(request);
        EXPECT_EQ(heard->result().cached_tokens, std::min(29 * chunks, 199)) << chunks;
        cold().expect_same(request, *heard, "after chunks " + std::to_string(chunks));
    }
}

TEST(EngineEquality, APreemptedSequenceResumes) {
    const Request low = request_of(tokens_of(70, 6), 40, 0.9);
    for (const int steps : {1, 2, 5, 20}) {
        EngineHarness harness({.parallel = 1});
        const auto interrupted = harness.submit(low);
        for (int step = 0; step < steps; ++step) harness.step();
        Request high = request_of(tokens_of(50, 7), 10);
        high.priority = 1;
        const auto first_served = harness.submit(high);
        while (!first_served.heard->done()) harness.step();
        EXPECT_FALSE(interrupted.heard->done());
        harness.finish();
        EXPECT_EQ(interrupted.heard->result().preemptions, 1);
        EXPECT_EQ(harness.engine().metrics().scheduler.preemptions, 1);
        // Nothing was computed twice.
        EXPECT_EQ(interrupted.heard->result().fed_tokens, 70 + 39);
        EXPECT_EQ(interrupted.heard->tokens(), cold().of(low).tokens()) << steps;
        cold().expect_same(high, *first_served.heard, "the one that came between");
    }
}

TEST(EngineEquality, BatchesOfOneToEight) {
    for (int count = 1; count <= 8; ++count) {
        EngineHarness harness({.max_rows = 40});
        std::vector<Request> requests;
        std::vector<EngineHarness::Submitted> submitted;
        for (int i = 0; i < count; ++i) {
            requests.push_back(request_of(tokens_of(3 + 2 * i, 20 + static_cast<uint64_t>(i)), 100 + i, i % 2));
            submitted.push_back(harness.submit(requests.back()));
        }
        harness.finish();
        EXPECT_EQ(harness.engine().metrics().most_sequences, count);
        for (int i = 0; i < count; ++i) {
            cold().expect_same(requests[static_cast<size_t>(i)], *submitted[static_cast<size_t>(i)].heard,
                               std::to_string(i) + " of " + std::to_string(count));
        }
    }
}

TEST(EngineEquality, EvictionUnderHalfOfTheLoad) {
    // Six conversations of about 250 tokens and their snapshots, in memory for two sequences of 512.
    EngineHarness harness({.parallel = 2, .cached_sequences = 2.2});
    std::vector<Tokens> conversations;
    for (uint64_t i = 0; i < 6; ++i) conversations.push_back(joined(tokens_of(64, 77), tokens_of(40, 30 + i)));
    for (int turn = 0; turn < 5; ++turn) {
        std::vector<Request> requests;
        std::vector<EngineHarness::Submitted> submitted;
        for (const Tokens& tokens : conversations) {
            requests.push_back(request_of(tokens, 7));
            submitted.push_back(harness.submit(requests.back()));
        }
        harness.finish();
        for (size_t i = 0; i < conversations.size(); ++i) {
            cold().expect_same(requests[i], *submitted[i].heard, "turn " + std::to_string(turn));
            conversations[i] = joined(joined(conversations[i], submitted[i].heard->tokens()), tokens_of(25, 90 + i));
        }
    }
    const EngineMetrics metrics = harness.engine().metrics();
    EXPECT_GT(metrics.cache.evictions, 10);
    EXPECT_GT(metrics.cache.hits, 5);
    EXPECT_LE(metrics.used_bytes, metrics.cache_bytes);
}

TEST(EngineEquality, EveryNumberOfThreads) {
    for (int threads = 1; threads <= 4; ++threads) {
        EngineHarness harness({.max_rows = 50, .threads = threads});
        const Tokens trunk = tokens_of(100, 8);
        harness.run(request_of(trunk, 4));
        const Request request = request_of(joined(first(trunk, 77), tokens_of(40, 12)), 8, 1.0);
        harness.run(request_of(joined(first(trunk, 77), tokens_of(40, 13)), 1));
        const auto heard = harness.run(request);
        EXPECT_EQ(heard->result().cached_tokens, 77);
        cold().expect_same(request, *heard, std::to_string(threads) + " threads");
    }
}

TEST(EngineEquality, FromDiskAfterARestart) {
    const TempFolder folder;
    std::vector<Tokens> conversations = {tokens_of(150, 1), tokens_of(97, 2),
                                         joined(tokens_of(64, 1), tokens_of(80, 3))};
    for (int start = 0; start < 3; ++start) {
        EngineHarness harness({.cache_disk = folder.path()});
        for (size_t i = 0; i < conversations.size(); ++i) {
            const Request request = request_of(conversations[i], 6, i == 1 ? 1.0 : 0.0);
            const auto heard = harness.run(request);
            if (start > 0) {
                // All but the reply's last token, which nobody has fed, and the new ones.
                EXPECT_EQ(heard->result().cached_tokens, static_cast<int64_t>(conversations[i].size()) - 31);
            }
            cold().expect_same(request, *heard, "start " + std::to_string(start));
            conversations[i] = joined(joined(conversations[i], heard->tokens()), tokens_of(30, 60 + i));
        }
        EXPECT_EQ(harness.engine().metrics().disk.reads, start > 0 ? 3 : 0);
        EXPECT_TRUE(harness.log.empty());
    }
}

TEST(EngineEquality, FromDiskWhatMemoryHadNoRoomFor) {
    const TempFolder folder;
    EngineHarness harness({.parallel = 2, .cached_sequences = 2.2, .cache_disk = folder.path()});
    std::vector<Tokens> conversations;
    for (uint64_t i = 0; i < 6; ++i) conversations.push_back(tokens_of(170, 30 + i));
    int64_t cached = 0;
    for (int turn = 0; turn < 4; ++turn) {
        for (size_t i = 0; i < conversations.size(); ++i) {
            const Request request = request_of(conversations[i], 5);
            const auto heard = harness.run(request);
            cold().expect_same(request, *heard, "turn " + std::to_string(turn));
            cached += heard->result().cached_tokens;
            conversations[i] = joined(joined(conversations[i], heard->tokens()), tokens_of(20, 90 + i));
            // The disk writes while there is time.
            for (int wait = 0; wait < 20; ++wait) {
                harness.step();
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }
        }
    }
    const EngineMetrics metrics = harness.engine().metrics();
    EXPECT_GT(metrics.cache.evictions, 10);
    EXPECT_GT(metrics.disk.writes, 0);
    EXPECT_GT(metrics.disk.reads, 0);
    EXPECT_EQ(metrics.disk.failed, 0);
    EXPECT_GT(cached, 0);
}

// What an engine has when it is killed is what it wrote before.
TEST(Engine, AnIdleEngineWritesWhatItHas) {
    const TempFolder folder;
    EngineHarness harness({.cache_disk = folder.path()});
    Engine& engine = harness.engine();
    const auto heard = std::make_shared<Recorder>();
    {
        EngineThread running(engine);
        engine.submit(request_of(tokens_of(150, 1), 3), heard);
        while (engine.metrics().finished < 1 || engine.metrics().disk.writes < 2) std::this_thread::yield();
        const EngineMetrics metrics = engine.metrics();
        EXPECT_EQ(metrics.snapshots, 2);  // behind the prompt and behind the reply
        EXPECT_LT(metrics.used_bytes, metrics.cache_bytes / 4);
    }
    EXPECT_EQ(engine.metrics().disk.writes, 2);
    EXPECT_EQ(engine.fault(), "");
}

// A disk that refused a snapshot was asked again at once, for as long as the engine had nothing else to do.
TEST(Engine, WhatTheDiskRefusesIsNotOfferedAgain) {
    const TempFolder folder;
    EngineHarness harness({.cache_disk = folder.path(), .cache_disk_bytes = 100});
    harness.run(request_of(tokens_of(150, 1), 3));
    for (int wait = 0; wait < 100; ++wait) {
        harness.step();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    harness.engine().stop();
    harness.engine().run();
    EXPECT_EQ(harness.engine().metrics().disk.failed, 2);  // behind the prompt and behind the reply
    EXPECT_EQ(harness.log.size(), 2u);
}

TEST(Engine, AtTheEndItWritesForAsLongAsItMay) {
    const TempFolder folder;
    EngineHarness harness({.cache_disk = folder.path(), .cache_disk_seconds = 0.0});
    for (uint64_t i = 0; i < 4; ++i)
        harness.engine().submit(request_of(tokens_of(150, i), 3), std::make_shared<Recorder>());
    while (harness.engine().metrics().finished < 4) harness.step();
    harness.engine().stop();
    harness.engine().run();
    EXPECT_EQ(harness.engine().metrics().disk.writes, 0);
    ASSERT_FALSE(harness.log.empty());
    EXPECT_THAT(harness.log.back(), ::testing::HasSubstr("8 snapshots were not kept on disk"));
}

// What is being written has memory that nobody else gets; so long as a sequence waits for it, no more is written.
TEST(Engine, WritingLetsWhatWaitsForMemoryBegin) {
    const TempFolder folder;
    EngineHarness harness({.parallel = 2, .cached_sequences = 1.1, .cache_disk = folder.path()});
    for (uint64_t i = 0; i < 6; ++i) harness.run(request_of(tokens_of(70, 20 + i), 2));
    const int64_t before = harness.engine().metrics().disk.writes;
    const Request request = request_of(tokens_of(400, 30), 112);
    const auto heard = harness.run(request);
    EXPECT_LE(harness.engine().metrics().disk.writes, before + 2);
    cold().expect_same(request, *heard, "the long one");
}

TEST(Engine, WhatAnotherModelLeftOnDiskIsNotTaken) {
    const TempFolder folder;
    const Request request = request_of(tokens_of(150, 1), 3);
    EngineHarness({.cache_disk = folder.path()}).run(request);
    EngineHarness other({.fixture = "tiny-f16", .cache_disk = folder.path()});
    EXPECT_EQ(other.run(request)->result().cached_tokens, 0);
    EngineHarness same({.cache_disk = folder.path()});
    EXPECT_EQ(same.run(request)->result().cached_tokens, 149);
}

TEST(EngineEquality, WithTheMtpHeadsRows) {
    ColdRuns with_mtp("tiny-bf16", true);
    EngineHarness harness({.with_mtp = true});
    const Tokens trunk = tokens_of(100, 8);
    harness.run(request_of(trunk, 4));
    const Request request = request_of(joined(trunk, tokens_of(9, 12)), 5);
    const auto heard = harness.run(request);
    EXPECT_EQ(heard->result().cached_tokens, 99);
    with_mtp.expect_same(request, *heard, "with mtp");
}

// Drafts of every kind, for sequences alone and in batches, that end by themselves, by a stop or at their limit.
TEST(EngineEquality, WithDrafts) {
    ColdRuns with_mtp("tiny-bf16", true);
    for (const SpecMode mode : {SpecMode::mtp, SpecMode::lookup, SpecMode::tree, SpecMode::automatic}) {
        for (const SpecParams& params :
             {SpecParams{.mode = mode}, SpecParams{.mode = mode, .depth = 3, .top_k = 4, .nodes = 7}}) {
            // Mode automatic takes rows for free, whatever the machine does beside.
            constexpr double kFree[] = {1.0, 1.0};
            EngineHarness harness(
                {.parallel = 4, .max_rows = 40, .spec = params, .pass_cost = PassCost(kFree, 0.01, 0.01)});
            std::vector<Request> requests;
            for (uint64_t i = 0; i < 4; ++i) {
                requests.push_back(request_of(tokens_of(static_cast<int>(20 + 11 * i), 300 + i),
                                              static_cast<int64_t>(1 + 25 * i), i % 2 == 1 ? 0.7 : 0.0));
                // Lookup finds what will be drawn, and in places what will not.
                Tokens& prediction = requests.back().prediction;
                prediction = with_mtp.of(requests.back()).tokens();
                for (size_t at = 11; at < prediction.size(); at += 9) prediction[at] += 1;
            }
            std::vector<EngineHarness::Submitted> submitted;
            for (const Request& request : requests) submitted.push_back(harness.submit(request));
            harness.finish();
            for (size_t i = 0; i < requests.size(); ++i) {
                with_mtp.expect_same(requests[i], *submitted[i].heard, "request " + std::to_string(i));
                Request stopped = requests[i];
                if (submitted[i].heard->tokens().size() < 5) continue;
                stopped.stop_ids = {submitted[i].heard->tokens()[4]};
                const auto heard = harness.run(stopped);
                EXPECT_EQ(heard->result().finish, FinishReason::stop);
                const auto at = std::find(heard->tokens().begin(), heard->tokens().end(), stopped.stop_ids[0]);
                EXPECT_EQ(at, heard->tokens().end());
                EXPECT_LE(heard->tokens().size(), 4u);
            }
            const EngineMetrics metrics = harness.engine().metrics();
            EXPECT_GT(metrics.drafts.all.drafted, 50) << static_cast<int>(mode);
            if (mode != SpecMode::mtp) {
                EXPECT_GT(metrics.drafts.all.accepted, 20);
            }
        }
    }
}

// Under mode automatic, by what passes cost: as the clock would have it of a machine where rows are free, and of one
// where a draft costs as much as the token it may save.
TEST(Engine, DraftsAreMadeWhereTheyPay) {
    constexpr double kFree[] = {1.0, 1.0}, kDear[] = {1.0, 2.0};
    ColdRuns with_mtp("tiny-bf16", true);
    Request request = request_of(tokens_of(40, 77), 200);
    request.prediction = with_mtp.of(request).tokens();
    const auto drafted = [&](const PassCost& cost) {
        EngineHarness harness({.spec = {.mode = SpecMode::automatic}, .pass_cost = cost});
        const auto heard = harness.run(request);
        with_mtp.expect_same(request, *heard, "automatic");
        return heard->result();
    };
    const RequestResult free = drafted(PassCost(kFree, 0.01, 0.01));
    EXPECT_LT(free.decode_passes, 60);  // the prediction is right
    EXPECT_GT(free.drafts.head.drafted, 0);
    EXPECT_GT(free.drafts.lookup.accepted, 100);
    const RequestResult dear = drafted(PassCost(kDear, 1.0, 1.0));
    EXPECT_GT(dear.decode_passes, 170);
    EXPECT_GT(dear.drafts.all.drafted, 0);  // it is tried now and then
    EXPECT_LT(dear.drafts.all.drafted, 30);
}

TEST(Engine, WhatSeveralBeginWithIsReadOnce) {
    const Tokens common = tokens_of(150, 40);
    EngineHarness harness({.parallel = 4, .max_rows = 32});
    std::vector<Request> requests;
    std::vector<EngineHarness::Submitted> submitted;
    for (uint64_t i = 0; i < 4; ++i) {
        requests.push_back(request_of(joined(common, tokens_of(20, 60 + i)), 3));
        submitted.push_back(harness.submit(requests.back()));
    }
    harness.finish();
    int64_t fed = 0;
    for (size_t i = 0; i < 4; ++i) {
        cold().expect_same(requests[i], *submitted[i].heard, std::to_string(i));
        fed += submitted[i].heard->result().fed_tokens;
    }
    EXPECT_EQ(fed, 150 + 4 * (20 + 2));
    EXPECT_EQ(harness.engine().metrics().scheduler.shared_reads, 3);
}

TEST(Engine, AWaiterGoesOnWhereTheReaderWasCancelled) {
    const Tokens common = tokens_of(150, 41);
    EngineHarness harness({.parallel = 4, .max_rows = 32});
    const auto reader = harness.submit(request_of(joined(common, tokens_of(20, 60)), 3));
    const Request request = request_of(joined(common, tokens_of(20, 61)), 3);
    const auto waiter = harness.submit(request);
    for (int step = 0; step < 3; ++step) harness.step();
    EXPECT_EQ(harness.engine().metrics().waiting, 1);
    harness.engine().cancel(reader.id);
    harness.finish();
    EXPECT_EQ(reader.heard->result().finish, FinishReason::cancelled);
    EXPECT_EQ(waiter.heard->result().cached_tokens, 96);
    cold().expect_same(request, *waiter.heard, "the waiter");
}

TEST(Engine, TheCancelOfOneRequestIsNotAnothers) {
    EngineHarness harness({.max_rows = 32});
    const auto cancelled = harness.submit(request_of(tokens_of(150, 42)));
    harness.step();
    harness.engine().cancel(cancelled.id);
    const Request request = request_of(tokens_of(80, 43));
    const auto other = harness.submit(request);
    harness.engine().cancel(cancelled.id);
    harness.finish();
    harness.engine().cancel(cancelled.id);
    harness.engine().cancel(other.id);
    harness.finish();
    EXPECT_EQ(cancelled.heard->result().finish, FinishReason::cancelled);
    EXPECT_EQ(other.heard->result().finish, FinishReason::length);
    cold().expect_same(request, *other.heard, "the other");
}

TEST(Engine, StopsAndLimits) {
    EngineHarness harness({.ctx_size = 64});
    Request request = request_of(tokens_of(20, 44), 20);
    const Tokens free = harness.run(request)->tokens();
    EXPECT_EQ(free.size(), 20u);
    request.stop_ids = {free[5]};
    const auto stopped = harness.run(request);
    const auto at = std::find(free.begin(), free.end(), free[5]) - free.begin();
    EXPECT_EQ(stopped->result().finish, FinishReason::stop);
    EXPECT_EQ(stopped->tokens(), first(free, at));
    EXPECT_EQ(stopped->result().generated_tokens, at);
    for (const int64_t max_tokens : {int64_t{-1}, int64_t{45}, int64_t{1000}}) {
        const auto limited = harness.run(request_of(tokens_of(20, 44), max_tokens));
        EXPECT_EQ(limited->result().finish, FinishReason::context);
        EXPECT_EQ(limited->tokens().size(), 44u);
    }
    const auto none = harness.run(request_of(tokens_of(20, 45), 0));
    EXPECT_EQ(none->result().finish, FinishReason::length);
    EXPECT_TRUE(none->tokens().empty());
    EXPECT_EQ(none->progress().back(), std::make_pair(int64_t{20}, int64_t{20}));
}

TEST(Engine, RefusesWhatCannotBeServed) {
    EngineHarness harness({.ctx_size = 64});
    EXPECT_ERROR(ErrorCode::invalid_argument, "empty", harness.submit(request_of({})));
    EXPECT_ERROR(ErrorCode::invalid_argument, "512", harness.submit(request_of({512})));
    EXPECT_ERROR(ErrorCode::invalid_argument, "-2", harness.submit(request_of({1}, -2)));
    for (const int32_t token : {-1, 512}) {
        Request request = request_of({1});
        request.prediction = {1, token};
        EXPECT_ERROR(ErrorCode::invalid_argument, "prediction", harness.submit(request));
    }
    Request request = request_of({1});
    request.spec = SpecParams{.mode = SpecMode::lookup, .nodes = 0};
    EXPECT_ERROR(ErrorCode::invalid_argument, "spec-nodes", harness.submit(request));
    EXPECT_ERROR(ErrorCode::resource_exhausted, "64 tokens", harness.submit(request_of(tokens_of(64, 1))));
    EXPECT_ERROR(ErrorCode::resource_exhausted, "65 tokens", harness.submit(request_of(tokens_of(65, 1), 0)));
    EXPECT_FALSE(harness.engine().step());
    EXPECT_EQ(harness.engine().metrics().submitted, 0);
}

// Each has been promised its longest end before it begins, so none is ever out of memory.
TEST(Engine, SequencesBeyondTheBudgetWait) {
    EngineHarness harness({.parallel = 8, .cached_sequences = 2.0});
    std::vector<EngineHarness::Submitted> submitted;
    for (uint64_t i = 0; i < 6; ++i) submitted.push_back(harness.submit(request_of(tokens_of(300, 70 + i), 200)));
    harness.step();
    EXPECT_EQ(harness.engine().metrics().running, 2);
    EXPECT_EQ(harness.engine().metrics().waiting, 4);
    harness.finish();
    for (const auto& one : submitted) EXPECT_EQ(one.heard->result().finish, FinishReason::length);
}

TEST(Engine, ALongPromptDoesNotStopAStream) {
    EngineHarness harness({.parallel = 2, .max_rows = 256, .ctx_size = 2000});
    const auto stream = harness.submit(request_of(tokens_of(10, 80), 1000));
    for (int step = 0; step < 5; ++step) harness.step();
    const auto reader = harness.submit(request_of(tokens_of(1900, 81), 1));
    while (!reader.heard->done()) {
        const size_t heard = stream.heard->tokens().size();
        harness.step();
        if (!stream.heard->done()) {
            EXPECT_EQ(stream.heard->tokens().size(), heard + 1);
        }
    }
}

// Counts, and takes no memory to do so.
class Counter : public RequestListener {
 public:
    void token(const DrawnToken&) override { ++tokens; }
    void finished(const RequestResult&) override {}
    int tokens = 0;
};

// The reply ends with the token that completes one, and says how much of its bytes is none of the text.
TEST(Engine, StopStringsAreFoundAcrossTokens) {
    EngineHarness harness;
    int inside_a_token = 0, several_tokens = 0;
    for (uint64_t seed = 0; seed < 24; ++seed) {
        Request request = request_of(tokens_of(12, 900 + seed), 40, 1.0);
        const Tokens free = cold().of(request).tokens();
        const std::string text = text_of(free);
        const std::string stop = text.substr(20 + seed, 2 + seed % 7);
        request.stop_strings = {"not there", stop};
        const auto heard = harness.run(request);
        EXPECT_EQ(heard->result().finish, FinishReason::stop);
        EXPECT_EQ(heard->tokens(), first(free, std::ssize(heard->tokens())));
        EXPECT_EQ(heard->result().generated_tokens, std::ssize(heard->tokens()));
        std::string given = text_of(heard->tokens());
        const size_t all = given.size();
        given.resize(all - static_cast<size_t>(heard->result().cut_bytes));
        EXPECT_EQ(given, text.substr(0, text.find(stop)));
        // Not one token too many.
        EXPECT_EQ(text_of(first(heard->tokens(), std::ssize(heard->tokens()) - 1)).find(stop), std::string::npos);
        inside_a_token += given.size() + stop.size() < all;
        several_tokens += stop.size() > letters_of(heard->tokens().back()).size();
        cold().expect_same(request, *heard, stop);
    }
    EXPECT_GT(inside_a_token, 3);
    EXPECT_GT(several_tokens, 3);
}

TEST(Engine, StopStringsNeedTheBytesOfTokens) {
    LoadedModel own(launch_options({}));
    Engine engine(own, TokenMask(own.config().vocab_size, true));
    Request request = request_of({1, 2});
    request.stop_strings = {"a"};
    EXPECT_THROW(engine.submit(request, std::make_shared<Recorder>()), Error);
    request.stop_strings = {""};
    EXPECT_THROW(EngineHarness().engine().submit(request, std::make_shared<Recorder>()), Error);
}

TEST(Engine, LogprobsAreThoseOfTheRawLogits) {
    EngineHarness harness;
    Request request = request_of(tokens_of(9, 31), 12, 1.3);
    request.sampling.top_k = 5;
    request.top_logprobs = 3;
    const auto heard = harness.run(request);
    const TokenMask all(harness.vocab_size(), true);
    const auto vocab = static_cast<size_t>(harness.vocab_size());
    int below_the_top = 0;
    for (size_t i = 0; i < heard->tokens().size(); ++i) {
        const auto row = static_cast<size_t>(8 + static_cast<int64_t>(i) - heard->first_position());
        const std::span logits(heard->logits().data() + row * vocab, vocab);
        const auto probability = [&](int32_t token) {
            double sum = 0.0;
            for (const float logit : logits) sum += std::exp(double{logit});
            return std::exp(double{logits[static_cast<size_t>(token)]}) / sum;
        };
        const std::vector<TokenLogprob>& given = heard->logprobs()[i];
        ASSERT_EQ(given.size(), 4u);
        EXPECT_EQ(given[0].token, heard->tokens()[i]);
        for (const TokenLogprob& one : given) EXPECT_NEAR(std::exp(one.logprob), probability(one.token), 1e-5);
        EXPECT_EQ(logits[static_cast<size_t>(given[1].token)], *std::max_element(logits.begin(), logits.end()));
        below_the_top += given[0].token != given[1].token;
    }
    EXPECT_GT(below_the_top, 0);
    request.top_logprobs = kMostTopLogprobs + 1;
    EXPECT_THROW(harness.engine().submit(request, std::make_shared<Recorder>()), Error);
}

TEST(Engine, AStepTakesNothingFromTheHeapOnceItIsWarm) {
    EngineHarness harness({.parallel = 3});
    std::vector<std::shared_ptr<Counter>> counters;
    for (uint64_t i = 0; i < 3; ++i) {
        counters.push_back(std::make_shared<Counter>());
        Request request = request_of(tokens_of(30, 200 + i), 300, i == 1 ? 1.0 : 0.0);
        harness.engine().submit(std::move(request), counters.back());
    }
    while (counters[2]->tokens < 40) harness.engine().step();
    const size_t before = allocation_count();
    for (int step = 0; step < 100; ++step) harness.engine().step();
    EXPECT_EQ(allocation_count(), before);
    EXPECT_EQ(counters[2]->tokens, 140);
}

// Predictions keep the lookups at work, and the head drafts whenever it is asked.
TEST(Engine, NorDoesOneWithDrafts) {
    constexpr double kFree[] = {1.0, 1.0};
    EngineHarness harness({.parallel = 2,
                           .with_mtp = true,
                           .spec = {.mode = SpecMode::automatic},
                           .pass_cost = PassCost(kFree, 0.01, 0.01)});
    std::vector<std::shared_ptr<Counter>> counters;
    for (const SpecMode mode : {SpecMode::tree, SpecMode::automatic}) {
        counters.push_back(std::make_shared<Counter>());
        Request request = request_of(tokens_of(30, 200), 400);
        request.prediction = first(cold().of(request).tokens(), 350);
        request.spec = SpecParams{.mode = mode};
        harness.engine().submit(std::move(request), counters.back());
    }
    while (counters[0]->tokens < 100 || counters[1]->tokens < 100) harness.engine().step();
    const size_t before = allocation_count();
    const int64_t passes = harness.engine().metrics().head.levels;
    for (int step = 0; step < 20; ++step) harness.engine().step();
    EXPECT_EQ(allocation_count(), before);
    EXPECT_GT(harness.engine().metrics().head.levels, passes);
    EXPECT_LT(counters[0]->tokens, 400);
}

TEST(Engine, RequestsMayComeFromManyThreads) {
    EngineHarness harness({.parallel = 4});
    constexpr int kThreads = 4, kEach = 6;
    std::vector<std::shared_ptr<Recorder>> heard(kThreads * kEach);
    {
        EngineThread running(harness.engine());
        std::vector<std::thread> clients;
        for (int thread = 0; thread < kThreads; ++thread) {
            clients.emplace_back([&, thread] {
                for (int i = 0; i < kEach; ++i) {
                    auto recorder = std::make_shared<Recorder>();
                    const RequestId id = harness.engine().submit(
                        request_of(tokens_of(30 + i, static_cast<uint64_t>(thread + 1)), 20), recorder);
                    if (i % 3 == 2) harness.engine().cancel(id);
                    heard[static_cast<size_t>(thread * kEach + i)] = recorder;
                }
            });
        }
        for (std::thread& client : clients) client.join();
        while (harness.engine().metrics().finished < kThreads * kEach) std::this_thread::yield();
    }
    for (const auto& recorder : heard) EXPECT_TRUE(recorder->done());
    EXPECT_EQ(harness.engine().fault(), "");
}

TEST(Engine, StoppingCancelsWhatIsLeft) {
    EngineHarness harness({.parallel = 1});
    std::vector<EngineHarness::Submitted> submitted;
    for (uint64_t i = 0; i < 3; ++i) submitted.push_back(harness.submit(request_of(tokens_of(40, 90 + i), 400)));
    {
        EngineThread running(harness.engine());
        while (harness.engine().metrics().generated_tokens < 3) std::this_thread::yield();
    }
    for (const auto& one : submitted) ASSERT_TRUE(one.heard->done());
    EXPECT_EQ(submitted.back().heard->result().finish, FinishReason::cancelled);  // the first may have come to its end
}

}  // namespace
}  // namespace colugo::testing
