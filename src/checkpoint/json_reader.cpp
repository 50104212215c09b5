#include "checkpoint/json_reader.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"

namespace colugo {

using nlohmann::json;

namespace {

// Sees the document as it is parsed: nesting is cut off before anything is built, keys are compared per open object.
template <class Json>
class Guard {
 public:
    Guard(const std::string& source, int max_depth) : source_(source), max_depth_(max_depth) {}

    bool operator()(int depth, typename Json::parse_event_t event, const Json& parsed) {
        using Event = typename Json::parse_event_t;
        if ((event == Event::object_start || event == Event::array_start) && depth >= max_depth_) {
            fail(ErrorCode::invalid_file, "{} is nested deeper than {} levels", source_, max_depth_);
        }
        if (event == Event::object_start) open_.emplace_back();
        if (event == Event::object_end) open_.pop_back();
        if (event == Event::key && !open_.back().insert(parsed.template get_ref<const std::string&>()).second) {
            fail(ErrorCode::invalid_file, "{} holds the key {} twice in one object", source_, json_excerpt(parsed));
        }
        return true;
    }

 private:
    const std::string& source_;
    int max_depth_;
    std::vector<std::set<std::string>> open_;
};

// The library's words without its "[json.exception.parse_error.101] " label.
std::string reason(const json::exception& error) {
    const std::string text = error.what();
    const size_t label = text.find("] ");
    return label == std::string::npos ? text : text.substr(label + 2);
}

template <class Json>
Json parse(std::string_view text, const std::string& source, int max_depth) {
    Guard<Json> guard(source, max_depth);
    try {
        return Json::parse(text, [&guard](int depth, typename Json::parse_event_t event, Json& parsed) {
            return guard(depth, event, parsed);
        });
    } catch (const json::exception& error) {
        fail(ErrorCode::invalid_file, "{} is not JSON: {}", source, reason(error));
    }
}

}  // namespace

json parse_json(std::string_view text, const std::string& source, int max_depth) {
    return parse<json>(text, source, max_depth);
}

nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& source, int max_depth) {
    return parse<nlohmann::ordered_json>(text, source, max_depth);
}

json parse_json_object(std::string_view text, const std::string& source, int max_depth) {
    json document = parse_json(text, source, max_depth);
    if (!document.is_object()) {
        fail(ErrorCode::invalid_file, "{} holds {}; expected a JSON object", source, json_excerpt(document));
    }
    return document;
}

std::string json_excerpt(const json& value) {
    constexpr size_t kMaxExcerpt = 80;
    const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
    return text.size() <= kMaxExcerpt ? text : text.substr(0, kMaxExcerpt) + "...";
}

JsonFields::JsonFields(const json& object, std::string source, std::string path)
    : object_(&object), source_(std::move(source)), path_(std::move(path)) {
    COLUGO_CHECK(object.is_object());
}

const json* JsonFields::get(const char* key) const {
    const auto found = object_->find(key);
    return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::string JsonFields::where(std::string_view key) const {
    return fmt::format("{}: {}{}", source_, path_, key);
}

void JsonFields::refuse(const char* key, const std::string& expected) const {
    const json* value = get(key);
    if (!value) fail(ErrorCode::invalid_file, "{} is missing; expected {}", where(key), expected);
    fail(ErrorCode::invalid_file, "{} is {}; expected {}", where(key), json_excerpt(*value), expected);
}

std::optional<int64_t> JsonFields::integer(const char* key, int64_t min, int64_t max) const {
    const json* value = get(key);
    if (!value) return std::nullopt;
    const std::string expected = fmt::format("a whole number from {} to {}", min, max);
    if (!value->is_number_integer()) refuse(key, expected);
    if (value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) refuse(key, expected);
    const int64_t number = value->get<int64_t>();
    if (number < min || number > max) refuse(key, expected);
    return number;
}

int64_t JsonFields::required_integer(const char* key, int64_t min, int64_t max) const {
    const std::optional<int64_t> number = integer(key, min, max);
    if (!number) refuse(key, fmt::format("a whole number from {} to {}", min, max));
    return *number;
}

std::optional<double> JsonFields::number(const char* key, double min, double max) const {
    const json* value = get(key);
    if (!value) return std::nullopt;
    const std::string expected = fmt::format("a number from {} to {}", min, max);
    if (!value->is_number()) refuse(key, expected);
    const double number = value->get<double>();
    if (!(number >= min && number <= max)) refuse(key, expected);
    return number;
}

std::optional<bool> JsonFields::boolean(const char* key) const {
    const json* value = get(key);
    if (!value) return std::nullopt;
    if (!value->is_boolean()) refuse(key, "true or false");
    return value->get<bool>();
}

std::optional<std::string> JsonFields::string(const char* key) const {
    const json* value = get(key);
    if (!value) return std::nullopt;
    if (!value->is_string()) refuse(key, "a string");
    return value->get<std::string>();
}

std::optional<std::vector<std::string>> JsonFields::strings(const char* key) const {
    const json* value = get(key);
    if (!value) return std::nullopt;
    if (!value->is_array()) refuse(key, "a list of strings");
    std::vector<std::string> strings;
    for (const json& entry : *value) {
        if (!entry.is_string()) refuse(key, "a list of strings");
        strings.push_back(entry.get<std::string>());
    }
    return strings;
}

std::optional<JsonFields> JsonFields::object(const char* key) const {
    const json* value = get(key);
    if (!value) return std::nullopt;
    if (!value->is_object()) refuse(key, "an object");
    return JsonFields(*value, source_, path_ + key + ".");
}

std::vector<std::string> JsonFields::keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : object_->items()) keys.push_back(key);
    return keys;
}

}  // namespace colugo
