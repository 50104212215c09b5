#include "server/request_fields.h"

#include <algorithm>
#include <cmath>

#include "server/api_error.h"
#include "text/compact_json.h"
#include "text/utf8.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr size_t kMaxExcerpt = 60;  // bytes

std::string beginning(const std::string& text) {
    size_t end = 0;
    while (end < text.size() && end < kMaxExcerpt) end += utf8_step(text, end).length;
    return text.substr(0, end) + (end < text.size() ? "..." : "");
}

}  // namespace

std::string excerpt(const ordered_json& value) {
    if (value.is_array()) return fmt::format("a list of {}", value.size());
    if (value.is_object()) return "an object";
    const ordered_json shown = value.is_string() ? ordered_json(beginning(value.get_ref<const std::string&>())) : value;
    return compact_json(shown);
}

std::optional<int64_t> whole_number(const ordered_json& value, int64_t min, int64_t max) {
    constexpr double kExact = 9007199254740992.0;  // 2^53: doubles count up to here
    int64_t number = 0;
    if (value.is_number_unsigned()) {
        if (value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
        number = value.get<int64_t>();
    } else if (value.is_number_integer()) {
        number = value.get<int64_t>();
    } else if (value.is_number_float()) {
        const double real = value.get<double>();
        if (std::fabs(real) > kExact || real != std::trunc(real)) return std::nullopt;
        number = static_cast<int64_t>(real);
    } else {
        return std::nullopt;
    }
    return number >= min && number <= max ? std::optional(number) : std::nullopt;
}

RequestFields::RequestFields(const ordered_json& object, std::string path) : object_(&object), path_(std::move(path)) {
    if (object.is_object()) return;
    const std::string name = path_.substr(0, path_.size() - (path_.empty() ? 0 : 1));
    refuse("invalid_type", name, "{} is {}; expected an object", name.empty() ? "the body" : name, excerpt(object));
}

const ordered_json* RequestFields::get(std::string_view name) {
    known_.insert(name);
    const auto found = object_->find(name);
    return found == object_->end() || found->is_null() ? nullptr : &*found;
}

void RequestFields::refuse_with(const char* code, std::string_view name, std::string_view expected) {
    const ordered_json* value = get(name);
    if (value == nullptr) {
        refuse("missing_required_parameter", path(name), "{} is missing; expected {}", path(name), expected);
    }
    refuse(code, path(name), "{} is {}; expected {}", path(name), excerpt(*value), expected);
}

void RequestFields::refuse_value(std::string_view name, std::string_view expected) {
    refuse_with("invalid_value", name, expected);
}

void RequestFields::refuse_type(std::string_view name, std::string_view expected) {
    refuse_with("invalid_type", name, expected);
}

std::optional<int64_t> RequestFields::integer(std::string_view name, int64_t min, int64_t max) {
    const ordered_json* value = get(name);
    if (value == nullptr) return std::nullopt;
    const std::optional<int64_t> number = whole_number(*value, min, max);
    const std::string expected = fmt::format("a whole number from {} to {}", min, max);
    if (!value->is_number()) refuse_type(name, expected);
    if (!number) refuse_value(name, expected);
    return number;
}

std::optional<double> RequestFields::number(std::string_view name, double min, double max) {
    const ordered_json* value = get(name);
    if (value == nullptr) return std::nullopt;
    const std::string expected = fmt::format("a number from {} to {}", min, max);
    if (!value->is_number()) refuse_type(name, expected);
    const auto number = value->get<double>();
    if (!(number >= min && number <= max)) refuse_value(name, expected);
    return number;
}

std::optional<bool> RequestFields::boolean(std::string_view name) {
    const ordered_json* value = get(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_boolean()) refuse_type(name, "true or false");
    return value->get<bool>();
}

std::optional<std::string> RequestFields::string(std::string_view name) {
    const ordered_json* value = get(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) refuse_type(name, "a string");
    return value->get<std::string>();
}

std::string RequestFields::required_string(std::string_view name) {
    std::optional<std::string> text = string(name);
    if (!text) refuse_type(name, "a string");
    return *std::move(text);
}

const ordered_json* RequestFields::list(std::string_view name) {
    const ordered_json* value = get(name);
    if (value != nullptr && !value->is_array()) refuse_type(name, "a list");
    return value;
}

std::optional<RequestFields> RequestFields::object(std::string_view name) {
    const ordered_json* value = get(name);
    if (value == nullptr) return std::nullopt;
    return RequestFields(*value, path(name) + ".");
}

std::vector<std::string> RequestFields::unknown() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : object_->items()) {
        if (!known_.contains(name)) names.push_back(beginning(name));
    }
    return names;
}

std::vector<std::string> unknown_fields(const RequestFields& body, std::set<std::string> others) {
    constexpr size_t kMostNames = 16;
    for (std::string& name : body.unknown()) others.insert(std::move(name));
    std::vector<std::string> names(others.begin(), others.end());
    names.resize(std::min(names.size(), kMostNames));
    return names;
}

}  // namespace colugo
