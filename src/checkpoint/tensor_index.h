// A checkpoint's tensors under one set of names, whatever wrapper they were saved with, and a tally of which are used.
//
// The names are those of a bare text model: "model.layers.0.mlp.up_proj.weight", "lm_head.weight", "mtp.fc.weight".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint_files.h"

namespace colugo {

// The bare text model's name of a tensor or module: every "language_model." is taken out, and "mtp." and "lm_head." are
// at top level.
std::string bare_name(std::string_view name);
// The names under which configurations may speak of the module with this bare name.
std::vector<std::string> module_names(const std::string& bare_module);

class TensorIndex {
 public:
    // Throws invalid_file when two tensors have the same bare name.
    explicit TensorIndex(const CheckpointFiles& files);

    bool has(const std::string& name) const { return entries_.contains(name); }
    bool has_any(const std::string& prefix) const;
    // Marks the tensor used; empty when there is none.
    StoredTensor take(const std::string& name);
    // Marks it used, because it is known and of no use here, and lists it as ignored.
    void ignore(const std::string& name);
    // The name in the files of a tensor with this bare name, or of one that would lie beside it.
    std::string file_name(const std::string& name) const;
    // Bare names of the tensors under the prefix that are not used yet.
    std::vector<std::string> unused(const std::string& prefix = "") const;
    // Names in the files, of tensors given to ignore().
    const std::vector<std::string>& ignored() const { return ignored_; }

 private:
    struct Entry {
        StoredTensor tensor;
        bool used = false;
    };

    std::map<std::string, Entry> entries_;
    std::vector<std::string> ignored_;
    std::string trunk_prefix_;  // how the files spell "model."
};

}  // namespace colugo
