// The form a request's reply is held to, as a grammar over the model's tokens.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/model_text.h"
#include "engine/request.h"
#include "sampling/grammar_cache.h"
#include "sampling/reply_grammar.h"
#include "sampling/token_grammar.h"
#include "server/chat_request.h"
#include "text/output_parser.h"
#include "text/tokenizer.h"

namespace colugo {

class ReplyForms {
 public:
    // The tokenizer outlives it. stop_ids: end a reply.
    ReplyForms(const Tokenizer& tokenizer, int64_t vocab_size, std::vector<int32_t> stop_ids);

    // Where a reply begins: inside a thought, behind which its form begins; behind one; or the prompt has none there.
    enum class Begin : uint8_t { anywhere, within_thought, behind_thought };
    // nullptr where the reply may be anything. Beside tools that may be called a reply of a format is that or calls,
    // and calls alone where one has to be called. Throws ApiError (400) for what a form cannot have, naming it. From
    // any thread; requests of the same form share a grammar, which is for the engine's thread.
    std::shared_ptr<TokenGrammar> make(const ChatRequest& request, Begin begin);
    // Gives `request`, which has the prompt of `chat`, the form of its reply, or the reply itself where `chat` says it
    // (replay_output, with drafts as right as `acceptance` says). input: chat_input(chat). Returns the thought that the
    // reply begins in. Throws ApiError (400).
    OutputParser::Thought hold_reply(const ModelText& text, const ChatRequest& chat, const ChatInput& input,
                                     const std::vector<double>& acceptance, Request& request);

 private:
    std::shared_ptr<TokenGrammar> calls(const ToolFields& fields, int32_t thought_end);
    std::shared_ptr<TokenGrammar> no_calls(const ToolFields& fields, Begin begin, int32_t thought_end);
    std::shared_ptr<TokenGrammar> format(const ResponseFormat& format, int32_t thought_end);
    std::shared_ptr<TokenGrammar> format_or_calls(const ResponseFormat& form, const ToolFields& fields,
                                                  int32_t thought_end);
    bool has_call_tokens() const;
    CallRules call_rules(const ToolFields& fields) const;  // throws where the model has no tokens for calls

    const Tokenizer& tokenizer_;
    const std::vector<int32_t> stop_ids_;
    GrammarCache cache_;
};

}  // namespace colugo
