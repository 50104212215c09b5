#include "server/generation_fields.h"

#include <algorithm>
#include <limits>

#include "server/api_error.h"
#include "server/message_content.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr size_t kMaxStops = 16;
constexpr size_t kMaxCacheNameBytes = 512;  // each cached prefix may need its own room for it
// The sampler's, for temperatures, penalties and biases.
constexpr double kLeast = 1e-6, kMost = 1e6;

std::vector<LogitBias> read_logit_bias(RequestFields& fields, int64_t vocab_size) {
    std::vector<LogitBias> list;
    if (!fields.object("logit_bias")) return list;
    for (const auto& [key, value] : fields.get("logit_bias")->items()) {
        const bool digits =
            !key.empty() && key.size() <= 10 && key.find_first_not_of("0123456789") == std::string::npos;
        const int64_t token = digits ? std::stoll(key) : -1;
        if (token < 0 || token >= vocab_size) {
            refuse("invalid_value", "logit_bias", "logit_bias names the token {}; expected ids from 0 to {}",
                   excerpt(key), vocab_size - 1);
        }
        const double bias = value.is_number() ? value.get<double>() : 2 * kMost;
        if (!(bias >= -kMost && bias <= kMost)) {
            refuse("invalid_value", "logit_bias", "logit_bias for token {} is {}; expected a number from {} to {}",
                   token, excerpt(value), -kMost, kMost);
        }
        list.push_back({static_cast<int32_t>(token), static_cast<float>(bias)});
    }
    return list;
}

void read_sampling(RequestFields& fields, SamplingParams& params, int64_t vocab_size) {
    if (const auto temperature = fields.number("temperature", 0.0, kMost)) {
        params.temperature = *temperature < kLeast ? 0.0 : *temperature;
    }
    // 0 leaves the likeliest token only, as the smallest number above it does.
    if (const auto top_p = fields.number("top_p", 0.0, 1.0)) {
        params.top_p = std::max(*top_p, std::numeric_limits<double>::min());
    }
    // -1 is off in other servers.
    if (const auto top_k = fields.integer("top_k", -1, INT32_MAX)) {
        params.top_k = static_cast<int32_t>(std::max<int64_t>(*top_k, 0));
    }
    if (const auto min_p = fields.number("min_p", 0.0, 1.0)) params.min_p = *min_p;
    if (const auto penalty = fields.number("repetition_penalty", kLeast, kMost)) {
        params.repetition_penalty = *penalty;
    }
    if (const auto penalty = fields.number("presence_penalty", -kMost, kMost)) params.presence_penalty = *penalty;
    if (const auto penalty = fields.number("frequency_penalty", -kMost, kMost)) params.frequency_penalty = *penalty;
    if (fields.has("logit_bias")) params.logit_bias = read_logit_bias(fields, vocab_size);
}

// -1 asks for a fresh one, in other servers too.
std::optional<uint64_t> read_seed(RequestFields& fields) {
    const ordered_json* seed = fields.get("seed");
    if (seed != nullptr && seed->is_number_unsigned()) return seed->get<uint64_t>();
    const auto number = fields.integer("seed", INT64_MIN, INT64_MAX);
    return number && *number != -1 ? std::optional(static_cast<uint64_t>(*number)) : std::nullopt;
}

std::vector<std::string> read_stop(RequestFields& fields) {
    const ordered_json* stop = fields.get("stop");
    if (stop == nullptr) return {};
    const auto refuse_stop = [&] {
        fields.refuse_value("stop", "a string, or a list of at most 16, none of them empty");
    };
    const ordered_json list = stop->is_array() ? *stop : ordered_json::array({*stop});
    if (list.size() > kMaxStops) refuse_stop();
    std::vector<std::string> strings;
    for (const ordered_json& entry : list) {
        if (!entry.is_string() || entry.get_ref<const std::string&>().empty()) refuse_stop();
        strings.push_back(entry.get<std::string>());
    }
    return strings;
}

// Both names are of one upper bound, so of two the smaller one keeps both.
int64_t read_max_tokens(RequestFields& fields) {
    int64_t least = -1;
    for (const char* name : {"max_tokens", "max_completion_tokens"}) {
        const int64_t count = fields.integer(name, -1, INT32_MAX).value_or(-1);
        if (count >= 0) least = least < 0 ? count : std::min(least, count);
    }
    return least;
}

bool read_include_usage(RequestFields& fields) {
    std::optional<RequestFields> options = fields.object("stream_options");
    if (!options) return false;
    for (const char* name : {"continuous_usage_stats", "include_obfuscation"}) {
        if (options->boolean(name).value_or(false)) options->refuse_value(name, "false");
    }
    return options->boolean("include_usage").value_or(false);
}

// What it leaves out is as the launch has it.
std::optional<SpecParams> read_speculation(RequestFields& fields, const SpecParams& launch) {
    std::optional<RequestFields> options = fields.object("speculation");
    if (!options) return std::nullopt;
    SpecParams params = launch;
    if (const auto word = options->string("mode")) {
        const std::optional<SpecMode> mode = spec_mode(*word);
        if (!mode) options->refuse_value("mode", "off, mtp, lookup, tree or auto");
        params.mode = *mode;
    }
    const auto read = [&](const char* name, int64_t least, int64_t most, int& value) {
        value = static_cast<int>(options->integer(name, least, most).value_or(value));
    };
    read("depth", 1, 16, params.depth);
    read("topk", 1, 8, params.top_k);
    read("nodes", 2, 32, params.nodes);
    if (const auto unknown = options->unknown(); !unknown.empty()) {
        refuse("unknown_parameter", "speculation", "speculation has the field {}; expected mode, depth, topk and nodes",
               excerpt(unknown.front()));
    }
    try {
        check_spec_params(params);
    } catch (const Error& error) {
        throw api_error(error, "speculation");
    }
    return params;
}

std::string read_prediction(RequestFields& fields) {
    std::optional<RequestFields> prediction = fields.object("prediction");
    if (!prediction) return {};
    if (prediction->required_string("type") != "content") prediction->refuse_value("type", "\"content\"");
    return read_content(*prediction);
}

std::string read_cache_name(RequestFields& fields, const char* field) {
    std::string name = fields.string(field).value_or("");
    if (name.size() > kMaxCacheNameBytes) {
        fields.refuse_value(field, fmt::format("a text of at most {} bytes", kMaxCacheNameBytes));
    }
    return name;
}

// Of two requests that differ in one of the names, never the same.
std::string read_cache_scope(RequestFields& fields, bool keys) {
    std::string key = read_cache_name(fields, "prompt_cache_key");
    if (!keys) key.clear();
    const std::string salt = read_cache_name(fields, "cache_salt");
    return key.empty() && salt.empty() ? "" : fmt::format("{}:{}{}", key.size(), key, salt);
}

}  // namespace

GenerationFields read_generation_fields(RequestFields& fields, const RequestDefaults& defaults) {
    GenerationFields read;
    read.model = fields.string("model").value_or("");
    read.max_tokens = read_max_tokens(fields);
    read.sampling = defaults.sampling;
    read_sampling(fields, read.sampling, defaults.vocab_size);
    read.seed = read_seed(fields);
    read.stop = read_stop(fields);
    read.stream = fields.boolean("stream").value_or(false);
    read.include_usage = read_include_usage(fields);
    read.response_format = read_response_format(fields);
    read.speculation = read_speculation(fields, defaults.spec);
    read.prediction = read_prediction(fields);
    read.cache_scope = read_cache_scope(fields, defaults.cache_keys);
    read.priority = static_cast<int>(fields.integer("priority", INT32_MIN, INT32_MAX).value_or(0));
    return read;
}

}  // namespace colugo
