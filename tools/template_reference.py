"""The reference for chat templates: Python's jinja2, configured as transformers configures it."""

import datetime
import functools
import json

import jinja2
import jinja2.ext
import jinja2.sandbox
import jinja2.utils
from jinja2 import nodes

CLOCK = 1700000000  # what strftime_now prints in every comparison


class GenerationTag(jinja2.ext.Extension):
    """{% generation %}...{% endgeneration %}: marks the assistant's text for training, renders its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


class Namespace(jinja2.utils.Namespace):
    """transformers refuses names that begin with an underscore."""

    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attributes = dict(*args, **kwargs)
        for name in attributes:
            Namespace.check(name)
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name, value):
        Namespace.check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(f"a namespace cannot hold {name!r}")


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(pattern):
    return datetime.datetime.fromtimestamp(CLOCK).strftime(pattern)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    env.globals["namespace"] = Namespace
    return env


def parse_arguments(messages):
    """What prepare_messages does: tool call arguments given as JSON text become mappings."""
    messages = json.loads(json.dumps(messages))
    for message in messages:
        for call in message.get("tool_calls") or []:
            function = call.get("function")
            if isinstance(function, dict) and isinstance(function.get("arguments"), str):
                function["arguments"] = json.loads(function["arguments"] or "{}")
    return messages


@functools.lru_cache(maxsize=16)
def compiled(env, source):
    return env.from_string(source)


def render(env, case):
    """Returns {"text"} or {"error"} for one case in the form render_template.cpp reads."""
    messages = case.get("messages", [])
    if case.get("prepare"):
        messages = parse_arguments(messages)
    variables = dict(case.get("special_tokens", {}))
    variables.update(case.get("extra", {}))
    try:
        text = compiled(env, case["template"]).render(
            messages=messages, tools=case.get("tools"), documents=case.get("documents"),
            add_generation_prompt=case.get("add_generation_prompt", True), **variables)
    except Exception as error:  # any refusal of Python's is a refusal to us
        return {"error": f"{type(error).__name__}: {error}"}
    return {"text": text}
