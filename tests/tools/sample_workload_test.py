#!/usr/bin/env python3
"""The sample workload is what its generator makes."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Generated(unittest.TestCase):
    def check(self, script, arguments, committed):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", script), *arguments, out], check=True)
            self.assertTrue(read(out) == read(os.path.join(ROOT, committed)), committed + " is not what " + script + " makes")

    def test_sample_workload(self):
        self.check("make_sample_workload.py", [], "workloads/sample.jsonl")

    def test_golden_commands(self):
        self.check("agentic_reference.py", ["golden"], "tests/golden/bench/commands.jsonl")


if __name__ == "__main__":
    unittest.main()
