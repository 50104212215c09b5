// Files that come with the program: of the source tree it was built in, or of where it was installed.
#pragma once

#include <optional>
#include <string>

namespace colugo {

// `path` ("models/nano/config.json") below share/colugo beside the bin/ that the program was installed to, or below a
// folder above the program, as in a build tree. Absent where there is no such file.
std::optional<std::string> shipped_file(const std::string& path);

// share/colugo beside the bin/ that the program was installed to, there or not.
std::string shipped_folder();

}  // namespace colugo
