// Server-sent events, from the bytes of a stream.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace colugo {

class EventReader {
 public:
    using OnData = std::function<void(std::string_view)>;
    explicit EventReader(OnData on_data) : on_data_(std::move(on_data)) {}

    // Gives the data of every event that these bytes complete: its `data` lines, joined by line feeds. Lines end with
    // \n or \r\n; other fields and comments are left out.
    void feed(std::string_view bytes);

 private:
    void take_line(std::string_view line);

    OnData on_data_;
    std::string line_, data_;
    bool has_data_ = false;
};

}  // namespace colugo
