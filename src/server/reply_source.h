// Where replies come from: an engine, or a script that stands for one.
#pragma once

#include <future>
#include <memory>

#include "engine/engine.h"

namespace colugo {

class ReplySource {
 public:
    virtual ~ReplySource() = default;
    // As Engine has them; from any thread.
    virtual RequestId submit(Request request, std::shared_ptr<RequestListener> listener) = 0;
    virtual void cancel(RequestId id) = 0;
    virtual std::future<CacheManager::Lookup> look_up(OwnedPrefix prompt) = 0;
    virtual EngineMetrics metrics() const = 0;
};

class EngineSource : public ReplySource {
 public:
    // Runs the engine while it lives.
    explicit EngineSource(Engine& engine) : engine_(engine), thread_(engine) {}
    RequestId submit(Request request, std::shared_ptr<RequestListener> listener) override {
        return engine_.submit(std::move(request), std::move(listener));
    }
    void cancel(RequestId id) override { engine_.cancel(id); }
    std::future<CacheManager::Lookup> look_up(OwnedPrefix prompt) override {
        return engine_.look_up(std::move(prompt));
    }
    EngineMetrics metrics() const override { return engine_.metrics(); }

 private:
    Engine& engine_;
    EngineThread thread_;
};

}  // namespace colugo
