#include "bench/machine_record.h"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace colugo {

using nlohmann::ordered_json;

namespace {

namespace fs = std::filesystem;

// The first line; empty where it cannot be read.
std::string line_of(const fs::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::optional<uint64_t> number_in(const fs::path& path) {
    const std::string text = line_of(path);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data()) return std::nullopt;
    return value;
}

// The values of all lines "NAME : VALUE" of a file of /proc.
std::vector<std::string> proc_fields(const char* path, std::string_view name) {
    std::vector<std::string> values;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const size_t colon = line.find(':');
        if (colon == line.npos || !line.starts_with(name)) continue;
        if (line.find_first_not_of(" \t", name.size()) != colon) continue;
        const size_t begin = line.find_first_not_of(" \t", colon + 1);
        values.push_back(begin == line.npos ? "" : line.substr(begin));
    }
    return values;
}

std::vector<fs::path> entries(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> paths;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    return paths;
}

ordered_json text_or_null(const std::string& text) {
    return text.empty() ? ordered_json() : ordered_json(text);
}

}  // namespace

ordered_json machine_json() {
    const std::vector<std::string> names = proc_fields("/proc/cpuinfo", "model name");
    const std::vector<std::string> memory = proc_fields("/proc/meminfo", "MemTotal");
    cpu_set_t usable;
    CPU_ZERO(&usable);
    const bool counted = sched_getaffinity(0, sizeof(usable), &usable) == 0;
    utsname system = {};
    uname(&system);
    ordered_json machine = {{"cpu", names.empty() ? ordered_json() : ordered_json(names.front())},
                            {"cores", counted ? ordered_json(CPU_COUNT(&usable)) : ordered_json()}};
    machine["memory_bytes"] = nullptr;
    if (!memory.empty()) machine["memory_bytes"] = 1024 * std::strtoull(memory.front().c_str(), nullptr, 10);
    machine["kernel"] = std::string(system.sysname) + " " + system.release;
    machine["architecture"] = system.machine;
    machine["governor"] = text_or_null(line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    return machine;
}

std::vector<double> core_clocks() {
    std::vector<double> clocks;
    for (const std::string& value : proc_fields("/proc/cpuinfo", "cpu MHz")) {
        clocks.push_back(std::strtod(value.c_str(), nullptr));
    }
    return clocks;
}

EnergyMeter::EnergyMeter(const std::string& sys) {
    for (const fs::path& zone : entries(fs::path(sys) / "class/powercap")) {
        const std::string name = zone.filename().string();
        // intel-rapl:0 is a package, intel-rapl:0:1 a part of it.
        if (!name.starts_with("intel-rapl:") || std::count(name.begin(), name.end(), ':') != 1) continue;
        add("RAPL " + line_of(zone / "name"), (zone / "energy_uj").string(),
            number_in(zone / "max_energy_range_uj").value_or(0));
    }
    if (!counters_.empty()) return;
    for (const fs::path& sensor : entries(fs::path(sys) / "class/hwmon")) {
        for (const fs::path& file : entries(sensor)) {
            const std::string name = file.filename().string();
            if (!name.starts_with("energy") || !name.ends_with("_input")) continue;
            add("hwmon " + line_of(sensor / "name") + " " + name, file.string(), 0);
        }
    }
}

void EnergyMeter::add(const std::string& name, const std::string& path, uint64_t highest) {
    const std::optional<uint64_t> value = number_in(path);
    if (!value) return;
    counters_.push_back({.path = path, .range = highest == 0 ? 0 : highest + 1, .last = *value});
    sources_.push_back(name);
}

void EnergyMeter::update() {
    for (Counter& counter : counters_) {
        const std::optional<uint64_t> value = number_in(counter.path);
        if (!value) continue;
        if (*value >= counter.last) {
            microjoules_ += static_cast<double>(*value - counter.last);
        } else if (counter.range > counter.last) {
            microjoules_ += static_cast<double>(counter.range - counter.last + *value);
        }
        counter.last = *value;
    }
}

std::optional<double> EnergyMeter::joules() const {
    if (counters_.empty()) return std::nullopt;
    return microjoules_ * 1e-6;
}

}  // namespace colugo
