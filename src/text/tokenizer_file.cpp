#include "text/tokenizer_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/error.h"
#include "text/byte_alphabet.h"
#include "text/pre_tokenizer.h"
#include "text/regex_splitter.h"
#include "text/token_table.h"
#include "text/tokenizer_json.h"

namespace colugo {
namespace {

using Json = nlohmann::json;

// Bounds the tables indexed by id; the largest vocabularies published have less than 2^20 tokens.
constexpr int64_t kIdLimit = int64_t{1} << 24;

const Json& member(const Json& object, const char* key) {
    static const Json kNull;
    const auto found = object.find(key);
    return found == object.end() ? kNull : *found;
}

std::string shown(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 200) text = text.substr(0, 200) + "...";
    return text;
}

class Parser {
 public:
    Parser(std::string_view text, const std::string& name) : name_(name), json_(read_tokenizer_json(text, name)) {}

    TokenizerFile parse() {
        if (!json_.document.is_object()) fail(ErrorCode::invalid_file, "{}: not a JSON object", name_);
        check_version();
        parse_model_options();
        parse_vocab();
        parse_merges();
        parse_added_tokens();
        parse_normalizer();
        parse_pre_tokenizer();
        check_decoder();
        check_post_processor();
        note_ignored("truncation");
        note_ignored("padding");
        return std::move(file_);
    }

 private:
    template <typename... Args>
    [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
        fail(ErrorCode::unsupported, "{}: {}", name_, fmt::format(format, std::forward<Args>(args)...));
    }
    template <typename... Args>
    [[noreturn]] void invalid(fmt::format_string<Args...> format, Args&&... args) const {
        fail(ErrorCode::invalid_file, "{}: {}", name_, fmt::format(format, std::forward<Args>(args)...));
    }

    const Json& root(const char* key) const { return member(json_.document, key); }

    // The "type" of a component; empty if there is no component.
    std::string type_of(const Json& component, const char* what) const {
        if (component.is_null()) return {};
        const Json& type = component.is_object() ? member(component, "type") : component;
        if (!component.is_object() || !type.is_string()) invalid("{} has no type: {}", what, shown(component));
        return type.get<std::string>();
    }

    bool flag(const Json& object, const char* key, const std::string& where, bool absent) const {
        const Json& value = member(object, key);
        if (value.is_null()) return absent;
        if (!value.is_boolean()) invalid("{}.{} has to be true or false, not {}", where, key, shown(value));
        return value.get<bool>();
    }

    void check_version() const {
        const Json& version = root("version");
        if (!version.is_null() && version != "1.0") refuse("version {}; accepted is \"1.0\"", shown(version));
    }

    void parse_model_options() {
        const Json& model = root("model");
        if (model.is_null()) invalid("there is no model");
        // Files of the first releases leave the type out.
        const std::string type = model.is_object() && !model.contains("type") ? "BPE" : type_of(model, "model");
        if (type != "BPE") refuse("model type \"{}\"; accepted is BPE", type);
        const auto neutral = [](const Json& value) {
            return value.is_null() || value == false || value == "" || (value.is_number() && value == 0);
        };
        for (const char* key :
             {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback"}) {
            if (!neutral(member(model, key))) refuse("model.{} {}; accepted is none", key, shown(member(model, key)));
        }
        file_.ignore_merges = flag(model, "ignore_merges", "model", false);
    }

    int32_t checked_id(int64_t id, const std::string& token) const {
        if (id < 0 || id >= kIdLimit) invalid("token \"{}\" has id {}, outside [0, {})", token, id, kIdLimit);
        return static_cast<int32_t>(id);
    }

    void parse_vocab() {
        if (member(root("model"), "vocab") != true) invalid("model.vocab has to be an object");
        file_.byte_tokens.fill(-1);
        file_.tokens.reserve(json_.vocab.size());
        name_index_ = WordIndex(json_.vocab.size());
        for (const auto& [name, number] : json_.vocab) {
            const int32_t id = checked_id(number, name);
            if (names_.has(id)) invalid("tokens \"{}\" and \"{}\" both have id {}", names_.bytes(id), name, id);
            if (name_index_.find(names_, name) >= 0) invalid("token \"{}\" is in model.vocab twice", name);
            names_.set(id, name);
            name_index_.insert(names_, id);
            std::optional<std::string> bytes = bytes_of_alphabet(name);
            const bool encodable = bytes.has_value();
            file_.tokens.push_back({id, encodable ? std::move(*bytes) : name, encodable});
            const std::string& kept = file_.tokens.back().bytes;
            if (encodable && kept.size() == 1) file_.byte_tokens[static_cast<unsigned char>(kept[0])] = id;
        }
        for (size_t byte = 0; byte < 256; ++byte) {
            const bool in_utf8 = byte < 0xC0 || (byte >= 0xC2 && byte < 0xF5);
            if (in_utf8 && file_.byte_tokens[byte] < 0) invalid("model.vocab has no token for byte 0x{:02X}", byte);
        }
        for (TokenizerFile::Token& token : file_.tokens) {
            token.encodable = token.encodable && std::all_of(token.bytes.begin(), token.bytes.end(), [&](char byte) {
                                  return file_.byte_tokens[static_cast<unsigned char>(byte)] >= 0;
                              });
        }
    }

    void parse_merges() {
        if (member(root("model"), "merges") != true) invalid("model.merges has to be an array");
        file_.merges.reserve(json_.merges.size());
        std::string joined;
        for (size_t rank = 0; rank < json_.merges.size(); ++rank) {
            const auto& [left, right] = json_.merges[rank];
            joined.assign(left).append(right);
            const auto id = [&, &left = left, &right = right](const std::string& token) {
                const int32_t found = name_index_.find(names_, token);
                if (found < 0) {
                    invalid("model.merges[{}] (\"{}\", \"{}\"): \"{}\" is not in model.vocab", rank, left, right,
                            token);
                }
                return found;
            };
            file_.merges.push_back({id(left), id(right), id(joined)});
        }
    }

    void parse_added_tokens() {
        const Json& added_tokens = root("added_tokens");
        if (added_tokens.is_null()) return;
        if (!added_tokens.is_array()) invalid("added_tokens has to be an array");
        std::unordered_set<std::string> contents;
        for (size_t i = 0; i < added_tokens.size(); ++i) {
            const std::string where = fmt::format("added_tokens[{}]", i);
            TokenizerFile::AddedToken token = parse_added_token(added_tokens[i], where);
            if (!contents.insert(token.content).second) invalid("{}: \"{}\" is there twice", where, token.content);
            file_.added_tokens.push_back(std::move(token));
        }
    }

    TokenizerFile::AddedToken parse_added_token(const Json& entry, const std::string& where) {
        if (!entry.is_object()) invalid("{} has to be an object", where);
        const Json& content = member(entry, "content");
        const Json& id = member(entry, "id");
        if (!content.is_string() || content == "") invalid("{}.content has to be a string that is not empty", where);
        if (!id.is_number_integer()) invalid("{}.id has to be an integer, not {}", where, shown(id));
        TokenizerFile::AddedToken token{checked_id(id.get<int64_t>(), content.get<std::string>()),
                                        content.get<std::string>(), flag(entry, "special", where, false),
                                        flag(entry, "normalized", where, true)};
        for (const char* key : {"single_word", "lstrip", "rstrip"}) {
            if (flag(entry, key, where, false))
                refuse("{} (\"{}\") has {}; accepted is false", where, token.content, key);
        }
        if (const int32_t in_model = name_index_.find(names_, token.content); in_model >= 0) {
            if (in_model != token.id) {
                invalid("{} (\"{}\") has id {}, in model.vocab it has {}", where, token.content, token.id, in_model);
            }
        } else {
            if (names_.has(token.id)) {
                invalid("{}: \"{}\" and \"{}\" both have id {}", where, names_.bytes(token.id), token.content,
                        token.id);
            }
            names_.set(token.id, token.content);
        }
        return token;
    }

    void parse_normalizer() {
        const std::string type = type_of(root("normalizer"), "normalizer");
        if (!type.empty() && type != "NFC") refuse("normalizer \"{}\"; accepted is NFC or none", type);
        file_.nfc = type == "NFC";
    }

    // Accepted: Split by a regular expression and then ByteLevel without one, or ByteLevel with its own.
    void parse_pre_tokenizer() {
        const Json& pre_tokenizer = root("pre_tokenizer");
        const std::string type = type_of(pre_tokenizer, "pre_tokenizer");
        if (type == "ByteLevel") {
            if (!check_byte_level(pre_tokenizer)) refuse("pre_tokenizer ByteLevel alone needs use_regex");
            split_pattern_ = kByteLevelPattern;
        } else if (type == "Sequence") {
            const Json& steps = member(pre_tokenizer, "pretokenizers");
            if (!steps.is_array()) invalid("pre_tokenizer.pretokenizers has to be an array");
            std::string names;
            for (const Json& step : steps) names += (names.empty() ? "" : ", ") + type_of(step, "a pre_tokenizer");
            if (names != "Split, ByteLevel")
                refuse("pre_tokenizer Sequence [{}]; accepted is [Split, ByteLevel]", names);
            parse_split(steps[0]);
            if (check_byte_level(steps[1]))
                refuse("pre_tokenizer ByteLevel after Split has use_regex; accepted is false");
        } else {
            refuse("pre_tokenizer \"{}\"; accepted is Sequence [Split, ByteLevel] or ByteLevel", type);
        }
        if (split_pattern_ != kFamilyPattern) make_splitter();
    }

    void make_splitter() {
        try {
            file_.splitter = std::make_unique<RegexSplitter>(split_pattern_);
        } catch (const Error& error) {
            refuse("{}", error.what());
        }
        file_.notices.push_back(fmt::format(
            "{}: the pre-tokenizer pattern is not the one this program has code for; it is matched by PCRE2 with "
            "Unicode {}: U+180E and characters newer than that may be cut differently than in training",
            name_, RegexSplitter::unicode_version()));
    }

    void parse_split(const Json& split) {
        const Json& pattern = member(split, "pattern");
        const Json& regex = pattern.is_object() ? member(pattern, "Regex") : pattern;
        if (!pattern.is_object() || !regex.is_string()) {
            refuse("pre_tokenizer Split pattern {}; accepted is a Regex", shown(pattern));
        }
        const Json& behavior = member(split, "behavior");
        if (behavior != "Isolated") refuse("pre_tokenizer Split behavior {}; accepted is Isolated", shown(behavior));
        if (flag(split, "invert", "pre_tokenizer Split", false))
            refuse("pre_tokenizer Split invert; accepted is false");
        split_pattern_ = regex.get<std::string>();
    }

    // Its use_regex.
    bool check_byte_level(const Json& byte_level) const {
        if (flag(byte_level, "add_prefix_space", "pre_tokenizer ByteLevel", true)) {
            refuse("pre_tokenizer ByteLevel has add_prefix_space; accepted is false");
        }
        return flag(byte_level, "use_regex", "pre_tokenizer ByteLevel", true);
    }

    void check_decoder() const {
        const std::string type = type_of(root("decoder"), "decoder");
        if (type != "ByteLevel") refuse("decoder \"{}\"; accepted is ByteLevel", type);
    }

    // ByteLevel moves offsets only; anything else would add tokens.
    void check_post_processor() const {
        const std::string type = type_of(root("post_processor"), "post_processor");
        if (!type.empty() && type != "ByteLevel") refuse("post_processor \"{}\"; accepted is ByteLevel or none", type);
    }

    void note_ignored(const char* key) {
        if (root(key).is_null()) return;
        file_.notices.push_back(fmt::format("{}: \"{}\" is ignored, texts are encoded whole", name_, key));
    }

    const std::string& name_;
    TokenizerJson json_;
    TokenizerFile file_;
    std::string split_pattern_;
    TokenTable names_;      // every token as the file writes it
    WordIndex name_index_;  // of the model's tokens
};

}  // namespace

TokenizerFile parse_tokenizer_file(std::string_view text, const std::string& name) {
    return Parser(text, name).parse();
}

}  // namespace colugo
