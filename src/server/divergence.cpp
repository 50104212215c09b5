#include "server/divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "text/compact_json.h"
#include "text/utf8.h"

namespace colugo {

namespace {

constexpr size_t kShownBytes = 48;
// In front of the place, since a date parts from another one at its end.
constexpr int64_t kTokensBefore = 12;
// What all prompts begin with, a template's first words, is no more than this.
constexpr int64_t kLeastShared = 32;

std::string text_of(const Tokenizer& tokenizer, std::span<const int32_t> tokens) {
    std::string text;
    for (const int32_t token : tokens) text += tokenizer.token_bytes(token);
    return text;
}

std::string in_quotes(const std::string& text) {
    return '"' + json_escaped(text) + '"';
}

}  // namespace

std::string_view changing_thing(std::string_view text) {
    static const std::pair<const char*, std::regex> kThings[] = {
        {"a uuid", std::regex("[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")},
        {"a date",
         std::regex("(19|20)[0-9]{2}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[./][0-9]{1,2}[./](19|20)[0-9]{2}")},
        {"a clock", std::regex("[0-2]?[0-9]:[0-5][0-9](:[0-5][0-9])?")},
        {"a hash", std::regex("[0-9a-f]{12,64}")},
    };
    for (const auto& [name, pattern] : kThings) {
        if (std::regex_search(text.begin(), text.end(), pattern)) return name;
    }
    return {};
}

std::optional<Divergence> find_divergence(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                                          int64_t matched) {
    if (matched <= 0 || matched >= std::ssize(prompt)) return std::nullopt;
    const std::string before = text_of(tokenizer, prompt.first(static_cast<size_t>(matched)));
    const auto near_begin = static_cast<size_t>(std::max<int64_t>(matched - kTokensBefore, 0));
    const std::string near = text_of(tokenizer, prompt.subspan(near_begin, static_cast<size_t>(matched) - near_begin));
    const std::string behind =
        text_of(tokenizer, prompt.subspan(static_cast<size_t>(matched),
                                          std::min(kShownBytes, prompt.size() - static_cast<size_t>(matched))));
    const std::string shown = behind.substr(0, kShownBytes);
    std::string storage;
    return Divergence{.token = matched,
                      .byte = before.size(),
                      .text = std::string(to_valid_utf8(shown, storage)),
                      .thing = changing_thing(near + shown)};
}

std::string divergence_note(const Tokenizer& tokenizer, std::span<const int32_t> prompt, int64_t matched) {
    const std::optional<Divergence> found = find_divergence(tokenizer, prompt, matched);
    if (!found || matched < kLeastShared) return {};
    std::string note = fmt::format("parts from what was read at token {}, byte {}: {}", found->token, found->byte,
                                   in_quotes(found->text));
    if (!found->thing.empty()) note += fmt::format(", by {} as it seems", found->thing);
    return note;
}

}  // namespace colugo
