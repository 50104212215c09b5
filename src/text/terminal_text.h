// Text of others, fit for a terminal, which takes control characters for orders.
#pragma once

#include <string>
#include <string_view>

namespace colugo {

// A sentence that quotes a file, an argument or a server: line breaks and control characters (C0, DEL and, in UTF-8,
// C1) become \xNN, one for each byte.
std::string on_one_line(std::string_view sentence);

}  // namespace colugo
