// The parts of JSON as fragments of a grammar (grammar_builder.h): what is written for any value, and for one that is
// given. Text is compact, or has a blank or a line break with indentation where models put them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sampling/char_automaton.h"
#include "sampling/grammar_builder.h"

namespace colugo {

class JsonGrammar {
 public:
    // Where the text stands. in_call: in a tool call's parameter, where it has none of kCallTags in it; a string that
    // contains one has its '<' as an escape.
    enum class Place : uint8_t { reply, in_call };

    // Borrows the builder. Parts that are used again are made once.
    explicit JsonGrammar(GrammarBuilder& builder, Place place = Place::reply);

    GrammarBuilder& builder() { return builder_; }

    // Nothing, a blank, or a line break and its indentation.
    void blank(uint32_t from, uint32_t to);
    // ':' and nothing or a blank.
    void colon(uint32_t from, uint32_t to);

    void any_value(uint32_t from, uint32_t to);
    void any_object(uint32_t from, uint32_t to);
    void any_array(uint32_t from, uint32_t to);
    void any_string(uint32_t from, uint32_t to);
    void number(uint32_t from, uint32_t to);
    // What the automaton takes, and a 64-bit integer if there is none.
    void integer(uint32_t from, const std::optional<CharDfa>& range, uint32_t to);
    void boolean(uint32_t from, uint32_t to) { builder_.words(from, {"false", "true"}, to); }
    // These values, which are no objects or arrays with something in them.
    void scalars(uint32_t from, const std::vector<const nlohmann::ordered_json*>& values, uint32_t to);
    // The name of a property.
    void key(uint32_t from, const std::string& name, uint32_t to);
    void null(uint32_t from, uint32_t to) { builder_.literal(from, "null", to); }

    static constexpr uint32_t kMaxLengthInCall = 8192;
    // A string of min .. max code points. In a call a greater maximum counts as kMaxLengthInCall.
    void string_of_length(uint32_t from, uint32_t min, uint32_t max, uint32_t to);
    // A string that the automaton takes; only what has to be is escaped. `what`: the subject of the sentence that says
    // it needs too many states.
    void string(uint32_t from, const CharDfa& strings, std::string_view what, uint32_t to);
    // This value, its objects' keys in their order.
    void constant(uint32_t from, const nlohmann::ordered_json& value, uint32_t to);

    // Characters beyond ASCII, each as a byte of `from` and a call.
    void wide(uint32_t from, uint32_t to);
    // One of these characters, surrogates left out, as it is.
    void characters(uint32_t from, CharRange range, uint32_t to) { range_edges(from, range, false, to); }
    // What the automaton takes, as it is: the nodes of its states, in a row.
    std::vector<uint32_t> text(const CharDfa& automaton);

 private:
    using Fragment = std::function<void(uint32_t from, uint32_t to)>;

    // The node where a shared part begins; made by `make` when it is first asked for.
    uint32_t shared(uint32_t& start, const Fragment& make);
    uint32_t indentation();
    uint32_t string_inside();  // up to the closing quote
    std::string written(const nlohmann::ordered_json& value) const;
    uint32_t counted_inside(uint32_t min, uint32_t max);
    uint32_t escape_inside();                                        // behind the backslash
    void string_edges(uint32_t from, uint32_t state, uint32_t row);  // one character, escaped or not
    uint32_t object_inside();
    uint32_t array_inside();
    uint32_t value();
    void make_tails();
    void escape_edges(uint32_t from, CharRange range, uint32_t to);
    std::vector<uint32_t> automaton_nodes(const CharDfa& automaton, bool quoted);
    void range_edges(uint32_t from, CharRange range, bool quoted, uint32_t to);
    void utf8_edges(uint32_t from, uint32_t low, uint32_t high, uint32_t to);

    GrammarBuilder& builder_;
    const Place place_;
    const CharDfa plain_;                   // what may be in a string without an escape, JSON's own rules aside
    static constexpr uint32_t kUnmade = 0;  // node 0 begins nothing
    uint32_t indentation_ = kUnmade, string_ = kUnmade, escape_ = kUnmade, object_ = kUnmade, array_ = kUnmade,
             value_ = kUnmade, number_ = kUnmade, integer_ = kUnmade;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> counted_;  // by the least and the greatest length
    // The rest of a character of several bytes: 1, 2 or 3 bytes to come, and behind E0, ED, F0 and F4.
    uint32_t tails_[4] = {}, tail_e0_ = 0, tail_ed_ = 0, tail_f0_ = 0, tail_f4_ = 0;
};

}  // namespace colugo
