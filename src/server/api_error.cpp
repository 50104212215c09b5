#include "server/api_error.h"

#include <nlohmann/json.hpp>

#include "text/utf8.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

std::string valid_text(const std::string& text) {
    std::string storage;
    return std::string(to_valid_utf8(text, storage));
}

}  // namespace

const char* ApiError::type() const {
    switch (status_) {
        case 401:
            return "authentication_error";
        case 403:
            return "permission_error";
        case 429:
            return "rate_limit_error";
        default:
            return status_ < 500 ? "invalid_request_error" : "server_error";
    }
}

std::optional<int> ApiError::retry_after_seconds() const {
    return status_ == 429 || status_ == 503 ? std::optional(1) : std::nullopt;
}

ordered_json ApiError::body() const {
    const auto or_null = [](const std::string& text) {
        return text.empty() ? ordered_json(nullptr) : ordered_json(valid_text(text));
    };
    return {
        {"error",
         {{"message", valid_text(what())}, {"type", type()}, {"param", or_null(param_)}, {"code", or_null(code_)}}}};
}

ApiError api_error(const Error& error, const std::string& param) {
    switch (error.code()) {
        case ErrorCode::invalid_argument:
            return {400, "invalid_value", param, error.what()};
        case ErrorCode::unsupported:
            return {400, "unsupported_value", param, error.what()};
        case ErrorCode::not_found:
            return {404, "not_found", param, error.what()};
        case ErrorCode::resource_exhausted:
            return {503, "resource_exhausted", param, error.what()};
        case ErrorCode::invalid_file:
        case ErrorCode::io:
            break;
    }
    return {500, std::string(error_code_name(error.code())), param, error.what()};
}

void check_context_length(int64_t prompt_tokens, int64_t new_tokens, int64_t context_size) {
    if (prompt_tokens + new_tokens <= context_size) return;
    refuse("context_length_exceeded", "",
           "This model's maximum context length is {} tokens. However, the prompt has {} tokens, which leaves no room "
           "for a reply. Please reduce the length of the prompt.",
           context_size, prompt_tokens);
}

}  // namespace colugo
