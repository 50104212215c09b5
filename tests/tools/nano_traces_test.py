#!/usr/bin/env python3
"""Tests of tools/nano without torch: traces are the same everywhere and can be followed, replies are scored as stated."""

import hashlib
import json
import os
import sys
import unittest
from collections import Counter

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "nano"))

import chat
import scoring
import traces

try:
    import jinja2
except ImportError:
    jinja2 = None


class Traces(unittest.TestCase):
    def test_a_seed_gives_the_same_trace_everywhere(self):
        text = "".join(json.dumps(traces.trace(seed, seed % 3)) for seed in range(200))
        self.assertEqual(hashlib.sha256(text.encode()).hexdigest()[:16], "f4e19beb757bbb38")

    def test_what_a_call_names_was_said_before(self):
        known, unknown = 0, 0
        for seed in range(300):
            messages, tools = traces.trace(seed, seed % 3)
            before = json.dumps(tools)
            for message in messages:
                for call in message.get("tool_calls", []):
                    for value in call["arguments"].values():
                        for word in str(value).replace("'", " ").replace('"', " ").replace(",", " ").split():
                            if "/" in word or "_" in word:
                                parts = [part for part in word.split("/") if len(part) > 3]
                                known += all(part in before for part in parts)
                                unknown += not all(part in before for part in parts)
                before += json.dumps(message)
        self.assertGreater(known, 500)
        self.assertLess(unknown, 0.03 * known)

    @unittest.skipUnless(jinja2, "needs jinja2")
    def test_rendering_is_the_template_s(self):
        sys.path.insert(0, os.path.join(ROOT, "tools"))
        import template_reference

        template = template_reference.environment().from_string(chat.TEMPLATE)
        for seed in range(120):
            messages, tools = traces.trace(seed, seed % 3)
            self.assertEqual(chat.render(messages, tools), template.render(messages=messages, tools=tools))
        for told, end in (({}, "\n</think>\n\n"), ({"enable_thinking": False}, "\n</think>\n\n"), ({"enable_thinking": True}, "")):
            text = template.render(messages=messages, tools=tools, add_generation_prompt=True, **told)
            self.assertEqual(text, chat.render(messages, tools) + "<|im_start|>assistant\n<think>\n" + end)

    def test_the_models_have_the_template(self):
        for model in ("nano", "nano-bf16"):
            with open(os.path.join(ROOT, "models", model, "chat_template.jinja"), encoding="utf-8") as file:
                self.assertEqual(file.read(), chat.TEMPLATE)


class Scoring(unittest.TestCase):
    CALL = "<tool_call>\n<function=bash>\n<parameter=command>\n{}\n</parameter>\n</function>\n</tool_call>"

    def programs(self, command):
        return scoring.executables(scoring.parse_calls(self.CALL.format(command)))

    def test_calls_are_parsed_or_refused(self):
        text = self.CALL.format("ls -la")
        self.assertEqual(scoring.parse_calls(text), [("bash", {"command": "ls -la"})])
        self.assertEqual(len(scoring.parse_calls(text + "\n" + text)), 2)
        self.assertEqual(scoring.parse_calls("words"), [])
        self.assertIsNone(scoring.parse_calls(text[:-5]))
        self.assertIsNone(scoring.parse_calls(text.replace("</parameter>\n", "")))

    def test_programs_of_a_command(self):
        self.assertEqual(self.programs("cd /x && grep -n 'a | b' y | head -3"), Counter(grep=1, head=1))
        self.assertEqual(self.programs("PYTHONPATH=. /usr/bin/python3.11 -m pytest; sudo ls\ncat a"),
                         Counter(python=1, ls=1, cat=1))  # fmt: skip
        self.assertEqual(self.programs("egrep x y || true"), Counter(grep=1, true=1))

    def test_overlap_and_the_best_constant(self):
        self.assertEqual(scoring.overlap(Counter(sed=1, grep=1), Counter(sed=2)), 1 / 3)
        self.assertIsNone(scoring.overlap(Counter(), Counter(sed=1)))
        self.assertEqual(scoring.best_constant([Counter(sed=1), Counter(sed=1), Counter(ls=1)])[1], Counter(sed=1))

    def test_names_come_from_the_prompt_or_not(self):
        calls = scoring.parse_calls(self.CALL.format("grep -n read_all src/lib/reader.py | head"))
        self.assertTrue(scoring.names_from(calls, "see src/lib/reader.py"))
        self.assertTrue(scoring.names_from(calls, "the function `read_all`"))
        self.assertFalse(scoring.names_from(calls, "see src/lib/writer.py, read_all_lines, head and grep"))


if __name__ == "__main__":
    unittest.main()
