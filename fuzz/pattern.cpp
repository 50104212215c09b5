// A regular expression and a text: the automaton takes what PCRE2 finds the pattern in, and nothing else, where both
// mean the same by it. Input: the pattern, a zero byte, and bytes that are a text and a way through the automaton.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

#include "base/error.h"
#include "fuzz/fuzz_input.h"
#include "sampling/pattern.h"

namespace colugo::fuzz {
namespace {

void append_character(uint32_t point, std::string& out) {
    const auto add = [&](uint32_t byte) { out += static_cast<char>(byte); };
    if (point < 0x80) return add(point);
    if (point < 0x800) {
        add(0xC0 | point >> 6);
    } else if (point < 0x10000) {
        add(0xE0 | point >> 12);
        add(0x80 | (point >> 6 & 0x3F));
    } else {
        add(0xF0 | point >> 18);
        add(0x80 | (point >> 12 & 0x3F));
        add(0x80 | (point >> 6 & 0x3F));
    }
    add(0x80 | (point & 0x3F));
}

class Pcre {
 public:
    explicit Pcre(std::string_view pattern) {
        int error = 0;
        PCRE2_SIZE at = 0;
        code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                  PCRE2_UTF | PCRE2_ALT_BSUX | PCRE2_DOLLAR_ENDONLY, &error, &at, nullptr));
    }

    // Nothing where PCRE2 does not know: a pattern that it does not take, a search that takes too long.
    std::optional<bool> finds(std::string_view text) const {
        if (code_ == nullptr) return std::nullopt;
        const std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>> match(
            pcre2_match_data_create_from_pattern(code_.get(), nullptr));
        const int result = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0,
                                       match.get(), nullptr);
        if (result == PCRE2_ERROR_NOMATCH) return false;
        return result >= 0 ? std::optional(true) : std::nullopt;
    }

 private:
    template <auto release>
    struct Freed {
        template <typename T>
        void operator()(T* pointer) const {
            release(pointer);
        }
    };
    std::unique_ptr<pcre2_code, Freed<pcre2_code_free>> code_;
};

// Of each state, how many characters lead to one that accepts.
std::vector<uint32_t> distances(const CharDfa& dfa) {
    std::vector<std::vector<uint32_t>> sources(dfa.states.size());
    std::vector<uint32_t> distance(dfa.states.size(), UINT32_MAX);
    std::deque<uint32_t> queue;
    for (uint32_t state = 0; state < dfa.states.size(); ++state) {
        for (const CharDfa::Edge& edge : dfa.states[state].edges) sources[edge.target].push_back(state);
        if (dfa.states[state].accepts) {
            distance[state] = 0;
            queue.push_back(state);
        }
    }
    for (; !queue.empty(); queue.pop_front()) {
        for (const uint32_t source : sources[queue.front()]) {
            if (distance[source] != UINT32_MAX) continue;
            distance[source] = distance[queue.front()] + 1;
            queue.push_back(source);
        }
    }
    return distance;
}

// A text that the automaton takes: by the input's choice as long as there is any, then by the shortest way.
std::optional<std::string> taken_text(const CharDfa& dfa, FuzzInput choices) {
    const std::vector<uint32_t> distance = distances(dfa);
    if (dfa.states.empty() || distance[0] == UINT32_MAX) return std::nullopt;
    std::string text;
    for (uint32_t state = 0; !choices.empty() || !dfa.states[state].accepts;) {
        std::vector<CharDfa::Edge> ways;
        for (const CharDfa::Edge& edge : dfa.states[state].edges) {
            const bool closer = distance[edge.target] < distance[state];
            if (choices.empty() ? closer : distance[edge.target] != UINT32_MAX) ways.push_back(edge);
        }
        if (ways.empty()) return dfa.states[state].accepts ? std::optional(text) : std::nullopt;
        const CharDfa::Edge& way = ways[choices.byte() % ways.size()];
        uint32_t point = choices.byte() % 2 == 0 ? way.range.low : way.range.high;
        if (point >= 0xD800 && point <= 0xDFFF) {
            point = way.range.low < 0xD800 ? 0xD7FF : 0xE000;
            if (point > way.range.high) return std::nullopt;  // nothing but halves of characters
        }
        append_character(point, text);
        state = way.target;
    }
    return text;
}

bool takes(const CharDfa& dfa, const std::vector<uint32_t>& text) {
    uint32_t state = 0;
    for (const uint32_t point : text) {
        const auto& edges = dfa.states[state].edges;
        const auto edge = std::find_if(edges.begin(), edges.end(), [&](const CharDfa::Edge& one) {
            return one.range.low <= point && point <= one.range.high;
        });
        if (edge == edges.end()) return false;
        state = edge->target;
    }
    return dfa.states[state].accepts;
}

void check_form(const CharDfa& dfa) {
    COLUGO_CHECK(!dfa.states.empty() && dfa.states.size() <= CharDfa::kMaxStates);
    for (const CharDfa::State& state : dfa.states) {
        uint64_t next = 0;
        for (const CharDfa::Edge& edge : state.edges) {
            COLUGO_CHECK(edge.range.low >= next && edge.range.low <= edge.range.high);
            COLUGO_CHECK(edge.range.high <= kMaxCodePoint && edge.target < dfa.states.size());
            next = uint64_t{edge.range.high} + 1;
        }
    }
}

// Whether PCRE2 may read the pattern otherwise: it has classes of its own in [: :], and finds more in some others.
bool differs(std::string_view pattern) {
    for (const std::string_view part : {"[:", "[.", "[="}) {
        if (pattern.find(part) != pattern.npos) return true;
    }
    return false;
}
bool finds_more(std::string_view pattern) {
    for (const std::string_view part : {".", "\\D", "\\W", "\\S", "\\v"}) {
        if (pattern.find(part) != pattern.npos) return true;
    }
    return pattern.find("[^") != pattern.npos && pattern.find('\\') != pattern.npos;
}

void check(std::string_view pattern, std::string_view rest) {
    const CharDfa dfa = compile_pattern(pattern, "the pattern");
    check_form(dfa);
    if (differs(pattern)) return;
    const Pcre pcre(pattern);
    const auto* bytes = reinterpret_cast<const uint8_t*>(rest.data());
    if (const auto text = taken_text(dfa, FuzzInput(bytes, rest.size()))) {
        COLUGO_CHECK(pcre.finds(*text).value_or(true));
    }
    try {
        const bool taken = takes(dfa, code_points(rest, "the text"));
        const bool found = pcre.finds(rest).value_or(taken);
        COLUGO_CHECK(found == taken || (found && finds_more(pattern)));
    } catch (const Error&) {  // not UTF-8
    }
}

}  // namespace
}  // namespace colugo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colugo;
    fuzz::FuzzInput input(data, size);
    const std::string_view pattern = input.text();
    try {
        fuzz::check(pattern, input.rest());
    } catch (const Error& error) {
        COLUGO_CHECK(error.code() == ErrorCode::invalid_argument);
    }
    return 0;
}
