#include "sampling/pattern.h"

#include <string>

#include "sampling/pattern_parser.h"

namespace colugo {
namespace {

class PatternCompiler {
 public:
    PatternCompiler(const PatternParser& parser, std::string_view what) : parser_(parser), nfa_(std::string(what)) {}

    CharDfa run() {
        const CharRange anything{0, kMaxCodePoint};
        const uint32_t start = nfa_.add_state(), end = nfa_.add_state();
        for (const PatternAlternative& alternative : parser_.alternatives()) {
            const uint32_t first = nfa_.add_state(), last = nfa_.add_state();
            nfa_.add_empty(start, first);
            if (!alternative.at_begin) nfa_.add(first, anything, first);
            const uint32_t begin = nfa_.add_state();
            nfa_.add_empty(first, begin);
            emit(alternative.node, begin, last);
            if (!alternative.at_end) {
                nfa_.add(last, anything, last);
                nfa_.mark_universal(last);
            }
            nfa_.add_empty(last, end);
        }
        return determinize(nfa_, start, end);
    }

 private:
    // No edge leads into `from` and none out of `to`. As deep as groups are.
    void emit(uint32_t id, uint32_t from, uint32_t to) {
        const PatternNode& node = parser_.nodes()[id];
        switch (node.kind) {
            case PatternNode::Kind::characters:
                return nfa_.add(from, node.set, to);
            case PatternNode::Kind::sequence:
                for (const uint32_t part : node.parts) from = emit_behind(part, from);
                return nfa_.add_empty(from, to);
            case PatternNode::Kind::alternatives:
                for (const uint32_t part : node.parts) emit(part, from, to);
                return;
            case PatternNode::Kind::repeat:
                return emit_repeat(node, from, to);
        }
    }

    uint32_t emit_behind(uint32_t id, uint32_t from) {
        const uint32_t to = nfa_.add_state();
        emit(id, from, to);
        return to;
    }

    void emit_repeat(const PatternNode& node, uint32_t from, uint32_t to) {
        for (uint32_t i = 0; i < node.min; ++i) from = emit_behind(node.parts[0], from);
        if (node.max == kNoMaximum) {
            const uint32_t again = nfa_.add_state();
            nfa_.add_empty(from, again);
            nfa_.add_empty(emit_behind(node.parts[0], again), again);
            from = again;
        } else {
            for (uint32_t i = node.min; i < node.max; ++i) {
                nfa_.add_empty(from, to);
                from = emit_behind(node.parts[0], from);
            }
        }
        nfa_.add_empty(from, to);
    }

    const PatternParser& parser_;
    CharNfa nfa_;
};

}  // namespace

CharDfa compile_pattern(std::string_view pattern, std::string_view what) {
    return PatternCompiler(PatternParser(pattern, what), what).run();
}

}  // namespace colugo
