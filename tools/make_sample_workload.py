#!/usr/bin/env python3
"""Writes workloads/sample.jsonl, the conversations of `colugo bench agentic --data sample`: procedural tasks of
tools/nano/traces.py in the rows of the Edge Agentic performance set. The same everywhere, so a test can compare.

Usage: make_sample_workload.py OUT
"""

import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "nano"))

import traces
from dialects import Shell

CONVERSATIONS = 12
SEED = 2_000_003  # far from those that nano was trained on
LEAST_TURNS = 9
SYSTEM = """You are a programmer's assistant that works in a repository by shell commands.

For each task: find the place first, read it, make the smallest change that does what was asked, and run the test that
was named. Every command runs in a new shell in the root of the repository, so a change of folder lasts for that command
alone; join commands by `&&` where one needs another. Outputs longer than 200 lines are cut short, so print parts of
files, by line numbers that a search has shown, rather than the whole. Do not change tests, settings or anything outside
the repository. When there is nothing left to do, say in one sentence what was found or changed, without a command."""


def conversation(number):
    """Messages of several tasks in turn."""
    rng = random.Random(SEED + number)
    made = traces.Conversation(rng, Shell(rng), 2)
    while sum(message["role"] == "assistant" for message in made.messages) < LEAST_TURNS + number % 4:
        rng.choice(traces.AGENT)(made)
    return rng, made


def call_row(call, identity):
    return {
        "id": identity,
        "type": "function",
        "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
    }


def rows(number):
    rng, made = conversation(number)
    head = {"conversation_id": f"sample-{number + 1:02}"}
    turn, calls, written = 0, [], []
    for message in made.messages:
        if message["role"] == "tool" and written[-1]["role"] == "tool":
            written[-1]["tool_results"].append({"tool_call_id": calls.pop(0), "content": message["content"]})
            continue
        turn += 1
        row = {**head, "turn": turn, "role": message["role"]}
        if message["role"] == "user":
            row["content"] = message["content"]
            if turn == 1:
                row |= {"system": SYSTEM, "tools": made.dialect.tools}
        elif message["role"] == "tool":
            row["tool_results"] = [{"tool_call_id": calls.pop(0), "content": message["content"]}]
            row["delay_seconds"] = round(rng.uniform(0.05, 1.5), 3)
        elif "tool_calls" in message:
            calls = [f"call_{turn}_{i}" for i in range(len(message["tool_calls"]))]
            row["reasoning_content"] = message["reasoning_content"]
            row["tool_calls"] = [call_row(*pair) for pair in zip(message["tool_calls"], calls)]
        else:
            row["content"] = message["content"]
        written.append(row)
    return written


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for number in range(CONVERSATIONS):
            for row in rows(number):
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
