#include "text/output_parser.h"

#include <algorithm>

#include "base/error.h"
#include "text/compact_json.h"
#include "text/python_literal.h"

namespace colugo {

namespace {

using nlohmann::ordered_json;
using Kind = ReplyPiece::Kind;

constexpr std::string_view kFunction = "<function=", kEndFunction = "</function>";
constexpr std::string_view kParameter = "<parameter=", kEndParameter = "</parameter>";
constexpr std::string_view kBlanks = " \t\r\n";
constexpr size_t kMostBlanks = 64;              // between two tags
constexpr size_t kMostName = 256;               // bytes of a function's or a parameter's name
constexpr size_t kMostWritten = kMostName + 2;  // of one in quotes

constexpr char byte_of(ReplyMark mark) {
    return static_cast<char>(0xF8 + static_cast<int>(mark));
}

bool is_mark(char byte) {
    return static_cast<unsigned char>(byte) >= 0xF8;
}

bool is_name(std::string_view text) {
    constexpr std::string_view kNone = " \t\r\n<>=\"'{}[]()";
    return !text.empty() && text.size() <= kMostName && text.find_first_of(kNone) == text.npos &&
           std::none_of(text.begin(), text.end(), is_mark);
}

// A name may be quoted, as models do who think of XML.
std::string_view unquoted(std::string_view text) {
    const bool quoted = text.size() > 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
    return quoted ? text.substr(1, text.size() - 2) : text;
}

// Whether a name, in quotes or not, may begin so.
bool begins_name(std::string_view text) {
    if (text.empty() || (text[0] != '"' && text[0] != '\'')) return text.empty() || is_name(text);
    const char quote = text[0];
    text.remove_prefix(1);
    if (text.empty()) return true;
    return is_name(text.back() == quote ? text.substr(0, text.size() - 1) : text);
}

// The calls of a Hermes object, or of a list of such; empty where it is none.
std::vector<std::pair<std::string, std::string>> hermes_calls(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> calls;
    const ordered_json value = parse_literal(text);
    if (!value.is_structured()) return {};
    for (const ordered_json& call : value.is_array() ? value : ordered_json::array({value})) {
        if (!call.is_object() || !call.contains("name") || !call["name"].is_string()) return {};
        ordered_json arguments = ordered_json::object();
        for (const char* key : {"arguments", "parameters"}) {
            if (call.contains(key)) arguments = call[key];
        }
        if (arguments.is_string()) arguments = parse_literal(arguments.get_ref<const std::string&>());
        if (arguments.is_null()) arguments = ordered_json::object();
        if (!arguments.is_object()) return {};
        calls.emplace_back(call["name"].get<std::string>(), compact_json(arguments));
    }
    return calls;
}

}  // namespace

OutputParser::OutputParser(const Options& options) : options_(options) {
    state_ = options.thought == Thought::open       ? State::thinking
             : options.thought == Thought::possible ? State::before
                                                    : State::content;
    thought_ = options.thought == Thought::open;
}

void OutputParser::feed(std::string_view text, std::vector<ReplyPiece>& out) {
    held_ += text;
    run(out);
}

void OutputParser::feed(ReplyMark mark, std::vector<ReplyPiece>& out) {
    held_ += byte_of(mark);
    run(out);
}

void OutputParser::finish(bool cut, std::vector<ReplyPiece>& out) {
    ended_ = true;
    cut_ = cut && !is_done();
    run(out);
    COLUGO_CHECK(held_.empty());
    out_ = &out;
    if (calls_ == 0 && !blanks_.empty()) say(Kind::content, blanks_);
}

void OutputParser::run(std::vector<ReplyPiece>& out) {
    out_ = &out;
    while (advance()) {
    }
    out_ = nullptr;
}

// Does away with some of what is held. False: it takes more text to say what that is, or there is none.
bool OutputParser::advance() {
    switch (state_) {
        case State::before:
            return advance_before();
        case State::thinking:
            return advance_thinking();
        case State::call_in_thought:
            return advance_call_in_thought();
        case State::content:
            return advance_content();
        case State::call_head:
            return advance_call_head();
        case State::json_call:
            return advance_json_call();
        case State::body:
            return advance_body();
        case State::value:
        case State::skipping:
            return advance_value();
        case State::after_call:
            return advance_after_call();
        case State::done:
            held_.clear();
            return false;
    }
    return false;
}

bool OutputParser::advance_before() {
    const size_t begin = held_.find_first_not_of(kBlanks);
    if (begin == held_.npos && !ended_) return false;
    state_ = State::content;
    if (begin == held_.npos || held_[begin] != byte_of(ReplyMark::think)) return true;
    drop(begin + 1);
    state_ = State::thinking;
    thought_ = true;
    return true;
}

// A thought ends at its mark. What looks like a call in it is looked through: where the reply ends before the thought
// does, the call ended the thought.
bool OutputParser::advance_thinking() {
    const size_t at = next_mark(0);
    think(std::string_view(held_).substr(0, at));
    drop(at);
    if (held_.empty()) return false;
    if (held_[0] == byte_of(ReplyMark::end_think)) {
        drop(1);
        state_ = State::content;
        return true;
    }
    if (options_.tools != nullptr && held_[0] == byte_of(ReplyMark::tool_call)) {
        const Verdict call = call_follows(1, true);
        if (call == Verdict::undecided && !ended_) return false;
        if (call == Verdict::yes) {
            looked_ = 1;
            state_ = State::call_in_thought;
            return true;
        }
    }
    think(spelled(std::string_view(held_).substr(0, 1)));
    drop(1);
    return true;
}

bool OutputParser::advance_call_in_thought() {
    const size_t at = next_mark(looked_);
    looked_ = std::min(at + 1, held_.size());
    if (at < held_.size() && held_[at] != byte_of(ReplyMark::end_think)) return true;
    if (at < held_.size()) {
        think(spelled(std::string_view(held_).substr(0, at)));
        drop(at);
        state_ = State::thinking;
        return true;
    }
    if (ended_) state_ = State::content;  // which begins with the call
    return ended_;
}

bool OutputParser::advance_content() {
    size_t at = 0;
    const bool calls = options_.tools != nullptr;
    while (at < held_.size()) {
        const char byte = held_[at];
        if (byte == byte_of(ReplyMark::think)) ++marked_thoughts_;
        if (byte == byte_of(ReplyMark::end_think) && options_.thought != Thought::plain && --marked_thoughts_ < 0) {
            marked_thoughts_ = 0;
            break;
        }
        if (calls && (byte == byte_of(ReplyMark::tool_call) || byte == byte_of(ReplyMark::end_tool_call))) break;
        if (calls && byte == '<' && line_begin_) {
            const Verdict call = call_follows(at, true);
            if (call == Verdict::undecided && cut_) held_.resize(at);
            if (call == Verdict::yes || (call == Verdict::undecided && (!ended_ || cut_))) break;
        }
        line_begin_ = byte == '\n';
        ++at;
    }
    speak(spelled(std::string_view(held_).substr(0, at)));
    drop(at);
    if (held_.empty()) return false;
    const char byte = held_[0];
    if (byte == '<') {
        if (call_follows(0, true) != Verdict::yes) return false;
        return begin_function(kFunction.size());
    }
    drop(1);
    if (byte == byte_of(ReplyMark::tool_call)) state_ = State::call_head;
    return true;  // a stray end of a thought or a call is nothing
}

// Whether a call begins at a place, behind blanks. only_known: with a function's tag, of one of the tools.
OutputParser::Verdict OutputParser::call_follows(size_t at, bool only_known) const {
    at = skip_blanks(at);
    if (at == held_.size()) return Verdict::undecided;
    if (held_[at] == '{' || held_[at] == '[') return Verdict::yes;
    if (const Verdict tag = literal(at, kFunction); tag != Verdict::yes) return tag;
    const std::string_view rest = std::string_view(held_).substr(at + kFunction.size());
    const size_t end = rest.find_first_of(">\n");
    const std::string_view name = rest.substr(0, end);
    if (end == rest.npos) return begins_name(name) ? Verdict::undecided : Verdict::no;
    if (!is_name(unquoted(name))) return Verdict::no;
    return !only_known || is_known(unquoted(name)) ? Verdict::yes : Verdict::no;
}

bool OutputParser::advance_call_head() {
    const Verdict call = call_follows(0, false);
    const size_t begin = skip_blanks(0);
    if (call == Verdict::yes && held_[begin] == '<') return begin_function(begin + kFunction.size());
    if (call == Verdict::yes) {
        looked_ = begin;
        json_ = {};
        state_ = State::json_call;
        return true;
    }
    if (call == Verdict::undecided && !ended_) return false;
    if (call == Verdict::undecided && cut_) {
        held_.clear();
        return false;
    }
    speak(kReplyMarks[static_cast<size_t>(ReplyMark::tool_call)]);
    state_ = State::content;
    return true;
}

// An object has ended where it is whole: its strings may have the mark in them.
bool OutputParser::advance_json_call() {
    const size_t at = next_mark(looked_);
    const bool at_end = at == held_.size();
    json_.feed(std::string_view(held_).substr(looked_, at - looked_));
    const bool may_be_whole = json_.may_be_whole();
    json_.feed(std::string_view(held_).substr(at, 1));  // the mark, where there is one
    looked_ = at_end ? at : at + 1;
    if (at_end && !ended_) return false;
    if (!at_end && held_[at] != byte_of(ReplyMark::end_tool_call)) return true;
    if (!may_be_whole && !at_end) return true;
    const auto calls = hermes_calls(spelled(std::string_view(held_).substr(0, at)));
    for (const auto& [name, arguments] : calls) {
        if (state_ == State::done) break;
        ++calls_;
        say(Kind::call, name);
        say(Kind::arguments, arguments);
        end_call();
    }
    if (calls.empty() && !at_end) return true;
    if (calls.empty() && !cut_) {
        speak(std::string(kReplyMarks[static_cast<size_t>(ReplyMark::tool_call)]) + spelled(held_));
    }
    drop(looked_);
    looked_ = 0;
    if (calls.empty()) state_ = State::content;
    return true;
}

// at: where the function's name begins, which is known to end.
bool OutputParser::begin_function(size_t at) {
    const size_t end = held_.find_first_of(">\n", at);
    const std::string name(unquoted(std::string_view(held_).substr(at, end - at)));
    drop(end + 1);
    const auto& tools = *options_.tools;
    const auto known = std::find_if(tools.begin(), tools.end(), [&](const ToolTypes& one) { return one.name == name; });
    tool_ = known != tools.end() ? &*known : nullptr;
    given_.clear();
    ++calls_;
    say(Kind::call, name);
    say(Kind::arguments, "{");
    state_ = State::body;
    return true;
}

bool OutputParser::advance_body() {
    const size_t begin = std::min(held_.find_first_not_of(kBlanks), held_.size());
    drop(begin);
    if (held_.empty()) {
        if (ended_) end_function();
        return false;
    }
    const Verdict parameter = literal(0, kParameter), end = literal(0, kEndFunction);
    if (parameter == Verdict::undecided || end == Verdict::undecided) {
        if (!ended_) return false;
        held_.clear();  // a tag that was cut off
        return true;
    }
    const bool call_ends =
        mark_at(0, ReplyMark::end_tool_call) == Verdict::yes || mark_at(0, ReplyMark::tool_call) == Verdict::yes;
    if (end == Verdict::yes || call_ends) {
        if (end == Verdict::yes) drop(kEndFunction.size());
        end_function();
        return true;
    }
    if (parameter == Verdict::no) {
        drop(1);  // neither a parameter nor an end
        return true;
    }
    const std::string_view head = std::string_view(held_).substr(kParameter.size());
    const size_t head_end = head.find_first_of(">\n<");
    if (head_end == head.npos && !ended_ && head.size() <= kMostWritten) return false;
    const bool whole = head_end != head.npos && head[head_end] == '>' && is_name(unquoted(head.substr(0, head_end)));
    key_ = whole ? unquoted(head.substr(0, head_end)) : std::string_view();
    drop(kParameter.size() + (whole ? head_end + 1 : 0));
    begin_parameter();
    return true;
}

// Of key_; one without a name, or given before, is skipped.
void OutputParser::begin_parameter() {
    const bool skipped = key_.empty() || std::find(given_.begin(), given_.end(), key_) != given_.end();
    state_ = skipped ? State::skipping : State::value;
    value_begun_ = string_open_ = false;
    line_begin_ = true;
    nesting_ = 0;
    value_.clear();
    if (skipped) return;
    const ToolTypes::Parameter* known = tool_ != nullptr ? tool_->find(key_) : nullptr;
    types_ = known != nullptr ? known->types : ValueTypes{};
    say(Kind::arguments, (given_.empty() ? "\"" : ",\"") + json_escaped(key_) + "\":");
    given_.push_back(key_);
}

bool OutputParser::advance_value() {
    if (!value_begun_) {
        if (held_.empty() && !ended_) return false;
        const Verdict end = held_.starts_with('\n') ? value_end(0).verdict : Verdict::yes;
        if (end == Verdict::undecided && !ended_) return false;
        if (end == Verdict::no) drop(1);
        value_begun_ = true;
    }
    for (size_t at = 0; at < held_.size();) {
        const char byte = held_[at];
        if (byte != '\n' && byte != '<' && !is_mark(byte)) {
            line_begin_ = false;
            ++at;
            continue;
        }
        const ValueEnd end = value_end(at);
        if (end.verdict != Verdict::no) {
            give_value(std::string_view(held_).substr(0, at));
            drop(at);
            if (end.verdict == Verdict::undecided && !ended_) return false;
            drop(end.verdict == Verdict::yes ? end.resume - at : held_.size());  // else it is cut off in a tag
            end_value();
            return true;
        }
        if (literal(at, kFunction) == Verdict::yes) ++nesting_;
        if (literal(at, kEndFunction) == Verdict::yes && nesting_ > 0) --nesting_;
        line_begin_ = byte == '\n';
        ++at;
    }
    give_value(held_);
    held_.clear();
    if (ended_) end_value();
    return ended_;
}

// Whether the value ends at a place. `resume` is where the body goes on: at a tag, or at the call's end.
OutputParser::ValueEnd OutputParser::value_end(size_t at) const {
    const bool own_line = held_[at] == '\n' || line_begin_;
    if (held_[at] == '\n') ++at;
    const Verdict at_end = ended_ && !cut_ ? Verdict::no : Verdict::undecided;
    if (at == held_.size()) return {at_end};
    const auto undecided_unless_ended = [&](Verdict verdict) {
        return verdict == Verdict::undecided ? at_end : verdict;
    };
    if (nesting_ == 0 && own_line) {
        // Another parameter, without an end of this one.
        const Verdict tag = undecided_unless_ended(literal(at, kParameter));
        if (tag == Verdict::undecided) return {Verdict::undecided};
        if (tag == Verdict::yes) {
            const std::string_view head = std::string_view(held_).substr(at + kParameter.size());
            const size_t end = head.find_first_of(">\n<");
            if (end == head.npos && head.size() <= kMostWritten) return {at_end};
            if (end == head.npos || end > kMostWritten || head[end] != '>') return {};
            const std::string key(unquoted(head.substr(0, end)));
            const bool listed = tool_ == nullptr ? is_name(key) : tool_->find(key) != nullptr;
            const bool is_new = std::find(given_.begin(), given_.end(), key) == given_.end();
            return listed && is_new ? ValueEnd{Verdict::yes, at} : ValueEnd{};
        }
    }
    const size_t begin = at;
    Verdict tag = undecided_unless_ended(literal(at, kEndParameter));
    if (tag == Verdict::undecided) return {Verdict::undecided};
    const bool parameter_ends = tag == Verdict::yes;
    if (parameter_ends) at = skip_blanks(at + kEndParameter.size());
    const size_t resume = at;
    if (parameter_ends && nesting_ == 0) {
        const Verdict next = undecided_unless_ended(literal(at, kParameter));
        if (next != Verdict::no) return {next, resume};
        if (at == held_.size()) return {ended_ ? Verdict::yes : Verdict::undecided, resume};
        if (mark_at(at, ReplyMark::end_tool_call) == Verdict::yes) return {Verdict::yes, resume};
    }
    tag = undecided_unless_ended(literal(at, kEndFunction));
    if (tag != Verdict::yes) {
        // The first bytes of a nested function decide how deep what comes is.
        const bool nested = begin == at && undecided_unless_ended(literal(at, kFunction)) == Verdict::undecided;
        return {nested ? Verdict::undecided : tag};
    }
    at = skip_blanks(at + kEndFunction.size());
    if (at == held_.size()) return {ended_ ? Verdict::yes : Verdict::undecided, resume};
    const bool closed = mark_at(at, ReplyMark::end_tool_call) == Verdict::yes;
    if (parameter_ends && nesting_ == 0) {
        return {closed || mark_at(at, ReplyMark::tool_call) == Verdict::yes ? Verdict::yes : Verdict::no, resume};
    }
    return {closed ? reply_may_end(at + 1) : Verdict::no, resume};
}

// Behind a call's end, for those that have to be surer: the reply's end, or another call.
OutputParser::Verdict OutputParser::reply_may_end(size_t at) const {
    at = skip_blanks(at);
    if (at == held_.size()) return ended_ ? Verdict::yes : Verdict::undecided;
    return mark_at(at, ReplyMark::tool_call);
}

void OutputParser::give_value(std::string_view text) {
    if (state_ == State::skipping || text.empty()) return;
    const std::string plain = spelled(text);
    if (string_open_) return say(Kind::arguments, json_escaped(plain));
    value_ += plain;
    // A string goes out as it comes, once it cannot be a null any more.
    if (!types_.only(ValueTypes::string | ValueTypes::null)) return;
    const auto begins = [&](std::string_view word) { return word.starts_with(value_); };
    if (types_.has(ValueTypes::null) && (begins("null") || begins("None"))) return;
    string_open_ = true;
    say(Kind::arguments, '"' + json_escaped(value_));
}

void OutputParser::end_value() {
    if (state_ == State::value) say(Kind::arguments, string_open_ ? "\"" : argument_json(value_, types_));
    state_ = State::body;
}

void OutputParser::end_function() {
    say(Kind::arguments, "}");
    end_call();
}

void OutputParser::end_call() {
    say(Kind::call_end, "");
    state_ = options_.parallel_calls ? State::after_call : State::done;
}

bool OutputParser::advance_after_call() {
    drop(std::min(held_.find_first_not_of(kBlanks), held_.size()));
    if (held_.empty()) return false;
    if (mark_at(0, ReplyMark::end_tool_call) == Verdict::yes) {
        drop(1);
        return true;
    }
    const Verdict call = held_[0] == '<' ? call_follows(0, true) : Verdict::no;
    if (call == Verdict::undecided && !ended_) return false;
    if (call == Verdict::yes) return begin_function(kFunction.size());
    state_ = State::content;
    return true;
}

bool OutputParser::is_known(std::string_view function) const {
    return options_.tools != nullptr && std::any_of(options_.tools->begin(), options_.tools->end(),
                                                    [&](const ToolTypes& one) { return one.name == function; });
}

OutputParser::Verdict OutputParser::literal(size_t at, std::string_view word) const {
    const std::string_view there = std::string_view(held_).substr(at, word.size());
    if (!word.starts_with(there)) return Verdict::no;
    return there.size() == word.size() ? Verdict::yes : Verdict::undecided;
}

OutputParser::Verdict OutputParser::mark_at(size_t at, ReplyMark mark) const {
    return at < held_.size() && held_[at] == byte_of(mark) ? Verdict::yes : Verdict::no;
}

size_t OutputParser::next_mark(size_t at) const {
    const auto begin = held_.begin() + static_cast<std::ptrdiff_t>(at);
    return static_cast<size_t>(std::find_if(begin, held_.end(), is_mark) - held_.begin());
}

size_t OutputParser::skip_blanks(size_t at) const {
    const size_t most = std::min(held_.size(), at + kMostBlanks);
    while (at < most && kBlanks.find(held_[at]) != kBlanks.npos) ++at;
    return at;
}

void OutputParser::say(Kind kind, std::string_view text) {
    const bool joins = kind != Kind::call && kind != Kind::call_end && !out_->empty() && out_->back().kind == kind;
    if (joins) {
        out_->back().text += text;
    } else {
        out_->push_back({kind, std::string(text)});
    }
}

// Without the line breaks that templates put around a thought by themselves.
void OutputParser::think(std::string_view text) {
    if (!thought_begun_) text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
    if (text.empty()) return;
    thought_begun_ = true;
    const size_t end = text.find_last_not_of('\n') + 1;
    if (end > 0) {
        say(Kind::reasoning, breaks_ + std::string(text.substr(0, end)));
        breaks_.clear();
    }
    breaks_ += text.substr(end);
}

// Without the line breaks behind a thought, and the blanks before a call.
void OutputParser::speak(std::string_view text) {
    if (!content_begun_ && thought_) text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
    if (text.empty()) return;
    content_begun_ = true;
    const size_t end = text.find_last_not_of(kBlanks) + 1;
    if (end > 0) {
        say(Kind::content, blanks_ + std::string(text.substr(0, end)));
        blanks_.clear();
    }
    blanks_ += text.substr(end);
}

std::string OutputParser::spelled(std::string_view text) {
    std::string out;
    for (const char byte : text) {
        if (is_mark(byte)) {
            out += kReplyMarks[static_cast<unsigned char>(byte) - 0xF8];
        } else {
            out += byte;
        }
    }
    return out;
}

}  // namespace colugo
