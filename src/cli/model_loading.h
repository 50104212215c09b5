// A model loaded in front of a user: with a bar, with what there is to tell, and until Ctrl-C.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/loaded_model.h"

namespace colugo {

// Each sentence as a note on standard error.
void print_notices(const std::vector<std::string>& notices);

// Throws Interrupted, and what LoadedModel throws.
std::unique_ptr<LoadedModel> load_model(const LaunchOptions& options);

}  // namespace colugo
