#include <algorithm>

#include "server/api_error.h"
#include "server/generation_fields.h"

namespace colugo {

using nlohmann::ordered_json;

namespace {

// Fields that only say something about the client, and how long it would like a prompt to be kept.
constexpr const char* kNotes[] = {"user", "metadata", "safety_identifier", "prompt_cache_retention"};

constexpr const char* kOneReply = "a request gets one reply";
constexpr const char* kTextOnly = "replies are text";
constexpr const char* kModelEnds = "a reply ends where the model ends it, or by stop or max_tokens";
constexpr const char* kNoFilter = "the filters here are top_k, top_p and min_p";
constexpr const char* kNoGrammar = "what constrains a reply here is response_format and tool_choice";
constexpr const char* kThoughts = "thoughts are sent as reasoning_content";
constexpr const char* kBias = "logit_bias changes logits, and keeps tokens out";

struct NeutralField {
    const char* name;
    const char* neutral;  // JSON list of the values that ask for nothing; null does so everywhere
    const char* reason;   // why another one is refused
};

constexpr NeutralField kNeutralFields[] = {
    {"n", "[1]", kOneReply},
    {"best_of", "[1]", kOneReply},
    {"use_beam_search", "[false]", kOneReply},
    {"length_penalty", "[1]", kOneReply},
    {"store", "[false]", "nothing is stored here"},
    {"service_tier", R"(["auto", "default"])", "there is one tier, in which priority orders requests"},
    {"modalities", R"([["text"]])", kTextOnly},
    {"audio", "[]", kTextOnly},
    {"verbosity", R"(["medium"])", "the model has no such switch"},
    {"web_search_options", "[]", "nothing is searched here"},
    {"functions", "[[]]", "functions are sent as tools"},
    {"function_call", R"(["none"])", "functions are sent as tools, and chosen by tool_choice"},
    {"suffix", R"([""])", "a reply goes on behind its prompt"},
    {"echo", "[false]", "a reply does not repeat its prompt"},
    {"prompt_logprobs", "[0, false]", "log-probabilities are those of the reply"},
    {"min_tokens", "[0]", kModelEnds},
    {"ignore_eos", "[false]", kModelEnds},
    {"stop_token_ids", "[[]]", kModelEnds},
    {"include_stop_str_in_output", "[false]", "a reply ends where the stop string begins"},
    {"bad_words", "[[]]", kBias},
    {"allowed_token_ids", "[]", kBias},
    {"logits_processors", "[[]]", kBias},
    {"skip_special_tokens", "[true]", "control tokens are no part of the text"},
    {"spaces_between_special_tokens", "[true, false]", "control tokens are no part of the text"},
    {"add_special_tokens", "[false]", "the prompt's control tokens are those its template writes"},
    {"return_token_ids", "[false]", kTextOnly},
    {"return_tokens_as_token_ids", "[false]", kTextOnly},
    {"truncate_prompt_tokens", "[]", "a prompt is never cut"},
    {"repeat_penalty", "[1]", "its name here is repetition_penalty"},
    {"n_predict", "[-1]", "its name here is max_tokens"},
    {"max_new_tokens", "[]", "its name here is max_tokens"},
    {"top_a", "[0]", kNoFilter},
    {"typical_p", "[1]", kNoFilter},
    {"tfs_z", "[1]", kNoFilter},
    {"mirostat", "[0]", kNoFilter},
    {"xtc_probability", "[0]", kNoFilter},
    {"dry_multiplier", "[0]", kNoFilter},
    {"cache_prompt", "[true]", "the cache changes no reply"},
    {"id_slot", "[-1]", "there are no slots to choose from"},
    {"grammar", R"([""])", kNoGrammar},
    {"json_schema", "[]", kNoGrammar},
    {"guided_json", "[]", kNoGrammar},
    {"guided_regex", "[]", kNoGrammar},
    {"guided_choice", "[]", kNoGrammar},
    {"guided_grammar", "[]", kNoGrammar},
    {"structured_outputs", "[]", kNoGrammar},
    {"regex", "[]", kNoGrammar},
    {"ebnf", "[]", kNoGrammar},
    {"chat_template", "[]", "the template is the checkpoint's, or the launch's"},
    {"documents", "[[]]", "documents are sent in messages"},
    {"include_reasoning", "[true]", kThoughts},
    {"separate_reasoning", "[true]", kThoughts},
    {"stream_reasoning", "[true]", kThoughts},
    {"reasoning_format", R"(["auto", "deepseek"])", kThoughts},
    {"thinking_budget", "[]", "a thought ends where the model ends it"},
};

}  // namespace

void check_neutral_fields(RequestFields& fields) {
    for (const char* name : kNotes) fields.get(name);
    for (const NeutralField& field : kNeutralFields) {
        const ordered_json* value = fields.get(field.name);
        if (value == nullptr) continue;
        const ordered_json neutral = ordered_json::parse(field.neutral);
        if (std::find(neutral.begin(), neutral.end(), *value) != neutral.end()) continue;
        std::string expected;
        for (const ordered_json& one : neutral) expected += one.dump() + " or ";
        refuse("unsupported_parameter", field.name, "{} is {}; expected {}none: {}", field.name, excerpt(*value),
               expected, field.reason);
    }
}

}  // namespace colugo
