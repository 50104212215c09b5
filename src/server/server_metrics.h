// What Prometheus reads of a server: counters of its engine, and histograms of the requests that ended. Names are
// vLLM's where the meaning is the same, with colugo's prefix.
#pragma once

#include <memory>
#include <string>

#include "server/reply_source.h"

namespace colugo {

class ServerMetrics {
 public:
    // Both outlive it. model: a label.
    ServerMetrics(const ReplySource& source, std::string model);
    ~ServerMetrics();

    // A request has ended. seconds: from its arrival, its text's preparation included. From any thread.
    void record(const RequestResult& result, const std::string& finish_reason, double seconds);
    // One was given up by its client.
    void record_abort();
    // The text format 0.0.4.
    std::string text() const;

 private:
    struct Series;
    std::unique_ptr<Series> series_;
};

}  // namespace colugo
