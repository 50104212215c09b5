"""colugo bench decode, prefill and cache: rows for every combination, in each form, and what is refused."""

import csv
import io
import json
import os
import signal
import subprocess
import tempfile
import unittest

from program import COLUGO, TINY, colugo, environment, main
from serving import until


def seconds_of(pid):
    """Of the processor, so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class BenchModel(unittest.TestCase):
    def rows(self, *arguments):
        done = colugo("bench", *arguments, "--model", TINY, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def test_prefill_has_a_row_for_each_combination(self):
        rows = self.rows("prefill", "-p", "8,40", "-d", "0,70", "--kv-type", "bf16,int8", "-t", "1,2", "-r", "2", "-u", "16")
        self.assertEqual(len(rows), 16)
        self.assertEqual({row["test"] for row in rows}, {"pp8", "pp40", "pp8 @ d70", "pp40 @ d70"})
        self.assertEqual({(row["kv_type"], row["threads"]) for row in rows},
                         {("bf16", 1), ("bf16", 2), ("int8", 1), ("int8", 2)})
        for row in rows:
            self.assertEqual(len(row["seconds"]), 2)
            tokens = int(row["test"].split()[0][2:])
            mean = sum(tokens / seconds for seconds in row["seconds"]) / 2
            self.assertAlmostEqual(row["tok_s"] / mean, 1.0, 6)

    def test_decode_has_rows_of_drafts(self):
        rows = self.rows("decode", "-n", "3", "--rows", "1,16,32", "-r", "1")
        self.assertEqual([row["test"] for row in rows], ["tg3", "tg3 x16", "tg3 x32"])
        self.assertAlmostEqual(rows[1]["tok_s"], 48 / rows[1]["seconds"][0], 6)
        self.assertEqual(rows[0]["tok_s_deviation"], 0.0)

    def test_cache_tells_cold_from_memory_from_disk(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = os.path.join(folder, "kept")
            os.mkdir(kept)
            rows = self.rows("cache", "-p", "80,100", "--suffix", "5", "-r", "2", "--cache-disk", folder)
            self.assertEqual(os.listdir(folder), ["kept"])
        self.assertEqual([(row["from"], row["cached"], row["prompt"]) for row in rows],
                         [("nothing", 0, 80), ("memory", 80, 85), ("disk", 80, 85),
                          ("nothing", 0, 100), ("memory", 100, 105), ("disk", 100, 105)])
        self.assertEqual(rows[0]["faster"], 1.0)
        self.assertEqual([row["from"] for row in self.rows("cache", "-p", "40", "-r", "1")], ["nothing", "memory"])

    def test_an_interrupt_ends_the_test_that_runs_and_shows_those_before(self):
        for name, arguments in (("decode", ("-n", "1,200000", "-r", "1")), ("prefill", ("-p", "1,200000", "-u", "8", "-r", "1")),
                                ("cache", ("-p", "40,200000", "-r", "1"))):
            with self.subTest(name):
                process = subprocess.Popen([COLUGO, "bench", name, "--model", TINY, "-o", "json", *arguments], env=environment(),
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.addCleanup(process.kill)
                self.assertTrue(until(lambda: seconds_of(process.pid) > 3))
                process.send_signal(signal.SIGINT)
                out, _ = process.communicate(timeout=30)
                self.assertEqual(process.returncode, 130)
                self.assertEqual(len(json.loads(out)), 2 if name == "cache" else 1)

    def test_forms(self):
        arguments = ("bench", "decode", "--model", TINY, "-n", "2", "--rows", "1,2", "-r", "1")
        table = colugo(*arguments).stdout.decode().splitlines()
        self.assertEqual(len(table), 4)
        self.assertEqual({line.count("|") for line in table[:1] + table[2:]}, {8})
        self.assertNotIn("seconds", table[0])
        lines = list(csv.DictReader(io.StringIO(colugo(*arguments, "-o", "csv").stdout.decode())))
        self.assertEqual([line["test"] for line in lines], ["tg2", "tg2 x2"])
        self.assertGreater(float(lines[0]["tok_s"]), 0)

    def test_what_is_refused(self):
        for arguments, words in ((("decode", "--rows", "33"), "33 is not a whole number from 1 to 32"),
                                 (("prefill", "--kv-type", "q8"), "q8"), (("prefill", "-o", "xml"), "xml"),
                                 (("prefill", "-p", "0"), "0 is not a whole number from 1"),
                                 (("prefill", "-p", "8,300000"), "--prompt: 300000 is too much: the model's context has room for 262112"),
                                 (("prefill", "-p", "262000", "-d", "0,200"), "--prompt: 262000 behind a --depth of 200 is too much"),
                                 (("decode", "-n", "300000"), "--tokens: 300000 is too much"),
                                 (("cache", "-p", "300000", "--suffix", "5"), "--prompt: 300000 is too much: with a --suffix of 5"),
                                 (("cache", "-p", "40,100", "--suffix", "5", "-c", "105"), "--ctx-size: 105 is less than")):
            done = colugo("bench", *arguments, "--model", TINY)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr.decode())
        done = colugo("bench", "cache", "--model", TINY, "-p", "100", "--ctx-size", "200", "--cache-gib", "0.000001")
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    main()
