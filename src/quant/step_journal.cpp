#include "quant/step_journal.h"

#include "base/error.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/json_reader.h"
#include "text/compact_json.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

constexpr uint64_t kMaxJournalBytes = uint64_t{1} << 30;

}  // namespace

StepJournal::StepJournal(const std::string& path) : file_(path) {
    const std::string text = read_text_file(path, kMaxJournalBytes).value_or("");
    int number = 0;
    for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n', size_)) {
        take_line(std::string_view(text).substr(size_, end - size_), fmt::format("{} line {}", path, ++number));
        size_ = end + 1;
    }
    if (size_ < text.size()) file_.truncate(size_);
}

void StepJournal::take_line(std::string_view line, const std::string& source) {
    ordered_json entry = parse_ordered_json(line, source);
    if (!entry.is_object() || entry.size() != 2 || !entry.contains("step") || !entry["step"].is_string() ||
        !entry.contains("record")) {
        fail(ErrorCode::invalid_file, "{} is {}; expected {{\"step\": name, \"record\": ...}}", source,
             json_excerpt(entry));
    }
    const std::string step = entry["step"].get<std::string>();
    if (!records_.try_emplace(step, std::move(entry["record"])).second) {
        fail(ErrorCode::invalid_file, "{} has the step {} a second time", source, step);
    }
}

const ordered_json& StepJournal::record(std::string_view step) const {
    const auto found = records_.find(step);
    COLUGO_CHECK(found != records_.end());
    return found->second;
}

void StepJournal::append(const std::string& step, const ordered_json& record) {
    COLUGO_CHECK(!done(step));
    const ordered_json entry = {{"step", step}, {"record", record}};
    const std::string line = compact_json(entry);
    file_.write(size_, line + "\n");
    file_.sync();
    size_ += line.size() + 1;
    // A later run reads what JSON keeps of the record: this one gets the same.
    take_line(line, file_.path());
}

}  // namespace colugo
