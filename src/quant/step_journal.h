// What a run has finished: a file of one JSON line a step, {"step": name, "record": anything}, each durable before the
// next is begun.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "quant/output_file.h"

namespace colugo {

class StepJournal {
 public:
    // Reads the file, making it where there is none. A last line without its end is of a run that was cut off in it:
    // it is taken away. Throws invalid_file for any other line that is not a step's, not_found or io.
    explicit StepJournal(const std::string& path);

    bool empty() const { return records_.empty(); }
    bool done(std::string_view step) const { return records_.find(step) != records_.end(); }
    // Of a step that is done, as JSON gives it back.
    const nlohmann::ordered_json& record(std::string_view step) const;
    // Durable on return. The step must be new. After a failure the file may end in a torn line: the run is over.
    void append(const std::string& step, const nlohmann::ordered_json& record);

 private:
    void take_line(std::string_view line, const std::string& source);

    OutputFile file_;
    uint64_t size_ = 0;  // bytes of whole lines
    std::map<std::string, nlohmann::ordered_json, std::less<>> records_;
};

}  // namespace colugo
