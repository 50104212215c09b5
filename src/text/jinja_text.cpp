#include "text/jinja_text.h"

#include <algorithm>

namespace colugo::jinja {

Text::Text(std::string bytes, bool content) : bytes_(std::move(bytes)) {
    if (content) add_span(0, bytes_.size());
}

bool Text::content_at(size_t position) const {
    const auto after = std::upper_bound(spans_.begin(), spans_.end(), position,
                                        [](size_t value, const TextSpan& span) { return value < span.begin; });
    return after != spans_.begin() && position < std::prev(after)->end;
}

void Text::append(std::string_view bytes, bool content) {
    const size_t begin = bytes_.size();
    bytes_.append(bytes);
    if (content) add_span(begin, bytes_.size());
}

void Text::append(const Text& other, size_t begin, size_t end) {
    if (begin >= end) return;
    const size_t base = bytes_.size();
    bytes_.append(other.bytes_, begin, end - begin);
    auto span = std::lower_bound(other.spans_.begin(), other.spans_.end(), begin,
                                 [](const TextSpan& s, size_t value) { return s.end <= value; });
    for (; span != other.spans_.end() && span->begin < end; ++span) {
        add_span(base + std::max(span->begin, begin) - begin, base + std::min(span->end, end) - begin);
    }
}

Text Text::slice(size_t begin, size_t end) const {
    Text result;
    result.append(*this, begin, end);
    result.markup_ = markup_;
    return result;
}

Text Text::with_markup(bool markup) const {
    Text result = *this;
    result.markup_ = markup;
    return result;
}

void Text::add_span(size_t begin, size_t end) {
    if (begin == end) return;
    if (!spans_.empty() && spans_.back().end == begin) {
        spans_.back().end = end;
    } else {
        spans_.push_back({begin, end});
    }
}

}  // namespace colugo::jinja
