// Which folder a model's name on the command line means.
#pragma once

#include <string>

namespace colugo {

// A model that comes with the program by its name ("nano"; "./nano" is a folder), else the folder itself. Shipped
// models lie in models/ of the source tree the program was built in, or in share/colugo/models beside the bin/ it was
// installed to. Throws not_found, io or invalid_argument when it is no folder.
std::string checkpoint_folder(const std::string& model);

}  // namespace colugo
