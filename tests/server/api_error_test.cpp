#include "server/api_error.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/request_harness.h"

namespace colugo::testing {
namespace {

TEST(ApiError, HasTheShapeOfOpenAi) {
    const ApiError error(400, "invalid_value", "tools[0].type", "tools[0].type is 5; expected \"function\"");
    EXPECT_EQ(error.body().dump(),
              R"({"error":{"message":"tools[0].type is 5; expected \"function\"","type":"invalid_request_error",)"
              R"("param":"tools[0].type","code":"invalid_value"}})");
    EXPECT_EQ(ApiError(500, "", "", "x").body().dump(),
              R"({"error":{"message":"x","type":"server_error","param":null,"code":null}})");
}

TEST(ApiError, IsValidUnicodeWhateverItQuotes) {
    const ApiError error(400, "a\xff", "b\xff", "c\xff");
    EXPECT_EQ(error.body().dump(),
              "{\"error\":{\"message\":\"c\uFFFD\",\"type\":\"invalid_request_error\","
              "\"param\":\"b\uFFFD\",\"code\":\"a\uFFFD\"}}");
}

TEST(ApiError, TypeFollowsFromTheStatus) {
    const std::pair<int, const char*> cases[] = {
        {400, "invalid_request_error"}, {401, "authentication_error"},  {403, "permission_error"},
        {404, "invalid_request_error"}, {413, "invalid_request_error"}, {429, "rate_limit_error"},
        {500, "server_error"},          {503, "server_error"},
    };
    for (const auto& [status, type] : cases) EXPECT_STREQ(ApiError(status, "", "", "").type(), type) << status;
}

TEST(ApiError, SaysWhenToTryAgain) {
    EXPECT_TRUE(ApiError(503, "", "", "").retry_after_seconds());
    EXPECT_TRUE(ApiError(429, "", "", "").retry_after_seconds());
    EXPECT_FALSE(ApiError(400, "", "", "").retry_after_seconds());
    EXPECT_FALSE(ApiError(500, "", "", "").retry_after_seconds());
}

TEST(ApiError, StatusFollowsFromWhoseFaultItIs) {
    const std::pair<ErrorCode, int> cases[] = {
        {ErrorCode::invalid_argument, 400},   {ErrorCode::unsupported, 400},  {ErrorCode::not_found, 404},
        {ErrorCode::resource_exhausted, 503}, {ErrorCode::invalid_file, 500}, {ErrorCode::io, 500},
    };
    for (const auto& [code, status] : cases) {
        const ApiError error = api_error(Error(code, "a sentence"), "field");
        EXPECT_EQ(error.status(), status);
        EXPECT_STREQ(error.what(), "a sentence");
        EXPECT_EQ(error.param(), "field");
        EXPECT_FALSE(error.code().empty());
    }
}

TEST(ApiError, APromptWithoutRoomForAReplyTellsBothCounts) {
    EXPECT_NO_THROW(check_context_length(4095, 1, 4096));
    EXPECT_NO_THROW(check_context_length(4096, 0, 4096));
    for (const int64_t tokens : {4096, 4097, 1'000'000}) {
        const auto error = refusal_of([&] { check_context_length(tokens, 1, 4096); });
        ASSERT_TRUE(error);
        EXPECT_EQ(error->status(), 400);
        EXPECT_EQ(error->code(), "context_length_exceeded");
        EXPECT_THAT(error->what(), ::testing::HasSubstr("maximum context length is 4096 tokens"));
        EXPECT_THAT(error->what(), ::testing::HasSubstr(std::to_string(tokens) + " tokens"));
    }
}

}  // namespace
}  // namespace colugo::testing
