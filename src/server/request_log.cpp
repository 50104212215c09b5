#include "server/request_log.h"

#include <fmt/format.h>

#include "text/utf8.h"

namespace colugo {

namespace {

// Bytes that are shown.
constexpr size_t kMostMethod = 16, kMostPath = 200, kMostReason = 400;

std::string after_blank(std::string_view text, size_t most) {
    return text.empty() ? std::string() : fmt::format(" {}", clipped(text, most));
}

}  // namespace

std::string clipped(std::string_view text, size_t most) {
    std::string out;
    Utf8Stream characters;
    characters.feed(text.substr(0, most), out);
    if (text.size() > most) return out + "...";
    characters.flush(out);
    return out;
}

std::string reply_line(std::string_view path, std::string_view id, const RequestResult& result, std::string_view end,
                       double seconds) {
    return fmt::format("{} {}: {} prompt tokens, {} cached; {} new at {:.1f} tok/s; {}; {:.2f} s", path, id,
                       result.prompt_tokens, result.cached_tokens, result.generated_tokens,
                       result.generated_tokens_per_second(), end, seconds);
}

std::string failure_line(const HttpRequest& request, int status, std::string_view reason) {
    return fmt::format("{}{}{}: {}", status, after_blank(request.method, kMostMethod),
                       after_blank(request.path, kMostPath), clipped(reason, kMostReason));
}

}  // namespace colugo
