#!/usr/bin/env python3
"""The whole recorded workload beside the repository (or in $COLUGO_SHARED), turn by turn over HTTP, with replies that are
the recorded ones in part: the score of every turn is that of a second reading of the rules.
bench_workload_test.py COLUGO FIXTURES_DIR [unittest arguments]."""
import json
import os
import random
import subprocess
import sys

from fake_server import FakeServer, event
from program import ProgramCase, colugo, main

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SHARED = os.environ.get("COLUGO_SHARED", os.path.join(ROOT, "..", "shared"))
DATA = os.path.join(SHARED, "workload", "agentic_coding_16.jsonl")


def stream(calls, rng):
    """A reply with these calls, their arguments in pieces."""
    events = []
    for i, call in enumerate(calls):
        text = call["function"]["arguments"]
        cut = rng.randint(0, len(text))
        head = {"index": i, "id": call["id"], "type": "function", "function": {"name": call["function"]["name"], "arguments": text[:cut]}}
        for part in (head, {"index": i, "function": {"arguments": text[cut:]}}):
            events.append(event({"choices": [{"index": 0, "delta": {"tool_calls": [part]}, "finish_reason": None}]}))
    return events + [event({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}), "data: [DONE]\n\n"]


class WorkloadTest(ProgramCase):
    def test_every_turn_scores_as_the_rules_say(self):
        with open(DATA, encoding="utf-8") as file:
            recorded = [row["tool_calls"] for row in map(json.loads, file) if row["role"] == "assistant"]
        rng = random.Random(3)

        def behave(number, body):
            calls = list(recorded[number])
            if rng.random() < 0.6:  # others too, or others alone
                calls = calls[:rng.randint(0, 1)] + rng.choice(recorded)
            return stream(calls, rng)

        with FakeServer(behave) as server:
            out = self.path("out")
            done = colugo("bench", "agentic", "--url", server.url, "--data", DATA, "--out", out)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            lasts = [body["messages"][-1]["role"] for body in server.requests]
            self.assertEqual((len(lasts), set(lasts)), (len(recorded), {"user", "tool"}))
        script = os.path.join(ROOT, "tools", "agentic_reference.py")
        check = subprocess.run([sys.executable, "-B", script, "check", out, DATA], capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout)
        self.assertRegex(check.stdout, rf"{len(recorded)} turns, \d+ of them scored, IoU 0\.[3-9]\d*; 0 differences")


if __name__ == "__main__":
    if not os.path.exists(DATA):
        print(f"skipped: there is no {DATA}")
        sys.exit(77)
    main()
