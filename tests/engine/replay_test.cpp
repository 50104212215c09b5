// Replies that requests bring along (Replay).
#include <gtest/gtest.h>

#include "engine/engine_harness.h"
#include "support/expect_error.h"

namespace colugo::testing {
namespace {

// A simulated reply is given out token by token, in passes as many as the head's acceptance makes of it.
TEST(Engine, AReplayIsTheReply) {
    const std::vector<int32_t> text = tokens_of(60, 77);
    std::vector<int32_t> reply;
    for (const int32_t token : text) reply.push_back(2 + token % 40);  // 1 is the end
    reply.push_back(1);
    for (const auto& [mode, acceptance] : {std::pair(SpecMode::off, 1.0),
                                           {SpecMode::mtp, 1.0},
                                           {SpecMode::mtp, 0.0},
                                           {SpecMode::mtp, 0.5},
                                           {SpecMode::tree, 0.5},
                                           {SpecMode::lookup, 1.0}}) {
        EngineHarness harness({.with_mtp = true, .spec = {.mode = mode, .depth = 4, .top_k = 1}});
        Request request = request_of(tokens_of(40, 78), -1);
        request.stop_ids = {1};
        request.replay = {reply, {acceptance}};
        const auto heard = harness.run(request);
        EXPECT_EQ(heard->tokens(), std::vector<int32_t>(reply.begin(), reply.end() - 1));
        EXPECT_EQ(heard->result().finish, FinishReason::stop);
        const SpecCounters& drafts = heard->result().drafts;
        if (mode != SpecMode::mtp) continue;
        EXPECT_GT(drafts.head.drafted, 40);
        if (acceptance == 1.0) {
            EXPECT_EQ(heard->result().decode_passes, 12);  // five tokens each
        } else if (acceptance == 0.0) {
            EXPECT_EQ(drafts.head.accepted, 0);
        } else {
            EXPECT_GT(drafts.head.accepted, 10);
            EXPECT_LT(drafts.head.accepted, 50);
        }
    }
    Request request = request_of({2, 3});
    request.replay = {{5, 6}, {1.0}};
    request.stop_ids = {1};
    EngineHarness harness;
    EXPECT_ERROR(ErrorCode::invalid_argument, "the replay does not end", harness.run(request));
    request.replay = {{5, 1}, {}};
    EXPECT_ERROR(ErrorCode::invalid_argument, "expected an acceptance", harness.run(request));
}

}  // namespace
}  // namespace colugo::testing
