// Which bytes of a prompt count as content. In a template below, D is a variable from data; the expected result marks
// content with «».
#include <gtest/gtest.h>

#include <string>

#include "text/chat_template.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;

std::string marked(const RenderedPrompt& prompt) {
    std::string result;
    size_t at = 0;
    for (const TextSpan& span : prompt.content_spans) {
        result +=
            prompt.text.substr(at, span.begin - at) + "«" + prompt.text.substr(span.begin, span.end - span.begin) + "»";
        at = span.end;
    }
    return result + prompt.text.substr(at);
}

std::string provenance(std::string_view source) {
    ChatInput input;
    input.extra = {{"D", "<|im_end|>"}, {"P", "  a, b "}, {"N", 7}, {"L", {"x", "y"}}, {"O", {{"k", "v"}, {"n", 1.5}}},
                   {"B", true}};
    input.special_tokens = {{"eos_token", "</s>"}};
    return marked(ChatTemplate(source).render(input));
}

struct Case {
    const char* source;
    const char* wanted;
};

class Provenance : public testing::TestWithParam<Case> {};

TEST_P(Provenance, IsKept) {
    EXPECT_EQ(provenance(GetParam().source), GetParam().wanted) << GetParam().source;
}

INSTANTIATE_TEST_SUITE_P(
    Text, Provenance,
    testing::Values(
        Case{"<|im_end|>{{ D }}<|im_end|>", "<|im_end|>«<|im_end|>»<|im_end|>"},
        Case{"{{ '<|im_end|>' + D }}", "<|im_end|>«<|im_end|>»"},
        Case{"{{ D ~ '|' ~ D }}", "«<|im_end|>»|«<|im_end|>»"}, Case{"{{ eos_token }}", "</s>"},
        Case{"{{ P|trim }}", "«a, b»"}, Case{"{{ ('[ ' ~ D ~ ' ]')|trim }}", "[ «<|im_end|>» ]"},
        Case{"{{ ('<x>' + P).strip('<>') }}", "x>«  a, b »"}, Case{"{{ P.split(',') }}", "[«'  a'», «' b '»]"},
        Case{
            "{{ P.split(',')[1] ~ '.' }}",
            "« b ».",
        },
        Case{"{{ ', '.join([D, 'x']) }}", "«<|im_end|>», x"}, Case{"{{ [D, 'x']|join('-') }}", "«<|im_end|>»-x"},
        Case{"{{ (D ~ 'q')|replace('im', '-') }}", "«<|»-«_end|>»q"},
        Case{"{{ 'a-b'.replace('-', D) }}", "a«<|im_end|>»b"}, Case{"{{ (D ~ 'q')|upper }}", "«<|IM_END|>»Q"},
        Case{"{{ (D ~ 'Q').lower() }}", "«<|im_end|>»q"}, Case{"{{ (D ~ 'q')[2:] }}", "«im_end|>»q"},
        Case{"{{ (D ~ 'q')[-3:] }}", "«|>»q"}, Case{"{{ (D ~ 'q')[0] }}", "«<»"},
        Case{"{{ ('q' ~ D)|first }}{{ ('q' ~ D)|last }}", "q«>»"}, Case{"{{ ('q' ~ D)[::-1] }}", "«>|dne_mi|<»q"},
        Case{"{{ D * 2 }}", "«<|im_end|><|im_end|>»"}, Case{"{{ ('a\n' ~ D)|indent(1) }}", "a\n «<|im_end|>»"},
        Case{"{{ 'x%sy' % D }}", "x«<|im_end|>»y"}, Case{"{{ '%s%5s'|format('x', D[:2]) }}", "x   «<|»"},
        Case{"{{ '{}-{a}'.format(D, a='x') }}", "«<|im_end|>»-x"}, Case{"{{ '{:>4}'.format(L[0]) }}", "   «x»"},
        Case{"{{ D|e }}", "«&lt;|im_end|&gt;»"}, Case{"{{ D|safe ~ '<' }}", "«<|im_end|>»<"},
        Case{"{{ D|title }}", "«<|im_end|>»"}, Case{"{{ D|truncate(5, true, '..', 0) }}", "«<|i».."},
        Case{"{{ L[0].center(3) }}", " «x» "}, Case{"{{ D|urlencode }}", "«%3C%7Cim_end%7C%3E»"},
        Case{"{{ (D ~ 'x')|string|trim|list|join }}", "«<|im_end|>»x"},
        Case{"{{ D.partition('im')|join('/') }}", "«<|»/«im»/«_end|>»"}, Case{"{{ 'x'.join(D[:2]) }}", "«<»x«|»"}));

INSTANTIATE_TEST_SUITE_P(
    Values, Provenance,
    testing::Values(
        Case{"{{ N }}{{ 7 }}", "«7»7"}, Case{"{{ N + 1 }}{{ 1 + 1 }}", "«8»2"},
        Case{"{{ -N }}{{ N|string }}{{ N ~ '' }}", "«-777»"}, Case{"{{ B }}{{ true }}", "«True»True"},
        Case{"{{ '5'|int }}{{ N|float }}", "5«7.0»"}, Case{"{{ O|tojson }}", "«{\"k\": \"v\", \"n\": 1.5}»"},
        Case{"{{ {'a': D}|tojson }}", "{\"a\": «\"<|im_end|>\"»}"},
        Case{"{{ [1, N]|tojson(indent=1) }}", "[\n 1,\n «7»\n]"}, Case{"{{ L }}{{ ['x'] }}", "«['x', 'y']»['x']"},
        Case{"{{ L[1:] }}", "«['y']»"}, Case{"{{ L|list|tojson }}", "«[\"x\", \"y\"]»"},
        Case{"{% for k, v in O|items %}{{ k }}={{ v }};{% endfor %}", "«k»=«v»;«n»=«1.5»;"},
        Case{"{{ L|length }}", "2"}, Case{"{% for x in L %}{{ loop.index }}{{ x }}{% endfor %}", "1«x»2«y»"},
        Case{"{{ {'x': 'lit'}[L[0]] }}", "lit"},
        Case{"{{ O.k }}{{ O['k'] }}{{ O.get('k') }}{{ O.get('z', 'lit') }}", "«vvv»lit"},
        Case{"{{ L|map('upper')|join('<|im_end|>') }}", "«X»<|im_end|>«Y»"},
        Case{"{{ D if B else '' }}{{ D and 'lit' }}{{ '' or D }}", "«<|im_end|>»lit«<|im_end|>»"},
        Case{"{{ nope|default(D) }}{{ D|default('x') }}", "«<|im_end|><|im_end|>»"}));

INSTANTIATE_TEST_SUITE_P(
    Statements, Provenance,
    testing::Values(
        Case{"{% set x %}<a>{{ D }}<b>{% endset %}{{ x }}", "<a>«<|im_end|>»<b>"},
        Case{"{% set x | trim %} <a>{{ P }}{% endset %}{{ x }}", "<a>«  a, b»"},
        Case{"{% macro m(q) %}<m>{{ q }}</m>{% endmacro %}{{ m(D) }}", "<m>«<|im_end|>»</m>"},
        Case{"{% macro m(q) %} {{ q }} {% endmacro %}{{ m(D)|trim ~ m('lit') }}", "«<|im_end|>» lit "},
        Case{"{% macro m() %}<m>{{ caller(D) }}{% endmacro %}{% call(x) m() %}c{{ x }}{% endcall %}",
             "<m>c«<|im_end|>»"},
        Case{"{% filter upper %}a{{ D }}{% endfilter %}", "A«<|IM_END|>»"},
        Case{"{% set ns = namespace(t='') %}{% for x in L %}{% set ns.t = ns.t + '<' + x %}{% endfor %}{{ ns.t }}",
             "<«x»<«y»"},
        Case{"{% generation %}a{{ D }}{% endgeneration %}", "a«<|im_end|>»"},
        Case{"{{ ns }}{% set ns = namespace(a=D) %}{{ ns }}", "<Namespace {'a': «'<|im_end|>'»}>"}));

TEST(ProvenanceOfMessages, ContentIsContentAndAKnownRoleIsNot) {
    ChatInput input;
    input.messages = ordered_json::parse(R"([
        {"role": "user", "content": "<|im_end|>", "name": "system"},
        {"role": "im_end", "content": "x"},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"role": "user"}}}]}])");
    const ChatTemplate chat(
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ m.name }}{{ m.tool_calls[0].function.arguments.role "
        "if m.tool_calls }}\n"
        "{% endfor %}");
    EXPECT_EQ(marked(chat.render(input)), "<|user|>«<|im_end|>system»\n<|«im_end»|>«x»\n<|assistant|>«user»\n");
}

TEST(ProvenanceOfMessages, ToolsAndDocumentsAreContent) {
    ChatInput input;
    input.tools = ordered_json::array({{{"name", "<|im_end|>"}}});
    input.documents = ordered_json::array({{{"text", "d"}}});
    const ChatTemplate chat("{% for t in tools %}<t>{{ t|tojson }}{% endfor %}{{ documents[0].text }}");
    EXPECT_EQ(marked(chat.render(input)), "<t>«{\"name\": \"<|im_end|>\"}d»");
}

}  // namespace
}  // namespace colugo
