#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/regex_splitter.h"

#include <pcre2.h>

#include "base/error.h"
#include "text/utf8.h"

namespace colugo {
namespace {

template <auto Free>
struct Freed {
    template <typename T>
    void operator()(T* object) const {
        Free(object);
    }
};

std::string error_message(int code) {
    PCRE2_UCHAR buffer[256];
    const int length = pcre2_get_error_message(code, buffer, sizeof buffer);
    return length < 0 ? "unknown error"
                      : std::string(reinterpret_cast<const char*>(buffer), static_cast<size_t>(length));
}

}  // namespace

struct RegexSplitter::Code {
    std::unique_ptr<pcre2_code, Freed<pcre2_code_free>> compiled;
};

RegexSplitter::RegexSplitter(const std::string& pattern) : code_(std::make_unique<Code>()), pattern_(pattern) {
    int error = 0;
    PCRE2_SIZE position = 0;
    // \C matches a byte, and pieces would begin inside a character.
    code_->compiled.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                        PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &position, nullptr));
    if (code_->compiled == nullptr) {
        fail(ErrorCode::unsupported, "pre_tokenizer pattern \"{}\" is not accepted by PCRE2 at byte {}: {}", pattern,
             position, error_message(error));
    }
    // Without a JIT for this machine the interpreter serves.
    pcre2_jit_compile(code_->compiled.get(), PCRE2_JIT_COMPLETE);
}

RegexSplitter::~RegexSplitter() = default;
RegexSplitter::RegexSplitter(RegexSplitter&&) noexcept = default;
RegexSplitter& RegexSplitter::operator=(RegexSplitter&&) noexcept = default;

void RegexSplitter::split(std::string_view text, FunctionRef<void(std::string_view)> on_piece) const {
    const std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>> match(
        pcre2_match_data_create_from_pattern(code_->compiled.get(), nullptr));
    if (match == nullptr) fail(ErrorCode::resource_exhausted, "no memory for a regular expression match");
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    size_t piece_begin = 0;
    size_t search_from = 0;
    while (search_from < text.size()) {
        uint32_t options = PCRE2_NO_UTF_CHECK;
        int count =
            pcre2_match(code_->compiled.get(), subject, text.size(), search_from, options, match.get(), nullptr);
        if (count == PCRE2_ERROR_JIT_STACKLIMIT) {
            options |= PCRE2_NO_JIT;
            count =
                pcre2_match(code_->compiled.get(), subject, text.size(), search_from, options, match.get(), nullptr);
        }
        if (count == PCRE2_ERROR_NOMATCH) break;
        if (count < 0) {
            fail(ErrorCode::resource_exhausted, "pre_tokenizer pattern \"{}\" cannot be matched at byte {}: {}",
                 pattern_, search_from, error_message(count));
        }
        const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match.get());
        const size_t begin = bounds[0];
        const size_t end = bounds[1];
        if (piece_begin < begin) on_piece(text.substr(piece_begin, begin - piece_begin));
        if (begin < end) on_piece(text.substr(begin, end - begin));
        piece_begin = end;
        // An empty match cuts the text, and the search goes on one character later.
        search_from = end;
        if (begin == end && end < text.size()) search_from += decode_valid_utf8(text.data() + end).length;
    }
    if (piece_begin < text.size()) on_piece(text.substr(piece_begin));
}

std::string RegexSplitter::unicode_version() {
    char version[64] = {};
    pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version);
    return version;
}

}  // namespace colugo
