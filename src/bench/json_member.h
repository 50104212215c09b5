// Reading JSON that somebody else wrote, of which nothing is sure.
#pragma once

#include <nlohmann/json.hpp>

namespace colugo {

// Null where there is none, or no object.
inline const nlohmann::ordered_json& member(const nlohmann::ordered_json& object, const char* name) {
    static const nlohmann::ordered_json absent;
    if (!object.is_object()) return absent;
    const auto found = object.find(name);
    return found == object.end() ? absent : *found;
}

}  // namespace colugo
