"""Conversations as text in the family's chat format, and what each token of that text is."""

import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from checkpoint_tokenizer import CHAT_TEMPLATE

# What the checkpoint ships; render() writes the same text, faster. Unlike test checkpoints nano, which has seen few
# thoughts, thinks only where it is told to, as the family's small models do.
THINKS_UNLESS_TOLD = "{%- if enable_thinking is defined and not enable_thinking -%}"
THINKS_WHERE_TOLD = "{%- if enable_thinking is not defined or enable_thinking is not true -%}"
assert CHAT_TEMPLATE.count(THINKS_UNLESS_TOLD) == 1
TEMPLATE = CHAT_TEMPLATE.replace(THINKS_UNLESS_TOLD, THINKS_WHERE_TOLD)

EMPTY_THINKING = "<think>\n\n</think>\n\n"
TOOLS_HEAD = "# Tools\n\nThese functions can be called:\n\n<tools>"
TOOLS_TAIL = (
    "\n</tools>\n\nA call is written like this:\n\n<tool_call>\n<function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>\n"
    "</function>\n</tool_call>"
)

# What a token is. An answer (text and calls of an assistant's turn) is told apart by the thinking before it.
# A stutter (curriculum.py) is part of an answer that nobody is to say; LOOP is where it begins once more or goes on.
CONTEXT, REASONING, ANSWER_AFTER_REASONING, ANSWER, ANSWER_IN_HISTORY, STUTTER, LOOP = range(7)


def _json(value):
    return json.dumps(value, ensure_ascii=False)


def _call(call):
    parameters = "".join(
        f"<parameter={key}>\n{value if isinstance(value, str) else _json(value)}\n</parameter>\n"
        for key, value in call["arguments"].items()
    )
    return f"<tool_call>\n<function={call['name']}>\n{parameters}</function>\n</tool_call>"


def _assistant(message, thinking):
    content = (message.get("content") or "").strip()
    calls = "\n".join(_call(call) for call in message.get("tool_calls") or [])
    text = content + ("\n\n" if content and calls else "") + calls
    if thinking:
        text = f"<think>\n{(message.get('reasoning_content') or '').strip()}\n</think>\n\n{text}"
    return f"<|im_start|>assistant\n{text}<|im_end|>\n"


def render(messages, tools=None, keep_thinking=False):
    """The text of a conversation. `tool_calls` are {"name", "arguments": mapping}.

    As in the template, turns before the last user message have no thinking part; `keep_thinking` writes all of them.
    """
    parts, begin = [], 0
    system = (messages[0]["content"] or "").strip() if messages[0]["role"] == "system" else None
    if tools:
        listed = "".join("\n" + _json(tool) for tool in tools)
        parts.append(f"<|im_start|>system\n{TOOLS_HEAD}{listed}{TOOLS_TAIL}")
        parts.append(f"\n\n{system}<|im_end|>\n" if system else "<|im_end|>\n")
    elif system is not None:
        parts.append(f"<|im_start|>system\n{system}<|im_end|>\n")
    begin = system is not None
    query = max(i for i, message in enumerate(messages) if message["role"] == "user")
    for i in range(begin, len(messages)):
        message = messages[i]
        if message["role"] == "user":
            parts.append(f"<|im_start|>user\n{message['content'].strip()}<|im_end|>\n")
        elif message["role"] == "assistant":
            parts.append(_assistant(message, keep_thinking or i > query))
        else:
            first = messages[i - 1]["role"] != "tool"
            last = i + 1 == len(messages) or messages[i + 1]["role"] != "tool"
            parts.append("<|im_start|>user" if first else "")
            parts.append(f"\n<tool_response>\n{message['content'].strip()}\n</tool_response>")
            parts.append("<|im_end|>\n" if last else "")
    return "".join(parts)


class Encoder:
    """Text to token ids, and the kind of each token from the control tokens around it."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.start, self.end = (tokenizer.token_to_id(t) for t in ("<|im_start|>", "<|im_end|>"))
        self.think, self.end_think = (tokenizer.token_to_id(t) for t in ("<think>", "</think>"))
        self.assistant = self.ids("assistant")
        assert len(self.assistant) == 1 and len(self.ids("\n")) == 1 and len(self.ids("\n\n")) == 1

    def ids(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def kinds(self, ids):
        """[T] uint8, one of the kinds above."""
        kinds = np.zeros(len(ids), np.uint8)
        i, count = 0, len(ids)
        while i < count:
            if ids[i] != self.start or ids[i + 1 : i + 2] != self.assistant:
                i += 1
                continue
            i += 3  # <|im_start|> assistant \n
            kind = ANSWER_IN_HISTORY
            if i < count and ids[i] == self.think:
                begin, i = i, i + 1
                while i < count and ids[i] not in (self.end_think, self.end):
                    i += 1
                empty = i - begin == 2  # one "\n\n" between
                if not empty:
                    kinds[begin + 2 : i + 1] = REASONING
                    kinds[i + 1 : i + 2] = REASONING
                kind = ANSWER if empty else ANSWER_AFTER_REASONING
                i += 2
            begin = i
            while i < count and ids[i] != self.end:
                i += 1
            kinds[begin : i + 1] = kind
        return kinds

    def encode(self, text):
        """ids [T] int32 and kinds [T] uint8"""
        ids = self.ids(text)
        return np.array(ids, np.int32), self.kinds(ids)
