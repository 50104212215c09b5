// The machine a benchmark runs on, as far as it tells: what makes a figure comparable.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace colugo {

// CPU, cores this process may use, memory, kernel, governor.
nlohmann::ordered_json machine_json();

// The cores' clocks now, in MHz; empty where they are not told.
std::vector<double> core_clocks();

// Sums what the machine's energy counters (RAPL, else those of hwmon) count from its construction on. They overflow,
// some within the hour: update() has to be called more often than that.
class EnergyMeter {
 public:
    // `sys`: where sysfs is.
    explicit EnergyMeter(const std::string& sys = "/sys");
    void update();
    // Joules until the last update; absent where no counter can be read.
    std::optional<double> joules() const;
    const std::vector<std::string>& sources() const { return sources_; }

 private:
    struct Counter {
        std::string path;
        uint64_t range = 0;  // one more than the highest value; 0: unknown
        uint64_t last = 0;
    };
    void add(const std::string& name, const std::string& path, uint64_t highest);

    std::vector<Counter> counters_;
    std::vector<std::string> sources_;
    double microjoules_ = 0.0;
};

}  // namespace colugo
