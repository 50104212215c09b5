"""Recorded agent conversations as training sequences.

The file has one JSON row a turn: conversation_id, turn, role; a user row has system, tools and content, an assistant row
reasoning_content and tool_calls, a tool row tool_results. A sequence ends in a turn whose thinking block is empty, as a
request with reasoning off has it; the turns before it have their recorded reasoning or an empty block. Names that
belong to one conversation are often replaced by made-up ones, everywhere in it alike, so they have to be copied too.
"""

import ast
import builtins
import json
import keyword
import re
from collections import Counter

import numpy as np

import chat
import names

# Never trained on, neither the model nor the tokenizer.
VALIDATION = ("pallets__flask-5014", "sympy__sympy-18763")
_PYTHON = {*keyword.kwlist, *dir(builtins)}
_IDENTIFIER = re.compile(r"(?<![\w<|])[A-Za-z_][A-Za-z0-9_]{3,}(?![\w|>])")


class Recorded:
    """One conversation: `head` (system and first user message), `turns` ([assistant, tool, ...]), `tools`."""

    def __init__(self, rows):
        self.name = rows[0]["conversation_id"]
        self.tools = rows[0]["tools"]
        self.head = [{"role": "system", "content": rows[0]["system"]}, {"role": "user", "content": rows[0]["content"]}]
        self.turns = [message for row in rows[1:] for message in _messages(row)]

    def messages(self):
        return self.head + self.turns

    def text(self):
        return chat.render(self.messages(), self.tools)

    def calls(self):
        """(index of the assistant's message in turns, the message) of every turn that calls."""
        return [(i, m) for i, m in enumerate(self.turns) if m["role"] == "assistant"]


def _messages(row):
    if row["role"] == "assistant":
        calls = [call["function"] for call in row["tool_calls"]]
        calls = [{"name": call["name"], "arguments": json.loads(call["arguments"])} for call in calls]
        return [{"role": "assistant", "reasoning_content": row["reasoning_content"], "tool_calls": calls}]
    results = row["tool_results"]
    if isinstance(results, str):
        results = ast.literal_eval(results)
    return [{"role": "tool", "content": result["content"]} for result in results]


def load(path):
    rows = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            rows.setdefault(row["conversation_id"], []).append(row)
    return [Recorded(sorted(turns, key=lambda row: row["turn"])) for turns in rows.values()]


def split(conversations):
    """(training, validation)"""
    training = [c for c in conversations if c.name not in VALIDATION]
    return training, [c for c in conversations if c.name in VALIDATION]


class Sampler:
    """Windows of recorded conversations, as token ids and kinds."""

    def __init__(self, conversations, encoder):
        self.conversations, self.encoder = conversations, encoder
        words = [set(_IDENTIFIER.findall(c.text())) for c in conversations]
        spread = Counter(word for one in words for word in one)
        # Words of a few conversations are names of their subjects; the rest is language, Python and the shell.
        self.replaceable = [sorted(word for word in one if spread[word] <= 6 and word not in _PYTHON) for one in words]

    def window(self, rng, length, whole_head, renamed=0.65, most=None):
        """About `length` tokens of a random conversation, ending in an answer after an empty thinking block.

        With `whole_head` it begins as a request does, and turns between the head and the last ones may be missing.
        Names are replaced in a share `renamed` of the windows. Of a tool's output of more than `most` tokens the middle
        is left out.
        """
        which = rng.randrange(len(self.conversations))
        conversation = self.conversations[which]
        rename = lambda text: text  # noqa: E731
        if rng.random() < renamed:
            rename = self._renaming(rng, self.replaceable[which])
        bare = rng.choice([0.1, 0.4, 0.8])  # how many of the turns before the last lack their reasoning
        end, _ = rng.choice(conversation.calls())
        parts, total = [], 0
        head = []
        if whole_head:
            text = chat.render(conversation.head, conversation.tools)
            head = [self.encoder.encode(rename(text))]
            total = len(head[0][0])
        for i in range(end, -1, -1):
            message = conversation.turns[i]
            empty = message["role"] == "assistant" and (i == end or rng.random() < bare)
            part = self.encoder.encode(rename(turn_text(conversation.turns, i, empty)))
            if most and message["role"] == "tool" and len(part[0]) > most:
                part = tuple(np.concatenate([x[: most // 2], x[-(most // 2) :]]) for x in part)
            parts.append(part)
            total += len(part[0])
            if total >= length:
                break
        parts = head + parts[::-1]
        ids = np.concatenate([part[0] for part in parts])
        kinds = np.concatenate([part[1] for part in parts])
        if len(ids) > length:  # cut what follows the head, so that the last answer stays
            keep = min(len(head[0][0]) if head else 0, length // 2)
            cut = len(ids) - length
            ids = np.concatenate([ids[:keep], ids[keep + cut :]])
            kinds = np.concatenate([kinds[:keep], kinds[keep + cut :]])
        return ids, kinds

    @staticmethod
    def _renaming(rng, replaceable):
        share = rng.choice([0.7, 0.9, 1.0])
        made = {}
        for word in replaceable:
            if rng.random() < share:
                made[word] = names.camel(rng) if word[0].isupper() and not word.isupper() else names.snake(rng, 1, 2)
                if word.isupper():
                    made[word] = made[word].upper()
        return lambda text: _IDENTIFIER.sub(lambda match: made.get(match.group(), match.group()), text)


def turn_text(turns, i, empty=False):
    """The text of message i of an agent's turns, which all follow the last user message."""
    message = turns[i]
    if message["role"] == "assistant":
        if empty:
            message = {**message, "reasoning_content": ""}
        return chat.render([{"role": "user", "content": ""}, message]).split("<|im_end|>\n", 1)[1]
    first = i == 0 or turns[i - 1]["role"] != "tool"
    last = i + 1 == len(turns) or turns[i + 1]["role"] != "tool"
    text = f"\n<tool_response>\n{message['content'].strip()}\n</tool_response>"
    return ("<|im_start|>user" if first else "") + text + ("<|im_end|>\n" if last else "")
