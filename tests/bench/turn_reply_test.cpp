// A reply put together from the bytes of a stream, as servers differ in them.
#include "bench/turn_reply.h"

#include <gtest/gtest.h>

#include "bench/event_reader.h"
#include "bench/http_client.h"
#include "support/expect_error.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;
using Clock = TurnReply::Clock;

// Events a millisecond apart.
TurnReply read(const std::vector<std::string>& events) {
    ReplyAssembler assembler;
    Clock::time_point now{};
    assembler.reply().begin = now;
    for (const std::string& event : events) assembler.add_event(event, now += std::chrono::milliseconds(1));
    return assembler.reply();
}

std::string delta(const std::string& fields) {
    return R"({"choices": [{"index": 0, "delta": )" + fields + R"(, "finish_reason": null}]})";
}

TEST(EventReader, TakesBytesCutAnywhere) {
    const std::string stream =
        ": a comment\n\ndata: one\n\nevent: x\r\ndata:two\r\ndata:  three\r\n\r\nid: 4\n\ndata: [DONE]\n\ndata: cut";
    for (size_t step = 1; step < stream.size(); ++step) {
        std::vector<std::string> events;
        EventReader reader([&](std::string_view data) { events.emplace_back(data); });
        for (size_t at = 0; at < stream.size(); at += step) reader.feed(std::string_view(stream).substr(at, step));
        EXPECT_EQ(events, (std::vector<std::string>{"one", "two\n three", "[DONE]"})) << step;
    }
}

TEST(TurnReply, OfColugo) {
    const TurnReply reply = read(
        {delta(R"({"role": "assistant", "content": ""})"), delta("{}"),
         delta(
             R"({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "bash", "arguments": ""}}]})"),
         delta(R"({"tool_calls": [{"index": 0, "function": {"arguments": "{\"a\""}}]})"),
         delta(R"({"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]})"),
         R"({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}], "timings": {"cache_n": 90, "prompt_n": 10,
             "prompt_ms": 5.5, "predicted_n": 12, "predicted_ms": 7, "draft_n": 9, "draft_n_accepted": 6, "passes_n": 4,
             "queue_ms": 0.5, "ttft_ms": 6}})",
         R"({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 11,
             "prompt_tokens_details": {"cached_tokens": 90}}})",
         "[DONE]"});
    EXPECT_EQ(reply.calls.dump(),
              R"([{"id":"c","type":"function","function":{"name":"bash","arguments":"{\"a\": 1}"}}])");
    EXPECT_EQ(reply.finish_reason, "tool_calls");
    EXPECT_EQ(reply.ttft_ms(), 3.0);  // empty deltas are nothing
    EXPECT_EQ(reply.latency_ms(), 8.0);
    EXPECT_EQ(reply.tpot_ms(), 0.5);
    EXPECT_EQ(reply.server.prompt_tokens, 100);
    EXPECT_EQ(reply.server.cached_tokens, 90);
    EXPECT_EQ(reply.server.output_tokens, 11);
    EXPECT_EQ(reply.server.passes, 4);
    EXPECT_EQ(reply.server.drafted, 9);
    EXPECT_EQ(reply.server.accepted, 6);
    EXPECT_EQ(reply.server.prefill_ms, 5.5);
    EXPECT_EQ(reply.server.queue_ms, 0.5);
}

TEST(TurnReply, OfLlamaCpp) {
    const TurnReply reply = read(
        {delta(R"({"role": "assistant", "content": null})"), delta(R"({"content": "Hi"})"),
         R"({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})",
         R"({"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 8}, "timings": {"cache_n": 30, "prompt_n": 10,
             "prompt_ms": 5, "predicted_n": 8, "predicted_ms": 4, "draft_n": 6, "draft_n_accepted": 3}})",
         "[DONE]"});
    EXPECT_EQ(reply.content, "Hi");
    EXPECT_EQ(reply.server.cached_tokens, 30);
    EXPECT_EQ(reply.server.passes, 5);  // 8 tokens, 3 of them drafts
    EXPECT_EQ(reply.server.decode_ms, 4.0);
    EXPECT_FALSE(reply.server.queue_ms);
}

TEST(TurnReply, OfServersThatTellLess) {
    const TurnReply vllm = read({delta(R"({"reasoning": "hm"})"), delta(R"({"content": "Hi"})"),
                                 R"({"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 8,
                                     "prompt_tokens_details": null}})",
                                 "[DONE]"});
    EXPECT_EQ(vllm.reasoning, "hm");
    EXPECT_EQ(vllm.server.prompt_tokens, 40);
    EXPECT_FALSE(vllm.server.cached_tokens);
    EXPECT_FALSE(vllm.server.passes);
    const TurnReply bare = read({delta(R"({"content": "Hi"})"), "[DONE]"});
    EXPECT_FALSE(bare.server.output_tokens);
    EXPECT_FALSE(bare.tpot_ms());
    EXPECT_FALSE(read({"[DONE]"}).ttft_ms());
}

TEST(TurnReply, RefusesWhatIsNoChunk) {
    EXPECT_ERROR(ErrorCode::invalid_file, "no JSON object: {\"a\"", read({"{\"a\""}));
    EXPECT_ERROR(ErrorCode::invalid_file, "an error: out of memory",
                 read({R"({"error": {"message": "out of memory"}})"}));
    EXPECT_ERROR(ErrorCode::invalid_file, "index 1000000000",
                 read({delta(R"({"tool_calls": [{"index": 1000000000}]})")}));
}

TEST(HttpUrl, OfServers) {
    const HttpUrl url = HttpUrl::parse("http://example.org:8080/v1/");
    EXPECT_EQ(url.host, "example.org");
    EXPECT_EQ(url.port, 8080);
    EXPECT_EQ(url.path, "/v1");
    EXPECT_EQ(HttpUrl::parse("http://[::1]:9").host, "::1");
    EXPECT_EQ(HttpUrl::parse("http://[::1]:9/a").authority(), "[::1]:9");
    EXPECT_EQ(HttpUrl::parse("http://[::1]").port, 80);
    EXPECT_EQ(HttpUrl::parse("http://[::1]:9/a").text(), "http://[::1]:9/a");
    EXPECT_EQ(HttpUrl::parse("http://host").text(), "http://host:80");
    for (const char* url_text : {"", "localhost:80", "http://", "http://:80", "http://a:0", "http://a:99999",
                                 "http://a:x", "http://u@h", "ftp://a"}) {
        EXPECT_ERROR(ErrorCode::invalid_argument, "expected http://HOST:PORT", HttpUrl::parse(url_text));
    }
    EXPECT_ERROR(ErrorCode::unsupported, "TLS", HttpUrl::parse("https://a"));
}

}  // namespace
}  // namespace colugo
