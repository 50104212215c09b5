// Text that whoever calls the program hands over: standard input, or a file, in whose place may be a pipe, as the
// shell's <(...) makes one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace colugo {

// To its end. Throws io, and Interrupted.
std::string read_standard_input();

// Absent where there is no such file. Throws io, invalid_file where it has more than `max_bytes`, and Interrupted.
std::optional<std::string> read_input_file(const std::string& path, uint64_t max_bytes);

// A file's API key, without the blanks behind it. As read_input_file; throws not_found where there is no such file.
std::string read_key_file(const std::string& path);

}  // namespace colugo
