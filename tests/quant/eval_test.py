#!/usr/bin/env python3
"""`colugo eval` against the logits `colugo run` writes, in numpy: eval_test.py COLUGO FIXTURES_DIR [arguments]."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

COLUGO, FIXTURES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LENGTH, PIECES = 50, 3
TEXT = "The glider leaves its branch at dusk and lands on the next tree, sixty metres on.\n" * 12


def fixture(name):
    return os.path.join(FIXTURES, name)


def colugo(*arguments):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("COLUGO_") or key == "COLUGO_FORCE_ISA"}
    return subprocess.run([COLUGO, *map(str, arguments)], capture_output=True, env=clean, timeout=120)


class EvalTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(self.path("text"), "w", encoding="utf-8") as file:
            file.write(TEXT)

    def path(self, name):
        return os.path.join(self.folder, name)

    def eval(self, *arguments):
        done = colugo("eval", *arguments, "--text", self.path("text"), "--length", LENGTH, "--samples", PIECES, "--json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def pieces(self, model):
        done = colugo("run", "-m", model, "--raw", "--print-prompt", "--print-ids", "--", TEXT)
        ids = [int(part) for part in done.stdout.split(b",")]
        count = -(-len(ids) // LENGTH)
        return [ids[i * count // PIECES * LENGTH :][:LENGTH] for i in range(PIECES)]

    def log_probabilities(self, model, ids, tokens):
        """[positions, tokens], of the ids that have one."""
        arguments = ["--prompt-ids", ",".join(map(str, ids)), "--logits", self.path("logits"), "--print-ids"]
        done = colugo("run", "-m", model, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        logits = np.fromfile(self.path("logits"), "<f4").reshape(len(ids), -1)[:, :tokens].astype(np.float64)
        logits -= logits.max(axis=1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))

    def test_agrees_with_the_logits(self):
        first, other = fixture("tiny-r1-bf16"), fixture("tiny-r1-nvfp4-head")
        with open(os.path.join(first, "tokenizer.json"), encoding="utf-8") as file:
            tokenizer = json.load(file)
        tokens = len(tokenizer["model"]["vocab"]) + len(tokenizer["added_tokens"])
        nll, kl, agree = [], [], []
        for ids in self.pieces(first):
            p, q = self.log_probabilities(first, ids, tokens)[:-1], self.log_probabilities(other, ids, tokens)[:-1]
            nll.append(-p[np.arange(len(ids) - 1), ids[1:]])
            kl.append((np.exp(p) * (p - q)).sum(axis=1))
            agree.append(p.argmax(axis=1) == q.argmax(axis=1))
        result = self.eval(first, "--against", other)
        self.assertEqual(result["tokens"], sum(map(len, nll)))
        mean = np.concatenate(nll).mean()
        self.assertAlmostEqual(result["models"][0]["nll"]["mean"], mean, places=4)
        self.assertAlmostEqual(result["models"][0]["perplexity"]["mean"], np.exp(mean), delta=1e-4 * np.exp(mean))
        self.assertAlmostEqual(result["kl"]["mean"], np.concatenate(kl).mean(), places=4)
        self.assertGreater(result["kl"]["mean"], 1e-3)
        self.assertAlmostEqual(result["top1_agreement"]["mean"], np.concatenate(agree).mean(), places=6)
        # The interval: sums of the pieces vary around the mean.
        residuals = np.array([piece.sum() - mean * len(piece) for piece in nll])
        width = 1.96 * np.sqrt((residuals**2).sum() * PIECES / (PIECES - 1)) / sum(map(len, nll))
        self.assertAlmostEqual(result["models"][0]["nll"]["high"] - mean, width, places=4)

    def test_a_checkpoint_against_itself(self):
        result = self.eval(fixture("tiny-bf16"), "--against", fixture("tiny-bf16"))
        self.assertEqual(result["kl"]["mean"], 0)
        self.assertEqual(result["top1_agreement"]["mean"], 1)

    def test_recorded_turns_are_a_conversation(self):
        call = {"id": "1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
        tools = [{"type": "function", "function": {"name": "bash"}}]
        turns = [{"conversation_id": "a", "turn": 1, "role": "user", "content": "Look", "system": "Be brief", "tools": tools},
                 {"conversation_id": "b", "turn": 1, "role": "user", "content": "Other"},
                 {"conversation_id": "a", "turn": 2, "role": "assistant", "reasoning_content": "Why", "tool_calls": [call]},
                 {"conversation_id": "a", "turn": 3, "role": "tool", "tool_results": [{"tool_call_id": "1", "content": "x"}]}]
        whole = {"messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Look"},
                              {"role": "assistant", "content": None, "reasoning_content": "Why", "tool_calls": [call]},
                              {"role": "tool", "tool_call_id": "1", "content": "x"}], "tools": tools, "subset": "any"}
        other = {"messages": [{"role": "user", "content": "Other"}]}
        results = []
        for name, lines in (("turns", turns), ("whole", [whole, other])):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write("\n".join(map(json.dumps, lines)))
            done = colugo("eval", fixture("tiny-bf16"), "--workload", self.path(name), "--json")
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            results.append(done.stdout)
        self.assertEqual(results[0], results[1])

    def test_refusals(self):
        def refuse(*arguments, words, code=1):
            done = colugo("eval", *arguments)
            self.assertEqual(done.returncode, code, done.stderr.decode())
            for word in words:
                self.assertIn(word, done.stderr.decode())

        tiny = fixture("tiny-bf16")
        refuse(tiny, words=["--text"], code=2)
        refuse(tiny, "--text", "/nowhere", words=["/nowhere"])
        refuse(tiny, "--text", "/dev/null", words=["/dev/null"])
        refuse(tiny, "--text", self.path("text"), "--against", fixture("tiny-r1-bf16"), words=["vocabulary"])
        with open(self.path("bad"), "w", encoding="utf-8") as file:
            file.write('{"prompt": "x"}')
        refuse(tiny, "--workload", self.path("bad"), words=["line 1", "messages"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
