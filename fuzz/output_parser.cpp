// What a model writes, in any pieces: the parts are the same however it was cut, arguments are JSON, and what is
// written comes out. Input: a byte of options, one that says where it is cut, and the reply; in it bytes from 0xF8 are
// control tokens.
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "fuzz/fuzz_input.h"
#include "text/output_parser.h"
#include "text/utf8.h"

namespace colugo::fuzz {
namespace {

using Kind = ReplyPiece::Kind;
using Pieces = std::vector<ReplyPiece>;
using nlohmann::ordered_json;

const std::vector<ToolTypes>& tools() {
    static const std::vector<ToolTypes> all = tool_types(ordered_json::parse(R"([
        {"type": "function", "function": {"name": "write", "parameters": {"type": "object", "properties": {
            "path": {"type": "string"}, "content": {"type": "string"}, "note": {"type": ["string", "null"]}}}}},
        {"type": "function", "function": {"name": "get", "parameters": {"type": "object", "properties": {
            "n": {"type": "integer"}, "x": {"type": "number"}, "flag": {"type": ["boolean", "null"]},
            "any": {"type": ["string", "integer"]}, "where": {"type": "object"}, "list": {"type": "array"}}}}}
    ])"));
    return all;
}

// A reply's text, or one control token.
struct Part {
    std::string text;
    std::optional<ReplyMark> mark = {};
};

std::vector<Part> parts_of(std::string_view bytes) {
    std::vector<Part> parts;
    size_t begin = 0;
    for (size_t at = 0; at <= bytes.size(); ++at) {
        const auto byte = at < bytes.size() ? static_cast<uint8_t>(bytes[at]) : uint8_t{0xFF};
        if (byte < 0xF8) continue;
        std::string storage;
        parts.push_back({std::string(to_valid_utf8(bytes.substr(begin, at - begin), storage))});
        if (at < bytes.size()) parts.push_back({"", static_cast<ReplyMark>(byte % 4)});
        begin = at + 1;
    }
    return parts;
}

struct Way {
    OutputParser::Options options;
    bool cut = false;
};

// Neighbours of one kind joined; calls and their ends stay apart.
void join(Pieces& all, Pieces& more) {
    for (ReplyPiece& piece : more) {
        const bool joins = piece.kind != Kind::call && piece.kind != Kind::call_end;
        if (joins && !all.empty() && all.back().kind == piece.kind) {
            all.back().text += piece.text;
        } else if (!joins || !piece.text.empty()) {
            all.push_back(std::move(piece));
        }
    }
    more.clear();
}

// next: how many characters the next piece has.
template <typename Next>
Pieces parse(const std::vector<Part>& parts, const Way& way, const Next& next) {
    OutputParser parser(way.options);
    Pieces all, pieces;
    for (const Part& part : parts) {
        if (part.mark) parser.feed(*part.mark, pieces);
        for (size_t at = 0; at < part.text.size();) {
            size_t end = at;
            for (size_t left = next(); left > 0 && end < part.text.size(); --left) {
                end += decode_valid_utf8(part.text.data() + end).length;
            }
            parser.feed(std::string_view(part.text).substr(at, end - at), pieces);
            at = end;
        }
        join(all, pieces);
    }
    parser.finish(way.cut, pieces);
    join(all, pieces);
    int calls = 0;
    for (const ReplyPiece& piece : all) calls += piece.kind == Kind::call;
    COLUGO_CHECK(calls == parser.calls());
    return all;
}

bool same(const Pieces& a, const Pieces& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ReplyPiece& one, const ReplyPiece& other) {
        return one.kind == other.kind && one.text == other.text;
    });
}

// Each call is followed by its arguments, an object, and its end.
void check_form(const Pieces& pieces) {
    for (size_t i = 0; i < pieces.size(); ++i) {
        std::string storage;
        COLUGO_CHECK(to_valid_utf8(pieces[i].text, storage).data() == pieces[i].text.data());
        if (pieces[i].kind != Kind::call) continue;
        COLUGO_CHECK(i + 2 < pieces.size() && !pieces[i].text.empty());
        COLUGO_CHECK(pieces[i + 1].kind == Kind::arguments && pieces[i + 2].kind == Kind::call_end);
        COLUGO_CHECK(ordered_json::parse(pieces[i + 1].text, nullptr, false).is_object());
    }
}

std::string without(std::string text, std::string_view part) {
    for (size_t at = 0; (at = text.find(part, at)) != text.npos;) text.erase(at, part.size());
    return text;
}

// Without tools all text comes out, the marks of thoughts and line breaks aside. It has no '<' of its own here, so that
// marks can be told from it.
void check_nothing_lost(std::vector<Part> parts, Way way) {
    way.options.tools = nullptr;
    std::string written, read;
    for (Part& part : parts) {
        std::replace(part.text.begin(), part.text.end(), '<', '(');
        written += part.mark ? std::string(kReplyMarks[static_cast<size_t>(*part.mark)]) : part.text;
    }
    for (const ReplyPiece& piece : parse(parts, way, [] { return SIZE_MAX; })) {
        COLUGO_CHECK(piece.kind == Kind::reasoning || piece.kind == Kind::content);
        read += piece.text;
    }
    if (way.options.thought != OutputParser::Thought::plain) {
        for (const std::string_view part : {"<think>", "</think>", "\n", " ", "\t", "\r"}) {
            written = without(written, part);
            read = without(read, part);
        }
    }
    COLUGO_CHECK(read == written);
}

// A value without tags in it is given as it is.
void check_value(const std::string& value) {
    for (const std::string_view tag : {"</parameter>", "</function>", "<parameter=", "<function="}) {
        if (value.find(tag) != value.npos) return;
    }
    const std::vector<Part> parts = {{"", ReplyMark::tool_call},
                                     {"\n<function=write>\n<parameter=path>\na\n</parameter>\n<parameter=content>\n" +
                                      value + "\n</parameter>\n</function>\n"},
                                     {"", ReplyMark::end_tool_call}};
    const Pieces pieces = parse(parts, {{.tools = &tools()}}, [] { return size_t{1}; });
    COLUGO_CHECK(pieces.size() == 3 && pieces[0].text == "write");
    COLUGO_CHECK(ordered_json::parse(pieces[1].text) == ordered_json({{"path", "a"}, {"content", value}}));
}

void check_arguments(const std::string& text, uint32_t types) {
    for (const uint32_t bits : {types & 127, ~types & 127}) {
        if (bits != 0) COLUGO_CHECK(ordered_json::accept(argument_json(text, {static_cast<uint8_t>(bits)})));
    }
}

void check(const std::vector<Part>& parts, const Way& way, uint32_t seed) {
    check_arguments(parts.front().text, seed);
    const Pieces whole = parse(parts, way, [] { return SIZE_MAX; });
    check_form(whole);
    COLUGO_CHECK(same(parse(parts, way, [] { return size_t{1}; }), whole));
    const auto some = [&seed] {
        seed = seed * 1'664'525 + 1'013'904'223;
        return size_t{1} + (seed >> 24) % 12;
    };
    COLUGO_CHECK(same(parse(parts, way, some), whole));
    check_nothing_lost(parts, way);
    check_value(parts.front().text);
}

}  // namespace
}  // namespace colugo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colugo;
    fuzz::FuzzInput input(data, size);
    const uint8_t options = input.byte(), seed = input.byte();
    fuzz::Way way{{.thought = static_cast<OutputParser::Thought>(options % 4)}, (options & 4) != 0};
    way.options.tools = (options & 8) != 0 ? nullptr : &fuzz::tools();
    way.options.parallel_calls = (options & 16) == 0;
    fuzz::check(fuzz::parts_of(input.rest()), way, seed);
    return 0;
}
