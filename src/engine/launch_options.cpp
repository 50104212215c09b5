#include "engine/launch_options.h"

#include <fmt/format.h>

namespace colugo {

std::string_view compute_mode_name(ComputeMode mode) {
    return mode == ComputeMode::f32 ? "f32" : "bf16";
}

std::string_view kv_type_name(kernels::KvType type) {
    switch (type) {
        case kernels::KvType::f32:
            return "f32";
        case kernels::KvType::bf16:
            return "bf16";
        case kernels::KvType::fp8:
            return "fp8";
    }
    return "unknown";
}

kernels::KvType choose_kv_type(const LaunchOptions& options, const std::string& declared,
                               std::vector<std::string>& notices) {
    if (options.kv_type) return *options.kv_type;
    if (options.compute == ComputeMode::f32) return kernels::KvType::f32;
    if (declared == "FP8") return kernels::KvType::fp8;
    if (!declared.empty()) {
        notices.push_back(fmt::format(
            "the checkpoint declares a key/value cache of type {}, which is not known; bf16 is used", declared));
    }
    return kernels::KvType::bf16;
}

}  // namespace colugo
