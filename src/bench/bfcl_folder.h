// Where the data of BFCL are on this machine.
#pragma once

#include <string>

namespace colugo {

// The folder of the data. `given`: that folder, or one it lies in as Python installs it (a virtual environment, a
// site-packages folder); empty: the active environment ($VIRTUAL_ENV, $CONDA_PREFIX), the user's own packages, the
// system's, in this order; the latest Python's first. Throws not_found, saying where it looked.
std::string find_bfcl_data(const std::string& given);

}  // namespace colugo
