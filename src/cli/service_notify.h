// What the system's service manager hears: that the program is ready, or ends (sd_notify(3)); and whether it listens.
#pragma once

#include <string_view>

namespace colugo {

// Sends a state like "READY=1" to the socket that NOTIFY_SOCKET names; nothing where there is none.
void notify_service(std::string_view state);

// Whether standard error is the journal's, which it says in JOURNAL_STREAM (systemd.exec(5)).
bool errors_go_to_journal();

}  // namespace colugo
