// What a run took: one line for people, or one JSON object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/loaded_model.h"
#include "engine/request.h"

namespace colugo {

struct RunFigures {
    RequestResult result;
    double load_seconds = 0.0;
    std::optional<uint64_t> seed;  // of a run that samples

    std::string line() const;
    std::string json(const LoadedModel& model) const;
};

}  // namespace colugo
