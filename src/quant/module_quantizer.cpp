#include "quant/module_quantizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "checkpoint/linear_weight.h"
#include "quant/activation_scale.h"
#include "quant/fp8.h"
#include "quant/nvfp4.h"

namespace colugo {

namespace {

using kernels::ActivationFormat;
using kernels::kPanel;
using kernels::WeightFormat;

constexpr int64_t kStripeBytes = int64_t{32} << 20;  // of f32 values
constexpr int kTrialRows = 96;                       // on which the tensor's scale is tried

// The factors tried on the tensor's scale: e4m3 has eight scales to an octave, so what is tried is where in an octave
// they lie. FP8 values have their own exponents, so where they lie changes nothing.
constexpr float kFactors[] = {1.0f, 1.03125f, 1.0625f, 1.09375f, 1.1875f};

// A choice of scales, and the stripe of the weight it gives.
struct Variant {
    float weight_scale = 1.0f;
    float input_scale = 1.0f;
    bool search = false;
    std::vector<uint8_t> codes = {};   // of a stripe
    std::vector<uint8_t> scales = {};  // of a stripe, NVFP4
    double output_error = 0.0;         // sum of squares
    double weight_error = 0.0;         // weighted sum of squares
    int64_t beyond = 0;
};

class Job {
 public:
    Job(const ModulePlan& plan, ActivationStats* inputs, CpuBackend& backend, ThreadPool& threads)
        : plan_(plan), inputs_(inputs), backend_(backend), threads_(threads) {
        importance_ = inputs != nullptr ? inputs->mean_squares() : std::vector<float>(columns(), 1.0f);
        const int64_t rows = kStripeBytes / (plan.k * static_cast<int64_t>(sizeof(float)));
        stripe_rows_ = static_cast<int>(std::clamp<int64_t>(rows / kPanel * kPanel, kPanel, 8192));
    }

    bool is_nvfp4() const { return plan_.algo != QuantAlgo::fp8; }
    // Reads the weight once: its largest magnitude.
    void find_amax();
    float amax() const { return amax_; }
    // NVFP4: the weighted error of some rows with scales searched under this scale of the tensor.
    double trial_error(float weight_scale);
    ModuleResult run(float amax_scale, float searched_scale, bool search, CheckpointWriter& writer);

 private:
    size_t columns() const { return static_cast<size_t>(plan_.k); }
    size_t code_bytes() const { return is_nvfp4() ? columns() / 2 : columns(); }
    size_t scale_bytes() const { return is_nvfp4() ? columns() / kNvfp4Block : 0; }
    std::span<float> row(std::vector<float>& values, int index) const {
        return std::span(values).subspan(static_cast<size_t>(index) * columns(), columns());
    }

    void read_stripe(int first, int rows);
    void read_trial_rows();
    float input_scale(bool search) const;
    void quantize_stripe(Variant& variant, int rows);
    kernels::PackedWeight pack(const Variant& variant, int rows);
    kernels::PackedWeight pack_original(int rows);
    void add_output_errors(std::span<Variant*> variants, int rows);
    void write_stripe(const Variant& variant, int first, int rows, CheckpointWriter& writer);
    void write_scalars(const Variant& variant, CheckpointWriter& writer);
    void require_finite(const ModuleResult& result) const;

    const ModulePlan& plan_;
    ActivationStats* inputs_;
    CpuBackend& backend_;
    ThreadPool& threads_;
    std::vector<float> importance_;  // [k]
    int stripe_rows_;
    float amax_ = 0.0f;
    int amax_row_ = 0;
    double weight_norm_ = 0.0;  // weighted sum of squares
    double output_norm_ = 0.0;
    std::vector<float> stripe_;      // [rows, k]
    std::vector<float> trial_rows_;  // [rows, k]
    Buffer packed_;
    std::vector<float> expected_, actual_;  // [samples, rows]
};

void Job::read_stripe(int first, int rows) {
    stripe_.resize(static_cast<size_t>(rows) * columns());
    threads_.parallel_for(rows, [&](int index, int) {
        read_floats(row(stripe_, index), plan_.source, static_cast<uint64_t>(first + index) * columns());
    });
}

void Job::find_amax() {
    for (int first = 0; first < plan_.n; first += stripe_rows_) {
        const int rows = std::min(stripe_rows_, plan_.n - first);
        read_stripe(first, rows);
        for (size_t i = 0; i < stripe_.size(); ++i) {
            if (std::fabs(stripe_[i]) <= amax_) continue;
            amax_ = std::fabs(stripe_[i]);
            amax_row_ = first + static_cast<int>(i / columns());
        }
    }
}

// Evenly chosen rows and the one with the largest magnitude.
void Job::read_trial_rows() {
    const int step = std::max(1, plan_.n / kTrialRows);
    std::vector<int> chosen = {amax_row_};
    for (int index = 0; index < plan_.n; index += step) chosen.push_back(index);
    trial_rows_.resize(chosen.size() * columns());
    for (size_t i = 0; i < chosen.size(); ++i) {
        read_floats(row(trial_rows_, static_cast<int>(i)), plan_.source, static_cast<uint64_t>(chosen[i]) * columns());
    }
}

double Job::trial_error(float weight_scale) {
    if (trial_rows_.empty()) read_trial_rows();
    const int count = static_cast<int>(trial_rows_.size() / columns());
    std::vector<double> errors(static_cast<size_t>(count));
    threads_.parallel_for(count, [&](int index, int) {
        std::vector<uint8_t> scales(scale_bytes());
        errors[static_cast<size_t>(index)] =
            nvfp4_searched_scales(backend_.table(), scales, row(trial_rows_, index), importance_, weight_scale);
    });
    double total = 0.0;
    for (const double error : errors) total += error;
    return total;
}

float Job::input_scale(bool search) const {
    if (plan_.algo == QuantAlgo::w4a16) return 1.0f;
    const TensorView samples = inputs_ != nullptr ? inputs_->samples() : TensorView();
    const float amax = inputs_ != nullptr ? inputs_->amax() : 0.0f;
    return is_nvfp4() ? nvfp4_input_scale(samples, amax, !search) : fp8_scale(amax);
}

void Job::quantize_stripe(Variant& variant, int rows) {
    variant.codes.resize(static_cast<size_t>(rows) * code_bytes());
    variant.scales.resize(static_cast<size_t>(rows) * scale_bytes());
    std::vector<int64_t> beyond(static_cast<size_t>(rows));
    std::vector<double> errors(static_cast<size_t>(rows));
    threads_.parallel_for(rows, [&](int index, int) {
        const auto at = static_cast<size_t>(index);
        const std::span<const float> values = row(stripe_, index);
        const auto codes = std::span(variant.codes).subspan(at * code_bytes(), code_bytes());
        const auto scales = std::span(variant.scales).subspan(at * scale_bytes(), scale_bytes());
        if (!is_nvfp4()) {
            beyond[at] = fp8_codes(codes, values, variant.weight_scale);
            errors[at] = fp8_error(values, importance_, variant.weight_scale);
            return;
        }
        if (variant.search) {
            errors[at] = nvfp4_searched_scales(backend_.table(), scales, values, importance_, variant.weight_scale);
        } else {
            nvfp4_amax_scales(scales, values, variant.weight_scale);
        }
        beyond[at] = nvfp4_codes(codes, scales, values, variant.weight_scale);
        if (!variant.search) {
            errors[at] = nvfp4_error(codes, scales, values, importance_, variant.weight_scale);
        }
    });
    for (size_t i = 0; i < beyond.size(); ++i) {
        variant.beyond += beyond[i];
        variant.weight_error += errors[i];
    }
}

kernels::PackedWeight Job::pack(const Variant& variant, int rows) {
    kernels::PackedWeight weight{.n = rows, .k = plan_.k};
    weight.format = is_nvfp4() ? WeightFormat::nvfp4 : WeightFormat::fp8;
    weight.activation = plan_.algo == QuantAlgo::nvfp4 ? ActivationFormat::nvfp4
                        : plan_.algo == QuantAlgo::fp8 ? ActivationFormat::fp8
                                                       : ActivationFormat::bf16;
    weight.input_scale = variant.input_scale;
    weight.alpha = variant.weight_scale * (plan_.algo == QuantAlgo::w4a16 ? 1.0f : variant.input_scale);
    const size_t panel_bytes = kernels::packed_panel_bytes(weight.format, plan_.k);
    threads_.parallel_for(weight.num_panels(), [&](int panel, int) {
        const int first = panel * kPanel;
        const auto* codes =
            reinterpret_cast<const std::byte*>(variant.codes.data()) + static_cast<size_t>(first) * code_bytes();
        std::byte* out = packed_.data() + static_cast<size_t>(panel) * panel_bytes;
        const int count = std::min(kPanel, rows - first);
        if (is_nvfp4()) {
            const auto* scales =
                reinterpret_cast<const std::byte*>(variant.scales.data()) + static_cast<size_t>(first) * scale_bytes();
            kernels::pack_panel_nvfp4(out, codes, scales, count, plan_.k);
        } else {
            kernels::pack_panel(out, weight.format, codes, count, plan_.k);
        }
    });
    weight.data = packed_.data();
    return weight;
}

kernels::PackedWeight Job::pack_original(int rows) {
    kernels::PackedWeight weight{.n = rows, .k = plan_.k};
    const size_t panel_bytes = kernels::packed_panel_bytes(WeightFormat::f32, plan_.k);
    threads_.parallel_for(weight.num_panels(), [&](int panel, int) {
        const int first = panel * kPanel;
        kernels::pack_panel(packed_.data() + static_cast<size_t>(panel) * panel_bytes, WeightFormat::f32,
                            reinterpret_cast<const std::byte*>(row(stripe_, first).data()),
                            std::min(kPanel, rows - first), plan_.k);
    });
    weight.data = packed_.data();
    return weight;
}

// The layer's output on the samples, as the runtime computes it, against that of the plain weights in f32.
void Job::add_output_errors(std::span<Variant*> variants, int rows) {
    if (inputs_ == nullptr) return;
    const TensorView samples = inputs_->samples();
    const auto count = static_cast<size_t>(samples.rows) * static_cast<size_t>(rows);
    expected_.resize(count);
    actual_.resize(count);
    const auto multiply = [&](const kernels::PackedWeight& weight, std::vector<float>& out) {
        const LinearCall call[] = {{&weight, TensorView(out.data(), samples.rows, rows)}};
        backend_.linear(call, samples);
    };
    multiply(pack_original(rows), expected_);
    for (const float y : expected_) output_norm_ += static_cast<double>(y) * static_cast<double>(y);
    for (Variant* variant : variants) {
        multiply(pack(*variant, rows), actual_);
        for (size_t i = 0; i < count; ++i) {
            const double difference = static_cast<double>(actual_[i]) - static_cast<double>(expected_[i]);
            variant->output_error += difference * difference;
        }
    }
}

void Job::write_stripe(const Variant& variant, int first, int rows, CheckpointWriter& writer) {
    const auto at = static_cast<uint64_t>(first);
    const auto bytes = [rows](const std::vector<uint8_t>& values, size_t per_row) {
        return std::as_bytes(std::span(values).first(static_cast<size_t>(rows) * per_row));
    };
    writer.write(plan_.file_name + ".weight", at * code_bytes(), bytes(variant.codes, code_bytes()));
    if (!is_nvfp4()) return;
    writer.write(plan_.file_name + ".weight_scale", at * scale_bytes(), bytes(variant.scales, scale_bytes()));
}

void Job::write_scalars(const Variant& variant, CheckpointWriter& writer) {
    const char* scale = is_nvfp4() ? ".weight_scale_2" : ".weight_scale";
    writer.write(plan_.file_name + scale, 0, std::as_bytes(std::span(&variant.weight_scale, 1)));
    if (plan_.algo == QuantAlgo::w4a16) return;
    writer.write(plan_.file_name + ".input_scale", 0, std::as_bytes(std::span(&variant.input_scale, 1)));
}

// Finite weights and inputs can still have outputs that are not.
void Job::require_finite(const ModuleResult& result) const {
    const double figures[] = {result.weight_scale, result.input_scale, result.weight_error, result.error,
                              result.amax_error};
    if (std::all_of(std::begin(figures), std::end(figures), [](double figure) { return std::isfinite(figure); })) {
        return;
    }
    fail(ErrorCode::invalid_file,
         "{} has weights of up to {:.3g} and inputs of up to {:.3g}, whose products are not finite: expected the "
         "weights of a trained model",
         plan_.file_name, result.amax, result.activation_amax);
}

ModuleResult Job::run(float amax_scale, float searched_scale, bool search, CheckpointWriter& writer) {
    Variant by_amax{.weight_scale = amax_scale, .input_scale = input_scale(false)};
    Variant searched{.weight_scale = searched_scale, .input_scale = input_scale(search), .search = true};
    Variant* all[] = {&by_amax, &searched};
    const bool both = search && is_nvfp4();
    const std::span<Variant*> variants = std::span(all).first(both ? 2 : 1);
    Variant& written = both ? searched : by_amax;
    packed_ = Buffer(kernels::packed_bytes(WeightFormat::f32, std::min(stripe_rows_, plan_.n), plan_.k));
    for (int first = 0; first < plan_.n; first += stripe_rows_) {
        const int rows = std::min(stripe_rows_, plan_.n - first);
        read_stripe(first, rows);
        for (size_t i = 0; i < stripe_.size(); ++i) {
            const double value = stripe_[i];
            weight_norm_ += value * value * static_cast<double>(importance_[i % columns()]);
        }
        for (Variant* variant : variants) quantize_stripe(*variant, rows);
        add_output_errors(variants, rows);
        write_stripe(written, first, rows, writer);
    }
    plan_.source.drop();
    write_scalars(written, writer);

    const auto relative = [](double error, double norm) { return norm > 0.0 ? std::sqrt(error / norm) : 0.0; };
    ModuleResult result;
    result.amax = amax_;
    result.weight_scale = written.weight_scale;
    result.activation_amax = inputs_ != nullptr ? inputs_->amax() : 0.0f;
    result.input_scale = plan_.algo == QuantAlgo::w4a16 ? 0.0f : written.input_scale;
    result.saturated = static_cast<double>(written.beyond) / (static_cast<double>(plan_.n) * plan_.k);
    result.weight_error = relative(written.weight_error, weight_norm_);
    result.error = relative(written.output_error, output_norm_);
    result.amax_error = relative(by_amax.output_error, output_norm_);
    require_finite(result);
    return result;
}

}  // namespace

std::vector<ModuleResult> ModuleQuantizer::quantize(std::span<const ModulePlan* const> fused, ActivationStats* inputs) {
    std::vector<Job> jobs;
    for (const ModulePlan* plan : fused) jobs.emplace_back(*plan, inputs, backend_, threads_);
    float amax = 0.0f;
    for (Job& job : jobs) {
        job.find_amax();
        amax = std::max(amax, job.amax());
    }
    const bool nvfp4 = jobs.front().is_nvfp4();
    const float base = nvfp4 ? nvfp4_global_scale(amax) : fp8_scale(amax);
    float best = base;
    double least = std::numeric_limits<double>::infinity();
    for (const float factor : kFactors) {
        if (!search_ || !nvfp4) break;
        double error = 0.0;
        for (Job& job : jobs) error += job.trial_error(base * factor);
        if (error >= least) continue;
        least = error;
        best = base * factor;
    }
    std::vector<ModuleResult> results;
    for (Job& job : jobs) results.push_back(job.run(base, best, search_, writer_));
    return results;
}

}  // namespace colugo
