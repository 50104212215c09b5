#include "engine/machine.h"

#include <sched.h>

#include <algorithm>
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

struct GroupMemory {
    uint64_t limit = std::numeric_limits<uint64_t>::max();
    uint64_t used = 0;
};

// The memory limit of the control group that is mounted as this process's root (that is what a container sees).
GroupMemory group_memory() {
    GroupMemory group;
    const std::string root = "/sys/fs/cgroup/";
    if (const auto limit = number_in_file(root + "memory.max")) {
        group.limit = *limit;
        group.used = number_in_file(root + "memory.current").value_or(0);
    } else if (const auto old_limit = number_in_file(root + "memory/memory.limit_in_bytes")) {
        group.limit = *old_limit;
        group.used = number_in_file(root + "memory/memory.usage_in_bytes").value_or(0);
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
    return std::max(1, CPU_COUNT(&set));
}

uint64_t total_memory() {
    return std::min(meminfo_bytes("MemTotal"), group_memory().limit);
}

uint64_t available_memory() {
    const GroupMemory group = group_memory();
    const uint64_t left = group.limit - std::min(group.limit, group.used);
    return std::min(meminfo_bytes("MemAvailable"), left);
}

}  // namespace colugo
