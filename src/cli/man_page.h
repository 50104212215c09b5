// The manual page, colugo(1), in man's macros.
#pragma once

#include <string>

#include "cli/option_table.h"

namespace colugo {

std::string man_page(const CommandRow& table);

}  // namespace colugo
