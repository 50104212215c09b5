// What a request may ask of the form of a reply, as grammars (docs/structured-output.md).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "sampling/byte_grammar.h"

namespace colugo {

inline constexpr int32_t kNoToken = -1;

// In all of these: `thought_end` is the control token that ends the thoughts a reply begins with; up to it every token
// is allowed. kNoToken: the reply begins with its answer. Two line breaks may precede the answer.

// The text of a value that the schema allows. Throws invalid_argument naming the keyword that is not supported and
// where it is. `name`: what such a sentence calls the schema.
ByteGrammar json_schema_grammar(const nlohmann::ordered_json& schema, int32_t thought_end = kNoToken,
                                std::string name = "the schema");
// The text of any JSON object.
ByteGrammar json_object_grammar(int32_t thought_end = kNoToken);

struct CallTool {
    std::string name;
    nlohmann::ordered_json parameters;  // the schema of an object; null: it has none
    // Not strict: any parameters, as text.
    bool strict = true;
};

struct CallRules {
    enum class Choice {
        automatic,  // free text; a call that is begun, even inside thoughts, is one of a tool
        required,   // nothing but calls, at least one. A named function: required, of that one, not parallel
        none,       // free text without a call, and without a thought but in its place
    };
    Choice choice = Choice::automatic;
    bool parallel = true;  // more than one call
    // Control tokens: <tool_call> and </tool_call>.
    int32_t open = kNoToken;
    int32_t close = kNoToken;
    // <think> and </think>, where there are such; for none alone, since what would have opened a call must open nothing
    // else that is no text.
    int32_t think = kNoToken;
    int32_t end_think = kNoToken;
    bool may_begin_thought = true;  // the reply: false where the prompt ends behind one
};

// Calls in the model's own syntax, their parameters in the order of the schema:
//   <tool_call>\n<function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>\n</function>\n</tool_call>
// Throws invalid_argument as above, naming the tool, and for tools whose names cannot be written or are the same.
ByteGrammar call_grammar(std::span<const CallTool> tools, const CallRules& rules, int32_t thought_end = kNoToken);

// Either the text of a value that the schema allows (nullptr: of any JSON object), or calls, of which the choice is
// automatic. Throws what both throw.
ByteGrammar json_or_call_grammar(const nlohmann::ordered_json* schema, std::span<const CallTool> tools,
                                 const CallRules& rules, int32_t thought_end = kNoToken,
                                 std::string name = "the schema");

}  // namespace colugo
