// What a client is told when its request cannot be served: a status, and a body in the shape of OpenAI's API.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/error.h"

namespace colugo {

class ApiError : public std::runtime_error {
 public:
    // code and param: empty for none. param: the path of the field at fault, "tools[0].function.name".
    ApiError(int status, std::string code, std::string param, const std::string& sentence)
        : std::runtime_error(sentence), status_(status), code_(std::move(code)), param_(std::move(param)) {}

    int status() const { return status_; }
    // Follows from the status: invalid_request_error, authentication_error, ...
    const char* type() const;
    const std::string& code() const { return code_; }
    const std::string& param() const { return param_; }
    // For the header Retry-After.
    std::optional<int> retry_after_seconds() const;

    // {"error": {"message", "type", "param", "code"}}, in valid Unicode.
    nlohmann::ordered_json body() const;

 private:
    int status_;
    std::string code_;
    std::string param_;
};

// What an Error of the libraries below is to a client: 400 for what the request asks for, 404, 503 where there is no
// room now, 500 where files or the system are at fault. param: the field it is about, or empty.
ApiError api_error(const Error& error, const std::string& param = "");

// Throws ApiError: 400 with the code context_length_exceeded and both counts, in words that agents look for, where the
// prompt leaves no room for `new_tokens` (0 or 1) in the context.
void check_context_length(int64_t prompt_tokens, int64_t new_tokens, int64_t context_size);

// Throws ApiError with status 400.
template <typename... Args>
[[noreturn]] void refuse(std::string code, std::string param, fmt::format_string<Args...> format, Args&&... args) {
    throw ApiError(400, std::move(code), std::move(param), fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace colugo
