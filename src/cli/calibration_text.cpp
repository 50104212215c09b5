#include "cli/calibration_text.h"

#include <algorithm>

#include "base/error.h"
#include "checkpoint/checkpoint_files.h"
#include "cli/builtin_conversations.h"
#include "cli/messages_file.h"

namespace colugo {

namespace {

struct Line {
    size_t number;  // from 1
    std::string text;
};

std::vector<Line> lines_with_text(const std::string& file) {
    std::vector<Line> lines;
    size_t number = 0;
    for (size_t begin = 0; begin < file.size();) {
        const size_t end = std::min(file.find('\n', begin), file.size());
        std::string line = file.substr(begin, end - begin);
        ++number;
        begin = end + 1;
        if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back({number, std::move(line)});
    }
    return lines;
}

}  // namespace

CalibrationText read_calibration(const std::string& path, const ModelText& text, const ModelConfig& config, int samples,
                                 int longest) {
    constexpr uint64_t kMaxBytes = uint64_t{2} << 30;
    CalibrationText out;
    out.name = path.empty() ? "built-in conversations" : path;
    std::optional<std::string> file =
        path.empty() ? std::string(kBuiltinConversations) : read_text_file(path, kMaxBytes);
    if (!file) fail(ErrorCode::not_found, "there is no calibration file {}", path);
    const std::vector<Line> lines = lines_with_text(*file);
    if (lines.empty()) fail(ErrorCode::invalid_file, "{} is empty; expected a conversation on each line", path);
    out.records = static_cast<int64_t>(lines.size());
    const size_t count = std::min(lines.size(), static_cast<size_t>(samples));
    static_cast<void>(text.token_mask(config));  // the tokenizer belongs to the model
    for (size_t i = 0; i < count; ++i) {
        const Line& line = lines[i * lines.size() / count];
        ChatInput input = parse_conversation(line.text, fmt::format("line {} of {}", line.number, out.name));
        input.add_generation_prompt = false;
        std::vector<int32_t> tokens;
        try {
            tokens = text.encode(text.render(std::move(input)));
        } catch (const Error& error) {
            fail(ErrorCode::invalid_file, "line {} of {} does not render: {}", line.number, out.name, error.what());
        }
        if (tokens.size() > static_cast<size_t>(longest)) tokens.resize(static_cast<size_t>(longest));
        if (!tokens.empty()) out.sequences.push_back(std::move(tokens));
    }
    if (out.sequences.empty()) fail(ErrorCode::invalid_file, "{} renders to no token at all", out.name);
    return out;
}

}  // namespace colugo
