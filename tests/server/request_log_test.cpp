#include "server/request_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/reply_body.h"

namespace colugo::testing {
namespace {

using ::testing::HasSubstr;

HttpRequest request(std::string method, std::string path) {
    HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    return request;
}

TEST(RequestLog, TellsTheRateThatTheReplyTells) {
    RequestResult result;
    result.prompt_tokens = 9;
    result.generated_tokens = 3;
    result.decode_passes = 2;  // the first token was drawn from the prompt's logits
    result.decode_seconds = 0.5;
    EXPECT_EQ(timings_json(result)["predicted_per_second"], 6.0);
    EXPECT_THAT(reply_line("/x", "id", result, "length", 1.0), HasSubstr("3 new at 6.0 tok/s"));
}

TEST(RequestLog, SaysWhatFailedAndWhy) {
    EXPECT_EQ(failure_line(request("GET", "/x"), 404, "there is no /x here"), "404 GET /x: there is no /x here");
}

TEST(RequestLog, LeavesOutWhatWasNotRead) {
    EXPECT_EQ(failure_line(request("", ""), 400, "this is no HTTP request"), "400: this is no HTTP request");
}

TEST(RequestLog, IsShortAndValidWhateverWasSent) {
    const std::string odd(100'000, '\xFF');
    const std::string line = failure_line(request(odd, "/" + odd), 400, odd);
    EXPECT_LT(line.size(), 2100u);
    EXPECT_THAT(line, HasSubstr("\xEF\xBF\xBD..."));
    EXPECT_EQ(line.find('\xFF'), line.npos);
}

TEST(RequestLog, CutsBetweenCharacters) {
    EXPECT_EQ(clipped("caf\xC3\xA9", 5), "caf\xC3\xA9");
    EXPECT_EQ(clipped("caf\xC3\xA9", 4), "caf...");
    EXPECT_EQ(clipped("caf\xC3", 4), "caf\xEF\xBF\xBD");
    EXPECT_EQ(clipped("", 4), "");
}

TEST(PercentDecoding, TakesEscapesAndLeavesTheRest) {
    EXPECT_EQ(percent_decoded("a%20b%2Fc%c3%a9"), "a b/c\xC3\xA9");
    EXPECT_EQ(percent_decoded("100%, %4, %zz, %"), "100%, %4, %zz, %");
}

}  // namespace
}  // namespace colugo::testing
