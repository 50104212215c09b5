// A small set of conversations with code, tools and prose that calibrates where no file is given: one JSON object on a
// line, as in a calibration file. Written for this project.
#pragma once

#include <string_view>

namespace colugo {

extern const std::string_view kBuiltinConversations;

}  // namespace colugo
