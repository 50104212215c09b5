"""Checks that what the pages name exists: links, headings and paths in README, CHANGELOG and docs/, and the pages that
comments in the code refer to (`docs/page.md, "Heading"`). Then, on made-up pages, that a wrong name is found.

Usage: links_test.py SOURCE_DIR
"""

import glob
import os
import re
import sys
import tempfile
import unittest

SOURCE_DIR = None

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# `src/base/error.h`, `tools/make_checkpoint.py`: in backticks, from a folder of the root, without blanks.
QUOTED_PATH = re.compile(r"`((?:src|tests|tools|docs|scripts|cmake|benchmarks|fuzz)/[^`\s]*)`")
PAGE_IN_CODE = re.compile(r'([\w./-]*\w\.md)\b(?:,\s+(?://|#|\*)?\s*"([^"]+)")?')
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def headings(text):
    return re.findall(r"^#+ +(.+?) *$", FENCE.sub("", text), re.MULTILINE)


def anchor(heading):
    """How GitHub names it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def pages(root):
    return sorted(glob.glob(os.path.join(root, "*.md")) + glob.glob(os.path.join(root, "docs", "**", "*.md"),
                                                                      recursive=True))


def check_page(root, path):
    findings = []
    text = FENCE.sub("", read(path))
    name = os.path.relpath(path, root)
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, fragment = target.partition("#")
        full = os.path.join(os.path.dirname(path), file) if file else path
        if not os.path.exists(full):
            findings.append(f"{name}: links to {target}, which does not exist")
        elif fragment and fragment not in map(anchor, headings(read(full))):
            findings.append(f"{name}: links to {target}, which has no such heading")
    for target in QUOTED_PATH.findall(text):
        # <tier> stands for any name; `thread_pool.{h,cpp}` for both.
        patterns = [re.sub(r"<[^>]*>", "*", target)]
        if match := re.search(r"\{([^}]*)\}", patterns[0]):
            patterns = [patterns[0].replace(match[0], part) for part in match[1].split(",")]
        for pattern in patterns:
            if not glob.glob(os.path.join(root, pattern)):
                findings.append(f"{name}: names {target}, which does not exist")
    return findings


def check_code(root):
    findings = []
    for folder in ("src", "tests", "benchmarks", "fuzz", "cmake", "scripts", "tools"):
        for path in sorted(glob.glob(os.path.join(root, folder, "**", "*"), recursive=True)):
            if not path.endswith((".h", ".cpp", ".inl", ".cmake", "CMakeLists.txt", ".sh", ".py")):
                continue
            if os.path.dirname(path) == os.path.join(root, "tests", "repository"):
                continue
            name = os.path.relpath(path, root)
            for page, heading in PAGE_IN_CODE.findall(read(path)):
                full = os.path.join(root, page if "/" in page or page.removesuffix(".md").isupper() else "docs/" + page)
                if not os.path.exists(full):
                    findings.append(f"{name}: refers to {page}, which does not exist")
                elif heading and heading not in headings(read(full)):
                    findings.append(f'{name}: refers to "{heading}" in {page}, which has no such heading')
    return findings


class ThisTree(unittest.TestCase):
    def test_pages(self):
        found = pages(SOURCE_DIR)
        self.assertIn(os.path.join(SOURCE_DIR, "README.md"), found)
        findings = [finding for path in found for finding in check_page(SOURCE_DIR, path)]
        self.assertFalse(findings, "\n" + "\n".join(findings))

    def test_pages_named_in_code(self):
        findings = check_code(SOURCE_DIR)
        self.assertFalse(findings, "\n" + "\n".join(findings))


class MadeUpPages(unittest.TestCase):
    def test_wrong_names_are_found(self):
        files = {
            "README.md": "# A\n[good](docs/page.md#the-law) `src/a.h` `src/{a,b}.h` `src/<name>.h` [web](https://x.org)\n",
            "docs/page.md": "## The law\n",
            "docs/wrong.md": "[1](gone.md) [2](page.md#no-law) `src/c.h` `src/{a,c}.h`\n```\n[3](fenced.md)\n```\n",
            "src/a.h": '// docs/page.md, "The law"\n// page.md\n',
            "src/b.h": '// docs/page.md, "No law"\n// gone.md 4.1\n',
        }
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            found = [finding for path in pages(root) for finding in check_page(root, path)] + check_code(root)
        self.assertEqual(sorted(found), sorted([
            "docs/wrong.md: links to gone.md, which does not exist",
            "docs/wrong.md: links to page.md#no-law, which has no such heading",
            "docs/wrong.md: names src/c.h, which does not exist",
            "docs/wrong.md: names src/{a,c}.h, which does not exist",
            'src/b.h: refers to "No law" in docs/page.md, which has no such heading',
            "src/b.h: refers to gone.md, which does not exist",
        ]))


if __name__ == "__main__":
    SOURCE_DIR = os.path.realpath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
