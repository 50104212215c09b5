// How close the matmul comes to the machine's limits: bytes of weights per second against a plain read of as many bytes
// (decode: few rows), multiply-adds per second against a loop of nothing but fp32 fused multiply-adds (prefill: many
// rows). Probe and matmul alternate in one process, so a share holds on a machine that others use too; times are CPU
// seconds per thread, which a thread waiting for its core does not spend.
//
// matmul_benchmark [threads [part of a pair's name [rows ...]]]; COLUGO_FORCE_ISA chooses the tier.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "base/float_formats.h"
#include "base/thread_pool.h"
#include "benchmarks/probes.h"
#include "kernels/kernel_table.h"

namespace colugo::kernels {
namespace {

constexpr int kK = 2048;
constexpr size_t kWeightBytes = size_t{128} << 20;  // far more than any cache level holds
constexpr int kTasksPerThread = 8;
constexpr int kRounds = 9;

double thread_cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// CPU seconds per thread that `body(task, thread)` takes for all tasks.
template <typename Body>
double measure(ThreadPool& pool, int tasks, const Body& body) {
    std::vector<double> seconds(static_cast<size_t>(tasks));
    pool.parallel_for(tasks, [&](int task, int thread) {
        const double begin = thread_cpu_seconds();
        body(task, thread);
        seconds[static_cast<size_t>(task)] = thread_cpu_seconds() - begin;
    });
    double sum = 0;
    for (double task : seconds) sum += task;
    return sum / pool.size();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Pair {
    const char* name;
    WeightFormat weight;
    ActivationFormat activation;
};

constexpr Pair kPairs[] = {
    {"nvfp4 x nvfp4", WeightFormat::nvfp4, ActivationFormat::nvfp4},
    {"nvfp4 x bf16", WeightFormat::nvfp4, ActivationFormat::bf16},
    {"nvfp4 x f32", WeightFormat::nvfp4, ActivationFormat::f32},
    {"fp8 x fp8", WeightFormat::fp8, ActivationFormat::fp8},
    {"fp8 128x128", WeightFormat::fp8_block128, ActivationFormat::fp8_group128},
    {"bf16 x bf16", WeightFormat::bf16, ActivationFormat::bf16},
    {"f32 x f32", WeightFormat::f32, ActivationFormat::f32},
};

// One panel of plausible values, packed from a checkpoint's layout.
std::vector<std::byte> random_panel(WeightFormat format) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0.0f, 0.5f);
    std::vector<std::byte> panel(packed_panel_bytes(format, kK));
    const size_t count = size_t{kPanel} * kK;
    std::vector<std::byte> rows(count * 4);
    for (size_t i = 0; i < count; ++i) {
        const float value = normal(random);
        const uint16_t bf16 = f32_to_bf16(value);
        if (format == WeightFormat::f32) std::memcpy(&rows[i * 4], &value, 4);
        if (format == WeightFormat::bf16) std::memcpy(&rows[i * 2], &bf16, 2);
        if (format == WeightFormat::fp8 || format == WeightFormat::fp8_block128) {
            rows[i] = static_cast<std::byte>(f32_to_e4m3(value * 100.0f));
        }
        if (format == WeightFormat::nvfp4) rows[i] = static_cast<std::byte>(random() & 0xffu);
    }
    if (format != WeightFormat::nvfp4) {
        pack_panel(panel.data(), format, rows.data(), kPanel, kK);
        return panel;
    }
    std::vector<std::byte> scales(count / 16);
    for (std::byte& scale : scales) scale = static_cast<std::byte>(f32_to_e4m3(50.0f + normal(random) * 30.0f));
    pack_panel_nvfp4(panel.data(), rows.data(), scales.data(), kPanel, kK);
    return panel;
}

// A weight of many copies of one panel, and what multiplying by it needs.
struct Workload {
    Workload(const KernelTable& kernels, const Pair& pair, int threads)
        : table(kernels), panel(random_panel(pair.weight)) {
        const int panels = static_cast<int>(kWeightBytes / panel.size());
        storage = Buffer(static_cast<size_t>(panels) * panel.size());
        for (int i = 0; i < panels; ++i) {
            std::memcpy(storage.data() + static_cast<size_t>(i) * panel.size(), panel.data(), panel.size());
        }
        block_scales.assign(static_cast<size_t>(panels * kPanel / 128 + 1) * (kK / 128), 0.01f);
        weight = {.data = storage.data(),
                  .n = panels * kPanel,
                  .k = kK,
                  .format = pair.weight,
                  .activation = table.matmul_activation(pair.weight, pair.activation),
                  .alpha = 0.01f,
                  .input_scale = 0.01f,
                  .block_scales = block_scales.data()};
        for (int i = 0; i < threads; ++i) scratch.emplace_back(kMatmulScratchBytes);
    }

    void set_rows(int count) {
        std::mt19937 random(11);
        std::normal_distribution<float> normal(0.0f, 1.0f);
        rows = count;
        x.resize(static_cast<size_t>(rows) * kK);
        for (float& value : x) value = normal(random);
        prepared = Buffer(static_cast<size_t>(rows) * table.activation_row_bytes(weight.activation, kK));
        y.resize(static_cast<size_t>(rows) * static_cast<size_t>(weight.n));
        prepare();  // touches the memory
    }

    void prepare() {
        table.prepare_activation(prepared.data(), weight.activation, weight.input_scale, x.data(), kK, rows, kK);
    }

    void multiply(int panel_begin, int panel_end, int thread) {
        const MatmulArgs args{.y = y.data(),
                              .ldy = weight.n,
                              .activation = prepared.data(),
                              .rows = rows,
                              .weight = &weight,
                              .add = false};
        table.matmul(args, panel_begin, panel_end, scratch[static_cast<size_t>(thread)].data());
    }

    const KernelTable& table;
    std::vector<std::byte> panel;
    Buffer storage;
    std::vector<float> block_scales;
    PackedWeight weight;
    int rows = 0;
    std::vector<float> x;
    Buffer prepared;
    std::vector<float> y;
    std::vector<Buffer> scratch;
};

void run_rows(Workload& work, ThreadPool& pool, const char* name, int rows) {
    work.set_rows(rows);
    const bool few = rows <= 32;
    // Many rows run over fewer panels: their time is the multiplier's, and each panel's is the same.
    const int panels = work.weight.num_panels();
    const int used = std::max(64, few ? panels : panels * 16 / rows) / 64 * 64;
    const int tasks = pool.size() * kTasksPerThread;
    const size_t part = work.storage.size() / static_cast<size_t>(tasks) / 64 * 64;
    std::vector<double> matmul_seconds, probe_seconds;
    for (int round = 0; round < kRounds; ++round) {
        matmul_seconds.push_back(measure(pool, tasks, [&](int task, int thread) {
            work.multiply(used * task / tasks, used * (task + 1) / tasks, thread);
        }));
        probe_seconds.push_back(
            few ? measure(
                      pool, tasks,
                      [&](int task, int) { read_bytes(work.storage.data() + static_cast<size_t>(task) * part, part); })
                : measure(pool, pool.size(), [](int, int) { multiply_add(); }));
    }
    const double prepare_begin = thread_cpu_seconds();
    work.prepare();
    const double prepare = thread_cpu_seconds() - prepare_begin;

    const double time = median(matmul_seconds);
    const double bytes = static_cast<double>(used) * static_cast<double>(work.panel.size());
    const double macs = static_cast<double>(rows) * used * kPanel * kK;
    std::printf("%-14s M=%4d  %7.2f GB/s  %8.1f GMAC/s", name, rows, bytes / time * 1e-9, macs / time * 1e-9);
    if (few) {
        const double probe = static_cast<double>(part) * tasks / median(probe_seconds);
        std::printf("  %5.1f %% of reading (%.1f GB/s)", 100 * bytes / time / probe, probe * 1e-9);
    } else {
        const double probe = kMultiplyAdds * pool.size() / median(probe_seconds);
        std::printf("  %5.1f %% of FMA (%.1f GMAC/s)", 100 * macs / time / probe, probe * 1e-9);
    }
    std::printf("  prepare %.2f ns/value\n", prepare * 1e9 / rows / kK);
    std::fflush(stdout);
}

int run(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    const std::string part = argc > 2 ? argv[2] : "";
    std::vector<int> row_counts;
    for (int i = 3; i < argc; ++i) row_counts.push_back(std::max(1, std::atoi(argv[i])));
    if (row_counts.empty()) row_counts = {1, 2, 4, 8, 16, 128, 512};
    ThreadPool pool(std::max(1, threads));
    const KernelTable& table = kernel_table(select_tier());
    std::printf("tier %s, %d threads, k = %d\n", tier_name(table.tier), pool.size(), kK);
    for (const Pair& pair : kPairs) {
        if (std::string(pair.name).find(part) == std::string::npos) continue;
        Workload work(table, pair, pool.size());
        for (int rows : row_counts) run_rows(work, pool, pair.name, rows);
    }
    return 0;
}

}  // namespace
}  // namespace colugo::kernels

int main(int argc, char** argv) {
    try {
        return colugo::kernels::run(argc, argv);
    } catch (const colugo::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
