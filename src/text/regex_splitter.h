// Pieces by a pattern other than the family's, matched by PCRE2 with its own Unicode tables; U+180E is white space
// there, as it was before Unicode 6.3.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/function_ref.h"

namespace colugo {

// Used by Hugging Face's ByteLevel pre-tokenizer when use_regex is true.
inline constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class RegexSplitter {
 public:
    // Throws unsupported, naming the pattern, when PCRE2 does not accept it.
    explicit RegexSplitter(const std::string& pattern);
    ~RegexSplitter();
    RegexSplitter(RegexSplitter&&) noexcept;
    RegexSplitter& operator=(RegexSplitter&&) noexcept;

    // Calls on_piece for every match and for every stretch between matches, in order. `text` is UTF-8. Throws
    // resource_exhausted when a match takes PCRE2 beyond its limits. Safe from several threads.
    void split(std::string_view text, FunctionRef<void(std::string_view)> on_piece) const;

    // The Unicode version of the tables, "14.0.0".
    static std::string unicode_version();

 private:
    struct Code;
    std::unique_ptr<Code> code_;
    std::string pattern_;
};

}  // namespace colugo
