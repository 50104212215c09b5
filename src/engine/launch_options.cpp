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
        case kernels::KvType::int8:
            return "int8";
    }
    return "unknown";
}

std::optional<kernels::KvType> find_kv_type(std::string_view name) {
    using kernels::KvType;
    for (const KvType type : {KvType::f32, KvType::bf16, KvType::fp8, KvType::int8}) {
        if (kv_type_name(type) == name) return type;
    }
    return std::nullopt;
}

kernels::KvType choose_kv_type(const LaunchOptions& options, std::string_view declared) {
    if (options.kv_type) return *options.kv_type;
    if (options.compute == ComputeMode::f32) return kernels::KvType::f32;
    return declared == "FP8" ? kernels::KvType::fp8 : kernels::KvType::bf16;
}

}  // namespace colugo
