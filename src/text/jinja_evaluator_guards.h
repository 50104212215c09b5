// What the evaluator must undo when it leaves a block, also by an exception.
#pragma once

#include "text/jinja_evaluator.h"
#include "text/jinja_fault.h"

namespace colugo::jinja {

class Evaluator::DepthGuard {
 public:
    explicit DepthGuard(Evaluator& evaluator) : evaluator_(evaluator) {
        if (evaluator_.depth_ >= evaluator_.limits().depth) {
            limit_fault("the template runs more than {} levels deep", evaluator_.limits().depth);
        }
        ++evaluator_.depth_;
    }
    ~DepthGuard() { --evaluator_.depth_; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;

 private:
    Evaluator& evaluator_;
};

// A scope inside another; kept by the evaluator afterwards when a macro was defined in it.
class Evaluator::ScopeGuard {
 public:
    ScopeGuard(Evaluator& evaluator, Scope& outer) : evaluator_(evaluator), scope_(std::make_unique<Scope>(&outer)) {}
    ~ScopeGuard() {
        if (scope_->captured) evaluator_.kept_scopes_.push_back(std::move(scope_));
    }
    ScopeGuard(const ScopeGuard&) = delete;
    ScopeGuard& operator=(const ScopeGuard&) = delete;
    Scope& scope() { return *scope_; }

 private:
    Evaluator& evaluator_;
    std::unique_ptr<Scope> scope_;
};

// Sends the output elsewhere while it lives.
class Evaluator::Capture {
 public:
    explicit Capture(Evaluator& evaluator) : evaluator_(evaluator), outer_(evaluator.out_) { evaluator_.out_ = &text_; }
    ~Capture() { evaluator_.out_ = outer_; }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    Text take() { return std::move(text_); }

 private:
    Evaluator& evaluator_;
    Text* outer_;
    Text text_;
};

// Empties a loop when it ends: a template may keep `loop`, and loop.changed(loop) would tie it to itself.
class LoopFinisher {
 public:
    explicit LoopFinisher(LoopObject& loop) : loop_(loop) {}
    ~LoopFinisher() { loop_.finish(); }
    LoopFinisher(const LoopFinisher&) = delete;
    LoopFinisher& operator=(const LoopFinisher&) = delete;

 private:
    LoopObject& loop_;
};

}  // namespace colugo::jinja
