#include "checkpoint/linear_weight.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/float_formats.h"

namespace colugo {

using kernels::WeightFormat;

namespace {

constexpr size_t kLine = 64;                      // alignment of the block scales behind the panels
constexpr size_t kTaskBytes = size_t{512} << 10;  // of the file, for one task: enough to hide its hand-over
constexpr int64_t kScaleBlock = 128;

size_t panel_bytes(const LinearPlan& plan) {
    return kernels::packed_bytes(plan.format, plan.n, plan.k);
}

size_t block_scale_count(const LinearPlan& plan) {
    if (plan.format != WeightFormat::fp8_block128) return 0;
    return static_cast<size_t>((plan.n + kScaleBlock - 1) / kScaleBlock * ((plan.k + kScaleBlock - 1) / kScaleBlock));
}

size_t block_scales_offset(const LinearPlan& plan) {
    return (panel_bytes(plan) + kLine - 1) / kLine * kLine;
}

// Some byte of the run is marked by `bad`, which looks at eight bytes at once.
template <typename Bad>
bool any_bad(std::span<const std::byte> bytes, Bad bad) {
    uint64_t marks = 0;
    size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
        uint64_t word;
        std::memcpy(&word, bytes.data() + i, 8);
        marks |= bad(word);
    }
    if (i < bytes.size()) {
        uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, bytes.size() - i);
        marks |= bad(word);
    }
    return marks != 0;
}

// Adding 1 to the seven low bits carries into the eighth where all are set: the NaN codes 0x7f and 0xff.
uint64_t e4m3_nan(uint64_t word) {
    return ((word & 0x7f7f7f7f7f7f7f7fu) + 0x0101010101010101u) & 0x8080808080808080u;
}

uint64_t e4m3_nan_or_sign(uint64_t word) {
    return e4m3_nan(word) | (word & 0x8080808080808080u);
}

// The same with the exponent fields: all ones is an infinity or a NaN.
uint64_t bf16_not_finite(uint64_t word) {
    return ((word & 0x7f807f807f807f80u) + 0x0080008000800080u) & 0x8000800080008000u;
}

uint64_t f16_not_finite(uint64_t word) {
    return ((word & 0x7c007c007c007c00u) + 0x0400040004000400u) & 0x8000800080008000u;
}

uint64_t f32_not_finite(uint64_t word) {
    return ((word & 0x7f8000007f800000u) + 0x0080000000800000u) & 0x8000000080000000u;
}

bool all_finite(std::span<const std::byte> bytes, DType dtype) {
    switch (dtype) {
        case DType::f32:
            return !any_bad(bytes, f32_not_finite);
        case DType::f16:
            return !any_bad(bytes, f16_not_finite);
        case DType::bf16:
            return !any_bad(bytes, bf16_not_finite);
        case DType::fp8_e4m3:
            return !any_bad(bytes, e4m3_nan);
        default:
            return true;
    }
}

float load_float(const std::byte* from, DType dtype) {
    if (dtype == DType::f32) {
        float value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }
    uint16_t bits;
    std::memcpy(&bits, from, sizeof bits);
    return dtype == DType::bf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
}

// Values of a plain tensor in the type they are packed in.
void convert(std::byte* out, WeightFormat format, const std::byte* from, DType dtype, size_t count) {
    const size_t size = dtype_size(dtype);
    for (size_t i = 0; i < count; ++i) {
        const float value = load_float(from + i * size, dtype);
        if (format == WeightFormat::f32) {
            std::memcpy(out + i * sizeof value, &value, sizeof value);
        } else {
            const uint16_t bits = f32_to_bf16(value);
            std::memcpy(out + i * sizeof bits, &bits, sizeof bits);
        }
    }
}

bool needs_conversion(const LinearPlan& plan) {
    const DType dtype = *plan.weight.record->dtype;
    return (plan.format == WeightFormat::f32 && dtype != DType::f32) ||
           (plan.format == WeightFormat::bf16 && dtype != DType::bf16);
}

// Packs the panels of one plan; tasks are runs of whole panels.
class Packer {
 public:
    Packer(const LinearPlan& plan, std::byte* out) : plan_(plan), out_(out), convert_(needs_conversion(plan)) {
        row_bytes_ = plan.weight.record->length / static_cast<uint64_t>(plan.n);
        scale_row_bytes_ = has_scale_rows() ? static_cast<uint64_t>(plan.k) / 16 : 0;
        const size_t panel = static_cast<size_t>(row_bytes_) * kernels::kPanel;
        panels_per_task_ = static_cast<int>(std::max<size_t>(kTaskBytes / std::max<size_t>(panel, 1), 1));
    }

    int tasks() const { return (num_panels() + panels_per_task_ - 1) / panels_per_task_; }

    void run(int task) const {
        const int begin = task * panels_per_task_;
        const int end = std::min(begin + panels_per_task_, num_panels());
        std::vector<std::byte> converted;
        if (convert_) converted.resize(kernels::kPanel * static_cast<size_t>(plan_.k) * value_size());
        for (int panel = begin; panel < end; ++panel) pack(panel, converted.data());
        drop(plan_.weight, row_bytes_, begin, end);
        if (has_scale_rows()) drop(plan_.block_scales, scale_row_bytes_, begin, end);
    }

 private:
    bool has_scale_rows() const { return plan_.format == WeightFormat::nvfp4; }
    int num_panels() const { return (plan_.n + kernels::kPanel - 1) / kernels::kPanel; }
    size_t value_size() const { return plan_.format == WeightFormat::f32 ? 4 : 2; }

    void pack(int panel, std::byte* converted) const {
        const auto first = static_cast<uint64_t>(panel) * kernels::kPanel;
        const int rows = std::min(kernels::kPanel, plan_.n - static_cast<int>(first));
        std::byte* out = out_ + static_cast<size_t>(panel) * kernels::packed_panel_bytes(plan_.format, plan_.k);
        const auto source = plan_.weight.bytes().subspan(first * row_bytes_, static_cast<uint64_t>(rows) * row_bytes_);
        const DType dtype = *plan_.weight.record->dtype;
        if (!all_finite(source, dtype)) {
            fail(ErrorCode::invalid_file, "tensor {} holds a value that is not finite, in rows {} to {}",
                 plan_.weight.record->name, first, first + static_cast<uint64_t>(rows) - 1);
        }
        if (plan_.format == WeightFormat::nvfp4) {
            const auto scales = plan_.block_scales.bytes().subspan(first * scale_row_bytes_,
                                                                   static_cast<uint64_t>(rows) * scale_row_bytes_);
            check_scale_codes(scales, first);
            kernels::pack_panel_nvfp4(out, source.data(), scales.data(), rows, plan_.k);
        } else if (convert_) {
            convert(converted, plan_.format, source.data(), dtype,
                    static_cast<size_t>(rows) * static_cast<size_t>(plan_.k));
            kernels::pack_panel(out, plan_.format, converted, rows, plan_.k);
        } else {
            kernels::pack_panel(out, plan_.format, source.data(), rows, plan_.k);
        }
    }

    void check_scale_codes(std::span<const std::byte> scales, uint64_t first_row) const {
        if (!any_bad(scales, e4m3_nan_or_sign)) return;
        const auto bad =
            std::find_if(scales.begin(), scales.end(), [](std::byte code) { return code >= std::byte{0x7f}; });
        const auto at = static_cast<uint64_t>(bad - scales.begin());
        fail(ErrorCode::invalid_file,
             "tensor {} holds the scale code {:#04x} at row {}, column {}; expected codes below "
             "0x7f, which are finite and not negative",
             plan_.block_scales.record->name, std::to_integer<int>(*bad), first_row + at / scale_row_bytes_,
             at % scale_row_bytes_);
    }

    void drop(const StoredTensor& tensor, uint64_t row_bytes, int panel_begin, int panel_end) const {
        const uint64_t begin = static_cast<uint64_t>(panel_begin) * kernels::kPanel * row_bytes;
        const uint64_t end =
            std::min(static_cast<uint64_t>(panel_end) * kernels::kPanel * row_bytes, tensor.record->length);
        tensor.file->drop(*tensor.record, begin, end - begin);
    }

    const LinearPlan& plan_;
    std::byte* out_;
    bool convert_;
    uint64_t row_bytes_ = 0;        // of the weight tensor
    uint64_t scale_row_bytes_ = 0;  // of block_scales, nvfp4
    int panels_per_task_ = 1;
};

void read_block_scales(const LinearPlan& plan, float* out) {
    const std::vector<float> scales = read_floats(plan.block_scales);
    for (const float scale : scales) {
        if (scale < 0.0f) {
            fail(ErrorCode::invalid_file, "tensor {} holds the scale {}; expected none below 0",
                 plan.block_scales.record->name, scale);
        }
    }
    std::copy(scales.begin(), scales.end(), out);
}

// The factors of the whole tensor: alpha multiplies the sum of products of what is stored.
void read_scales(const LinearPlan& plan, kernels::PackedWeight& packed) {
    const auto value = [&](const StoredTensor& tensor) {
        return plan.reciprocal ? 1.0f / read_scale(tensor) : read_scale(tensor);
    };
    if (plan.weight_scale) packed.alpha = value(plan.weight_scale);
    if (plan.input_scale) {
        packed.input_scale = value(plan.input_scale);
        packed.alpha *= packed.input_scale;
    }
    if (!std::isnormal(packed.alpha) || !std::isnormal(packed.input_scale)) {
        const StoredTensor& last = plan.input_scale ? plan.input_scale : plan.weight_scale;
        fail(ErrorCode::invalid_file,
             "the scales of {} give {}, which is too small or too large to compute with (tensor {})", plan.name,
             packed.alpha, last.record->name);
    }
}

}  // namespace

std::string_view weight_scheme_name(WeightScheme scheme) {
    switch (scheme) {
        case WeightScheme::f32:
            return "f32";
        case WeightScheme::f16:
            return "f16";
        case WeightScheme::bf16:
            return "bf16";
        case WeightScheme::fp8:
            return "fp8";
        case WeightScheme::fp8_weight_only:
            return "fp8 weight-only";
        case WeightScheme::fp8_block128:
            return "fp8 128x128";
        case WeightScheme::nvfp4_w4a4:
            return "nvfp4 w4a4";
        case WeightScheme::nvfp4_w4a16:
            return "nvfp4 w4a16";
    }
    return "unknown";
}

uint64_t LinearPlan::file_bytes() const {
    uint64_t bytes = 0;
    for (const StoredTensor& tensor : {weight, block_scales, weight_scale, input_scale}) {
        if (tensor) bytes += tensor.record->length;
    }
    return bytes;
}

uint64_t LinearPlan::packed_bytes() const {
    const size_t scales = block_scale_count(*this);
    return scales == 0 ? panel_bytes(*this) : block_scales_offset(*this) + scales * sizeof(float);
}

LinearWeight pack_linear(const LinearPlan& plan, ThreadPool& threads) {
    LinearWeight weight{Buffer(plan.packed_bytes()), {}};
    kernels::PackedWeight& packed = weight.packed;
    packed.data = weight.storage.data();
    packed.n = plan.n;
    packed.k = plan.k;
    packed.format = plan.format;
    packed.activation = plan.activation;
    read_scales(plan, packed);
    if (block_scale_count(plan) > 0) {
        float* scales = reinterpret_cast<float*>(weight.storage.data() + block_scales_offset(plan));
        read_block_scales(plan, scales);
        packed.block_scales = scales;
    }
    const Packer packer(plan, weight.storage.data());
    threads.parallel_for(packer.tasks(), [&packer](int task, int) { packer.run(task); });
    // Pages that two tasks, or two tensors, share.
    plan.weight.drop();
    if (plan.block_scales) plan.block_scales.drop();
    return weight;
}

float read_scale(const StoredTensor& tensor) {
    const float value = load_float(tensor.bytes().data(), *tensor.record->dtype);
    if (!std::isfinite(value) || value <= 0.0f) {
        fail(ErrorCode::invalid_file, "tensor {} is {}; expected a finite scale above 0", tensor.record->name, value);
    }
    return value;
}

void require_finite(const StoredTensor& tensor, uint64_t offset, uint64_t bytes) {
    if (all_finite(tensor.bytes().subspan(offset, bytes), *tensor.record->dtype)) return;
    fail(ErrorCode::invalid_file, "tensor {} holds a value that is not finite", tensor.record->name);
}

void read_floats(std::span<float> out, const StoredTensor& tensor, uint64_t first) {
    const DType dtype = *tensor.record->dtype;
    const uint64_t offset = first * dtype_size(dtype), bytes = out.size() * dtype_size(dtype);
    require_finite(tensor, offset, bytes);
    convert(reinterpret_cast<std::byte*>(out.data()), WeightFormat::f32, tensor.bytes().subspan(offset, bytes).data(),
            dtype, out.size());
}

std::vector<float> read_floats(const StoredTensor& tensor) {
    std::vector<float> values(tensor.record->length / dtype_size(*tensor.record->dtype));
    read_floats(values, tensor, 0);
    tensor.drop();
    return values;
}

}  // namespace colugo
