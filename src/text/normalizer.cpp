#include "text/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace colugo {
namespace {

bool is_continuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

uint8_t properties_at(std::string_view text, size_t position) {
    return code_point_properties(decode_valid_utf8(text.data() + position).code_point);
}

// An unsettled run begins with the settled character it may compose with, if that takes part in NFC at all.
size_t run_begin(std::string_view text, size_t first_unsettled) {
    if (first_unsettled == 0) return 0;
    size_t before = first_unsettled - 1;
    while (is_continuation(text[before])) --before;
    return (properties_at(text, before) & kNfcFixed) != 0 ? first_unsettled : before;
}

size_t run_end(std::string_view text, size_t first_unsettled) {
    size_t end = first_unsettled;
    while (end < text.size()) {
        const Utf8Character character = decode_valid_utf8(text.data() + end);
        if ((code_point_properties(character.code_point) & kNfcUnsettled) == 0) break;
        end += character.length;
    }
    return end;
}

// The work of one run. utf8proc's own reordering is quadratic in the number of marks, so only its decompositions and
// its composition, which are linear, are used.
class RunNormalizer {
 public:
    void normalize(std::string_view run, std::string& out) {
        decompose(run);
        reorder();
        const auto composed =
            utf8proc_normalize_utf32(code_points_.data(), std::ssize(code_points_),
                                     static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
        COLUGO_CHECK(composed >= 0);
        out.clear();
        for (utf8proc_ssize_t i = 0; i < composed; ++i) {
            append_utf8(static_cast<uint32_t>(code_points_[static_cast<size_t>(i)]), out);
        }
    }

 private:
    void decompose(std::string_view run) {
        code_points_.clear();
        for (size_t i = 0; i < run.size();) {
            const Utf8Character character = decode_valid_utf8(run.data() + i);
            utf8proc_int32_t parts[8];  // a canonical decomposition has at most 4
            int boundary_state = 0;
            const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character.code_point), parts, 8,
                                                       UTF8PROC_DECOMPOSE, &boundary_state);
            COLUGO_CHECK(count > 0 && count <= 8);
            code_points_.insert(code_points_.end(), parts, parts + count);
            i += character.length;
        }
    }

    // Sorts each stretch of marks by combining class, keeping the order within a class.
    void reorder() {
        const auto combining_class = [](utf8proc_int32_t code_point) {
            return utf8proc_get_property(code_point)->combining_class;
        };
        for (auto begin = code_points_.begin(); begin != code_points_.end();) {
            if (combining_class(*begin) == 0) {
                ++begin;
                continue;
            }
            const auto end = std::find_if(begin, code_points_.end(), [&](auto c) { return combining_class(c) == 0; });
            std::stable_sort(begin, end, [&](auto a, auto b) { return combining_class(a) < combining_class(b); });
            begin = end;
        }
    }

    std::vector<utf8proc_int32_t> code_points_;
};

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& storage) {
    bool copied = false;
    size_t kept_from = 0;  // text before it is in storage already
    RunNormalizer normalizer;
    std::string result;
    for (size_t i = ascii_prefix(text); i < text.size();) {
        const Utf8Character character = decode_valid_utf8(text.data() + i);
        if ((code_point_properties(character.code_point) & kNfcUnsettled) == 0) {
            i += character.length;
            continue;
        }
        const size_t begin = run_begin(text, i);
        const size_t end = run_end(text, i);
        const std::string_view run = text.substr(begin, end - begin);
        normalizer.normalize(run, result);
        if (result != run) {
            if (!copied) storage.clear();
            copied = true;
            storage.append(text, kept_from, begin - kept_from);
            storage.append(result);
            kept_from = end;
        }
        i = end;
    }
    if (!copied) return text;
    storage.append(text, kept_from);
    return storage;
}

}  // namespace colugo
