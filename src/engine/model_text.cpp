#include "engine/model_text.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "checkpoint/checkpoint_files.h"

namespace colugo {

namespace {

constexpr uint64_t kMaxTemplateBytes = uint64_t{4} << 20;

// What the body throws, with the template's origin before it.
template <typename Body>
auto naming(const std::string& origin, Body body) {
    try {
        return body();
    } catch (const Error& error) {
        fail(error.code(), "the chat template {}: {}", origin, error.what());
    }
}

}  // namespace

ModelText::ModelText(const std::string& directory, const std::string& template_file)
    : files_(read_text_files(directory)), template_override_path_(template_file) {
    if (template_file.empty()) return;
    template_override_ = read_text_file(template_file, kMaxTemplateBytes);
    if (!template_override_) fail(ErrorCode::not_found, "there is no chat template {}", template_file);
}

bool ModelText::has_tokenizer() const {
    std::error_code error;
    return std::filesystem::exists(files_.directory + "/tokenizer.json", error);
}

const Tokenizer& ModelText::tokenizer() const {
    if (!tokenizer_) {
        const std::string text = files_.read_tokenizer_json();
        tokenizer_ =
            std::make_unique<const Tokenizer>(Tokenizer::from_json(text, files_.directory + "/tokenizer.json"));
    }
    return *tokenizer_;
}

const std::string& ModelText::template_source(bool with_tools, std::string& origin) const {
    if (template_override_) {
        origin = template_override_path_;
        return *template_override_;
    }
    origin = files_.chat_template_origin;
    const ChatTemplateSource* source = with_tools ? files_.chat_template("tool_use") : nullptr;
    if (source == nullptr) source = files_.chat_template();
    if (source == nullptr) {
        fail(ErrorCode::not_found,
             "{} has no chat template (chat_template.jinja, or chat_template in tokenizer_config.json)",
             files_.directory);
    }
    return source->source;
}

const ChatTemplate& ModelText::chat_template(bool with_tools, std::string& origin) const {
    const std::string& source = template_source(with_tools, origin);
    const std::lock_guard lock(templates_mutex_);
    std::optional<const ChatTemplate>& parsed = templates_[with_tools ? 1 : 0];
    if (!parsed) naming(origin, [&] { parsed.emplace(source); });
    return *parsed;
}

bool ModelText::template_mentions(std::string_view variable, const ChatInput& input) const {
    std::string origin;
    return chat_template(!input.tools.empty(), origin).mentions(variable);
}

RenderedPrompt ModelText::render(ChatInput input) const {
    const TokenizerConfig& tokens = files_.tokenizer;
    const auto add_special = [&](const char* name, const std::optional<std::string>& text) {
        if (text) input.special_tokens.emplace_back(name, *text);
    };
    add_special("bos_token", tokens.bos_token);
    add_special("eos_token", tokens.eos_token);
    add_special("pad_token", tokens.pad_token);
    add_special("unk_token", tokens.unk_token);
    std::string origin;
    const ChatTemplate& chat_template = this->chat_template(!input.tools.empty(), origin);
    return naming(origin, [&] { return chat_template.render(input); });
}

// A rendered reply shows it: the control token right behind the assistant's text.
std::optional<int32_t> ModelText::end_of_turn() const {
    constexpr std::string_view kReply = "the text of a reply";
    ChatInput input;
    input.messages = {{{"role", "user"}, {"content", "a question"}}, {{"role", "assistant"}, {"content", kReply}}};
    input.add_generation_prompt = false;
    std::string text;
    try {
        text = render(std::move(input)).text;
    } catch (const Error&) {
        return std::nullopt;  // no template, or one for other conversations: it shows nothing
    }
    const size_t at = text.rfind(kReply);
    if (at == std::string::npos) return std::nullopt;
    const std::vector<int32_t> rest = tokenizer().encode(text.substr(at + kReply.size()));
    if (rest.empty() || !tokenizer().is_control(rest.front())) return std::nullopt;
    return rest.front();
}

std::vector<int32_t> ModelText::stop_ids(const ModelConfig& config) const {
    std::set<int32_t> ids;
    for (const auto* list : {&files_.generation.eos_token_id, &config.eos_token_id}) {
        for (const int64_t id : *list) {
            if (id < config.vocab_size) ids.insert(static_cast<int32_t>(id));
        }
    }
    if (has_tokenizer()) {
        const std::optional<std::string>& eos = files_.tokenizer.eos_token;
        if (const auto id = eos ? tokenizer().find(*eos) : std::nullopt) ids.insert(*id);
        if (const auto id = end_of_turn()) ids.insert(*id);
    }
    return {ids.begin(), ids.end()};
}

std::vector<std::string> ModelText::notices(const ModelConfig& config) const {
    std::vector<std::string> notices;
    std::set<int64_t> told;
    for (const auto* list : {&files_.generation.eos_token_id, &config.eos_token_id}) {
        for (const int64_t id : *list) {
            if (id < config.vocab_size || !told.insert(id).second) continue;
            notices.push_back(fmt::format("the eos_token_id {} is ignored: the model's vocabulary has ids 0 to {}", id,
                                          config.vocab_size - 1));
        }
    }
    if (files_.tokenizer.add_bos_token.value_or(false)) {
        notices.push_back(
            "add_bos_token of tokenizer_config.json is ignored: prompts begin as the template writes them");
    }
    if (!has_tokenizer()) return notices;
    const std::vector<std::string>& found = tokenizer().notices();
    notices.insert(notices.end(), found.begin(), found.end());
    const std::optional<std::string>& eos = files_.tokenizer.eos_token;
    if (eos && !tokenizer().find(*eos)) {
        notices.push_back(
            fmt::format("the eos_token {:?} of tokenizer_config.json is ignored: no token is written so", *eos));
    }
    return notices;
}

TokenMask ModelText::token_mask(const ModelConfig& config) const {
    if (!has_tokenizer()) return TokenMask(config.vocab_size, true);
    if (tokenizer().id_limit() > config.vocab_size) {
        fail(ErrorCode::invalid_file, "{}/tokenizer.json has the token id {}, and the model's vocab_size is {}",
             files_.directory, tokenizer().id_limit() - 1, config.vocab_size);
    }
    TokenMask mask(config.vocab_size, false);
    for (int32_t id = 0; id < tokenizer().id_limit(); ++id) {
        if (tokenizer().has_token(id)) mask.set(id, true);
    }
    return mask;
}

SamplingParams ModelText::default_sampling() const {
    const GenerationConfig& generation = files_.generation;
    SamplingParams params;
    params.temperature = generation.temperature.value_or(generation.do_sample.value_or(false) ? 1.0 : 0.0);
    if (!generation.do_sample.value_or(true)) params.temperature = 0.0;
    params.top_k = static_cast<int32_t>(generation.top_k.value_or(0));
    params.top_p = generation.top_p.value_or(1.0);
    params.min_p = generation.min_p.value_or(0.0);
    params.repetition_penalty = generation.repetition_penalty.value_or(1.0);
    params.presence_penalty = generation.presence_penalty.value_or(0.0);
    params.frequency_penalty = generation.frequency_penalty.value_or(0.0);
    return params;
}

}  // namespace colugo
