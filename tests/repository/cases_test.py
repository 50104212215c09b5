"""Checks that every test named in tests/server/cases.md exists and every case names one, or says why none applies; and
that no case of the list in the folder of shared data is left out, where that is there. Then, on made-up tables, that a
fault is found.

Usage: cases_test.py SOURCE_DIR
"""

import glob
import os
import re
import sys
import unittest

SOURCE_DIR = None

ROW = re.compile(r"^\| ([A-Z]\d\d) \| (.+?) \| (.+) \|$", re.MULTILINE)
LISTED = re.compile(r"^\| ([A-Z]\d\d) \|", re.MULTILINE)
NAME = re.compile(r"\b[A-Z]\w*\.(?:\w+|\*)|\btest_\w+|\b\d\d_\w+\.sh\b")
NOT_HERE = "Does not apply: "


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def known_tests(root):
    names = set()
    for path in glob.glob(os.path.join(root, "tests", "**", "*.cpp"), recursive=True):
        for suite, name in re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)", read(path), re.MULTILINE):
            names |= {f"{suite}.{name}", f"{suite}.*"}
    for path in glob.glob(os.path.join(root, "tests", "**", "*_test.py"), recursive=True):
        names |= set(re.findall(r"^    def (test_\w+)", read(path), re.MULTILINE))
    return names | {os.path.basename(path) for path in glob.glob(os.path.join(root, "tests", "full", "*.sh"))}


def check(table, known, listed):
    findings = []
    rows = ROW.findall(table)
    cases = [case for case, _, _ in rows]
    for case, _, tests in rows:
        named = NAME.findall(tests)
        if not named and not tests.startswith(NOT_HERE):
            findings.append(f"{case} names no test")
        findings += [f"{case} names {name}, which does not exist" for name in named if name not in known]
    findings += [f"{case} is there twice" for case in sorted(set(cases)) if cases.count(case) > 1]
    findings += [f"{case} is left out" for case in listed if case not in cases]
    return findings


class ThisTree(unittest.TestCase):
    def test_cases(self):
        shared = os.environ.get("COLUGO_SHARED", os.path.join(SOURCE_DIR, "..", "shared"))
        path = os.path.join(shared, "cases", "server-cases.md")
        listed = LISTED.findall(read(path)) if os.path.exists(path) else []
        table = read(os.path.join(SOURCE_DIR, "tests", "server", "cases.md"))
        self.assertGreater(len(ROW.findall(table)), 100)
        findings = check(table, known_tests(SOURCE_DIR), listed)
        self.assertFalse(findings, "\n" + "\n".join(findings))
        if not listed:
            self.skipTest(f"whether cases are left out: there is no {path}")


class MadeUpTables(unittest.TestCase):
    KNOWN = {"Suite.Holds", "Suite.*", "test_it_works", "10_all.sh"}
    GOOD = "| A01 | x | Suite.Holds, test_it_works |\n| B02 | y | Does not apply: it is not built |\n| C03 | z | Suite.*, 10_all.sh |\n"

    def test_faults_are_found(self):
        self.assertEqual(check(self.GOOD, self.KNOWN, ["A01", "B02"]), [])
        for spoiled, finding in ((self.GOOD.replace("Holds", "Held"), "Suite.Held"), (self.GOOD.replace("it_works", "it"), "test_it,"),
                                 (self.GOOD.replace("10_all", "11_all"), "11_all.sh"), (self.GOOD + "| D04 | x | by hand |\n", "D04"),
                                 (self.GOOD + "| A01 | x | Suite.Holds |\n", "twice"), (self.GOOD[self.GOOD.index("| B"):], "A01 is left out")):
            findings = check(spoiled, self.KNOWN, ["A01", "B02"])
            self.assertEqual(len(findings), 1, findings)
            self.assertIn(finding, findings[0])


if __name__ == "__main__":
    SOURCE_DIR = os.path.realpath(sys.argv.pop(1))
    unittest.main()
