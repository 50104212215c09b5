// A tokenizer.json of any bytes: it is refused, or makes a tokenizer that gives every text back. Input: the file, a
// zero byte, and a text; a file that begins with '+' is that of the tests with these members put over it.
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "fuzz/fuzz_input.h"
#include "text/normalizer.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace colugo::fuzz {
namespace {

using Json = nlohmann::ordered_json;

// The whole is too long to be changed byte by byte.
std::string patched(std::string_view members) {
    static const Json golden = Json::parse(source_file("tests/golden/text/tokenizer.json"));
    const Json patch = Json::parse(members, nullptr, false);
    if (!patch.is_object()) return std::string(members);
    Json document = golden;
    for (const auto& [key, value] : patch.items()) {
        if (key == "model" && value.is_object()) {
            for (const auto& [part, inner] : value.items()) {
                if (part == "vocab" && inner.is_object()) {
                    document["model"]["vocab"].update(inner);
                } else {
                    document["model"][part] = inner;
                }
            }
        } else {
            document[key] = value;
        }
    }
    return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void check(const Tokenizer& tokenizer, std::string_view text) {
    for (const auto control : {ControlTokens::recognised, ControlTokens::plain_text}) {
        std::string bytes;
        for (const int32_t id : tokenizer.encode(text, control)) {
            COLUGO_CHECK(tokenizer.has_token(id) && id < tokenizer.id_limit());
            bytes += tokenizer.token_bytes(id);
        }
        std::string storage, nfc_of_bytes, nfc_of_text;
        const std::string_view valid = to_valid_utf8(text, storage);
        COLUGO_CHECK(bytes == valid || to_nfc(bytes, nfc_of_bytes) == to_nfc(valid, nfc_of_text));
    }
}

}  // namespace
}  // namespace colugo::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace colugo;
    fuzz::FuzzInput input(data, size);
    const std::string_view file = input.text();
    try {
        const bool is_patch = file.starts_with('+');
        const Tokenizer tokenizer =
            Tokenizer::from_json(is_patch ? fuzz::patched(file.substr(1)) : std::string(file), "tokenizer.json");
        fuzz::check(tokenizer, input.rest());
    } catch (const Error& error) {
        COLUGO_CHECK(error.code() != ErrorCode::not_found && error.code() != ErrorCode::io);
    }
    return 0;
}
