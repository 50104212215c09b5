#include "checkpoint/tensor_index.h"

#include "base/error.h"

namespace colugo {

namespace {

constexpr std::string_view kWrapper = "language_model.";
constexpr std::string_view kTrunk = "model.";

bool is_outside_trunk(std::string_view name) {
    return name.starts_with("mtp.") || name.starts_with("lm_head.") || name == "lm_head";
}

}  // namespace

std::string bare_name(std::string_view name) {
    std::string bare(name);
    for (size_t at = bare.find(kWrapper); at != bare.npos; at = bare.find(kWrapper, at)) {
        if (at != 0 && bare[at - 1] != '.') {
            ++at;
            continue;
        }
        bare.erase(at, kWrapper.size());
    }
    const std::string_view rest = std::string_view(bare).substr(bare.starts_with(kTrunk) ? kTrunk.size() : 0);
    return is_outside_trunk(rest) ? std::string(rest) : bare;
}

std::vector<std::string> module_names(const std::string& bare_module) {
    if (is_outside_trunk(bare_module)) {
        return {bare_module, "model." + bare_module, "language_model." + bare_module,
                "model.language_model." + bare_module};
    }
    const std::string rest = bare_module.substr(bare_module.starts_with(kTrunk) ? kTrunk.size() : 0);
    return {bare_module, "model.language_model." + rest, "language_model.model." + rest, "language_model." + rest};
}

TensorIndex::TensorIndex(const CheckpointFiles& files) {
    for (const auto& [name, tensor] : files.tensors()) {
        const std::string bare = bare_name(name);
        const auto [entry, added] = entries_.try_emplace(bare, Entry{tensor});
        if (!added) {
            fail(ErrorCode::invalid_file, "{} and {} are two names of one weight; expected one of them",
                 entry->second.tensor.record->name, name);
        }
        const bool trunk = bare.starts_with("model.layers.") || bare.starts_with("model.embed_tokens.");
        if (trunk && trunk_prefix_.empty()) trunk_prefix_ = name.substr(0, name.size() - bare.size() + kTrunk.size());
    }
    if (trunk_prefix_.empty()) trunk_prefix_ = kTrunk;
}

bool TensorIndex::has_any(const std::string& prefix) const {
    const auto first = entries_.lower_bound(prefix);
    return first != entries_.end() && first->first.starts_with(prefix);
}

StoredTensor TensorIndex::take(const std::string& name) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return {};
    found->second.used = true;
    return found->second.tensor;
}

void TensorIndex::ignore(const std::string& name) {
    if (const StoredTensor tensor = take(name)) ignored_.push_back(tensor.record->name);
}

std::string TensorIndex::file_name(const std::string& name) const {
    const auto found = entries_.find(name);
    if (found != entries_.end()) return found->second.tensor.record->name;
    return name.starts_with(kTrunk) ? trunk_prefix_ + name.substr(kTrunk.size()) : name;
}

std::vector<std::string> TensorIndex::unused(const std::string& prefix) const {
    std::vector<std::string> names;
    for (auto entry = entries_.lower_bound(prefix); entry != entries_.end() && entry->first.starts_with(prefix);
         ++entry) {
        if (!entry->second.used) names.push_back(entry->first);
    }
    return names;
}

}  // namespace colugo
