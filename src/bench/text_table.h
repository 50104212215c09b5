// A table for people, in Markdown's form.
#pragma once

#include <string>
#include <vector>

namespace colugo {

// Lines of equally many cells, the head first; columns are aligned to the right. Cells are shown as on_one_line has
// them.
std::string text_table(std::vector<std::vector<std::string>> lines);

}  // namespace colugo
