// Where the tokens that calibrate a quantization come from: conversations in a JSONL file, or the ones built in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model_text.h"

namespace colugo {

struct CalibrationText {
    std::string name;                             // the file, or what stands for the built-in set
    int64_t records = 0;                          // there are
    std::vector<std::vector<int32_t>> sequences;  // the chosen ones, at most longest tokens each
};

// path: a file with {"messages": [...], "tools": [...]} on each line, or empty for the built-in conversations.
// `samples` of them, evenly over the file, rendered by the checkpoint's template and cut to `longest` tokens. Throws
// not_found, or invalid_file naming the line that cannot be read or rendered.
CalibrationText read_calibration(const std::string& path, const ModelText& text, const ModelConfig& config, int samples,
                                 int longest);

}  // namespace colugo
