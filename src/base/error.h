// Faults. A user's, a file's or the network's fault is an Error, thrown where it is seen and turned into an exit code
// (cli) or an HTTP status (server) in exactly two places. A fault of ours is a failed COLUGO_CHECK.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace colugo {

enum class ErrorCode {
    invalid_argument,    // a flag, a request field or a prompt that cannot be accepted
    not_found,           // a file or a model that does not exist
    invalid_file,        // a file whose content contradicts its format, its sizes or its siblings
    unsupported,         // well-formed, but not something this program does
    resource_exhausted,  // does not fit: memory, context, disk
    io,                  // the system refused a read, write or map
};

std::string_view error_code_name(ErrorCode code);

// One clear sentence with the offending name, its value and what would be accepted.
class Error : public std::runtime_error {
 public:
    Error(ErrorCode code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
    ErrorCode code() const { return code_; }

 private:
    ErrorCode code_;
};

template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// Throws io with the reason errno gives: "cannot read /a/b: Permission denied".
[[noreturn]] void fail_errno(std::string_view action, std::string_view path);

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace colugo

// A broken invariant of our own: prints file and line, aborts. Stays on in release builds.
#define COLUGO_CHECK(condition) \
    ((condition) ? static_cast<void>(0) : ::colugo::check_failed(__FILE__, __LINE__, #condition))
