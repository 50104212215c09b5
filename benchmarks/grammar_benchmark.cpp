// Times what structured output costs: laying out a vocabulary, compiling a schema, and the masks of a reply, each state
// for the first time and again. Beside it a copy of one mask, which is the least that a mask can cost.
//
//     grammar_benchmark [TOKENIZER.json [SCHEMA.json REPLY.json]]
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sampling/reply_grammar.h"
#include "sampling/token_grammar.h"
#include "text/tokenizer.h"

namespace colugo {
namespace {

constexpr const char* kSchema = R"({"type": "object", "properties": {
    "path": {"type": "string"}, "summary": {"type": "string", "maxLength": 400}, "line": {"type": "integer", "minimum": 1},
    "kind": {"enum": ["bug", "style", "question"]}, "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z-]{1,20}$"}}},
    "required": ["path", "summary", "line", "kind"], "additionalProperties": false})";
constexpr const char* kReply =
    R"({"path": "src/planner/orbit.cpp", "summary": "The \"slow\" path closes the orbit twice:\nonce in close_orbit, and once in its destructor.", "line": 127, "kind": "bug", "tags": ["lifetime", "double-free"]})";

std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Of this thread's processor, so that other work on the machine does not count.
double processor_microseconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

template <typename Work>
double microseconds(Work&& work) {
    const double begin = processor_microseconds();
    work();
    return processor_microseconds() - begin;
}

struct Times {
    std::vector<double> each;
    void print(const char* name) {
        std::sort(each.begin(), each.end());
        double sum = 0;
        for (const double time : each) sum += time;
        fmt::print("{:28} mean {:8.2f}  median {:8.2f}  most {:8.2f} us\n", name,
                   sum / static_cast<double>(each.size()), each[each.size() / 2], each.back());
    }
};

void run(const std::string& tokenizer_path, const std::string& schema, const std::string& reply) {
    const Tokenizer tokenizer = Tokenizer::from_file(tokenizer_path);
    std::shared_ptr<const GrammarVocabulary> vocabulary;
    const double laid_out = microseconds([&] {
        vocabulary = std::make_shared<const GrammarVocabulary>(tokenizer.id_limit(), [&](int32_t id) {
            return tokenizer.has_token(id) ? VocabularyToken{tokenizer.token_bytes(id), tokenizer.is_control(id)}
                                           : VocabularyToken{};
        });
    });
    fmt::print("vocabulary of {}: {:.1f} ms\n", vocabulary->size(), laid_out / 1000);
    std::shared_ptr<const ByteGrammar> compiled;
    const auto json = nlohmann::ordered_json::parse(schema);
    const double compile =
        microseconds([&] { compiled = std::make_shared<const ByteGrammar>(json_schema_grammar(json)); });
    fmt::print("schema: {} nodes in {:.0f} us\n", compiled->num_nodes(), compile);
    const std::vector<int32_t> tokens = tokenizer.encode(reply);
    TokenGrammar grammar(compiled, vocabulary, {});
    Times first, again, after;
    GrammarState state = grammar.start();
    for (const int32_t token : tokens) {
        first.each.push_back(microseconds([&] { grammar.allowed(state); }));
        again.each.push_back(microseconds([&] { grammar.allowed(state); }));
        std::optional<GrammarState> next;
        after.each.push_back(microseconds([&] { next = grammar.after(state, token); }));
        if (!next) {
            fmt::print("the reply is not one of the schema: it ends before token {}\n", token);
            return;
        }
        state = *next;
    }
    fmt::print("reply of {} tokens; {} bytes of states and masks\n", tokens.size(), grammar.bytes());
    first.print("mask, first time");
    again.print("mask, again");
    after.print("after a token");
    Times copy;
    TokenMask mask = grammar.allowed(state);
    for (int i = 0; i < 100; ++i) copy.each.push_back(microseconds([&] { mask = grammar.allowed(state); }));
    copy.print("copy of a mask");
}

}  // namespace
}  // namespace colugo

int main(int argc, char** argv) {
    const std::string tokenizer = argc > 1 ? argv[1] : COLUGO_SOURCE_DIR "/models/nano/tokenizer.json";
    colugo::run(tokenizer, argc > 3 ? colugo::read(argv[2]) : colugo::kSchema,
                argc > 3 ? colugo::read(argv[3]) : colugo::kReply);
}
