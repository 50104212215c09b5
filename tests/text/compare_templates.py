"""Compares every template byte for byte with Python's jinja2.

Usage: compare_templates.py RENDER_TEMPLATE [FOLDER ...]
Renders template_corpus.py, template_styles.py and the *.jinja files of ../shared/templates (or $COLUGO_SHARED/templates) and
of each FOLDER, here and there. Exit status 0: all equal; 1: not; 77: jinja2 is not installed.
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "text")]

try:
    import template_reference
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import template_conversations
import template_corpus
import template_styles

MAX_SHOWN = 40


def collect(folders):
    yield from template_corpus.cases()
    templates = {f"style:{name}": text for name, text in template_styles.STYLES.items()}
    for folder in folders:
        for path in sorted(pathlib.Path(folder).glob("*.jinja")):
            templates[path.stem] = path.read_text(encoding="utf-8")
    for name, text in templates.items():
        for case_name, case in template_conversations.cases(text):
            yield f"{name} {case_name}", case


def check_spans(answer):
    """None, or what is wrong with the content spans."""
    text = answer["text"].encode()
    end = -1
    for begin, stop in answer["spans"]:
        if not end < begin < stop <= len(text):
            return f"span [{begin}, {stop}) is out of order or range"
        end = stop
    fence = template_conversations.FENCE.encode()
    at = text.find(fence)
    while at >= 0:
        if not any(begin <= at and at + len(fence) <= stop for begin, stop in answer["spans"]):
            return f"the content at byte {at} is not inside a content span"
        at = text.find(fence, at + 1)
    return None


def compare(name, case, wanted, got):
    """None when equal, else a description."""
    if "error" in wanted or "error" in got:
        if "error" in wanted and "error" in got:
            return None
        return f"wanted {json.dumps(wanted, ensure_ascii=False)[:600]}\n  got    {json.dumps(got, ensure_ascii=False)[:600]}"
    if wanted["text"] != got["text"]:
        start = next((i for i, (a, b) in enumerate(zip(wanted["text"], got["text"])) if a != b), min(len(wanted["text"]), len(got["text"])))
        return f"differs at character {start}:\n  wanted {wanted['text'][max(0, start - 60):start + 120]!r}\n  got    {got['text'][max(0, start - 60):start + 120]!r}"
    return check_spans(got)


def main():
    shared = pathlib.Path(os.environ.get("COLUGO_SHARED", ROOT.parent / "shared")) / "templates"
    cases = list(collect([shared, *sys.argv[2:]]))
    lines = "".join(json.dumps({**case, "now": template_reference.CLOCK}, ensure_ascii=False) + "\n" for _, case in cases)
    run = subprocess.run([sys.argv[1]], input=lines.encode(), stdout=subprocess.PIPE, check=False)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    if run.returncode != 0 or len(answers) != len(cases):
        last = cases[len(answers)][0] if len(answers) < len(cases) else "the end"
        print(f"{sys.argv[1]} ended with status {run.returncode} at {last}")
        return 1
    env = template_reference.environment()
    failures = 0
    refused = 0
    for (name, case), got in zip(cases, answers):
        wanted = template_reference.render(env, case)
        refused += "error" in wanted
        problem = compare(name, case, wanted, got)
        if problem is not None:
            failures += 1
            if failures <= MAX_SHOWN:
                source = case["template"] if len(case["template"]) < 300 else ""
                print(f"{name}: {source}\n  {problem}")
    print(f"{len(cases)} cases, {refused} of them refused by jinja2, {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
