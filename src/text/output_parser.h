// What a model writes, told apart as it comes: what it thinks, what it says, and which tools it calls with what.
//
// Two ways to write a call are known, each between the control tokens <tool_call> and </tool_call>:
//     <function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>\n</function>      Qwen3.5's, whose values are plain text
//     {"name": NAME, "arguments": {...}}                                      Hermes's
// Values are not escaped, so what ends one is a rule, made for values that have such text in them, and for models that
// forget a tag. A value ends, without one line break in front, at
//     </parameter>, then <parameter=, or </function> and the call's end;
//     </function>, then </tool_call>, where the reply or this call ends;
//     <parameter=KEY> on a line of its own, where KEY is another of the tool's parameters and was not given yet.
// A <function= inside a value is matched by its own </function>: within, only the end of the reply ends the value.
// Blanks may stand between tags. A parameter whose head is broken is left out. A call that is cut off has what was
// there; what is no call is content. A call may lack <tool_call> where the function is one of the tools and
// its tag begins a line. What a thought shows of calls is a part of it, unless the reply ends there.
//
// The pieces do not depend on how the text was cut when it was fed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/python_literal.h"
#include "text/tool_types.h"

namespace colugo {

// Control tokens that have a meaning here.
enum class ReplyMark : uint8_t { think, end_think, tool_call, end_tool_call };

inline constexpr std::string_view kReplyMarks[] = {"<think>", "</think>", "<tool_call>", "</tool_call>"};

struct ReplyPiece {
    enum class Kind : uint8_t {
        reasoning,
        content,
        call,       // text: the function's name; its arguments follow
        arguments,  // of the last call: the pieces joined are a JSON object
        call_end,
    };
    Kind kind;
    std::string text;
};

class OutputParser {
 public:
    enum class Thought : uint8_t { none, open, possible, plain };
    struct Options {
        Thought thought = Thought::none;  // open: the prompt ends within one; possible: the reply may begin with one;
                                          // plain: its marks are content
        const std::vector<ToolTypes>* tools = nullptr;  // outlive the parser; nullptr: calls are content
        bool parallel_calls = true;
    };
    explicit OutputParser(const Options& options);

    // text: whole characters, as a Detokenizer gives them. Pieces are added to `out`.
    void feed(std::string_view text, std::vector<ReplyPiece>& out);
    void feed(ReplyMark mark, std::vector<ReplyPiece>& out);
    // The end of the reply. cut: it is not the model's own, so that half a tag or half an object is no text.
    void finish(bool cut, std::vector<ReplyPiece>& out);

    // Calls so far, the one that is being written among them.
    int calls() const { return calls_; }
    // One call was asked for, and is there as a whole: what comes is not looked at.
    bool is_done() const { return state_ == State::done && !cut_; }
    // A thought is a part of the reply, be it empty.
    bool has_thought() const { return thought_; }
    // The reply is, so far, within a thought.
    bool is_thinking() const { return state_ == State::thinking || state_ == State::call_in_thought; }

 private:
    enum class State : uint8_t {
        before,  // a thought may come, or content
        thinking,
        call_in_thought,
        content,
        call_head,  // behind <tool_call>
        json_call,
        body,  // of a function, between its parameters
        value,
        skipping,  // a parameter with a broken head
        after_call,
        done,
    };
    // What the text at a place is, as far as it is there.
    enum class Verdict : uint8_t { no, undecided, yes };
    struct ValueEnd {
        Verdict verdict = Verdict::no;
        size_t resume = 0;  // where what follows the value begins
    };

    void run(std::vector<ReplyPiece>& out);
    bool advance();
    bool advance_before();
    bool advance_thinking();
    bool advance_call_in_thought();
    bool advance_content();
    bool advance_call_head();
    bool advance_json_call();
    bool advance_body();
    bool advance_value();
    bool advance_after_call();

    Verdict call_follows(size_t at, bool only_known) const;
    ValueEnd value_end(size_t at) const;
    Verdict reply_may_end(size_t at) const;
    bool begin_function(size_t at);
    void begin_parameter();
    void give_value(std::string_view text);
    void end_value();
    void end_function();
    void end_call();
    bool is_known(std::string_view function) const;

    Verdict literal(size_t at, std::string_view word) const;
    Verdict mark_at(size_t at, ReplyMark mark) const;
    size_t next_mark(size_t at) const;
    size_t skip_blanks(size_t at) const;
    void drop(size_t count) { held_.erase(0, count); }

    void say(ReplyPiece::Kind kind, std::string_view text);
    void think(std::string_view text);
    void speak(std::string_view text);
    static std::string spelled(std::string_view text);

    Options options_;
    State state_;
    std::string held_;      // what is not decided yet; a mark is one byte that UTF-8 does not have
    size_t looked_ = 0;     // bytes of it that need no second look
    LiteralProgress json_;  // of a Hermes call: its looked_ bytes
    bool ended_ = false, cut_ = false;
    std::vector<ReplyPiece>* out_ = nullptr;
    bool thought_ = false, thought_begun_ = false, content_begun_ = false;
    std::string breaks_, blanks_;  // behind a thought, behind content: given out where more of it follows
    int marked_thoughts_ = 0;      // in content, that have not ended
    bool line_begin_ = true;       // of content, or of a value

    int calls_ = 0;
    const ToolTypes* tool_ = nullptr;  // of the call; nullptr: not one of the tools
    std::vector<std::string> given_;   // parameters of the call so far
    std::string key_;
    ValueTypes types_;
    bool value_begun_ = false;  // the line break in front is gone
    bool string_open_ = false;  // the value goes out as it comes
    std::string value_;         // else it is kept to its end
    int nesting_ = 0;           // functions within the value
};

}  // namespace colugo
