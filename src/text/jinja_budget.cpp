#include "text/jinja_budget.h"

#include "text/jinja_fault.h"

namespace colugo::jinja {

void Budget::charge(uint64_t steps) {
    steps_ += steps;
    if (steps_ > limits_.steps) limit_fault("rendering takes more than {} steps", limits_.steps);
}

void Budget::admit_bytes(size_t bytes) {
    if (bytes > limits_.bytes) limit_fault("a text or list would take more than {} bytes", limits_.bytes);
    charge_bytes(bytes);
}

void Budget::count_growth(size_t size, size_t& counted) {
    if (size > limits_.bytes) limit_fault("a text would take more than {} bytes", limits_.bytes);
    charge_bytes(size - counted);
    counted = size;
}

}  // namespace colugo::jinja
