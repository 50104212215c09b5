#include "server/message_content.h"

#include <algorithm>

#include "base/error.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool begins_with_header(std::string_view text, std::string_view name) {
    if (text.size() <= name.size() || text[name.size()] != ':') return false;
    return std::equal(name.begin(), name.end(), text.begin(), [](char a, char b) { return lower(a) == lower(b); });
}

std::string_view without_headers(std::string_view text, const std::vector<std::string>& headers) {
    const auto begins_so = [&](const std::string& name) { return begins_with_header(text, name); };
    while (std::any_of(headers.begin(), headers.end(), begins_so)) {
        const size_t end = text.find('\n');
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return text;
}

std::string part_text(const ordered_json& part, const std::string& path) {
    if (part.is_string()) return part.get<std::string>();
    RequestFields fields(part, path + ".");
    const std::string type = fields.string("type").value_or("text");
    if (type == "text" || type == "input_text" || type == "output_text") return fields.required_string("text");
    if (type == "refusal") return fields.required_string("refusal");
    fields.refuse_value("type", "text, input_text, output_text or refusal");
}

}  // namespace

std::string read_content(RequestFields& fields, const std::vector<std::string>& dropped_headers) {
    const ordered_json* content = fields.get("content");
    if (content == nullptr) return {};
    if (content->is_string()) {
        return std::string(without_headers(content->get_ref<const std::string&>(), dropped_headers));
    }
    if (!content->is_array()) fields.refuse_type("content", "text, a list of parts, or null");
    std::string text;
    for (size_t i = 0; i < content->size(); ++i) {
        const std::string part = part_text((*content)[i], fmt::format("{}[{}]", fields.path("content"), i));
        text += i == 0 ? without_headers(part, dropped_headers) : std::string_view(part);
    }
    return text;
}

std::string_view without_leading_blanks(std::string_view text) {
    const size_t begin = text.find_first_not_of(kBlanks);
    return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

}  // namespace colugo
