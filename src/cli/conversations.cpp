#include "cli/conversations.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "checkpoint/json_reader.h"
#include "cli/builtin_conversations.h"
#include "cli/input_text.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

// One conversation as it is gathered.
struct Record {
    std::string where;  // "line 5 of FILE"
    ordered_json messages = ordered_json::array();
    ordered_json tools;
};

ordered_json take(ordered_json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? ordered_json() : std::move(*found);
}

// A turn of a recorded conversation, as messages.
void add_turn(Record& record, ordered_json& turn, const std::string& role) {
    if (ordered_json system = take(turn, "system"); system.is_string()) {
        record.messages.push_back({{"role", "system"}, {"content", std::move(system)}});
    }
    if (ordered_json tools = take(turn, "tools"); tools.is_array()) record.tools = std::move(tools);
    if (role != "tool") {
        ordered_json message = {{"role", role}, {"content", take(turn, "content")}};
        for (const char* key : {"reasoning_content", "tool_calls"}) {
            if (turn.contains(key)) message[key] = take(turn, key);
        }
        record.messages.push_back(std::move(message));
        return;
    }
    ordered_json results = take(turn, "tool_results");
    if (!results.is_array()) results = ordered_json::array({{{"content", std::move(results)}}});
    for (ordered_json& result : results) {
        result["role"] = "tool";
        record.messages.push_back(std::move(result));
    }
}

// Reads line after line.
class Reader {
 public:
    explicit Reader(std::string name) : name_(std::move(name)) {}

    void line(std::string_view text, size_t number) {
        const std::string where = fmt::format("line {} of {}", number, name_);
        ordered_json object = parse_ordered_json(text, where);
        if (object.is_object() && object.contains("messages")) {
            records_.push_back({where, take(object, "messages"), take(object, "tools")});
        } else if (object.is_object() && object.contains("conversation_id") && object.contains("role") &&
                   object["role"].is_string()) {
            const std::string id = object["conversation_id"].dump();
            const auto [entry, added] = index_.try_emplace(id, records_.size());
            if (added) records_.push_back({where, ordered_json::array(), {}});
            add_turn(records_[entry->second], object, object["role"].get<std::string>());
        } else {
            fail(ErrorCode::invalid_file,
                 "{} is no conversation: expected \"messages\", or \"conversation_id\" and \"role\"", where);
        }
    }

    std::vector<Record> take_records() { return std::move(records_); }

 private:
    std::string name_;
    std::vector<Record> records_;
    std::map<std::string, size_t> index_;  // of recorded conversations, by id
};

std::vector<Record> read_records(const std::string& file, const std::string& name) {
    Reader reader(name);
    size_t number = 0;
    for (size_t begin = 0; begin < file.size();) {
        const size_t end = std::min(file.find('\n', begin), file.size());
        const std::string_view line = std::string_view(file).substr(begin, end - begin);
        ++number;
        begin = end + 1;
        if (line.find_first_not_of(" \t\r") != std::string_view::npos) reader.line(line, number);
    }
    return reader.take_records();
}

std::vector<int32_t> render(Record& record, const ModelText& text) {
    try {
        ChatInput input;
        input.messages = prepare_messages(std::move(record.messages));
        if (record.tools.is_array() && !record.tools.empty()) input.tools = std::move(record.tools);
        input.add_generation_prompt = false;
        return text.encode(text.render(std::move(input)));
    } catch (const Error& error) {
        fail(ErrorCode::invalid_file, "{} does not render: {}", record.where, error.what());
    }
}

}  // namespace

Conversations read_conversations(const std::string& path, const ModelText& text, const ModelConfig& config, int samples,
                                 int longest) {
    constexpr uint64_t kMaxBytes = uint64_t{512} << 20;
    Conversations out;
    out.name = path.empty() ? "built-in conversations" : path;
    const std::optional<std::string> file =
        path.empty() ? std::string(kBuiltinConversations) : read_input_file(path, kMaxBytes);
    if (!file) fail(ErrorCode::not_found, "there is no file {}", path);
    std::vector<Record> records = read_records(*file, out.name);
    if (records.empty()) fail(ErrorCode::invalid_file, "{} is empty; expected a conversation on each line", path);
    out.records = static_cast<int64_t>(records.size());
    static_cast<void>(text.token_mask(config));  // the tokenizer has to be the model's
    const size_t count = std::min(records.size(), static_cast<size_t>(samples));
    for (size_t i = 0; i < count; ++i) {
        std::vector<int32_t> tokens = render(records[i * records.size() / count], text);
        if (tokens.size() > static_cast<size_t>(longest)) {
            tokens.resize(static_cast<size_t>(longest));
            ++out.cut;
        }
        if (!tokens.empty()) out.sequences.push_back(std::move(tokens));
    }
    if (out.sequences.empty()) fail(ErrorCode::invalid_file, "{} renders to no token at all", out.name);
    return out;
}

}  // namespace colugo
