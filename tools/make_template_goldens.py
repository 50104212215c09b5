"""Writes tests/golden/chat_template/corpus.jsonl: what Python's jinja2 makes of tests/text/template_corpus.py.

The first line holds the variables, each further line [template, text], with null for a refusal. chat_template_test checks
them where jinja2 is not installed; compare_templates.py checks far more where it is.
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "text")]

import template_corpus
import template_reference


def main():
    env = template_reference.environment()
    target = ROOT / "tests" / "golden" / "chat_template" / "corpus.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8") as out:
        out.write(json.dumps(template_corpus.ALL, ensure_ascii=False) + "\n")
        for _, case in template_corpus.cases():
            if "strftime_now" in case["template"]:
                continue  # local time
            answer = template_reference.render(env, case)
            out.write(json.dumps([case["template"], answer.get("text")], ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
