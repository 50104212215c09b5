// Speculation changes nothing: with drafts of every kind a request gets the tokens and the logits of plain decoding,
// bit for bit, and leaves behind what plain decoding leaves, however it is drawn and wherever it ends.
#include <random>

#include "engine/spec_harness.h"
#include "support/temp_folder.h"

namespace colugo::testing {
namespace {

using Tokens = std::vector<int32_t>;

constexpr SpecMode kModes[] = {SpecMode::mtp, SpecMode::lookup, SpecMode::tree, SpecMode::automatic};

ColdRuns& plain() {
    static ColdRuns runs(spec_model(), true);
    return runs;
}

class SpecMatrix : public ::testing::Test {
 protected:
    ~SpecMatrix() override { plain().forget(); }

    static EngineOptions options(const SpecParams& spec) {
        // Rows are free as far as mode automatic knows, so that it drafts.
        constexpr double kFree[] = {1.0, 1.0};
        return {.fixture = spec_model(), .with_mtp = true, .spec = spec, .pass_cost = PassCost(kFree, 0.01, 0.01)};
    }
    static Tokens some_tokens(int64_t count, uint64_t seed) {
        return tokens_of(static_cast<int>(count), seed, vocab_size());
    }
    static int64_t vocab_size() { return plain().vocab_size(); }

    // What lookup is to draft, from the reply a plain run of up to `longest` tokens gives.
    static void script(Request& request, const std::vector<int>& accepted, int64_t longest) {
        Request free = request;
        free.max_tokens = longest;
        free.stop_ids.clear();
        free.stop_strings.clear();
        request.prediction = scripted_prediction(request.prompt, plain().of(free).tokens(), accepted, vocab_size());
    }
};

TEST_F(SpecMatrix, EveryWayToDraw) {
    for (const SpecMode mode : kModes) {
        EngineOptions launch = options({.mode = mode});
        launch.parallel = 4;
        launch.max_rows = 40;
        EngineHarness harness(launch);
        DraftTally all, by_itself;
        for (const bool predicted : {false, true}) {
            std::vector<Request> requests;
            std::vector<EngineHarness::Submitted> submitted;
            for (const DrawnBy& way : ways_to_draw()) {
                const size_t i = requests.size();
                requests.push_back(request_of(some_tokens(18 + 5 * static_cast<int64_t>(i), 300 + i), 44));
                requests.back().sampling = way.params;
                requests.back().top_logprobs = static_cast<int>(i % 4) - 1;
                if (predicted) script(requests.back(), {6, 0, 2, 1, 7}, 44);
                submitted.push_back(harness.submit(requests.back()));
            }
            harness.finish();
            for (size_t i = 0; i < requests.size(); ++i) {
                const std::string what =
                    ways_to_draw()[i].name + (" in mode " + std::to_string(static_cast<int>(mode)));
                const Recorder& heard = *submitted[i].heard;
                expect_plain(plain(), requests[i], heard, what);
                all.add(heard.result());
                if (!predicted) by_itself.add(heard.result());
                if (predicted && (mode == SpecMode::lookup || mode == SpecMode::tree)) {
                    EXPECT_GT(heard.result().drafts.all.accepted, 5) << what;
                    EXPECT_GT(heard.result().drafts.all.drafted, heard.result().drafts.all.accepted) << what;
                }
            }
        }
        EXPECT_GT(all.accepted, 0) << static_cast<int>(mode);
        EXPECT_GT(all.rejected(), 0) << static_cast<int>(mode);
        if (mode != SpecMode::lookup) {
            EXPECT_GT(by_itself.accepted, 0);
        }
    }
}

// Replies to requests with a form.
struct HeldReplies {
    DraftTally drafts;
    int64_t tokens = 0, passes = 0;
    std::vector<std::string> ended;  // by the model
};

HeldReplies run_held(std::vector<Request> requests, EngineOptions launch, int64_t vocab_size) {
    launch.parallel = 3;
    EngineHarness harness(launch);
    HeldReplies replies;
    std::vector<EngineHarness::Submitted> submitted;
    for (Request& request : requests) {
        request.prediction =
            scripted_prediction(request.prompt, plain().of(request).tokens(), {5, 1, 0, 3}, vocab_size);
        submitted.push_back(harness.submit(request));
    }
    harness.finish();
    for (size_t i = 0; i < requests.size(); ++i) {
        const Recorder& heard = *submitted[i].heard;
        plain().expect_same(
            requests[i], heard,
            "form " + std::to_string(i) + " in mode " + std::to_string(static_cast<int>(launch.spec.mode)));
        replies.drafts.add(heard.result());
        replies.tokens += heard.result().generated_tokens;
        replies.passes += heard.result().decode_passes + heard.result().drafts.all.accepted;
        if (heard.result().finish != FinishReason::stop) continue;
        std::string& text = replies.ended.emplace_back();
        for (const int32_t token : heard.tokens()) text += form_bytes(token);
    }
    return replies;
}

constexpr SpecMode kAllModes[] = {SpecMode::off, SpecMode::mtp, SpecMode::lookup, SpecMode::tree, SpecMode::automatic};

void expect_lookup_drafts(SpecMode mode, const DraftTally& drafts) {
    if (mode != SpecMode::lookup && mode != SpecMode::tree) return;
    EXPECT_GT(drafts.accepted, 40);
    EXPECT_GT(drafts.rejected(), 10);
}

// Masks follow the tokens along a draft's path, and what they leave no choice about is fed without a pass of its own.
TEST_F(SpecMatrix, RepliesHeldToAForm) {
    if (vocab_size() != kEndOfReply + 1) GTEST_SKIP() << "the bytes of tokens are known for the fixtures";
    const auto form = form_of(json_schema_grammar(nlohmann::ordered_json::parse(
                                  R"({"type": "object", "required": ["name", "many", "more"], "properties": {
                "name": {"type": "string", "maxLength": 8}, "many": {"type": "integer", "minimum": 10, "maximum": 99},
                "more": {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 4}}})")),
                              vocab_size());
    for (const SpecMode mode : kAllModes) {
        std::vector<Request> requests;
        for (size_t i = 0; i < 10; ++i) {
            Request request =
                request_of(some_tokens(20 + 3 * static_cast<int64_t>(i), 950 + i), 120, i % 3 == 0 ? 0.0 : 1.0);
            request.sampling.seed = i;
            request.stop_ids = {kEndOfReply};
            request.grammar = form;
            requests.push_back(request);
        }
        const HeldReplies replies = run_held(requests, options({.mode = mode}), vocab_size());
        for (const std::string& text : replies.ended) {
            const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
            ASSERT_TRUE(value.is_object()) << text;
            EXPECT_TRUE(value["many"] >= 10 && value["many"] <= 99) << text;
        }
        EXPECT_GT(replies.ended.size(), 6u);
        EXPECT_LT(replies.passes, replies.tokens - 10 * 8);  // the keys are no choice
        expect_lookup_drafts(mode, replies.drafts);
    }
}

// Behind a thought that is free, one of two forms, which the first token behind it decides about.
TEST_F(SpecMatrix, RepliesThatAreJsonOrCallsBehindThoughts) {
    if (vocab_size() != kEndOfReply + 1) GTEST_SKIP() << "the bytes of tokens are known for the fixtures";
    using Json = nlohmann::ordered_json;
    const Json schema = Json::parse(R"({"type": "array", "items": {"type": "boolean"}, "minItems": 3, "maxItems": 6})");
    const std::vector<CallTool> tools = {
        {"count", Json::parse(R"({"properties": {"to": {"type": "integer", "minimum": 10}}, "required": ["to"]})")}};
    const CallRules rules = {.parallel = false, .open = kOpenCall, .close = kCloseCall};
    const auto form = form_of(json_or_call_grammar(&schema, tools, rules, kEndOfThought), vocab_size());
    for (const SpecMode mode : kAllModes) {
        std::vector<Request> requests;
        for (size_t i = 0; i < 12; ++i) {
            Request request = request_of(some_tokens(20 + 3 * static_cast<int64_t>(i), 970 + i), 200, 1.0);
            request.sampling.seed = i;
            request.sampling.logit_bias = {{kEndOfThought, 4.0f}, {kOpenCall, i % 2 == 0 ? 2.5f : -2.5f}};
            request.stop_ids = {kEndOfReply};
            request.grammar = form;
            requests.push_back(request);
        }
        const HeldReplies replies = run_held(requests, options({.mode = mode}), vocab_size());
        int values = 0, calls = 0, thoughts = 0;
        for (std::string text : replies.ended) {
            if (const size_t end = text.find("<.>"); end != text.npos) {
                thoughts += end > 0;
                text.erase(0, end + 3);
            }
            if (const size_t open = text.find("<+>"); open != text.npos) {
                ++calls;
                text.erase(0, open);
                EXPECT_TRUE(text.starts_with("<+>\n<function=count>\n<parameter=to>\n") && text.ends_with("<->"))
                    << text;
                continue;
            }
            ++values;
            EXPECT_TRUE(nlohmann::json::parse(text, nullptr, false).is_array()) << text;
        }
        EXPECT_GT(values, 2);
        EXPECT_GT(calls, 2);
        EXPECT_GT(thoughts, 4);
        expect_lookup_drafts(mode, replies.drafts);
    }
}

// The token before the drafts comes to stand in every column, with drafts that end in its page and in the next one.
TEST_F(SpecMatrix, EveryColumnOfAPage) {
    for (const SpecParams& spec :
         {SpecParams{.mode = SpecMode::lookup, .depth = 16, .nodes = 17}, SpecParams{.mode = SpecMode::tree},
          SpecParams{.mode = SpecMode::tree, .depth = 3, .top_k = 4, .nodes = 7}}) {
        EngineHarness harness(options(spec));
        std::vector<Request> requests;
        std::vector<EngineHarness::Submitted> submitted;
        for (int column = 0; column < 32; ++column) {
            Request request = request_of(some_tokens(16 + column, 400 + static_cast<uint64_t>(column)), 26,
                                         column % 3 == 0 ? 0.0 : 1.0);
            script(request, {column % 16, 0, 15 - column % 16}, 40);
            requests.push_back(request);
            submitted.push_back(harness.submit(request));
        }
        harness.finish();
        DraftTally tally;
        for (size_t i = 0; i < requests.size(); ++i) {
            expect_plain(plain(), requests[i], *submitted[i].heard, "column " + std::to_string(i));
            tally.add(submitted[i].heard->result());
        }
        EXPECT_GT(tally.accepted, 150);
        EXPECT_GT(tally.rejected(), 100);
    }
}

// A stop, a stop string, the limit and the context's end in every place of an accepted path; what is kept then is what
// was given.
TEST_F(SpecMatrix, EveryEndInsideAnAcceptedPath) {
    constexpr int64_t kContext = 96;
    ColdRuns plain_here(spec_model(), true, kContext);
    for (const SpecMode mode : {SpecMode::lookup, SpecMode::tree}) {
        EngineOptions launch = options({.mode = mode, .depth = 15});
        launch.ctx_size = kContext;
        EngineHarness harness(launch);
        DraftTally tally;
        const auto run = [&](const Request& request, FinishReason reason, const std::string& what) {
            const auto heard = harness.run(request);
            EXPECT_EQ(heard->result().finish, reason) << what;
            expect_plain(plain_here, request, *heard, what);
            tally.add(heard->result());
            const int64_t kept = plain_here.of(request).result().fed_tokens;
            Request next = request_of(joined(joined(request.prompt, heard->tokens()), some_tokens(3, 7)), 4);
            if (static_cast<int64_t>(next.prompt.size()) >= kContext) return;
            const auto after = harness.run(next);
            EXPECT_EQ(after->result().cached_tokens, kept) << what;
            expect_plain(plain_here, next, *after, "after " + what);
        };
        for (int64_t end = 1; end <= 18; ++end) {
            const std::string place = " at " + std::to_string(end);
            Request request = request_of(some_tokens(40, 500 + static_cast<uint64_t>(end)), end, 1.0);
            script(request, {15}, 34);
            run(request, FinishReason::length, "limit" + place);

            request.max_tokens = 30;
            request.sampling.seed = 12;
            script(request, {15}, 34);
            Request free = request;
            request.stop_ids = {plain_here.of(free).tokens()[static_cast<size_t>(end)]};
            run(request, FinishReason::stop, "stop" + place);

            // A string that begins in one token and ends in the next one, if it does not turn up before.
            request.stop_ids.clear();
            request.stop_strings = {
                text_of(std::span(plain_here.of(free).tokens()).subspan(static_cast<size_t>(end), 2))};
            run(request, FinishReason::stop, "stop string" + place);

            request = request_of(some_tokens(kContext - end, 600 + static_cast<uint64_t>(end)), -1, 1.0);
            script(request, {15}, 34);
            run(request, FinishReason::context, "context" + place);
            plain_here.forget();
            plain().forget();
        }
        EXPECT_GT(tally.accepted, 200);
        EXPECT_GT(tally.drafted, tally.accepted);
    }
}

// What a drafting reply leaves behind serves a next turn, cut anywhere, as plain decoding's does.
TEST_F(SpecMatrix, EveryTailBehindAReply) {
    constexpr int64_t kReply = 12;
    EngineOptions launch = options({.mode = SpecMode::tree});
    launch.cached_sequences = 200;
    EngineHarness harness(launch);
    DraftTally first, second;
    int inside_a_page = 0;
    for (int64_t tail = 1; tail <= 70; ++tail) {
        const int64_t begin = 110 - tail;
        Request request = request_of(some_tokens(begin - kReply, 700), kReply + 1, tail % 2 == 0 ? 0.0 : 1.0);
        request.sampling.seed = static_cast<uint64_t>(tail);
        script(request, {static_cast<int>(tail % 7), 3}, kReply + 1);
        const auto reply = harness.run(request);
        expect_plain(plain(), request, *reply, "reply before tail " + std::to_string(tail));
        first.add(reply->result());

        Tokens prompt = joined(request.prompt, reply->tokens());
        prompt.pop_back();
        prompt = joined(prompt, some_tokens(tail, 800 + static_cast<uint64_t>(tail)));
        Request next = request_of(prompt, 9, tail % 2 == 0 ? 0.8 : 0.0);
        script(next, {2, 0, 5}, 9);
        const auto heard = harness.run(next);
        EXPECT_EQ(heard->result().cached_tokens, begin);
        inside_a_page += begin % 32 != 0;
        expect_plain(plain(), next, *heard, "tail " + std::to_string(tail));
        second.add(heard->result());
        plain().forget();
    }
    EXPECT_GT(inside_a_page, 60);
    for (const DraftTally& tally : {first, second}) {
        EXPECT_GT(tally.accepted, 70);
        EXPECT_GT(tally.rejected(), 70);
    }
}

// Snapshots in the prompt and at its end, taken by requests that draft and by others, serve both.
TEST_F(SpecMatrix, SnapshotsOfPromptsServeAll) {
    EngineHarness harness(options({.mode = SpecMode::automatic}));
    const Tokens trunk = some_tokens(90, 20);
    for (const SpecMode first : {SpecMode::tree, SpecMode::off}) {
        Tokens prompt = joined(trunk, some_tokens(21, first == SpecMode::off ? 21 : 22));
        Request request = request_of(prompt, 20, 1.0);
        request.branch_points = {30, 45};
        request.spec = SpecParams{.mode = first};
        script(request, {4}, 20);
        expect_plain(plain(), request, *harness.run(request), "the first");
        for (const SpecMode mode :
             {SpecMode::off, SpecMode::mtp, SpecMode::lookup, SpecMode::tree, SpecMode::automatic}) {
            Request again = request;
            again.spec = SpecParams{.mode = mode};
            again.sampling.seed = 90 + static_cast<uint64_t>(mode);
            script(again, {3, 1}, 20);
            const auto heard = harness.run(again);
            EXPECT_EQ(heard->result().cached_tokens, 110);
            EXPECT_EQ(heard->result().drafts.all.drafted > 0, mode != SpecMode::off);
            expect_plain(plain(), again, *heard, "the same again");

            for (const int64_t point : request.branch_points) {
                again.prompt = Tokens(prompt.begin(), prompt.begin() + point);
                again.prompt = joined(again.prompt, some_tokens(4, 30 + again.sampling.seed));
                script(again, {3, 1}, 20);
                const auto parted = harness.run(again);
                EXPECT_EQ(parted->result().cached_tokens, point);
                expect_plain(plain(), again, *parted, "parted at " + std::to_string(point));
            }
        }
    }
}

TEST_F(SpecMatrix, BatchesOfOneToEightThatDraftInDifferentWays) {
    const std::vector<SpecParams> ways = {{.mode = SpecMode::tree},
                                          {.mode = SpecMode::lookup, .depth = 4, .nodes = 12},
                                          {.mode = SpecMode::off},
                                          {.mode = SpecMode::tree, .depth = 3, .top_k = 4, .nodes = 9},
                                          {.mode = SpecMode::mtp, .depth = 2, .nodes = 3},
                                          {.mode = SpecMode::tree, .depth = 8, .top_k = 1, .nodes = 32},
                                          {.mode = SpecMode::lookup, .nodes = 2},
                                          {.mode = SpecMode::automatic, .nodes = 32}};
    for (size_t count = 1; count <= 8; ++count) {
        EngineOptions launch = options({.mode = SpecMode::automatic, .depth = 8, .top_k = 4, .nodes = 32});
        launch.max_rows = 200;
        EngineHarness harness(launch);
        std::vector<Request> requests;
        std::vector<EngineHarness::Submitted> submitted;
        const auto submit = [&](int64_t prompt, size_t way) {
            Request request = request_of(some_tokens(prompt, 900 + 10 * count + requests.size()),
                                         50 + static_cast<int64_t>(way), way % 2 == 0 ? 0.0 : 1.0);
            request.spec = ways[way];
            script(request, {static_cast<int>(way), 5, 0, 1}, 50);
            requests.push_back(request);
            submitted.push_back(harness.submit(request));
        };
        for (size_t i = 0; i < count; ++i) submit(5 + 4 * static_cast<int64_t>(i), i);
        for (int step = 0; step < 3; ++step) harness.step();
        EXPECT_EQ(harness.engine().metrics().most_sequences, static_cast<int64_t>(count));
        // One that begins while the others decode.
        submit(60, count % ways.size());
        harness.finish();
        DraftTally tally;
        for (size_t i = 0; i < requests.size(); ++i) {
            expect_plain(plain(), requests[i], *submitted[i].heard, std::to_string(i) + " of " + std::to_string(count));
            tally.add(submitted[i].heard->result());
            EXPECT_EQ(submitted[i].heard->result().drafts.all.drafted > 0, requests[i].spec->mode != SpecMode::off);
        }
        EXPECT_GT(tally.accepted, 10);
        EXPECT_GT(tally.rejected(), 10);
        plain().forget();
    }
}

TEST_F(SpecMatrix, EvictionsInBetween) {
    EngineOptions launch = options({.mode = SpecMode::automatic});
    launch.parallel = 2;
    launch.cached_sequences = 2.2;
    EngineHarness harness(launch);
    DraftTally tally;
    int64_t cached = 0;
    std::vector<Tokens> conversations;
    for (uint64_t i = 0; i < 6; ++i) conversations.push_back(joined(some_tokens(64, 77), some_tokens(40, 30 + i)));
    for (int turn = 0; turn < 4; ++turn) {
        for (size_t i = 0; i < conversations.size(); i += 2) {
            std::vector<Request> requests;
            std::vector<EngineHarness::Submitted> submitted;
            for (size_t one = i; one < i + 2; ++one) {
                Request request = request_of(conversations[one], 15, one % 2 == 0 ? 0.0 : 0.9);
                request.spec = SpecParams{.mode = kModes[(one + static_cast<size_t>(turn)) % 4]};
                script(request, {4, 1}, 15);
                requests.push_back(request);
                submitted.push_back(harness.submit(request));
            }
            harness.finish();
            for (size_t one = 0; one < 2; ++one) {
                const Recorder& heard = *submitted[one].heard;
                expect_plain(plain(), requests[one], heard, "turn " + std::to_string(turn));
                tally.add(heard.result());
                cached += heard.result().cached_tokens;
                conversations[i + one] = joined(joined(conversations[i + one], heard.tokens()),
                                                some_tokens(20, 60 + static_cast<uint64_t>(turn)));
            }
        }
    }
    EXPECT_GT(harness.engine().metrics().cache.evictions, 10);
    EXPECT_GT(cached, 500);
    EXPECT_GT(tally.accepted, 60);
    EXPECT_GT(tally.rejected(), 60);
}

TEST_F(SpecMatrix, FromDiskAfterARestart) {
    const TempFolder folder;
    Tokens conversation = some_tokens(75, 23);
    for (int start = 0; start < 3; ++start) {
        EngineOptions launch = options({.mode = SpecMode::tree});
        launch.cache_disk = folder.path();
        EngineHarness harness(launch);
        Request request = request_of(conversation, 21, 1.0);
        script(request, {5, 0}, 21);
        const auto heard = harness.run(request);
        EXPECT_EQ(heard->result().cached_tokens, start > 0 ? static_cast<int64_t>(conversation.size()) - 11 : 0);
        EXPECT_GT(heard->result().drafts.all.accepted, 5);
        expect_plain(plain(), request, *heard, "start " + std::to_string(start));
        conversation = joined(joined(conversation, heard->tokens()), some_tokens(10, 24));
    }
}

TEST_F(SpecMatrix, ACancelledReplyGoesOnFromWhatWasKept) {
    for (const SpecMode mode : kModes) {
        EngineOptions launch = options({.mode = mode});
        launch.max_rows = 80;  // a prompt is one step
        EngineHarness harness(launch);
        DraftTally tally;
        for (int passes = 0; passes <= 8; ++passes) {
            Request request = request_of(some_tokens(50 + 3 * passes, 40 + static_cast<uint64_t>(passes)), 60, 1.0);
            script(request, {3, 0, 6, 1}, 60);
            const auto cancelled = harness.submit(request);
            for (int pass = 0; pass <= passes; ++pass) harness.step();
            harness.engine().cancel(cancelled.id);
            harness.finish();
            const Tokens& heard = cancelled.heard->tokens();
            ASSERT_EQ(cancelled.heard->result().finish, FinishReason::cancelled);
            const Tokens& all = plain().of(request).tokens();
            EXPECT_EQ(heard, Tokens(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(heard.size())));
            EXPECT_GE(heard.size(), static_cast<size_t>(passes) + 1);
            tally.add(cancelled.heard->result());

            // All but the last token were fed.
            const auto kept = static_cast<int64_t>(request.prompt.size() + heard.size()) - 1;
            Request next = request_of(joined(joined(request.prompt, heard), some_tokens(2, 41)), 15);
            script(next, {4, 0}, 15);
            const auto after = harness.run(next);
            EXPECT_EQ(after->result().cached_tokens, kept) << passes;
            expect_plain(plain(), next, *after, "after passes " + std::to_string(passes));
            expect_plain(plain(), request, *harness.run(request), "once more");
            tally.add(after->result());
            plain().forget();
        }
        EXPECT_GT(tally.rejected(), 50);
        if (mode != SpecMode::mtp) {
            EXPECT_GT(tally.accepted, 50);
        }
    }
}

TEST_F(SpecMatrix, APreemptedReplyResumes) {
    for (const SpecMode mode : {SpecMode::lookup, SpecMode::tree}) {
        Request low = request_of(some_tokens(70, 6), 50, 0.9);
        script(low, {3, 0, 6, 1}, 50);
        DraftTally tally;
        for (const int steps : {1, 2, 3, 4, 5, 7, 9}) {
            EngineOptions launch = options({.mode = mode});
            launch.parallel = 1;
            launch.max_rows = 70;
            EngineHarness harness(launch);
            const auto interrupted = harness.submit(low);
            for (int step = 0; step < steps; ++step) harness.step();
            for (uint64_t more = 0; more < 2; ++more) {
                Request high = request_of(some_tokens(50, 7 + more), 10);
                script(high, {2}, 10);
                high.priority = 1;
                const auto served_first = harness.submit(high);
                while (!served_first.heard->done()) harness.step();
                expect_plain(plain(), high, *served_first.heard, "the one that came between");
                harness.step();
            }
            harness.finish();
            EXPECT_EQ(interrupted.heard->result().preemptions, 2);
            expect_plain(plain(), low, *interrupted.heard, "interrupted after steps " + std::to_string(steps));
            tally.add(interrupted.heard->result());
        }
        EXPECT_GT(tally.accepted, 7 * 15);
        EXPECT_GT(tally.rejected(), 7 * 5);
    }
}

TEST_F(SpecMatrix, OtherFormatsOfWeightsAndPages) {
    for (const char* fixture : {"tiny-bf16-kv-fp8", "tiny-nvfp4-all", "tiny-fp8-block", "tiny-r1-nvfp4-head"}) {
        ColdRuns plain_here(fixture, true);
        EngineHarness harness({.fixture = fixture, .parallel = 3, .with_mtp = true, .spec = {.mode = SpecMode::tree}});
        std::vector<Request> requests;
        std::vector<EngineHarness::Submitted> submitted;
        for (size_t i = 0; i < 6; ++i) {
            Request request = request_of(tokens_of(20 + 9 * static_cast<int>(i), 60 + i), 30, i % 2 == 0 ? 0.0 : 1.0);
            request.prediction = scripted_prediction(request.prompt, plain_here.of(request).tokens(), {4, 0, 7}, 512);
            requests.push_back(request);
            submitted.push_back(harness.submit(request));
        }
        harness.finish();
        DraftTally tally;
        for (size_t i = 0; i < requests.size(); ++i) {
            expect_plain(plain_here, requests[i], *submitted[i].heard, fixture);
            tally.add(submitted[i].heard->result());
        }
        EXPECT_GT(tally.accepted, 60);
        EXPECT_GT(tally.rejected(), 60);
    }
}

}  // namespace
}  // namespace colugo::testing
