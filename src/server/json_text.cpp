#include "server/json_text.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/api_error.h"
#include "server/request_fields.h"
#include "text/utf8.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

// The unit that \uXXXX at text[at] spells, or nothing where it is not spelled so.
std::optional<uint32_t> escaped_unit(std::string_view text, size_t at) {
    if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
    uint32_t unit = 0;
    for (const char c : text.substr(at + 2, 4)) {
        const bool digit = c >= '0' && c <= '9', lower = c >= 'a' && c <= 'f', upper = c >= 'A' && c <= 'F';
        if (!digit && !lower && !upper) return std::nullopt;
        unit = unit * 16 + static_cast<uint32_t>(digit ? c - '0' : lower ? c - 'a' + 10 : c - 'A' + 10);
    }
    return unit;
}

// A JSON text with U+FFFD for what is no Unicode in its strings; what is wrong elsewhere stays for the parser.
class RepairedText {
 public:
    explicit RepairedText(std::string_view text) : text_(text) {
        bool in_string = false;
        for (size_t at = 0; at < text.size();) {
            if (text[at] == '"') in_string = !in_string;
            if (!in_string || static_cast<unsigned char>(text[at]) < 0x80) {
                at += in_string && text[at] == '\\' ? read_escape(at) : 1;
            } else {
                at += read_character(at);
            }
        }
        if (!patches_.empty()) storage_.append(text, kept_);
    }

    std::string_view text() const { return patches_.empty() ? text_ : std::string_view(storage_); }

    // Where a byte of text() stood.
    size_t original_offset(size_t offset) const {
        const auto next = std::upper_bound(patches_.begin(), patches_.end(), offset,
                                           [](size_t value, const Patch& patch) { return value < patch.repaired_end; });
        if (next == patches_.begin()) return offset;
        return std::prev(next)->original_end + (offset - std::prev(next)->repaired_end);
    }

 private:
    struct Patch {
        size_t original_end;
        size_t repaired_end;
    };

    void replace(size_t at, size_t length, std::string_view replacement) {
        storage_.append(text_, kept_, at - kept_);
        storage_.append(replacement);
        kept_ = at + length;
        patches_.push_back({kept_, storage_.size()});
    }

    // These return the length of what they read.
    size_t read_escape(size_t at) {
        const std::optional<uint32_t> unit = escaped_unit(text_, at);
        if (!unit) return std::min<size_t>(2, text_.size() - at);
        if (*unit < 0xD800 || *unit > 0xDFFF) return 6;
        const std::optional<uint32_t> low = escaped_unit(text_, at + 6);
        if (*unit < 0xDC00 && low && *low >= 0xDC00 && *low <= 0xDFFF) return 12;
        replace(at, 6, "\\uFFFD");
        return 6;
    }
    size_t read_character(size_t at) {
        const Utf8Step step = utf8_step(text_, at);
        if (step.kind != Utf8Step::character) replace(at, step.length, kReplacementCharacter);
        return step.length;
    }

    std::string_view text_;
    std::string storage_;
    std::vector<Patch> patches_;
    size_t kept_ = 0;  // text_ up to here is in storage_
};

// Takes the parser's events. The library's own objects look through all their keys for each new one.
class Builder {
 public:
    explicit Builder(const RepairedText& source) : source_(source) {}

    ordered_json take() { return std::move(root_); }

    bool null() { return add(nullptr); }
    bool boolean(bool value) { return add(value); }
    bool number_integer(int64_t value) { return add(value); }
    bool number_unsigned(uint64_t value) { return add(value); }
    bool number_float(double value, const std::string& /*text*/) { return add(value); }
    bool string(std::string& value) { return add(std::move(value)); }
    bool binary(ordered_json::binary_t& /*value*/) { return false; }
    bool start_object(size_t /*size*/) { return open(ordered_json::object()); }
    bool start_array(size_t /*size*/) { return open(ordered_json::array()); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }

    bool key(std::string& name) {
        Level& level = open_.back();
        auto& entries = level.value->get_ref<ordered_json::object_t&>();
        const auto [found, is_new] = level.places.emplace(name, entries.size());
        if (is_new) entries.emplace_back(std::move(name), nullptr);
        level.next = &entries.data()[found->second].second;
        return true;
    }

    // `position`: of bytes that were read.
    bool parse_error(size_t position, const std::string& /*token*/, const nlohmann::detail::exception& problem) {
        refuse("invalid_json", "", "the body is not JSON: byte {}: {}",
               source_.original_offset(std::max<size_t>(position, 1) - 1), reason(problem.what()));
    }

 private:
    struct Level {
        ordered_json* value;
        ordered_json* next = nullptr;  // of an object: the value of the key that was read last
        std::unordered_map<std::string, size_t> places = {};
    };

    // The library's words without its label and line, and without the token, which may be long.
    static std::string reason(const std::string& text) {
        constexpr size_t kMaxReason = 120;
        size_t begin = text.find("] ");
        begin = begin == std::string::npos ? 0 : begin + 2;
        if (text.compare(begin, 11, "parse error") == 0) {
            const size_t words = text.find(": ", begin);
            if (words != std::string::npos) begin = words + 2;
        }
        return text.substr(begin, std::min(text.find("; last read", begin) - begin, kMaxReason));
    }

    ordered_json* place(ordered_json&& value) {
        if (open_.empty()) {
            root_ = std::move(value);
            return &root_;
        }
        Level& level = open_.back();
        if (level.value->is_object()) {
            *level.next = std::move(value);
            return level.next;
        }
        level.value->push_back(std::move(value));
        return &level.value->back();
    }

    bool add(ordered_json value) {
        place(std::move(value));
        return true;
    }
    bool open(ordered_json value) {
        if (open_.size() == kMaxRequestDepth) {
            refuse("invalid_json", "", "the body is nested deeper than {} levels", kMaxRequestDepth);
        }
        open_.push_back({place(std::move(value))});
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    const RepairedText& source_;
    ordered_json root_;
    std::vector<Level> open_;
};

ordered_json parse(std::string_view text) {
    // The library would take it for the end.
    if (const size_t zero = text.find('\0'); zero != text.npos) {
        refuse("invalid_json", "", "the body is not JSON: byte {}: a zero byte", zero);
    }
    const RepairedText repaired(text);
    Builder builder(repaired);
    ordered_json::sax_parse(repaired.text(), &builder);
    return builder.take();
}

}  // namespace

ordered_json parse_request_body(std::string_view body) {
    ordered_json document = parse(body);
    if (!document.is_object()) {
        refuse("invalid_type", "", "the body is {}; expected a JSON object", excerpt(document));
    }
    return document;
}

std::optional<ordered_json> parse_json_text(std::string_view text) {
    try {
        return parse(text);
    } catch (const ApiError&) {
        return std::nullopt;
    }
}

}  // namespace colugo
