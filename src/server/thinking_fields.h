// Whether the model may think first, and what else a request tells the chat template.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "server/request_fields.h"

namespace colugo {

// The template's variables: those of chat_template_kwargs, and enable_thinking where anything says so: of several that
// do, the first of chat_template_kwargs, enable_thinking, thinking.type, reasoning and reasoning_effort, `by_default`.
// An effort other than "none" is given to the template too. Throws ApiError (400).
nlohmann::ordered_json read_template_variables(RequestFields& fields, std::optional<bool> by_default);

}  // namespace colugo
