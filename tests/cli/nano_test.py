#!/usr/bin/env python3
"""What the program does with nano, the model that comes with it: nano_test.py COLUGO FIXTURES_DIR [unittest arguments].

The environment variable COLUGO_BUILD_DIR names the build folder, for its installation.
"""
import json
import os
import re
import subprocess

from program import ProgramCase, environment, main

BASH = {"type": "function", "function": {
    "name": "bash", "description": "Execute a bash command",
    "parameters": {"type": "object", "properties": {"command": {"type": "string", "description": "The bash command to execute"}},
                   "required": ["command"]}}}
TASKS = {
    "src/ledger/balance_sheet.py": "In src/ledger/balance_sheet.py the function `close_quarter` sets rate to 4; it should be 7. "
                                   "Then run tests/test_quarter.py.",
    "lib/telescope": "Where under lib/telescope is `focus_mirror` defined? Show 20 lines of it.",
    "tests/harbour": "Run the tests in tests/harbour and look into what fails.",
}
CALL = re.compile(r"<tool_call>\n<function=bash>\n<parameter=command>\n(.+)\n</parameter>\n</function>\n</tool_call>", re.S)
DRAFTS = ("off", "mtp", "lookup", "tree", "auto")


class NanoTest(ProgramCase):
    def run_task(self, task, *arguments, model="nano"):
        """Text and figures of the reply to a task."""
        path = self.path("messages.json", json.dumps({"messages": [{"role": "user", "content": task}], "tools": [BASH]}))
        done = self.succeed("run", "-m", model, "--messages", path, "--reasoning", "off", "--temp", 0, "-n", 200, "--json",
                            *arguments)
        return done.stdout.decode(), json.loads(done.stderr.decode().splitlines()[-1])

    def test_it_writes_calls_about_what_it_was_asked(self):
        for model in ("nano", "nano-bf16"):
            for name, task in TASKS.items():
                with self.subTest(model=model, name=name):
                    text, figures = self.run_task(task, model=model)
                    self.assertEqual(figures["finish_reason"], "stop")
                    call = CALL.search(text)
                    self.assertTrue(call, text)
                    self.assertIn(name, call[1])

    def test_drafts_change_nothing(self):
        for task in TASKS.values():
            replies = {mode: self.run_task(task, "--spec", mode) for mode in DRAFTS}
            self.assertEqual({text for text, _ in replies.values()}, {replies["off"][0]})
            self.assertGreater(replies["mtp"][1]["drafts"]["head"]["accepted"], 5)
            self.assertLess(2 * replies["tree"][1]["decode_passes"], replies["off"][1]["decode_passes"])

    def test_every_command_knows_it(self):
        document = json.loads(self.succeed("inspect", "nano", "--json").stdout)
        self.assertEqual(document["shape"]["num_hidden_layers"], 8)
        text = self.path("text", "def main():\n    return parse_arguments(sys.argv[1:])\n" * 20)
        figures = json.loads(self.succeed("eval", "nano-bf16", "--against", "nano", "--text", text, "--json").stdout)
        self.assertLess(figures["kl"]["mean"], 1.0)
        out = self.path("out")
        self.succeed("quantize", "nano-bf16", out, "--recipe", "fp8", "--samples", 2)
        self.assertTrue(CALL.search(self.run_task(TASKS["lib/telescope"], model=out)[0]))

    def test_it_is_found_where_the_program_was_installed(self):
        prefix = self.path("prefix")
        subprocess.run(["cmake", "--install", os.environ["COLUGO_BUILD_DIR"], "--prefix", prefix], check=True,
                       capture_output=True)
        done = subprocess.run([prefix + "/bin/colugo", "run", "-n", "3", "Hello"], capture_output=True, cwd="/",
                              env=environment(), timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(prefix + "/share/colugo/models/nano-bf16/config.json"))
        done = subprocess.run([prefix + "/bin/colugo", "bench", "agentic", "--limit-conversations", "1", "--out", self.path("bench")],
                              capture_output=True, cwd="/", env=environment(), timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("bench/results.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["setup"]["data"]["path"], prefix + "/share/colugo/workloads/sample.jsonl")


if __name__ == "__main__":
    main()
