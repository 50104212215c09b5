// json.dumps: what the filter tojson of a chat template is.
#include <algorithm>

#include "text/jinja_fault.h"
#include "text/jinja_print.h"
#include "text/jinja_unicode.h"

namespace colugo::jinja {
namespace {

class JsonWriter {
 public:
    JsonWriter(Runtime& runtime, const JsonStyle& style) : runtime_(runtime), style_(style) {}

    void write(const Value& value, int depth) {
        if (depth > kMaxValueDepth) limit_fault("a value nests more than {} levels deep", kMaxValueDepth);
        runtime_.charge(1);
        switch (value.kind()) {
            case Kind::none:
                out_.append("null", value.content());
                break;
            case Kind::boolean:
                out_.append(value.as_boolean() ? "true" : "false", value.content());
                break;
            case Kind::integer:
                out_.append(format_integer(value.as_integer()), value.content());
                break;
            case Kind::real:
                out_.append(real(value.as_double()), value.content());
                break;
            case Kind::string:
                quote(value.text());
                break;
            case Kind::list:
            case Kind::tuple:
                array(value, depth);
                break;
            case Kind::dict:
                object(value, depth);
                break;
            default:
                fault("Object of type {} is not JSON serializable", type_name(value));
        }
        runtime_.count_growth(out_.size(), counted_);
    }

    Text take() { return std::move(out_); }

 private:
    static std::string real(double value) {
        const std::string text = format_real(value);
        if (text == "nan") return "NaN";
        if (text == "inf") return "Infinity";
        if (text == "-inf") return "-Infinity";
        return text;
    }

    // The separators are the template's, but inside data they belong to the data.
    void append(const Text& text, bool content) {
        if (content) {
            out_.append(text.bytes(), true);
        } else {
            out_.append(text);
        }
    }

    void new_line(int depth, bool content) {
        if (!style_.multi_line) return;
        out_.append("\n", content);
        for (int i = 0; i < depth; ++i) append(style_.indent, content);
    }

    void array(const Value& value, int depth) {
        const bool content = value.content();
        out_.append("[", content);
        bool first = true;
        for (const Value& item : value.items()) {
            if (!first) append(style_.item_separator, content);
            first = false;
            new_line(depth + 1, content);
            write(item, depth + 1);
        }
        if (!first) new_line(depth, content);
        out_.append("]", content);
    }

    void object(const Value& value, int depth) {
        const bool content = value.content();
        using Entry = std::pair<Value, Value>;
        std::vector<const Entry*> entries;
        for (const Entry& entry : value.as<DictObject>().entries) entries.push_back(&entry);
        if (style_.sort_keys) {
            std::stable_sort(entries.begin(), entries.end(),
                             [this](const Entry* a, const Entry* b) { return less(runtime_, a->first, b->first); });
        }
        out_.append("{", content);
        bool first = true;
        for (const Entry* entry : entries) {
            if (!first) append(style_.item_separator, content);
            first = false;
            new_line(depth + 1, content);
            key(entry->first);
            append(style_.key_separator, content);
            write(entry->second, depth + 1);
        }
        if (!first) new_line(depth, content);
        out_.append("}", content);
    }

    void key(const Value& key) {
        if (key.is(Kind::string)) return quote(key.text());
        if (!key.is_number() && !key.is(Kind::none)) {
            fault("keys of a JSON object must be text, numbers, booleans or none, not {}", type_name(key));
        }
        out_.append("\"", key.content());
        write(key, 0);
        out_.append("\"", key.content());
    }

    void quote(const Text& text) {
        const std::string& bytes = text.bytes();
        const bool content = text.has_content();
        out_.append("\"", content);
        size_t plain = 0;  // start of the run that needs no escape
        for (size_t begin = 0, end = 0; begin < bytes.size(); begin = end) {
            const char32_t c = next_code_point(bytes, end);
            const std::string escaped = escape(c);
            if (escaped.empty()) continue;
            out_.append(text, plain, begin);
            out_.append(escaped, text.content_at(begin));
            plain = end;
        }
        out_.append(text, plain, bytes.size());
        out_.append("\"", content);
    }

    std::string escape(char32_t c) const {
        switch (c) {
            case '"':
                return "\\\"";
            case '\\':
                return "\\\\";
            case '\n':
                return "\\n";
            case '\r':
                return "\\r";
            case '\t':
                return "\\t";
            case '\b':
                return "\\b";
            case '\f':
                return "\\f";
            default:
                break;
        }
        const auto code = static_cast<uint32_t>(c);
        if (code < 0x20) return fmt::format("\\u{:04x}", code);
        if (!style_.ensure_ascii || code < 0x7F) return {};
        if (code < 0x10000) return fmt::format("\\u{:04x}", code);
        const uint32_t offset = code - 0x10000;
        return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (offset >> 10), 0xDC00 + (offset & 0x3FF));
    }

    Runtime& runtime_;
    const JsonStyle& style_;
    Text out_;
    size_t counted_ = 0;
};

}  // namespace

Text to_json(Runtime& runtime, const Value& value, const JsonStyle& style) {
    JsonWriter writer(runtime, style);
    writer.write(value, 0);
    return writer.take();
}

}  // namespace colugo::jinja
