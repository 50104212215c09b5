// Standard output, where a command's result goes as soon as it is there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace colugo {

// A reader that goes away must show as a failed write, not end the program; and no file this program opens may take a
// standard stream's number.
void prepare_standard_streams();

// Writes and flushes. Returns false when nobody reads any more; throws io when it cannot be written for another reason.
bool write_output(std::string_view text);

// Writes to standard error. A diagnostic nobody can read changes nothing about the outcome.
void write_note(std::string_view text);

// "1 token", "2 tokens"
std::string count_text(uint64_t count, std::string_view noun);

}  // namespace colugo
