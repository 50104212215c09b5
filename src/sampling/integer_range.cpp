#include "sampling/integer_range.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"

namespace colugo {
namespace {

constexpr CharRange kDigit{'0', '9'};

// The least number of this many digits.
std::string power_of_ten(size_t digits) {
    std::string text(digits, '0');
    text[0] = '1';
    return text;
}

class RangeBuilder {
 public:
    explicit RangeBuilder(std::string_view what) : nfa_(std::string(what)), end_(nfa_.add_state()), rest_{end_} {}

    CharNfa& nfa() { return nfa_; }
    uint32_t end() const { return end_; }

    // From `from`: the numbers low .. high, each length for itself.
    void add(uint32_t from, uint64_t low, uint64_t high) {
        const std::string least = std::to_string(low), most = std::to_string(high);
        for (size_t length = least.size(); length <= most.size(); ++length)
            add_length(from, length == least.size() ? least : power_of_ten(length),
                       length == most.size() ? most : std::string(length, '9'));
    }

 private:
    // Any `count` digits.
    uint32_t digits(size_t count) {
        while (rest_.size() <= count) {
            const uint32_t state = nfa_.add_state();
            nfa_.add(state, kDigit, rest_.back());
            rest_.push_back(state);
        }
        return rest_[count];
    }

    // Numbers of one length. While the digits are those of both ends there is one state, then one for each end.
    void add_length(uint32_t from, const std::string& low, const std::string& high) {
        size_t i = 0;
        for (; i + 1 < low.size() && low[i] == high[i]; ++i) from = step(from, low[i]);
        const size_t left = low.size() - i - 1;  // digits behind this one
        const auto digit = [](char c) { return static_cast<uint32_t>(static_cast<unsigned char>(c)); };
        if (left == 0) {
            nfa_.add(from, CharRange{digit(low[i]), digit(high[i])}, end_);
            return;
        }
        if (digit(low[i]) + 1 < digit(high[i]))
            nfa_.add(from, CharRange{digit(low[i]) + 1, digit(high[i]) - 1}, digits(left));
        follow(step(from, low[i]), low.substr(i + 1), true);
        follow(step(from, high[i]), high.substr(i + 1), false);
    }

    // The digits are those of one end so far.
    void follow(uint32_t from, const std::string& bound, bool is_low) {
        for (size_t i = 0; i < bound.size(); ++i) {
            const auto digit = static_cast<uint32_t>(static_cast<unsigned char>(bound[i]));
            const CharRange inside = is_low ? CharRange{digit + 1, '9'} : CharRange{'0', digit - 1};
            if (inside.low <= inside.high) nfa_.add(from, inside, digits(bound.size() - i - 1));
            if (i + 1 == bound.size())
                nfa_.add(from, CharRange{digit, digit}, end_);
            else
                from = step(from, bound[i]);
        }
    }

    uint32_t step(uint32_t from, char c) {
        const uint32_t to = nfa_.add_state();
        const auto digit = static_cast<uint32_t>(static_cast<unsigned char>(c));
        nfa_.add(from, CharRange{digit, digit}, to);
        return to;
    }

    CharNfa nfa_;
    uint32_t end_;
    std::vector<uint32_t> rest_;  // by the number of digits to come
};

// Numbers of any length that `factor` divides: a state for each remainder.
CharDfa multiples(uint32_t factor) {
    CharDfa dfa;
    const auto state_of = [](uint32_t remainder) { return remainder + 1; };
    dfa.states.resize(factor + 1);
    const auto add_digits = [&](CharDfa::State& state, uint32_t remainder) {
        for (uint32_t digit = 0; digit < 10; ++digit)
            state.edges.push_back({{'0' + digit, '0' + digit}, state_of((10 * remainder + digit) % factor)});
    };
    dfa.states[0].edges.push_back({{'-', '-'}, state_of(0)});
    add_digits(dfa.states[0], 0);
    for (uint32_t remainder = 0; remainder < factor; ++remainder) {
        dfa.states[state_of(remainder)].accepts = remainder == 0;
        add_digits(dfa.states[state_of(remainder)], remainder);
    }
    return dfa;
}

}  // namespace

CharDfa integers_between(int64_t low, int64_t high, int64_t factor, std::string_view what) {
    COLUGO_CHECK(low <= high && factor >= 1);
    RangeBuilder builder(what);
    const uint32_t start = builder.nfa().add_state();
    const auto magnitude = [](int64_t value) { return uint64_t{0} - static_cast<uint64_t>(value); };
    if (low < 0) {
        const uint32_t minus = builder.nfa().add_state();
        builder.nfa().add(start, CharRange{'-', '-'}, minus);
        builder.add(minus, high < 0 ? magnitude(high) : 1, magnitude(low));
    }
    if (high >= 0) builder.add(start, static_cast<uint64_t>(std::max<int64_t>(low, 0)), static_cast<uint64_t>(high));
    CharDfa dfa = determinize(builder.nfa(), start, builder.end());
    if (factor == 1) return dfa;
    if (factor >= CharDfa::kMaxStates) fail(ErrorCode::invalid_argument, "{} needs too many states", what);
    return intersect(dfa, multiples(static_cast<uint32_t>(factor)), what);
}

}  // namespace colugo
