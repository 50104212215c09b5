#include "bench/agent_workload.h"

#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "base/error.h"
#include "text/compact_json.h"
#include "text/python_literal.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr double kLongestDelay = 1e6;  // seconds; beyond any tool

std::string read_whole(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) {
        fail(ErrorCode::not_found, "cannot open the workload {}; expected a file of JSON lines", path);
    }
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (file.bad()) fail(ErrorCode::io, "cannot read the workload {}", path);
    return text;
}

std::string digest_of(const std::string& text) {
    const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// Reads rows in order; what it throws begins with the file and the line.
class WorkloadReader {
 public:
    explicit WorkloadReader(std::string path) : path_(std::move(path)) {}

    std::vector<AgentConversation> read(std::string_view text) {
        while (!text.empty()) {
            const size_t end = std::min(text.find('\n'), text.size());
            ++line_;
            const std::string_view row = text.substr(0, end);
            if (row.find_first_not_of(" \t\r") != row.npos) add_row(parse(row));
            text.remove_prefix(std::min(end + 1, text.size()));
        }
        if (conversations_.empty()) fail(ErrorCode::invalid_file, "{} has no conversation", path_);
        for (const AgentConversation& conversation : conversations_) {
            if (!conversation.turns.empty()) continue;
            fail(ErrorCode::invalid_file, "{}: conversation {} has no recorded reply", path_, conversation.id);
        }
        return std::move(conversations_);
    }

 private:
    template <typename... Args>
    [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
        fail(ErrorCode::invalid_file, "{}, line {}: {}", path_, line_,
             fmt::format(format, std::forward<Args>(args)...));
    }

    ordered_json parse(std::string_view row) const {
        ordered_json value = parse_json(row);
        if (!value.is_object()) refuse("expected a JSON object");
        return value;
    }

    // Null where there is none.
    static const ordered_json& field(const ordered_json& row, const char* name) {
        static const ordered_json absent;
        const auto found = row.find(name);
        return found == row.end() ? absent : *found;
    }

    std::string text_field(const ordered_json& row, const char* name) const {
        const ordered_json& value = field(row, name);
        if (!value.is_string()) refuse("{} is {}; expected text", name, value.is_null() ? "absent" : value.dump());
        return value.get<std::string>();
    }

    ordered_json list_field(const ordered_json& row, const char* name) const {
        const ordered_json& value = field(row, name);
        if (value.is_null()) return ordered_json::array();
        ordered_json list = value.is_string() ? parse_literal(value.get_ref<const std::string&>()) : value;
        if (!list.is_array()) refuse("{} is no list, nor the text of one", name);
        for (const ordered_json& entry : list) {
            if (!entry.is_object()) refuse("{} has {}; expected objects", name, entry.dump());
        }
        return list;
    }

    void add_row(const ordered_json& row) {
        if (field(row, "_type") == "dataset_metadata") return;
        const std::string id = text_field(row, "conversation_id");
        const auto [entry, added] = index_.try_emplace(id, conversations_.size());
        if (added) {
            conversations_.emplace_back().id = id;
            last_.emplace_back();
        }
        AgentConversation& conversation = conversations_[entry->second];
        Last& last = last_[entry->second];
        const ordered_json& turn = field(row, "turn");
        if (!turn.is_number_integer() || turn.get<int64_t>() <= last.turn) {
            refuse("turn is {}; expected a whole number above {}", turn.is_null() ? "absent" : turn.dump(), last.turn);
        }
        const std::string role = text_field(row, "role");
        check_order(role, last);
        last.turn = turn.get<int64_t>();
        if (role == "user") {
            add_user(conversation, row);
        } else if (role == "assistant") {
            add_assistant(conversation, row, last);
        } else {
            add_results(conversation, row);
            last.delay = delay(row);
        }
        last.role = role;
    }

    struct Last {
        std::string role;
        int64_t turn = 0;
        double delay = 0.0;
        bool called = false;  // the last reply has calls
    };

    void check_order(const std::string& role, const Last& last) const {
        const bool is_reply = role == "assistant", is_result = role == "tool";
        if (!is_reply && !is_result && role != "user") refuse("role is {}; expected user, assistant or tool", role);
        if (last.role.empty() && role != "user") refuse("a conversation begins with a user's row, not {}", role);
        if (is_reply && last.role == "assistant") refuse("two assistant rows in turn");
        if (is_result && (last.role != "assistant" || !last.called)) {
            refuse("a tool row comes behind an assistant row that has tool_calls");
        }
    }

    void add_user(AgentConversation& conversation, const ordered_json& row) const {
        if (conversation.messages.empty()) {
            conversation.tools = list_field(row, "tools");
            if (!field(row, "system").is_null()) {
                conversation.messages.push_back({{"role", "system"}, {"content", text_field(row, "system")}});
            }
        }
        conversation.messages.push_back({{"role", "user"}, {"content", text_field(row, "content")}});
    }

    void add_assistant(AgentConversation& conversation, const ordered_json& row, Last& last) const {
        const ordered_json calls = list_field(row, "tool_calls");
        conversation.turns.push_back({.row = last.turn,
                                      .history = conversation.messages.size(),
                                      .recorded = calls,
                                      .delay_seconds = std::exchange(last.delay, 0.0)});
        last.called = !calls.empty();
        ordered_json message = {{"role", "assistant"}, {"content", field(row, "content")}};
        if (!field(row, "reasoning_content").is_null()) {
            message["reasoning_content"] = text_field(row, "reasoning_content");
        }
        if (last.called) message["tool_calls"] = calls;
        conversation.messages.push_back(std::move(message));
    }

    void add_results(AgentConversation& conversation, const ordered_json& row) const {
        const ordered_json results = list_field(row, "tool_results");
        if (results.empty()) refuse("tool_results is empty");
        for (const ordered_json& result : results) {
            ordered_json message = {{"role", "tool"}};
            if (!field(result, "tool_call_id").is_null()) {
                message["tool_call_id"] = text_field(result, "tool_call_id");
            }
            message["content"] = text_field(result, "content");
            conversation.messages.push_back(std::move(message));
        }
    }

    double delay(const ordered_json& row) const {
        const ordered_json& value = field(row, "delay_seconds");
        if (value.is_null()) return 0.0;
        const double seconds = value.is_number() ? value.get<double>() : -1.0;
        if (seconds >= 0.0 && seconds <= kLongestDelay) return seconds;
        refuse("delay_seconds of turn {} is {}; expected a number from 0 to {}", field(row, "turn").dump(),
               value.dump(), kLongestDelay);
    }

    std::string path_;
    size_t line_ = 0;
    std::vector<AgentConversation> conversations_;
    std::vector<Last> last_;  // of each
    std::map<std::string, size_t> index_;
};

}  // namespace

ordered_json AgentConversation::history(const AgentTurn& turn) const {
    ordered_json list = ordered_json::array();
    for (size_t i = 0; i < turn.history; ++i) list.push_back(messages[i]);
    return list;
}

size_t AgentWorkload::turns() const {
    size_t count = 0;
    for (const AgentConversation& conversation : conversations) count += conversation.turns.size();
    return count;
}

AgentWorkload read_agent_workload(const std::string& path) {
    const std::string text = read_whole(path);
    return {.path = path, .digest = digest_of(text), .conversations = WorkloadReader(path).read(text)};
}

}  // namespace colugo
