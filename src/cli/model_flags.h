// The options that say which model is launched, and how: the same for every command that loads or plans one.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "engine/engine.h"

namespace colugo {

// Help of every --kv-type.
inline constexpr const char* kKvTypeHelp =
    "What keys and values are stored as: auto (fp8 where the checkpoint declares it, else bf16), f32, bf16, fp8, int8 "
    "(the fastest behind long contexts where the CPU has VNNI and no AMX)";

class ModelFlags {
 public:
    // Adds --ctx-size, --compute, --kv-type.
    explicit ModelFlags(CLI::App& app);
    void add_threads(CLI::App& app);
    void add_parallel(CLI::App& app);
    void add_ubatch_size(CLI::App& app);
    // Adds --spec, --spec-depth, --spec-topk, --spec-nodes.
    void add_spec(CLI::App& app);
    // What sequences leave behind is kept, in as much memory as --cache-gib says, and on disk where --cache-disk says.
    void add_cache(CLI::App& app);

    // model: a checkpoint folder.
    LaunchOptions launch_options(const std::string& model) const;
    Engine::Options engine_options() const;

 private:
    int64_t ctx_size_ = 0;
    int threads_ = 0;
    int parallel_ = 1;
    int ubatch_size_ = 512;
    bool keep_prefixes_ = false;
    SpecParams spec_;
    std::string spec_mode_ = "auto";
    double cache_gib_ = 0.0;
    std::string cache_disk_;
    double cache_disk_gib_ = 16.0;
    std::string compute_ = "bf16";
    std::string kv_type_ = "auto";
};

}  // namespace colugo
