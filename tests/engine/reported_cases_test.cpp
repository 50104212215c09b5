// What users of model servers reported to go wrong, each as a small case. Equality is of bits with a cold run, and
// every case shows that what it is about has happened.
#include <gtest/gtest.h>

#include <set>

#include "engine/engine_harness.h"
#include "support/expect_error.h"
#include "support/resident_bytes.h"

namespace colugo::testing {
namespace {

using Tokens = std::vector<int32_t>;

constexpr int64_t kLongContext = 1536;

ColdRuns& cold() {
    static ColdRuns runs;
    return runs;
}
ColdRuns& long_cold() {
    static ColdRuns runs("tiny-bf16", false, kLongContext);
    return runs;
}
// With the MTP head, for engines that draft.
ColdRuns& drafting_cold() {
    static ColdRuns runs("tiny-bf16", true);
    return runs;
}

Tokens first(const Tokens& tokens, int64_t count) {
    return Tokens(tokens.begin(), tokens.begin() + count);
}
int64_t length(const Tokens& tokens) {
    return static_cast<int64_t>(tokens.size());
}

// What a chat's next prompt begins with.
Tokens answered(const Request& request, const Recorder& heard) {
    return joined(request.prompt, heard.tokens());
}

// The draw's noise decides nearly alone, and drafts are made with the same.
constexpr double kHot = 1000.0;

// --- What is kept of a prompt ---

// Prompts with one long begin and a short end of their own (a date, a question) were cold each time.
TEST(ReportedCache, PromptsThatDifferOnlyAtTheirEndShareTheRest) {
    EngineHarness harness({.ctx_size = kLongContext});
    const Tokens common = tokens_of(700, 1);
    // Not far from the end there is a snapshot of any long text, and the second one learns where they part.
    const int64_t cached[] = {0, 640, 700, 700};
    for (uint64_t i = 0; i < std::size(cached); ++i) {
        const Request request = request_of(joined(common, tokens_of(9, 10 + i)), 3);
        const auto heard = harness.run(request);
        EXPECT_EQ(heard->result().cached_tokens, cached[i]) << i;
        long_cold().expect_same(request, *heard, "end " + std::to_string(i));
    }
}

// Prompts of a few tokens never got a snapshot, so that a short chat was cold in each turn.
TEST(ReportedCache, AShortChatIsWarm) {
    for (const int count : {1, 2, 3, 22, 31}) {
        EngineHarness harness;
        Request request = request_of(tokens_of(count, 2), 4);
        for (int turn = 0; turn < 3; ++turn) {
            const auto heard = harness.run(request);
            cold().expect_same(request, *heard, "turn " + std::to_string(turn));
            if (turn > 0) {
                EXPECT_EQ(heard->result().cached_tokens, length(request.prompt) - 6);
            }
            request.prompt = joined(answered(request, *heard), tokens_of(5, static_cast<uint64_t>(90 + turn)));
        }
    }
}

// The template ends a prompt with something it leaves out once the reply is history, so no prompt began the next one.
TEST(ReportedCache, AnEndThatTheNextPromptLacksCostsNoMore) {
    EngineHarness harness;
    const Tokens header = {7, 8, 9}, for_this_reply_only = {10, 11};
    Tokens history = tokens_of(120, 3);
    for (int turn = 0; turn < 4; ++turn) {
        const Tokens stable = joined(history, header);
        Request request = request_of(joined(stable, for_this_reply_only), 5);
        request.branch_points = {length(history), length(stable)};
        const auto heard = harness.run(request);
        cold().expect_same(request, *heard, "turn " + std::to_string(turn));
        if (turn > 0) {
            // All of the last prompt that is in this one: what lacks is the reply, and what was said since.
            EXPECT_EQ(heard->result().cached_tokens, length(history) - 25);
        }
        history = joined(joined(stable, heard->tokens()), tokens_of(20, static_cast<uint64_t>(40 + turn)));
    }
}

// The flag of a cancelled request stayed set, and the next one failed.
TEST(ReportedCache, AfterACancelAnotherChatGoesOnFromItsSnapshot) {
    EngineHarness harness({.max_rows = 32});
    Request chat = request_of(tokens_of(90, 4));
    chat.prompt = joined(answered(chat, *harness.run(chat)), tokens_of(12, 5));
    const auto cancelled = harness.submit(request_of(tokens_of(200, 6)));
    harness.step();
    harness.step();
    EXPECT_EQ(cancelled.heard->progress().back().first, 64);
    harness.engine().cancel(cancelled.id);
    const auto heard = harness.run(chat);
    EXPECT_EQ(cancelled.heard->result().finish, FinishReason::cancelled);
    EXPECT_EQ(heard->result().finish, FinishReason::length);
    EXPECT_EQ(heard->result().cached_tokens, 90 + 5);
    cold().expect_same(chat, *heard, "the other chat");
}

// The same prompt again had a hit rate of 0 for ever, as its last token may not be cached.
TEST(ReportedCache, TheSamePromptIsCachedEachTime) {
    EngineHarness harness;
    const Request request = request_of(tokens_of(203, 7));
    for (int time = 0; time < 5; ++time) {
        const auto heard = harness.run(request);
        EXPECT_EQ(heard->result().cached_tokens, time == 0 ? 0 : 202);
        cold().expect_same(request, *heard, "time " + std::to_string(time));
    }
    EXPECT_EQ(harness.engine().metrics().cache.hits, 4);
}

// A state was kept only in text that no other request had, and used at a third sighting at best.
TEST(ReportedCache, WhatBuildsOnAPromptReusesItAtOnce) {
    EngineHarness harness({.ctx_size = kLongContext});
    const Tokens prompt = tokens_of(1100, 8);
    const auto expect_cached = [&](const Tokens& tokens, int64_t cached) {
        const Request request = request_of(tokens, 3);
        const auto heard = harness.run(request);
        EXPECT_EQ(heard->result().cached_tokens, cached);
        long_cold().expect_same(request, *heard, std::to_string(cached) + " cached");
    };
    expect_cached(prompt, 0);
    expect_cached(joined(prompt, tokens_of(30, 9)), 1099);
    expect_cached(joined(first(prompt, 1075), tokens_of(50, 12)), 1024);  // the last one before the ways part
    expect_cached(joined(first(prompt, 880), tokens_of(50, 10)), 0);
    expect_cached(joined(first(prompt, 880), tokens_of(50, 11)), 880);
}

// With text inserted in the middle, keys and values from behind it were joined to a state that had not seen it.
TEST(ReportedCache, BehindAnInsertionNothingIsReused) {
    EngineHarness harness;
    const Tokens a = tokens_of(100, 12), b = tokens_of(100, 13);
    harness.run(request_of(joined(a, b)));
    const int64_t cached[] = {0, 100, 100};
    for (uint64_t i = 0; i < std::size(cached); ++i) {
        const Request request = request_of(joined(joined(a, tokens_of(32, 14 + i)), b));
        const auto heard = harness.run(request);
        EXPECT_EQ(heard->result().cached_tokens, cached[i]);
        cold().expect_same(request, *heard, "insertion " + std::to_string(i));
    }
    const Request without = request_of(joined(a, b));
    const auto heard = harness.run(without);
    EXPECT_EQ(heard->result().cached_tokens, 199);
    cold().expect_same(without, *heard, "without");
}

// Of requests with a common begin that came together, one gained by it, or none when they came again.
TEST(ReportedCache, ASecondWaveHitsFully) {
    EngineHarness harness({.parallel = 4, .max_rows = 64});
    std::vector<Request> requests;
    for (uint64_t i = 0; i < 4; ++i) {
        requests.push_back(request_of(joined(tokens_of(150, 20), tokens_of(20, 21 + i)), 3));
    }
    for (int wave = 0; wave < 2; ++wave) {
        std::vector<EngineHarness::Submitted> submitted;
        for (const Request& request : requests) submitted.push_back(harness.submit(request));
        harness.finish();
        for (size_t i = 0; i < requests.size(); ++i) {
            const int64_t first_cached = i == 0 ? 0 : 150;
            EXPECT_EQ(submitted[i].heard->result().cached_tokens, wave == 0 ? first_cached : 169);
            cold().expect_same(requests[i], *submitted[i].heard, "wave " + std::to_string(wave));
        }
    }
    EXPECT_EQ(harness.engine().metrics().most_sequences, 4);
}

// After the user's stop the abandoned reply went on unseen and became part of what the next request was given.
TEST(ReportedCache, AStoppedReplyIsInTheNextPromptOnlyIfItIsSentThere) {
    for (const bool is_sent : {false, true}) {
        EngineHarness harness;
        const Request asked = request_of(tokens_of(60, 30), 100);
        const auto stopped = harness.submit(asked);
        while (stopped.heard->tokens().size() < 50) harness.step();
        harness.engine().cancel(stopped.id);
        harness.finish();
        EXPECT_EQ(stopped.heard->result().finish, FinishReason::cancelled);
        EXPECT_EQ(stopped.heard->tokens().size(), 50u);
        const Tokens said = tokens_of(10, 31);
        const Request next = request_of(joined(is_sent ? answered(asked, *stopped.heard) : asked.prompt, said));
        const auto heard = harness.run(next);
        EXPECT_EQ(heard->result().cached_tokens, is_sent ? 60 + 49 : 59);
        EXPECT_EQ(heard->result().prompt_tokens, is_sent ? 120 : 70);
        cold().expect_same(next, *heard, is_sent ? "sent" : "not sent");
    }
}

// Snapshots were not counted in the limit nor freed with what they belonged to, until the system killed the server.
TEST(ReportedCache, MemoryStaysWithinItsBudget) {
    EngineHarness harness({.parallel = 2, .ctx_size = 256, .cached_sequences = 4.0});
    Engine& engine = harness.engine();
    uint64_t before = 0;
    for (uint64_t i = 0; i < 200; ++i) {
        Request request = request_of(tokens_of(static_cast<int>(20 + i * 37 % 120), 1000 + i), 2);
        if (i % 3 == 2) request.prompt = joined(tokens_of(100, 5), request.prompt);
        request.branch_points = {length(request.prompt) / 2};
        const RequestId id = engine.submit(request, std::make_shared<Recorder>());
        for (int step = 0; engine.step(); ++step) {
            if (i % 10 == 9 && step == 1) engine.cancel(id);
            ASSERT_LE(engine.metrics().used_bytes, engine.metrics().cache_bytes);
        }
        ASSERT_EQ(engine.fault(), "");
        if (i == 60) before = resident_bytes();
    }
    EXPECT_GT(engine.metrics().cache.evictions, 200);
    EXPECT_GT(engine.metrics().cache.snapshots_taken, 400);
    if (kResidentBytesCount) {
        EXPECT_LE(resident_bytes(), before + (uint64_t{1} << 20));
    }
}

// --- Drafts ---

// A prefix cache and drafts together gave other text than either alone, and long chats ended in loops.
TEST(ReportedDrafts, AChatIsTheSameWithAndWithoutThem) {
    for (const SpecMode mode : {SpecMode::off, SpecMode::mtp, SpecMode::lookup, SpecMode::tree}) {
        for (const double temperature : {0.0, kHot}) {
            EngineHarness harness({.with_mtp = true, .spec = {.mode = mode}});
            Request request = request_of(tokens_of(40, 40), 25, temperature);
            int64_t accepted = 0;
            for (int turn = 0; turn < 8; ++turn) {
                request.prediction = drafting_cold().of(request).tokens();  // found by lookup alone
                const auto heard = harness.run(request);
                drafting_cold().expect_same(request, *heard, "turn " + std::to_string(turn));
                if (turn > 0) {
                    EXPECT_EQ(heard->result().cached_tokens, length(request.prompt) - 13);
                }
                accepted += heard->result().drafts.all.accepted;
                request.prompt = joined(answered(request, *heard), tokens_of(12, static_cast<uint64_t>(300 + turn)));
            }
            if (mode == SpecMode::off) {
                EXPECT_EQ(accepted, 0);
            } else if (mode != SpecMode::mtp) {
                EXPECT_GT(accepted, 100) << temperature;
            } else if (temperature > 0.0) {
                EXPECT_GT(accepted, 3);  // an untrained head knows no more than the noise
            }
        }
    }
}

// A pass without drafts behind one whose drafts were accepted read the state of before these.
TEST(ReportedDrafts, PassesWithAndWithoutThemTakeTurns) {
    std::set<std::pair<int, int>> seen;  // what came of a pass's drafts, and of the next one's
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        EngineHarness harness({.with_mtp = true, .spec = {.mode = SpecMode::lookup, .depth = 3, .nodes = 4}});
        Request request = request_of(tokens_of(29, 50 + seed), 120);
        // Behind a token that is predicted wrongly there is nothing to look up for a while.
        request.prediction = drafting_cold().of(request).tokens();
        for (size_t at = seed; at < request.prediction.size(); at += 4 + at % 5) request.prediction[at] ^= 1;
        const auto submitted = harness.submit(request);
        EngineMetrics before = harness.engine().metrics();
        int last = -1;
        while (!submitted.heard->done()) {
            harness.step();
            const EngineMetrics now = harness.engine().metrics();
            const int64_t drafted = now.drafts.all.drafted - before.drafts.all.drafted;
            const int64_t accepted = now.drafts.all.accepted - before.drafts.all.accepted;
            // 0: it had none; 1: none was accepted; 2: some; 3: all.
            const int outcome = drafted == 0 ? 0 : (accepted == 0 ? 1 : (accepted < drafted ? 2 : 3));
            if (last >= 0) seen.emplace(last, outcome);
            last = outcome;
            before = now;
        }
        drafting_cold().expect_same(request, *submitted.heard, "seed " + std::to_string(seed));
    }
    for (const int outcome : {0, 1, 2, 3}) {
        EXPECT_TRUE(seen.contains({outcome, 0})) << "no pass without drafts behind " << outcome;
        EXPECT_TRUE(seen.contains({0, outcome})) << "nothing of " << outcome << " behind a pass without drafts";
    }
}

// With drafts there was no memory left for the last tokens of a context, or an assertion failed there.
TEST(ReportedDrafts, GoUpToTheContextsEnd) {
    ColdRuns short_context("tiny-bf16", true, 128);
    for (const int64_t left : {1, 2, 3, 8, 20}) {
        EngineHarness harness({.parallel = 1,
                               .ctx_size = 128,
                               .cached_sequences = 1.0,
                               .with_mtp = true,
                               .spec = {.mode = SpecMode::tree, .depth = 16, .top_k = 2, .nodes = 32}});
        Request request = request_of(tokens_of(static_cast<int>(128 - left), 60), -1, kHot);
        request.prediction = joined(request.prompt, short_context.of(request).tokens());
        for (int time = 0; time < 2; ++time) {
            const auto heard = harness.run(request);
            EXPECT_EQ(heard->result().finish, FinishReason::context);
            EXPECT_EQ(heard->result().drafts.all.accepted > 0, left > 2) << left;
            short_context.expect_same(request, *heard, std::to_string(left) + " left");
        }
    }
}

// At some sizes of the context hardly any draft was right.
TEST(ReportedDrafts, TheSizeOfTheContextChangesNone) {
    Request request = request_of(tokens_of(60, 61), 60, kHot);
    request.prediction = drafting_cold().of(request).tokens();
    request.prediction[20] ^= 1;
    std::set<std::pair<int64_t, int64_t>> drafted_and_accepted;
    for (int64_t ctx_size = 120; ctx_size <= 520; ctx_size += 100) {
        EngineHarness harness({.parallel = 1, .ctx_size = ctx_size, .spec = {.mode = SpecMode::tree}});
        const RequestResult result = harness.run(request)->result();
        EXPECT_EQ(result.generated_tokens, 60);
        drafted_and_accepted.emplace(result.drafts.all.drafted, result.drafts.all.accepted);
    }
    ASSERT_EQ(drafted_and_accepted.size(), 1u);
    EXPECT_GT(drafted_and_accepted.begin()->second, 30);
}

// With keys and values of 8 bits and drafts, some replies became walls of repetition.
TEST(ReportedDrafts, WithKeysAndValuesOfEightBits) {
    ColdRuns eight_bits("tiny-bf16-kv-fp8", true);
    EngineHarness harness({.fixture = "tiny-bf16-kv-fp8", .with_mtp = true, .spec = {.mode = SpecMode::tree}});
    ASSERT_EQ(harness.model().kv_type(), kernels::KvType::fp8);
    int64_t accepted = 0;
    for (uint64_t i = 0; i < 6; ++i) {
        Request request = request_of(tokens_of(static_cast<int>(25 + 7 * i), 70 + i), 40, i % 2 == 0 ? 0.0 : kHot);
        request.prediction = eight_bits.of(request).tokens();
        request.prediction[20] ^= 1;
        const auto heard = harness.run(request);
        eight_bits.expect_same(request, *heard, "request " + std::to_string(i));
        accepted += heard->result().drafts.all.accepted;
    }
    EXPECT_GT(accepted, 100);
}

// The request's seed did nothing.
TEST(ReportedDrafts, ASeedDecides) {
    for (const SpecMode mode : {SpecMode::off, SpecMode::tree}) {
        EngineHarness harness({.with_mtp = true, .spec = {.mode = mode}});
        Request request = request_of(tokens_of(30, 80), 20, 1.0);
        std::vector<Tokens> texts;
        for (const uint64_t seed : {uint64_t{42}, uint64_t{42}, uint64_t{43}}) {
            request.sampling.seed = seed;
            const auto heard = harness.run(request);
            drafting_cold().expect_same(request, *heard, "seed " + std::to_string(seed));
            texts.push_back(heard->tokens());
        }
        EXPECT_EQ(texts[0], texts[1]);
        EXPECT_NE(texts[0], texts[2]);
    }
}

// A budget that did not hold the MTP head's keys and values made the server hang with its first request.
TEST(ReportedDrafts, ThatDoNotFitAreRefusedAtTheStart) {
    const EngineOptions without{.parallel = 1, .ctx_size = 512};
    EngineOptions with = without;
    with.spec.mode = SpecMode::tree;
    with.with_mtp = true;
    LaunchOptions launch = launch_options(without);
    const uint64_t least = LoadedModel(launch).plan().least_cache_bytes(1);
    launch.cache_bytes = least;
    EXPECT_EQ(LoadedModel(launch).plan().cache_bytes, least);
    launch = launch_options(with);
    EXPECT_GT(LoadedModel(launch).plan().least_cache_bytes(1), least);
    launch.cache_bytes = least;
    EXPECT_ERROR(ErrorCode::resource_exhausted, "512 tokens", LoadedModel(launch));
}

// --- Running ---

// At temperature 0 a prompt gave several texts when it was sent many times at once.
TEST(ReportedRuns, EqualPromptsAtOnceGetEqualTexts) {
    EngineHarness harness({.max_rows = 512});
    const Request request = request_of(tokens_of(45, 90), 60);
    std::vector<EngineHarness::Submitted> submitted;
    for (int i = 0; i < 8; ++i) submitted.push_back(harness.submit(request));
    harness.finish();
    EXPECT_EQ(harness.engine().metrics().most_sequences, 8);
    for (const auto& one : submitted) cold().expect_same(request, *one.heard, "one of eight");
}

// A prompt that filled the memory was read nearly to its end, put back and read again, for ever.
TEST(ReportedRuns, APromptOfTheWholeBudgetIsReadOnce) {
    EngineHarness harness({.cached_sequences = 1.0});
    std::vector<Request> requests;
    std::vector<EngineHarness::Submitted> submitted;
    for (uint64_t i = 0; i < 3; ++i) {
        requests.push_back(request_of(tokens_of(500, 100 + i), 500));
        submitted.push_back(harness.submit(requests.back()));
    }
    harness.finish();
    for (size_t i = 0; i < requests.size(); ++i) {
        const RequestResult& result = submitted[i].heard->result();
        EXPECT_EQ(result.finish, FinishReason::context);
        EXPECT_EQ(result.fed_tokens, 511);
        EXPECT_EQ(result.preemptions, 0);
        cold().expect_same(requests[i], *submitted[i].heard, "prompt " + std::to_string(i));
    }
    EXPECT_GT(harness.engine().metrics().cache.evictions, 0);
}

// What each request counts, and looks drafts up in, is as large as vocabulary and context, and was taken while it
// waited.
TEST(ReportedRuns, ThoseThatWaitTakeLittleMemory) {
    EngineHarness harness({.parallel = 1, .ctx_size = 2048, .spec = {.mode = SpecMode::lookup}});
    harness.engine().submit(request_of({1, 2, 3}, -1), std::make_shared<Recorder>());
    harness.step();
    const uint64_t before = resident_bytes();
    for (int i = 0; i < 1000; ++i) harness.engine().submit(request_of({5, 6, 7}, -1), std::make_shared<Recorder>());
    harness.step();
    EXPECT_EQ(harness.engine().metrics().waiting, 1000);
    if (kResidentBytesCount) {
        EXPECT_LE(resident_bytes(), before + (uint64_t{6} << 20));
    }
}

// States leaked wherever a request came to nothing, until no more could begin.
TEST(ReportedRuns, NothingIsLeftOfRequestsThatCameToNothing) {
    EngineHarness harness({.parallel = 4, .max_rows = 32, .ctx_size = 96, .cached_sequences = 4.0});
    Engine& engine = harness.engine();
    uint64_t random = 1;
    int refused = 0, cancelled = 0;
    for (uint64_t i = 0; i < 600; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        Request request = request_of(tokens_of(static_cast<int>(1 + (random >> 40) % 60), i), 3);
        if (i % 10 == 9) {
            request.prompt.resize(97, 1);
            EXPECT_ERROR(ErrorCode::resource_exhausted, "97 tokens", harness.submit(request));
            ++refused;
            continue;
        }
        const RequestId id = engine.submit(request, std::make_shared<Recorder>());
        for (uint64_t steps = (random >> 50) % 3; steps > 0; --steps) engine.step();
        if (i % 5 == 0) {
            engine.cancel(id);
            ++cancelled;
        }
    }
    while (engine.step()) {
    }
    EXPECT_EQ(engine.fault(), "");
    EngineMetrics metrics = engine.metrics();
    EXPECT_EQ(metrics.submitted, 540);
    EXPECT_EQ(metrics.finished, 540);
    EXPECT_EQ(metrics.running + metrics.waiting, 0);
    EXPECT_EQ(refused, 60);
    EXPECT_EQ(cancelled, 120);
    // As many of the longest as on the first day.
    std::vector<EngineHarness::Submitted> longest;
    for (uint64_t i = 0; i < 4; ++i) longest.push_back(harness.submit(request_of(tokens_of(20, 5000 + i), -1)));
    harness.step();
    EXPECT_EQ(engine.metrics().running, 4);
    harness.finish();
    for (const auto& one : longest) EXPECT_EQ(one.heard->result().finish, FinishReason::context);
}

// At some lengths of a prompt, or of its chunks, the recurrent state was lost or not finite.
TEST(ReportedRuns, EveryLengthOfAPromptIsRight) {
    const Tokens tokens = tokens_of(320, 110);
    EngineHarness chunks({.max_rows = 64});
    const auto whole = chunks.run(request_of(tokens, 0));
    const auto vocab = static_cast<size_t>(chunks.vocab_size());
    for (int64_t count = 1; count <= 320; ++count) {
        if (count > 130 && (count < 289 || count > 301) && count % 32 > 5 && count % 32 < 30) continue;
        const Request request = request_of(first(tokens, count), 0);
        const Recorder& alone = cold().of(request);
        ASSERT_EQ(alone.logits().size(), static_cast<size_t>(count) * vocab);
        const float* last = whole->logits().data() + static_cast<size_t>(count - 1) * vocab;
        EXPECT_TRUE(std::all_of(last, last + vocab, [](float logit) { return std::isfinite(logit); })) << count;
        EXPECT_EQ(
            std::memcmp(alone.logits().data() + static_cast<size_t>(count - 1) * vocab, last, vocab * sizeof(float)), 0)
            << count;
        cold().forget();
    }
}

}  // namespace
}  // namespace colugo::testing
