#include "text/terminal_text.h"

#include <fmt/format.h>

namespace colugo {

namespace {

// Bytes of the control character that `text` begins with; 0: it is none.
size_t control_length(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
    return text.size() > 1 && byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0 ? 2 : 0;
}

}  // namespace

std::string on_one_line(std::string_view sentence) {
    std::string out;
    while (!sentence.empty()) {
        const size_t control = control_length(sentence);
        for (const char c : sentence.substr(0, control)) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        if (control == 0) out += sentence[0];
        sentence.remove_prefix(control == 0 ? 1 : control);
    }
    return out;
}

}  // namespace colugo
