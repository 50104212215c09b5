#include "text/jinja_loop.h"

namespace colugo::jinja {

LoopObject::LoopObject(std::vector<Value> source, std::function<bool(const Value&)> accept, int nesting)
    : source_(std::move(source)), accept_(std::move(accept)), nesting_(nesting) {
    depth = 1;
    for (const Value& item : source_) depth = std::max(depth, item.depth() + 1);
}

std::optional<Value> LoopObject::pull() {
    while (position_ < source_.size()) {
        Value item = source_[position_++];
        if (!accept_ || accept_(item)) return item;
    }
    return std::nullopt;
}

bool LoopObject::advance() {
    std::optional<Value> item;
    if (!ahead_.empty()) {
        item = std::move(ahead_.front());
        ahead_.pop_front();
    } else {
        item = pull();
    }
    if (!item) return false;
    if (started_) ++index0_;
    started_ = true;
    before_ = std::move(current_);
    current_ = std::move(*item);
    return true;
}

void LoopObject::finish() {
    source_.clear();
    position_ = 0;
    ahead_.clear();
    accept_ = nullptr;
    render = nullptr;
    before_ = Value();
    current_ = Value();
    last_changed_.reset();
}

bool LoopObject::last() {
    return !next().has_value();
}

size_t LoopObject::length() {
    if (!accept_) return source_.size();
    while (std::optional<Value> item = pull()) ahead_.push_back(std::move(*item));
    return index0_ + 1 + ahead_.size();
}

std::optional<Value> LoopObject::previous() const {
    if (index0_ == 0) return std::nullopt;
    return before_;
}

std::optional<Value> LoopObject::next() {
    if (ahead_.empty()) {
        std::optional<Value> item = pull();
        if (!item) return std::nullopt;
        ahead_.push_back(std::move(*item));
    }
    return ahead_.front();
}

bool LoopObject::changed(Budget& budget, Value values) {
    if (last_changed_ && equals(budget, *last_changed_, values)) return false;
    last_changed_ = std::move(values);
    return true;
}

}  // namespace colugo::jinja
