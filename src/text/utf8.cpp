#include "text/utf8.h"

#include <cstring>

namespace colugo {
namespace {

// The bytes that may follow a lead byte: `length` in all, the first of the rest in [low, high] (Unicode, table 3-7).
struct LeadByte {
    uint8_t length;
    uint8_t low = 0x80;
    uint8_t high = 0xBF;
};

LeadByte lead_byte(unsigned char byte) {
    if (byte < 0x80) return {1};
    if (byte < 0xC2) return {0};  // a continuation byte, or the overlong C0 and C1
    if (byte < 0xE0) return {2};
    if (byte == 0xE0) return {3, 0xA0, 0xBF};  // no overlong form
    if (byte == 0xED) return {3, 0x80, 0x9F};  // no surrogate
    if (byte < 0xF0) return {3};
    if (byte == 0xF0) return {4, 0x90, 0xBF};  // no overlong form
    if (byte < 0xF4) return {4};
    if (byte == 0xF4) return {4, 0x80, 0x8F};  // nothing above U+10FFFF
    return {0};
}

}  // namespace

Utf8Step utf8_step(std::string_view text, size_t position) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[position + i]); };
    const LeadByte lead = lead_byte(byte(0));
    if (lead.length == 0) return {Utf8Step::ill_formed, 1, 0};
    const size_t available = text.size() - position;
    for (uint8_t i = 1; i < lead.length; ++i) {
        if (i == available) return {Utf8Step::incomplete, i, 0};
        const unsigned char low = i == 1 ? lead.low : 0x80;
        const unsigned char high = i == 1 ? lead.high : 0xBF;
        if (byte(i) < low || byte(i) > high) return {Utf8Step::ill_formed, i, 0};
    }
    return {Utf8Step::character, lead.length, decode_valid_utf8(text.data() + position).code_point};
}

void append_utf8(uint32_t code_point, std::string& out) {
    const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
    if (code_point < 0x80) {
        put(code_point);
    } else if (code_point < 0x800) {
        put(0xC0 | code_point >> 6);
        put(0x80 | (code_point & 0x3F));
    } else if (code_point < 0x10000) {
        put(0xE0 | code_point >> 12);
        put(0x80 | (code_point >> 6 & 0x3F));
        put(0x80 | (code_point & 0x3F));
    } else {
        put(0xF0 | code_point >> 18);
        put(0x80 | (code_point >> 12 & 0x3F));
        put(0x80 | (code_point >> 6 & 0x3F));
        put(0x80 | (code_point & 0x3F));
    }
}

std::string_view to_valid_utf8(std::string_view text, std::string& storage) {
    bool copied = false;
    size_t kept_from = 0;  // text before it is in storage already
    for (size_t i = ascii_prefix(text); i < text.size();) {
        const Utf8Step step = utf8_step(text, i);
        if (step.kind != Utf8Step::character) {
            if (!copied) storage.clear();
            copied = true;
            storage.append(text, kept_from, i - kept_from);
            storage.append(kReplacementCharacter);
            kept_from = i + step.length;
        }
        i += step.length;
    }
    if (!copied) return text;
    storage.append(text, kept_from);
    return storage;
}

size_t ascii_prefix(std::string_view text) {
    size_t i = 0;
    for (; i + 8 <= text.size(); i += 8) {
        uint64_t bytes;
        std::memcpy(&bytes, text.data() + i, 8);
        if ((bytes & 0x8080808080808080u) != 0) break;
    }
    while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) ++i;
    return i;
}

void Utf8Stream::feed(std::string_view bytes, std::string& out) {
    held_.append(bytes);
    size_t done = 0;
    while (done < held_.size()) {
        const Utf8Step step = utf8_step(held_, done);
        if (step.kind == Utf8Step::incomplete) break;
        if (step.kind == Utf8Step::character) {
            out.append(held_, done, step.length);
        } else {
            out.append(kReplacementCharacter);
        }
        done += step.length;
    }
    held_.erase(0, done);
}

void Utf8Stream::flush(std::string& out) {
    if (!held_.empty()) out.append(kReplacementCharacter);
    held_.clear();
}

}  // namespace colugo
