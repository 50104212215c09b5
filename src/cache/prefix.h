// What a state in the cache is known by.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colugo {

// The tokens a state was computed from, and the scope they belong to: prefixes of two scopes have nothing in common,
// whatever their tokens. Borrows both.
struct Prefix {
    std::span<const int32_t> tokens;
    std::string_view scope = {};  // empty: of those that name none

    int64_t length() const { return std::ssize(tokens); }
    Prefix first(int64_t count) const { return {tokens.first(static_cast<size_t>(count)), scope}; }
};

// One that is kept.
struct OwnedPrefix {
    std::vector<int32_t> tokens = {};
    std::string scope = {};

    OwnedPrefix() = default;
    explicit OwnedPrefix(const Prefix& prefix)
        : tokens(prefix.tokens.begin(), prefix.tokens.end()), scope(prefix.scope) {}
    OwnedPrefix(std::vector<int32_t> of_tokens, std::string of_scope)
        : tokens(std::move(of_tokens)), scope(std::move(of_scope)) {}
    operator Prefix() const { return {tokens, scope}; }
    Prefix first(int64_t count) const { return Prefix(*this).first(count); }
};

}  // namespace colugo
