// A table for people, in Markdown's form.
#pragma once

#include <string>
#include <vector>

namespace colugo {

// Lines of equally many cells, the head first; columns are aligned to the right.
std::string text_table(const std::vector<std::vector<std::string>>& lines);

}  // namespace colugo
