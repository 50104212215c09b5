// A tokenizer.json as read: the two long lists in flat form, all else as a JSON document.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace colugo {

struct TokenizerJson {
    struct VocabEntry {
        std::string token;
        int64_t id;
    };
    struct MergeEntry {
        std::string left;
        std::string right;
    };
    std::vector<VocabEntry> vocab;   // model.vocab where it is an object
    std::vector<MergeEntry> merges;  // model.merges where it is an array; an item is "left right" or [left, right]
    nlohmann::json document;         // the rest; where they were read into the lists, the two are true
};

// Throws invalid_file, naming the place, when `text` is not JSON or the two lists hold something else. `name` is what
// messages call the file.
TokenizerJson read_tokenizer_json(std::string_view text, const std::string& name);

}  // namespace colugo
