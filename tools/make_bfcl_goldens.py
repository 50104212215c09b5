#!/usr/bin/env python3
"""Write what bfcl-eval's own checker, converters and tools make of our questions: tests/golden/bench/bfcl_*.jsonl.

usage: make_bfcl_goldens.py PACKAGES

PACKAGES is the folder that bfcl_eval lies in (pip install --no-deps --target PACKAGES bfcl-eval). The questions are
those of tests/golden/bench/bfcl_questions.jsonl, written by hand; nothing of BFCL's own data is copied.
"""

import json
import pathlib
import random
import sys

import bfcl_answers
import bfcl_expressions
import bfcl_reference

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "tests" / "golden" / "bench"
TRIED = 400
KEPT = 8  # of the right and of the wrong answers to a question
EXPRESSIONS = 250  # of a language, the text itself being the value of a fifth


def write(name, rows):
    with open(FOLDER / name, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def answers_to(reference, question, maker):
    kept = {True: {}, False: {}}
    for _ in range(TRIED):
        kind, calls = maker.altered(question, faults=maker.random.choice([1, 1, 2]))
        right, _ = reference.score(question, calls)
        if len(kept[right]) < KEPT:
            kept[right].setdefault(json.dumps(calls), (kind, calls))
    for right, answers in kept.items():
        for kind, calls in answers.values():
            yield {"question": question["id"], "kind": kind, "calls": calls, "right": right}


def values_of(reference, maker):
    for language in ("java", "javascript"):
        rows = {}
        texts = 0
        while len(rows) < EXPRESSIONS:
            case = (language, *maker.case(language))
            try:
                value = reference.value(*case)
                json.dumps(value, allow_nan=False)
            except (ValueError, NotImplementedError):
                continue
            if value == case[3] and texts * 5 >= EXPRESSIONS:
                continue
            texts += value == case[3]
            rows.setdefault(case, value)
        for case, value in rows.items():
            yield [*case, value]


def tools_of(reference, questions):
    for question in questions:
        try:
            yield {"question": question["id"], "tools": reference.tools(question["functions"])}
        except KeyError:  # a type of elements that it does not know, Boolean among them
            continue


def main():
    reference = bfcl_reference.Reference(sys.argv[1])
    questions = bfcl_reference.read_lines(FOLDER / "bfcl_questions.jsonl")
    maker = bfcl_answers.Answers(random.Random(2))
    write("bfcl_verdicts.jsonl", [row for q in questions for row in answers_to(reference, q, maker)])
    write("bfcl_values.jsonl", values_of(reference, bfcl_expressions.Expressions(random.Random(3))))
    write("bfcl_tools.jsonl", tools_of(reference, questions))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
