// 'text' % arguments.
#include <algorithm>
#include <cmath>

#include "text/jinja_fault.h"
#include "text/jinja_format.h"
#include "text/jinja_operators.h"
#include "text/jinja_print.h"
#include "text/jinja_unicode.h"

namespace colugo::jinja {
namespace {

class PercentFormatter {
 public:
    PercentFormatter(Runtime& runtime, const Text& format, const Value& arguments)
        : runtime_(runtime), format_(format), source_(format.bytes()), arguments_(arguments) {
        if (arguments.is(Kind::tuple)) {
            positional_ = arguments.items();
        } else {
            positional_.push_back(arguments);
        }
    }

    Value run() {
        Text out;
        size_t plain = 0;
        for (size_t at = source_.find('%'); at != std::string::npos; at = source_.find('%', plain)) {
            out.append(format_, plain, at);
            position_ = at + 1;
            out.append(conversion());
            plain = position_;
            runtime_.count_growth(out.size(), counted_);
        }
        out.append(format_, plain, source_.size());
        const bool open = arguments_.is(Kind::dict) || arguments_.is(Kind::list) || arguments_.is(Kind::undefined);
        if (next_ < positional_.size() && !used_key_ && !open) fault("not all arguments of a % format are used");
        out.set_markup(format_.markup());
        return Value::string(std::move(out));
    }

 private:
    char peek() const {
        if (position_ >= source_.size()) fault("a % format ends inside a conversion");
        return source_[position_];
    }

    const Value& next_argument() {
        if (next_ >= positional_.size()) fault("a % format has too few arguments");
        return positional_[next_++];
    }

    int64_t number_or_star() {
        if (peek() != '*') return read_number(source_, position_);
        ++position_;
        return to_int64(next_argument(), "*");
    }

    const Value& keyed_argument() {
        const size_t close = source_.find(')', position_);
        if (close == std::string::npos) fault("a % format has '(' without ')'");
        const std::string_view key = std::string_view(source_).substr(position_ + 1, close - position_ - 1);
        if (!arguments_.is(Kind::dict)) fault("a % format with names needs a mapping");
        const Value* value = arguments_.as<DictObject>().find(key);
        if (value == nullptr) fault("the mapping of a % format has no '{}'", key);
        position_ = close + 1;
        used_key_ = true;
        return *value;
    }

    Text conversion() {
        const Value* argument = peek() == '(' ? &keyed_argument() : nullptr;
        FormatSpec spec;
        bool zero = false;
        for (;; ++position_) {
            const char flag = peek();
            if (flag == '-') {
                spec.align = '<';
            } else if (flag == '+' || (flag == ' ' && spec.sign != '+')) {
                spec.sign = flag;
            } else if (flag == '#') {
                spec.alternate = true;
            } else if (flag == '0') {
                zero = true;
            } else if (flag != ' ') {
                break;
            }
        }
        spec.width = number_or_star();
        if (spec.width < 0) {
            spec.align = '<';
            spec.width = -spec.width;
        }
        if (peek() == '.') {
            ++position_;
            spec.precision = std::max<int64_t>(0, number_or_star());
        }
        while (peek() == 'l' || peek() == 'h' || peek() == 'L') ++position_;
        spec.type = peek();
        ++position_;
        if (spec.type == '%') return Text("%", format_.content_at(position_ - 1));
        if (argument == nullptr) argument = &next_argument();
        return convert(spec, zero, *argument);
    }

    Text convert(FormatSpec spec, bool zero, const Value& value) {
        switch (spec.type) {
            case 's':
            case 'r':
            case 'a': {
                Text text = spec.type == 's' ? str_of(runtime_, value) : repr_of(runtime_, value);
                if (format_.markup()) text = escape_html(text);
                if (spec.align == 0) spec.align = '>';
                return format_text(runtime_, spec, text);
            }
            case 'c':
                if (!value.is(Kind::string)) break;
                spec.align = spec.align == 0 ? '>' : spec.align;
                return format_text(runtime_, spec, value.text());
            case 'd':
            case 'i':
            case 'u':
            case 'x':
            case 'X':
            case 'o':
                return convert_integer(spec, zero, value);
            case 'e':
            case 'E':
            case 'f':
            case 'F':
            case 'g':
            case 'G':
                check_precision(spec.precision);
                break;
            default:
                fault("a % format has no conversion '{}'", spec.type);
        }
        if (!value.is_number()) fault("%{} needs a number, not a {}", spec.type, type_name(value));
        if (zero && spec.align == 0) {
            spec.align = '=';
            spec.fill.assign(1, '0');
        }
        return format_number(runtime_, spec,
                             spec.type == 'c' ? value : Value::real(value.as_double()).mark_content(value.content()));
    }

    Text convert_integer(FormatSpec spec, bool zero, Value value) {
        if (!value.is_number() ||
            (value.is(Kind::real) && (spec.type == 'x' || spec.type == 'X' || spec.type == 'o'))) {
            fault("%{} needs an integer, not a {}", spec.type, type_name(value));
        }
        if (value.is(Kind::real)) {
            const double whole = std::trunc(value.as_double());
            if (!(std::fabs(whole) < 1e38)) fault("%{} needs a finite number of at most 38 digits", spec.type);
            const bool content = value.content();
            value = Value::integer(static_cast<Integer>(whole));
            value.mark_content(content);
        }
        if (spec.type == 'u' || spec.type == 'i') spec.type = 'd';
        if (spec.precision >= 0) {  // digits are filled with zeros up to the precision
            check_precision(spec.precision);
            FormatSpec digits = spec;
            digits.fill.assign(1, '0');
            digits.align = '=';
            digits.width = spec.precision + (value.as_integer() < 0 || spec.sign != '-' ? 1 : 0);
            spec.align = spec.align == 0 ? '>' : spec.align;
            spec.precision = -1;
            return format_text(runtime_, spec, format_number(runtime_, digits, value));
        }
        if (zero && spec.align == 0) {
            spec.align = '=';
            spec.fill.assign(1, '0');
        }
        return format_number(runtime_, spec, value);
    }

    Runtime& runtime_;
    const Text& format_;
    const std::string& source_;
    const Value& arguments_;
    std::vector<Value> positional_;
    size_t next_ = 0;
    size_t position_ = 0;
    size_t counted_ = 0;
    bool used_key_ = false;
};

}  // namespace

Value format_percent(Runtime& runtime, const Text& format, const Value& arguments) {
    return PercentFormatter(runtime, format, arguments).run();
}

}  // namespace colugo::jinja
