#include "cli/checkpoint_folder.h"

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "cli/shipped_file.h"

namespace colugo {

namespace {

namespace fs = std::filesystem;

std::optional<std::string> shipped_model(const std::string& name) {
    if (name.empty() || name.find('/') != std::string::npos) return std::nullopt;
    const std::optional<std::string> config = shipped_file("models/" + name + "/config.json");
    if (!config) return std::nullopt;
    return fs::path(*config).parent_path().string();
}

}  // namespace

std::string checkpoint_folder(const std::string& model) {
    if (model.empty())
        fail(ErrorCode::invalid_argument, "the model's name is empty; expected a checkpoint folder or nano");
    if (const std::optional<std::string> shipped = shipped_model(model)) return *shipped;
    std::error_code error;
    const fs::file_status status = fs::status(model, error);
    if (status.type() == fs::file_type::not_found) {
        fail(ErrorCode::not_found,
             "there is no checkpoint folder {}, nor a model of that name with the program, neither in {} nor in the "
             "source tree it was built in",
             model, shipped_folder() + "/models");
    }
    if (error) fail(ErrorCode::io, "cannot read {}: {}", model, error.message());
    if (!fs::is_directory(status)) {
        fail(ErrorCode::invalid_argument,
             "{} is not a folder; expected a checkpoint folder with config.json and *.safetensors", model);
    }
    return model;
}

}  // namespace colugo
