// The page that GET / shows: a chat and the server's figures (index.html).
#pragma once

#include <string_view>

namespace colugo {

std::string_view index_page();

}  // namespace colugo
