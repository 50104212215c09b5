#include "engine/machine.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace colugo {

namespace {

// What follows "key" and a colon on its line in a file of the proc file system; empty when it is not there.
std::string proc_field(const char* path, std::string_view key) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
        if (!line.starts_with(key)) continue;
        const size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const size_t begin = line.find_first_not_of(" \t", colon + 1);
        return begin == std::string::npos ? "" : line.substr(begin);
    }
    return "";
}

uint64_t meminfo_bytes(std::string_view key) {
    const std::string field = proc_field("/proc/meminfo", key);
    return field.empty() ? 0 : std::strtoull(field.c_str(), nullptr, 10) * 1024;
}

std::optional<uint64_t> number_in_file(const std::string& path) {
    std::ifstream file(path);
    uint64_t value = 0;
    if (!(file >> value)) return std::nullopt;  // absent, or "max"
    return value;
}

// The number behind a word on its line; 0 when it is not there.
uint64_t stat_number(const std::string& path, std::string_view word) {
    std::ifstream file(path);
    std::string key;
    uint64_t value = 0;
    while (file >> key >> value) {
        if (key == word) return value;
    }
    return 0;
}

struct GroupMemory {
    uint64_t limit = std::numeric_limits<uint64_t>::max();
    uint64_t used = 0;

    // Cached pages of files count as used and are given up when memory is asked for.
    void set_aside_files(const std::string& stat, std::string_view active, std::string_view inactive) {
        used -= std::min(used, stat_number(stat, active) + stat_number(stat, inactive));
    }
};

// The processors' worth of time the control group may use.
double group_cpus() {
    const std::string root = "/sys/fs/cgroup/";
    double quota = 0.0, period = 0.0;
    if (std::ifstream file(root + "cpu.max"); file >> quota >> period) return quota / period;  // absent, or "max"
    const auto old_quota = number_in_file(root + "cpu/cpu.cfs_quota_us");                      // -1: none
    const auto old_period = number_in_file(root + "cpu/cpu.cfs_period_us");
    if (old_quota && old_period && *old_quota <= std::numeric_limits<uint32_t>::max() && *old_period > 0) {
        return static_cast<double>(*old_quota) / static_cast<double>(*old_period);
    }
    return std::numeric_limits<double>::infinity();
}

// The memory limit of the control group that is mounted as this process's root (that is what a container sees).
GroupMemory group_memory() {
    GroupMemory group;
    const std::string root = "/sys/fs/cgroup/";
    if (const auto limit = number_in_file(root + "memory.max")) {
        group.limit = *limit;
        group.used = number_in_file(root + "memory.current").value_or(0);
        group.set_aside_files(root + "memory.stat", "active_file", "inactive_file");
    } else if (const auto old_limit = number_in_file(root + "memory/memory.limit_in_bytes")) {
        group.limit = *old_limit;
        group.used = number_in_file(root + "memory/memory.usage_in_bytes").value_or(0);
        group.set_aside_files(root + "memory/memory.stat", "total_active_file", "total_inactive_file");
    }
    return group;
}

}  // namespace

std::string cpu_name() {
    const std::string name = proc_field("/proc/cpuinfo", "model name");
    return name.empty() ? "unknown" : name;
}

int usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
    const double allowed = std::min<double>(CPU_COUNT(&set), std::ceil(group_cpus()));
    return std::max(1, static_cast<int>(allowed));
}

uint64_t total_memory() {
    return std::min(meminfo_bytes("MemTotal"), group_memory().limit);
}

uint64_t available_memory() {
    const GroupMemory group = group_memory();
    const uint64_t left = group.limit - std::min(group.limit, group.used);
    return std::min(meminfo_bytes("MemAvailable"), left);
}

uint64_t peak_memory() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace colugo
