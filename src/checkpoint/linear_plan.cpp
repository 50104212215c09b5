#include "checkpoint/linear_plan.h"

#include <algorithm>

#include "base/error.h"

namespace colugo {

using kernels::ActivationFormat;
using kernels::WeightFormat;

namespace {

constexpr int64_t kNvfp4Block = 16;
constexpr int64_t kFp8Block = 128;

bool is_float(const StoredTensor& tensor) {
    const std::optional<DType> dtype = tensor.record->dtype;
    return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

void check_dtype(const StoredTensor& tensor, DType expected, const char* word) {
    if (tensor.record->dtype == expected) return;
    fail(ErrorCode::invalid_file, "tensor {} has type {}; expected {}", tensor.record->name, tensor.record->dtype_word,
         word);
}

int64_t blocks(int64_t size, int64_t block) {
    return (size + block - 1) / block;
}

}  // namespace

std::vector<std::string> ModuleNotices::sentences() const {
    constexpr size_t kNamed = 8;
    std::vector<std::string> sentences;
    for (const auto& [what, modules] : modules_) {
        const size_t named = std::min(kNamed, modules.size());
        std::string names =
            fmt::format("{}", fmt::join(modules.begin(), modules.begin() + static_cast<ptrdiff_t>(named), ", "));
        if (named < modules.size()) names += fmt::format(" and {} more", modules.size() - named);
        sentences.push_back(fmt::format("{}: {}", names, what));
    }
    return sentences;
}

void check_shape(const StoredTensor& tensor, const std::vector<int64_t>& expected) {
    if (tensor.record->shape == expected) return;
    fail(ErrorCode::invalid_file, "tensor {} has shape {}, config.json asks for {}", tensor.record->name,
         shape_text(tensor.record->shape), shape_text(expected));
}

void check_float(const StoredTensor& tensor) {
    if (is_float(tensor)) return;
    fail(ErrorCode::invalid_file, "tensor {} has type {}; expected F32, F16 or BF16", tensor.record->name,
         tensor.record->dtype_word);
}

StoredTensor LinearPlanner::need(const std::string& name, const std::string& why) {
    const StoredTensor tensor = tensors_.take(name);
    if (!tensor) fail(ErrorCode::invalid_file, "tensor {} is missing: {}", tensors_.file_name(name), why);
    return tensor;
}

StoredTensor LinearPlanner::optional_scalar(const std::string& name) {
    const StoredTensor tensor = tensors_.take(name);
    if (!tensor) return tensor;
    check_float(tensor);
    const std::vector<int64_t>& shape = tensor.record->shape;
    if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size != 1; })) {
        fail(ErrorCode::invalid_file, "tensor {} has shape {}; expected one value for the whole weight",
             tensor.record->name, shape_text(shape));
    }
    return tensor;
}

StoredTensor LinearPlanner::scalar(const std::string& name, const std::string& why) {
    if (!tensors_.has(name)) need(name, why);
    return optional_scalar(name);
}

ActivationFormat LinearPlanner::plain_activation() const {
    return compute_ == ComputeMode::f32 ? ActivationFormat::f32 : ActivationFormat::bf16;
}

void LinearPlanner::check_declared(const LinearPlan& plan, const QuantDeclaration& declared, bool agrees,
                                   const std::string& stored) const {
    if (agrees) return;
    if (quantization_.empty()) {
        fail(ErrorCode::invalid_file,
             "{} is stored as {}, but neither hf_quant_config.json nor config.json declares a "
             "quantization",
             plan.name, stored);
    }
    fail(ErrorCode::invalid_file, "{} is stored as {}, but {}", plan.name, stored, declared.reason);
}

LinearPlan LinearPlanner::start(const std::string& module, const std::string& weight, int64_t n, int64_t k) {
    LinearPlan plan;
    plan.n = static_cast<int>(n);
    plan.k = static_cast<int>(k);
    const std::string beside = tensors_.file_name(module + weight);
    plan.name = beside.substr(0, beside.size() - weight.size());
    plan.weight = need(module + weight, "config.json asks for it");
    return plan;
}

LinearPlan LinearPlanner::plan(const std::string& module, int64_t n, int64_t k) {
    const QuantDeclaration declared = quantization_.declared(module_names(module));
    const bool packed = tensors_.has(module + ".weight_packed");
    LinearPlan plan = start(module, packed ? ".weight_packed" : ".weight", n, k);
    if (packed && tensors_.has(module + ".weight")) {
        fail(ErrorCode::invalid_file, "{} has both a weight and a weight_packed; expected one of them", plan.name);
    }
    if (plan.weight.record->dtype == DType::u8) {
        plan_nvfp4(plan, module, declared);
    } else if (plan.weight.record->dtype == DType::fp8_e4m3) {
        plan_fp8(plan, module, declared);
    } else {
        plan_plain(plan, module, declared);
    }
    return plan;
}

LinearPlan LinearPlanner::plan_table(const std::string& module, int64_t n, int64_t k) {
    const QuantDeclaration declared = quantization_.declared(module_names(module));
    LinearPlan table = start(module, ".weight", n, k);
    if (!is_float(table.weight)) {
        fail(ErrorCode::unsupported,
             "tensor {} has type {}, which is not supported for it; accepted: F32, F16 and BF16",
             table.weight.record->name, table.weight.record->dtype_word);
    }
    plan_plain(table, module, declared.by_name ? declared : QuantDeclaration{});
    return table;
}

void LinearPlanner::plan_plain(LinearPlan& plan, const std::string& module, const QuantDeclaration& declared) {
    if (!is_float(plan.weight)) {
        fail(ErrorCode::unsupported,
             "tensor {} has type {}, which is not supported; accepted: F32, F16, BF16, F8_E4M3 and U8",
             plan.weight.record->name, plan.weight.record->dtype_word);
    }
    for (const char* suffix : {".weight_scale", ".weight_scale_inv", ".weight_scale_2", ".weight_global_scale"}) {
        if (tensors_.has(module + suffix)) {
            fail(ErrorCode::invalid_file, "tensor {} does not go with {}, which has type {}",
                 tensors_.file_name(module + suffix), plan.weight.record->name, plan.weight.record->dtype_word);
        }
    }
    check_shape(plan.weight, {plan.n, plan.k});
    const DType dtype = *plan.weight.record->dtype;
    plan.scheme = dtype == DType::f32   ? WeightScheme::f32
                  : dtype == DType::f16 ? WeightScheme::f16
                                        : WeightScheme::bf16;
    if (declared.algo != QuantAlgo::none) {
        check_declared(plan, declared, !declared.by_name, plan.weight.record->dtype_word);
        notices_.add("declared quantized but stored as plain values, and used as stored", plan.name);
    }
    const bool wide = compute_ == ComputeMode::f32 && dtype != DType::bf16;
    plan.format = wide ? WeightFormat::f32 : WeightFormat::bf16;
    plan.activation = plain_activation();
    if (!wide && dtype != DType::bf16) {
        notices_.add(fmt::format("weights of type {} are rounded to bf16 (--compute f32 keeps them)",
                                 plan.weight.record->dtype_word),
                     plan.name);
    }
}

void LinearPlanner::plan_fp8(LinearPlan& plan, const std::string& module, const QuantDeclaration& declared) {
    check_shape(plan.weight, {plan.n, plan.k});
    const std::string inverse = module + ".weight_scale_inv";
    if (tensors_.has(inverse) || declared.algo == QuantAlgo::fp8_block) {
        if (tensors_.has(module + ".weight_scale")) {
            fail(ErrorCode::invalid_file, "{} has both a weight_scale and a weight_scale_inv; expected one of them",
                 plan.name);
        }
        check_declared(plan, declared, declared.algo == QuantAlgo::fp8_block, "FP8 in 128x128 blocks");
        plan.block_scales = need(inverse, plan.weight.record->name + " has type F8_E4M3 and needs it");
        check_float(plan.block_scales);
        check_shape(plan.block_scales, {blocks(plan.n, kFp8Block), blocks(plan.k, kFp8Block)});
        plan.scheme = WeightScheme::fp8_block128;
        plan.format = WeightFormat::fp8_block128;
        plan.activation = ActivationFormat::fp8_group128;
        return;
    }
    plan.weight_scale = scalar(module + ".weight_scale", plan.weight.record->name + " has type F8_E4M3 and needs it");
    check_declared(plan, declared, declared.algo == QuantAlgo::fp8, "FP8");
    plan.input_scale = optional_scalar(module + ".input_scale");
    plan.format = WeightFormat::fp8;
    plan.scheme = plan.input_scale ? WeightScheme::fp8 : WeightScheme::fp8_weight_only;
    plan.activation = plan.input_scale ? ActivationFormat::fp8 : plain_activation();
    if (!plan.input_scale) notices_.add("FP8 without an input_scale, so activations are not quantized", plan.name);
}

void LinearPlanner::plan_nvfp4(LinearPlan& plan, const std::string& module, const QuantDeclaration& declared) {
    plan.reciprocal = tensors_.has(module + ".weight_packed");
    const std::string why = plan.weight.record->name + " has type U8 and needs it";
    plan.block_scales = need(module + ".weight_scale", why);
    plan.weight_scale = scalar(module + (plan.reciprocal ? ".weight_global_scale" : ".weight_scale_2"), why);
    const bool four_bits = declared.algo == QuantAlgo::nvfp4 || declared.algo == QuantAlgo::w4a16;
    check_declared(plan, declared, four_bits, "NVFP4");
    if (plan.k % kNvfp4Block != 0) {
        fail(ErrorCode::invalid_file, "{} is stored as NVFP4 with {} inputs; expected a multiple of {}", plan.name,
             plan.k, kNvfp4Block);
    }
    check_shape(plan.weight, {plan.n, plan.k / 2});
    check_dtype(plan.block_scales, DType::fp8_e4m3, "F8_E4M3");
    check_shape(plan.block_scales, {plan.n, plan.k / kNvfp4Block});
    plan.format = WeightFormat::nvfp4;

    const std::string input_scale = module + (plan.reciprocal ? ".input_global_scale" : ".input_scale");
    plan.scheme = WeightScheme::nvfp4_w4a16;
    plan.activation = plain_activation();
    if (declared.algo == QuantAlgo::w4a16) {
        tensors_.ignore(input_scale);
        return;
    }
    plan.input_scale = optional_scalar(input_scale);
    if (!plan.input_scale) {
        notices_.add("declared W4A4 without an input_scale, so activations are not quantized (W4A16)", plan.name);
        return;
    }
    plan.scheme = WeightScheme::nvfp4_w4a4;
    plan.activation = ActivationFormat::nvfp4;
}

}  // namespace colugo
