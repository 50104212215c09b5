// A hostile template or request ends in one clear sentence: no endless run, no exhausted memory or stack.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "base/error.h"
#include "text/chat_template.h"
#include "text/jinja_evaluator.h"

namespace colugo {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

std::string repeat(const std::string& text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i) result += text;
    return result;
}

// The error of rendering, with limits small enough to be reached at once unless `limits` says otherwise.
std::optional<Error> error_of(const std::string& source, jinja::RenderLimits limits = {200'000, 1 << 20, 900}) {
    try {
        const jinja::Template tree = jinja::parse_template(source);
        jinja::Evaluator(tree, limits, 0).render();
    } catch (const Error& error) {
        return error;
    }
    return std::nullopt;
}

void expect_exhausted(const std::string& source, const char* sentence) {
    SCOPED_TRACE(source.substr(0, 200));
    const std::optional<Error> error = error_of(source);
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code(), ErrorCode::resource_exhausted);
    EXPECT_THAT(error->what(), HasSubstr(sentence));
    EXPECT_THAT(error->what(), HasSubstr("line "));
}

TEST(JinjaLimits, StepsEndNestedLoops) {
    expect_exhausted("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "steps");
    expect_exhausted("{% for a in range(99999) %}{% for b in range(99999) %}{% set x = a %}{% endfor %}{% endfor %}",
                     "steps");
}

TEST(JinjaLimits, TextsAndListsCannotGrowWithoutEnd) {
    expect_exhausted("{{ 'ab' * 999999999 }}", "bytes");
    expect_exhausted("{{ 'ab' * 9223372036854775807 }}", "bytes");
    expect_exhausted("{{ [1] * 999999999 }}", "bytes");
    expect_exhausted(
        "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "bytes");
    expect_exhausted(
        "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "bytes");
    expect_exhausted("{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
                     "steps");
    expect_exhausted("{% for i in range(9999) %}{{ 'a' * 1000 }}{% endfor %}", "bytes");
    expect_exhausted("{{ ('a' * 9999).replace('', 'a' * 9999) }}", "bytes");
    expect_exhausted("{{ ('a' * 9999).join('b' * 999) }}", "bytes");
    expect_exhausted("{{ '%99999999s' % 'a' }}", "bytes");
    expect_exhausted("{{ '{:99999999}'.format('a') }}", "bytes");
    expect_exhausted("{{ 'a'.center(99999999) }}", "bytes");
    expect_exhausted("{{ 'a'.zfill(99999999) }}", "bytes");
    expect_exhausted("{{ '\t'.expandtabs(99999999) }}", "bytes");
    expect_exhausted("{{ 'a\nb'|indent(99999999) }}", "bytes");
    expect_exhausted("{{ [1]|tojson(indent=99999999) }}", "bytes");
    expect_exhausted("{{ [1]|batch(99999999, 0)|list }}", "bytes");
    expect_exhausted("{{ [1]|slice(99999999)|list }}", "bytes");
    expect_exhausted("{% set x %}{% for i in range(9999) %}{{ 'a' * 1000 }}{% endfor %}{% endset %}", "bytes");
}

TEST(JinjaLimits, RangesAreBounded) {
    expect_exhausted("{{ range(100001) }}", "100000");
    EXPECT_FALSE(error_of("{{ range(100000)|length }}"));
    EXPECT_TRUE(error_of("{{ range(-9223372036854775807, 9223372036854775807) }}"));
    EXPECT_TRUE(error_of("{{ range(0, 9223372036854775807, -9223372036854775807 - 1) }}"));
}

TEST(JinjaLimits, RecursionIsBounded) {
    expect_exhausted("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "levels deep");
    expect_exhausted("{% macro m() %}{% call m() %}{% endcall %}{{ caller }}{% endmacro %}{{ m() }}", "levels deep");
    expect_exhausted("{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}", "levels deep");
    expect_exhausted("{% macro m(a=m2()) %}{% endmacro %}{% macro m2() %}{{ m() }}{% endmacro %}{{ m() }}",
                     "levels deep");
}

TEST(JinjaLimits, ValuesCannotNestWithoutEnd) {
    const std::string loop = "{% set ns = namespace(x=1) %}{% for i in range(5000) %}{% set ns.x = ";
    for (const char* step : {"[ns.x]", "(ns.x,)", "{'a': ns.x}", "{'a': ns.x}.get", "{'a': ns.x}.items()",
                             "[ns.x]|select", "cycler(ns.x)", "joiner(ns.x)", "dict(a=ns.x)", "[ns.x]|groupby(0)"}) {
        expect_exhausted(loop + step + " %}{% endfor %}", "nests more than");
    }
}

// Shared items make a value of 100 levels with 2^100 leaves out of 100 small lists.
TEST(JinjaLimits, SharedItemsDoNotMultiply) {
    const auto doubled = [](const char* step) {
        return fmt::format(
            "{{% set ns = namespace(x=1, y=1) %}}{{% for i in range(100) %}}{{% set ns.x = {0} %}}"
            "{{% set y = ns.y %}}{{% set ns.y = {1} %}}{{% endfor %}}",
            fmt::format(fmt::runtime(step), "ns.x"), fmt::format(fmt::runtime(step), "y"));
    };
    for (const char* step : {"[{0}, {0}]", "({0}, {0})", "{{'a': {0}, 'b': {0}}}"}) {
        for (const char* use : {"{{ ns.x == ns.y }}", "{{ ns.x }}", "{{ ns.x|tojson }}", "{{ ns.x in [ns.y] }}",
                                "{{ [ns.x, ns.y]|unique|list }}", "{{ [[ns.x], [ns.y]]|sort }}", "{{ {ns.x: 1} }}",
                                "{{ 1 if ns.x < ns.y }}"}) {
            SCOPED_TRACE(use);
            EXPECT_TRUE(error_of(doubled(step) + use) || std::string_view(use) == "{{ {ns.x: 1} }}");
        }
        EXPECT_FALSE(error_of(doubled(step) + "{{ ns.x == ns.x }}{{ ns.x|length }}"));
    }
}

TEST(JinjaLimits, NamespacesMayReferToEachOther) {
    EXPECT_FALSE(
        error_of("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}{{ a.b.a.b is defined }}"));
    expect_exhausted("{% set a = namespace() %}{% set a.a = a %}{{ a }}", "nests more than");
    EXPECT_FALSE(error_of(
        "{% set ns = namespace(x=1) %}{% for i in range(5000) %}{% set ns.x = namespace(p=ns.x) %}{% endfor %}"));
    EXPECT_FALSE(error_of("{% for i in range(3) %}{{ loop.changed(loop) }}{% set keep = loop %}{% endfor %}"));
}

TEST(JinjaLimits, LoopsAndMacrosMayOutliveTheirBlock) {
    EXPECT_FALSE(
        error_of("{% set ns = namespace(l=0, m=0) %}{% for i in [1, 2] %}{% set x = i %}{% macro m() %}{{ x }}{{ "
                 "loop.index }}{% endmacro %}"
                 "{% set ns.l = loop %}{% set ns.m = m %}{% endfor %}{{ ns.m() }}{{ ns.l.index }}{{ ns.l.last }}{{ "
                 "ns.l.length }}"));
    EXPECT_TRUE(error_of(
        "{% set ns = namespace(l=0) %}{% for i in [[]] recursive %}{% set ns.l = loop %}{% endfor %}{{ ns.l([]) }}"));
}

TEST(JinjaLimits, DeepSourcesAreRefusedAtLoad) {
    const std::string sources[] = {
        "{{ " + repeat("(", 5000) + "1" + repeat(")", 5000) + " }}",
        "{{ " + repeat("[", 5000) + repeat("]", 5000) + " }}",
        "{{ " + repeat("not ", 5000) + "1 }}",
        "{{ " + repeat("-", 5000) + "1 }}",
        "{{ " + repeat("1 + ", 5000) + "1 }}",
        "{{ x" + repeat(".a", 5000) + " }}",
        "{{ x" + repeat("|upper", 5000) + " }}",
        "{{ x" + repeat("()", 5000) + " }}",
        "{{ x" + repeat("[0]", 5000) + " }}",
        "{{ " + repeat("1 if 1 else ", 5000) + "1 }}",
        "{{ " + repeat("1 and ", 5000) + "1 }}",
        repeat("{% if 1 %}", 5000) + repeat("{% endif %}", 5000),
        "{% set " + repeat("(", 5000) + "a" + repeat(")", 5000) + " = 1 %}",
        repeat("{% for a in b %}", 5000) + repeat("{% endfor %}", 5000),
    };
    for (const std::string& source : sources) {
        SCOPED_TRACE(source.substr(0, 60));
        const std::optional<Error> error = error_of(source);
        ASSERT_TRUE(error.has_value());
        EXPECT_EQ(error->code(), ErrorCode::unsupported);
        EXPECT_THAT(error->what(), HasSubstr("deep"));
    }
    EXPECT_FALSE(error_of("{{ " + repeat("'a' ~ ", 5000) + "'b' }}"));
    EXPECT_FALSE(error_of("{% if 0 %}" + repeat("{% elif 0 %}", 5000) + "{% endif %}"));
}

TEST(JinjaLimits, DeepMessagesAreTheRequestsFault) {
    ordered_json deep = 1;
    for (int i = 0; i < 1000; ++i) deep = ordered_json::array({std::move(deep)});
    ChatInput input;
    input.messages = ordered_json::array({{{"role", "user"}, {"content", std::move(deep)}}});
    try {
        ChatTemplate("{{ messages }}").render(input);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    }
}

TEST(JinjaLimits, IntegersDoNotOverflowSilently) {
    for (const char* source : {"{{ 2 ** 200 }}", "{{ 10 ** 30 * 10 ** 30 }}", "{{ 2 ** 126 + 2 ** 126 }}",
                               "{{ -(2 ** 126) - 2 ** 126 - 1 }}"}) {
        SCOPED_TRACE(source);
        const std::optional<Error> error = error_of(source);
        ASSERT_TRUE(error.has_value());
        EXPECT_THAT(error->what(), HasSubstr("too large"));
    }
    EXPECT_TRUE(error_of("{{ 1e300|int }}"));
    EXPECT_FALSE(error_of("{{ -(2 ** 126) - 2 ** 126 }}{{ (-(2 ** 126) - 2 ** 126) % -1 }}"));
    EXPECT_TRUE(error_of("{{ (-(2 ** 126) - 2 ** 126) // -1 }}"));
    EXPECT_TRUE(error_of("{{ -(-(2 ** 126) - 2 ** 126) }}"));
}

TEST(JinjaLimits, OneTemplateRendersOnSeveralThreads) {
    const ChatTemplate chat("{% for m in messages %}{{ m.content|upper }}{{ {'a': 'b'}.a }}{% endfor %}");
    std::vector<std::thread> threads;
    std::vector<std::string> texts(4);
    for (size_t i = 0; i < texts.size(); ++i) {
        threads.emplace_back([&chat, &texts, i] {
            ChatInput input;
            for (int n = 0; n < 50; ++n) input.messages.push_back({{"content", fmt::format("x{}", i)}});
            for (int n = 0; n < 20; ++n) texts[i] = chat.render(input).text;
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], repeat(fmt::format("X{}b", i), 50));
}

}  // namespace
}  // namespace colugo
