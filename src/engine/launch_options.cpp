#include "engine/launch_options.h"

namespace colugo {

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

kernels::KvType choose_kv_type(const LaunchOptions& options, std::string_view declared) {
    if (options.kv_type) return *options.kv_type;
    if (options.compute == ComputeMode::f32) return kernels::KvType::f32;
    return declared == "FP8" ? kernels::KvType::fp8 : kernels::KvType::bf16;
}

}  // namespace colugo
