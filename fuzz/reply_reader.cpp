// A reply's tokens, whatever they are, with stop strings: what is held back changes nothing of what comes out. Input: a
// byte of options, two stop strings, and the tokens, two bytes each.
#include <vector>

#include "base/error.h"
#include "fuzz/fuzz_input.h"
#include "text/reply_reader.h"
#include "text/stop_strings.h"
#include "text/utf8.h"

namespace colugo::fuzz {
namespace {

const Tokenizer& tokenizer() {
    static const Tokenizer nano = Tokenizer::from_json(source_file("models/nano/tokenizer.json"), "tokenizer.json");
    return nano;
}

// Where the first of the strings to be complete ends and begins.
struct Stop {
    size_t begin = std::string::npos, end = std::string::npos;
};
Stop find_stop(const std::string& bytes, const std::vector<std::string>& strings) {
    Stop stop;
    for (const std::string& text : strings) {
        const size_t begin = bytes.find(text);
        if (begin == bytes.npos) continue;
        const size_t end = begin + text.size();
        if (end < stop.end || (end == stop.end && begin < stop.begin)) stop = {begin, end};
    }
    return stop;
}

// Pieces of one kind joined.
std::vector<std::string> joined(const std::vector<ReplyPiece>& pieces) {
    std::vector<std::string> texts;
    std::optional<ReplyPiece::Kind> last;
    for (const ReplyPiece& piece : pieces) {
        std::string storage;
        COLUGO_CHECK(to_valid_utf8(piece.text, storage).data() == piece.text.data());
        if (piece.kind != last || piece.kind == ReplyPiece::Kind::call) {
            texts.emplace_back(1, static_cast<char>('0' + static_cast<int>(piece.kind)));
        }
        texts.back() += piece.text;
        last = piece.kind;
    }
    return texts;
}

void check(const OutputParser::Options& options, bool cut, const std::vector<std::string>& strings,
           const std::vector<int32_t>& tokens) {
    StopStrings stops(strings);
    ReplyReader reader(tokenizer(), options), whole(tokenizer(), options);
    std::vector<ReplyPiece> pieces, whole_pieces;
    std::string bytes;
    bool stopped = false;
    for (const int32_t token : tokens) {
        bytes += tokenizer().token_bytes(token);
        stopped = stops.feed(tokenizer().token_bytes(token));
        COLUGO_CHECK(stops.held() >= 0 && static_cast<size_t>(stops.held()) <= bytes.size());
        reader.feed(token, stops.held(), pieces);
        whole.feed(token, static_cast<int64_t>(bytes.size()), whole_pieces);
        if (stopped) break;
    }
    COLUGO_CHECK(whole_pieces.empty());
    const Stop stop = find_stop(bytes, strings);
    COLUGO_CHECK(stopped == (stop.end != bytes.npos));
    COLUGO_CHECK(!stopped || static_cast<size_t>(stops.held()) == bytes.size() - stop.begin);
    const int64_t cut_bytes = stopped ? stops.held() : 0;
    reader.finish(cut_bytes, cut, pieces);
    whole.finish(cut_bytes, cut, whole_pieces);
    COLUGO_CHECK(joined(pieces) == joined(whole_pieces));
}

}  // namespace
}  // namespace colugo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colugo;
    static const std::vector<ToolTypes> tools = tool_types(nlohmann::ordered_json::parse(
        R"([{"function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}}])"));
    fuzz::FuzzInput input(data, size);
    const uint8_t choice = input.byte();
    const OutputParser::Options options{.thought = static_cast<OutputParser::Thought>(choice % 4),
                                        .tools = (choice & 4) != 0 ? nullptr : &tools};
    std::vector<std::string> strings;
    for (int i = 0; i < 2; ++i) {
        if (const std::string_view text = input.text(); !text.empty()) strings.emplace_back(text);
    }
    std::vector<int32_t> tokens;
    const auto limit = static_cast<uint32_t>(fuzz::tokenizer().id_limit());
    while (!input.empty()) tokens.push_back(static_cast<int32_t>(input.two_bytes() % limit));
    fuzz::check(options, (choice & 8) != 0, strings, tokens);
    return 0;
}
