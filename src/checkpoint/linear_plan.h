// Decides how one linear layer is stored: by the tensors that are there, cross-checked with what the checkpoint
// declares.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/compute_mode.h"
#include "checkpoint/linear_weight.h"
#include "checkpoint/quantization_config.h"
#include "checkpoint/tensor_index.h"

namespace colugo {

// One line to tell the user about several modules at once, by what happened to them.
class ModuleNotices {
 public:
    void add(const std::string& what, const std::string& module) { modules_[what].push_back(module); }
    // "a, b and 5 more: what"
    std::vector<std::string> sentences() const;

 private:
    std::map<std::string, std::vector<std::string>> modules_;
};

class LinearPlanner {
 public:
    LinearPlanner(TensorIndex& tensors, const QuantizationConfig& quantization, ComputeMode compute,
                  ModuleNotices& notices)
        : tensors_(tensors), quantization_(quantization), compute_(compute), notices_(notices) {}

    // `module` is the bare name, without ".weight". Throws invalid_file naming the tensor or the module: one that is
    // missing, of the wrong type or shape (both are given), tensors that do not go together, or storage that
    // contradicts the declaration.
    LinearPlan plan(const std::string& module, int64_t n, int64_t k);
    // The same for a matrix that is looked up by row. It has to be stored as plain values, and what is declared of all
    // linear layers does not speak of it.
    LinearPlan plan_table(const std::string& module, int64_t n, int64_t k);

 private:
    LinearPlan start(const std::string& module, const std::string& weight, int64_t n, int64_t k);
    void plan_plain(LinearPlan& plan, const std::string& module, const QuantDeclaration& declared);
    void plan_fp8(LinearPlan& plan, const std::string& module, const QuantDeclaration& declared);
    void plan_nvfp4(LinearPlan& plan, const std::string& module, const QuantDeclaration& declared);
    void check_declared(const LinearPlan& plan, const QuantDeclaration& declared, bool agrees,
                        const std::string& stored) const;
    StoredTensor need(const std::string& name, const std::string& why);
    StoredTensor scalar(const std::string& name, const std::string& why);
    StoredTensor optional_scalar(const std::string& name);
    kernels::ActivationFormat plain_activation() const;

    TensorIndex& tensors_;
    const QuantizationConfig& quantization_;
    ComputeMode compute_;
    ModuleNotices& notices_;
};

// Throws invalid_file with both shapes unless they are equal.
void check_shape(const StoredTensor& tensor, const std::vector<int64_t>& expected);
// Throws invalid_file unless the tensor is f32, f16 or bf16.
void check_float(const StoredTensor& tensor);

}  // namespace colugo
