#include "cli/service_notify.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace colugo {

void notify_service(std::string_view state) {
    const char* const path = std::getenv("NOTIFY_SOCKET");
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
    const size_t length = std::strlen(path);
    if (length < 2 || length >= sizeof address.sun_path) return;
    std::memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = '\0';  // an abstract one
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return;
    ::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
    ::close(socket);
}

bool errors_go_to_journal() {
    const char* const stream = std::getenv("JOURNAL_STREAM");
    struct stat file = {};
    return stream != nullptr && ::fstat(STDERR_FILENO, &file) == 0 &&
           fmt::format("{}:{}", file.st_dev, file.st_ino) == stream;
}

}  // namespace colugo
