#include "base/error.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace colugo {

std::string_view error_code_name(ErrorCode code) {
    switch (code) {
        case ErrorCode::invalid_argument:
            return "invalid_argument";
        case ErrorCode::not_found:
            return "not_found";
        case ErrorCode::invalid_file:
            return "invalid_file";
        case ErrorCode::unsupported:
            return "unsupported";
        case ErrorCode::resource_exhausted:
            return "resource_exhausted";
        case ErrorCode::io:
            return "io";
    }
    return "unknown";
}

void fail_errno(std::string_view action, std::string_view path) {
    const int reason = errno;
    const ErrorCode code = reason == ENOENT || reason == ENOTDIR ? ErrorCode::not_found : ErrorCode::io;
    fail(code, "cannot {} {}: {}", action, path, std::strerror(reason));
}

void check_failed(const char* file, int line, const char* condition) {
    std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, condition);
    std::abort();
}

}  // namespace colugo
