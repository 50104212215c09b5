// The variable `loop` of a for statement, which is also the iteration itself: items are pulled one at a time, because
// the loop's condition may depend on what the body did before, and because jinja2 looks ahead by one item only when
// asked.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "text/jinja_value.h"

namespace colugo::jinja {

class LoopObject : public Object {
 public:
    // `accept` is the loop's condition; empty without one. `render` runs the loop's body over other items (recursive
    // loops); empty when the loop is not recursive.
    LoopObject(std::vector<Value> source, std::function<bool(const Value&)> accept, int nesting);

    bool advance();  // to the next item; false at the end
    const Value& current() const { return current_; }
    void finish();  // drops the items: what outlives the loop is only its counters

    size_t index0() const { return index0_; }
    bool last();
    size_t length();
    int nesting() const { return nesting_; }  // of recursive calls, 0 outside
    std::optional<Value> previous() const;
    std::optional<Value> next();
    bool changed(Budget& budget, Value values);  // against the values of the last call

    std::function<Value(const Value& iterable)> render;

 private:
    std::optional<Value> pull();

    std::vector<Value> source_;
    size_t position_ = 0;
    std::function<bool(const Value&)> accept_;
    std::deque<Value> ahead_;
    Value current_;
    Value before_;
    std::optional<Value> last_changed_;
    size_t index0_ = 0;
    bool started_ = false;
    int nesting_;
};

}  // namespace colugo::jinja
