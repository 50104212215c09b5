// What the system's service manager hears: that the program is ready, or ends (sd_notify(3)).
#pragma once

#include <string_view>

namespace colugo {

// Sends a state like "READY=1" to the socket that NOTIFY_SOCKET names; nothing where there is none.
void notify_service(std::string_view state);

}  // namespace colugo
