// The small tokenizer of tests/golden/text and what the Hugging Face package makes of texts with it.
#pragma once

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "text/tokenizer.h"

namespace colugo {

inline std::string read_golden(const std::string& name) {
    std::ifstream file(COLUGO_SOURCE_DIR "/tests/golden/text/" + name, std::ios::binary);
    if (!file) throw std::runtime_error("no golden file " + name);
    return {std::istreambuf_iterator<char>(file), {}};
}

// "encodings" or "decodings".
inline nlohmann::json golden_cases(const char* kind) {
    nlohmann::json cases = nlohmann::json::parse(read_golden("encodings.json")).at(kind);
    if (cases.empty()) throw std::runtime_error("no golden cases");
    return cases;
}

inline nlohmann::json golden_document() {
    return nlohmann::json::parse(read_golden("tokenizer.json"));
}

inline Tokenizer tokenizer_of(const nlohmann::json& document) {
    return Tokenizer::from_json(document.dump(), "tokenizer.json");
}

inline const Tokenizer& golden_tokenizer() {
    static const Tokenizer tokenizer = Tokenizer::from_file(COLUGO_SOURCE_DIR "/tests/golden/text/tokenizer.json");
    return tokenizer;
}

inline std::string repeated(std::string_view text, size_t count) {
    std::string result;
    result.reserve(text.size() * count);
    for (size_t i = 0; i < count; ++i) result += text;
    return result;
}

}  // namespace colugo
