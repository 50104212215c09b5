// A server at work: threads that do the network's part, until it is told to end.
#pragma once

#include <functional>

#include "server/api_server.h"
#include "server/http_server.h"

namespace colugo {

struct ServingOptions {
    std::string host = "127.0.0.1";
    uint16_t port = 8080;  // 0: any free one
    HttpLimits limits;
    int network_threads = 2;
    std::chrono::seconds grace{30};  // for what is being answered when the server ends
};

// Serves until should_stop() is true, then takes no more requests, lets replies come to their end as long as the grace
// lasts, and ends the others with an error; a second should_stop() behind the first (`insists`) ends the grace.
// listening: called once with the port, when requests are taken. Throws what HttpServer throws.
void serve(ApiServer& api, const ServingOptions& options, const std::function<void(uint16_t port)>& listening,
           const std::function<bool()>& should_stop, const std::function<bool()>& insists);

}  // namespace colugo
