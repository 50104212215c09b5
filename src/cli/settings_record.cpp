#include "cli/settings_record.h"

#include <toml++/toml.h>

#include <sstream>

#include "base/error.h"
#include "checkpoint/checkpoint_files.h"
#include "cli/variables.h"
#include "text/utf8.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;

constexpr uint64_t kMostFileBytes = 1 << 20;
constexpr const char* kHidden = "(not written down)";

ordered_json variables_record() {
    ordered_json record = ordered_json::object();
    for (const auto& [name, value] : given_variables()) {
        std::string storage;
        record[name] = name == "COLUGO_API_KEY" ? kHidden : std::string(to_valid_utf8(value, storage));
    }
    return record;
}

void hide_keys(ordered_json& table) {
    for (auto& [name, value] : table.items()) {
        if (name == "api-key") value = kHidden;
        if (value.is_object()) hide_keys(value);
    }
}

ordered_json values_record(const std::string& file) {
    const auto text = read_text_file(file, kMostFileBytes);
    if (!text) fail(ErrorCode::not_found, "there is no settings file {}", file);
    std::ostringstream json;
    try {
        const toml::table table = toml::parse(*text);
        json << toml::json_formatter(table);
    } catch (const toml::parse_error& error) {
        fail(ErrorCode::invalid_file, "{}: {}", file, error.description());
    }
    ordered_json values = ordered_json::parse(json.str());
    hide_keys(values);
    return values;
}

}  // namespace

ordered_json settings_record(const std::string& file) {
    ordered_json record = {{"variables", variables_record()}, {"file", nullptr}, {"values", nullptr}};
    if (file.empty()) return record;
    record["file"] = file;
    record["values"] = values_record(file);
    return record;
}

}  // namespace colugo
