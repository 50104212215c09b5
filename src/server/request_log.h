// Lines of the server's log about requests: one for each reply, and one for each request that got none.
#pragma once

#include <string>
#include <string_view>

#include "engine/request.h"
#include "server/http_exchange.h"

namespace colugo {

// In place of a status, as in nginx's log: the client left, or took nothing for too long.
inline constexpr int kClientLeft = 499;

// end: how the reply ended. seconds: from the request's arrival.
std::string reply_line(std::string_view path, std::string_view id, const RequestResult& result, std::string_view end,
                       double seconds);

// "404 GET /v1/responses: there is no ...". In valid UTF-8, and of at most about 2,000 bytes, whatever was sent; what
// is not known of the request (a path, a method) is left out.
std::string failure_line(const HttpRequest& request, int status, std::string_view reason);

// Text of others in valid UTF-8: its first `most` bytes, and "..." where there are more.
std::string clipped(std::string_view text, size_t most);

}  // namespace colugo
