#include "bench/event_reader.h"

namespace colugo {

void EventReader::feed(std::string_view bytes) {
    while (!bytes.empty()) {
        const size_t end = bytes.find('\n');
        line_ += bytes.substr(0, end);
        if (end == bytes.npos) return;
        bytes.remove_prefix(end + 1);
        if (line_.ends_with('\r')) line_.pop_back();
        const std::string line = std::move(line_);
        line_.clear();
        take_line(line);
    }
}

void EventReader::take_line(std::string_view line) {
    constexpr std::string_view kData = "data:";
    if (line.empty()) {
        if (!has_data_) return;
        has_data_ = false;
        const std::string data = std::move(data_);
        data_.clear();
        on_data_(data);
        return;
    }
    if (!line.starts_with(kData)) return;
    line.remove_prefix(kData.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (has_data_) data_ += '\n';
    data_ += line;
    has_data_ = true;
}

}  // namespace colugo
