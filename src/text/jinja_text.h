// The string of the template language: UTF-8 bytes and the spans of them that came from data rather than from the
// template's own literals. Every operation that can tell keeps the spans exact; one that cannot marks its result as
// content.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/text_span.h"

namespace colugo::jinja {

class Text {
 public:
    Text() = default;
    Text(std::string bytes, bool content);

    const std::string& bytes() const { return bytes_; }
    // Sorted, disjoint, not touching, none empty.
    const std::vector<TextSpan>& content_spans() const { return spans_; }
    size_t size() const { return bytes_.size(); }
    bool empty() const { return bytes_.empty(); }
    bool has_content() const { return !spans_.empty(); }
    bool content_at(size_t position) const;

    void append(std::string_view bytes, bool content);
    void append(const Text& other) { append(other, 0, other.size()); }
    void append(const Text& other, size_t begin, size_t end);  // bytes [begin, end) of other
    Text slice(size_t begin, size_t end) const;

    // markupsafe's "already escaped": set by the filters safe and escape, and it changes what + and % mean.
    bool markup() const { return markup_; }
    Text with_markup(bool markup) const;
    void set_markup(bool markup) { markup_ = markup; }

 private:
    void add_span(size_t begin, size_t end);

    std::string bytes_;
    std::vector<TextSpan> spans_;
    bool markup_ = false;
};

}  // namespace colugo::jinja
