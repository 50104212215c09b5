// Tool calls as fragments of a grammar.
#pragma once

#include <cstdint>
#include <string_view>

#include "sampling/raw_text_grammar.h"
#include "sampling/reply_grammar.h"
#include "sampling/schema_compiler.h"

namespace colugo {

class CallCompiler {
 public:
    explicit CallCompiler(JsonGrammar& json) : json_(json), builder_(json.builder()), text_(json) {}

    // From <function=NAME> to </function> and its line break. Throws invalid_argument (reply_grammar.h).
    void function(const CallTool& tool, uint32_t from, uint32_t to);

 private:
    void strict_parameters(const CallTool& tool, uint32_t from, uint32_t to);
    void loose_parameters(uint32_t from, uint32_t to);
    void value(SchemaCompiler& compiler, const SchemaDocument& document, const SchemaPlace& place, uint32_t from,
               uint32_t to);
    void text(SchemaCompiler& compiler, const SchemaDocument& document, const SchemaLeaf& leaf,
              const RawTextGrammar::Characters& barred, uint32_t from, uint32_t to);

    JsonGrammar& json_;
    GrammarBuilder& builder_;
    RawTextGrammar text_;
};

}  // namespace colugo
