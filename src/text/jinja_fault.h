// A fault found while a template runs, before its place in the template is known. The evaluator turns it into the
// project's Error with line and column.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace colugo::jinja {

class Fault : public std::runtime_error {
 public:
    enum class Cause {
        fault,   // an operation that Python or jinja2 would refuse too
        limit,   // a bound of this engine: steps, bytes, depth
        raised,  // the template called raise_exception: the sentence is the template's own
    };
    Fault(Cause cause, const std::string& sentence) : std::runtime_error(sentence), cause_(cause) {}
    Cause cause() const { return cause_; }

 private:
    Cause cause_;
};

template <typename... Args>
[[noreturn]] void fault(fmt::format_string<Args...> format, Args&&... args) {
    throw Fault(Fault::Cause::fault, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void limit_fault(fmt::format_string<Args...> format, Args&&... args) {
    throw Fault(Fault::Cause::limit, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace colugo::jinja
