#!/usr/bin/env python3
"""Compare the checker of BFCL's answers with bfcl-eval's own, answer by answer, and the tools made of its functions.

usage: compare_bfcl.py SCORE_BFCL_LINES PACKAGES [--each COUNT] [--expressions COUNT] [--seed SEED] [--show COUNT]
                       [--questions FILE.jsonl ...]

SCORE_BFCL_LINES is the test program of that name (tests/bench); PACKAGES the folder that bfcl_eval lies in (pip install
--no-deps --target PACKAGES bfcl-eval). For every question of BFCL v4's single-turn subsets, and of the files given in
the form of tests/golden/bench/bfcl_questions.jsonl, COUNT answers are made from what is right: right ones and such with
faults (bfcl_answers.py); ten times as many where values are expressions of Java or JavaScript. The values of COUNT
random expressions are compared as well. Prints a table and the differences; exits with 1 if there is one.
"""

import argparse
import collections
import json
import random
import subprocess

import bfcl_answers
import bfcl_expressions
import bfcl_reference


def make_cases(questions, each, seed):
    answers = bfcl_answers.Answers(random.Random(seed))
    for question in questions:
        for n in range(each * (1 if question["language"] == "python" else 10)):
            if n == 0:
                yield question, "right", answers.texts(answers.right(question))
            else:
                yield question, *answers.altered(question, faults=1 if n % 3 else 2)


def run_lines(program, lines):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def score_ours(program, cases):
    return run_lines(
        program,
        [
            {
                "language": question["language"],
                "functions": question["functions"],
                "answers": question["answers"],
                "calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
            }
            for question, _, calls in cases
        ],
    )


def compare_answers(reference, program, questions, options):
    cases = list(make_cases(questions, options.each, options.seed))
    table = collections.defaultdict(collections.Counter)
    differences = []
    for (question, kind, calls), ours in zip(cases, score_ours(program, cases), strict=True):
        right, reason = reference.score(question, calls)
        for row in (question["category"], "kind: " + kind.split("+")[0], "all"):
            table[row].update(answers=1, right=right, raised=reason.startswith("raised"), differ=right != ours["right"])
        if right != ours["right"]:
            differences.append((question, kind, calls, right, reason, ours))
    print(f"{'':32}{'answers':>9}{'right':>9}{'raised':>9}{'differ':>9}")
    for row, counts in table.items():
        print(f"{row:32}" + "".join(f"{counts[column]:9}" for column in ("answers", "right", "raised", "differ")))
    for question, kind, calls, right, reason, ours in differences[: options.show]:
        print(f"\n{question['id']}, {kind}: {'right' if right else reason}; here {ours['reason'] or 'right'}")
        print(f"  calls   {json.dumps(calls, ensure_ascii=False)}")
        print(f"  answers {json.dumps(question['answers'], ensure_ascii=False)}")
    return len(differences)


def compare_tools(reference, program):
    functions = [
        row["function"]
        for subset in bfcl_reference.CALLS_SUBSETS + bfcl_reference.OTHER_SUBSETS
        for row in bfcl_reference.read_lines(f"{reference.data}/BFCL_v4_{subset}.json")
    ]
    differ = 0
    for given, ours in zip(functions, run_lines(program, [{"functions": f} for f in functions]), strict=True):
        differ += json.dumps(reference.tools(given)) != json.dumps(ours)  # the order of keys counts too
    print(f"tools of {len(functions)} questions, {differ} differ\n")
    return differ


def same_value(a, b):
    """Of the same types too; nothing is compared with infinity and NaN, which have no JSON."""
    if isinstance(a, float) and a in (float("inf"), float("-inf")) or a != a:
        return b is None
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


def compare_values(reference, program, options):
    expressions = bfcl_expressions.Expressions(random.Random(options.seed))
    cases = [
        (language, *expressions.case(language))
        for language in ("java", "javascript")
        for _ in range(options.expressions)
    ]
    lines = [dict(zip(("language", "type", "elements", "text"), case)) for case in cases]
    differences = []
    texts = 0
    for case, ours in zip(cases, run_lines(program, lines), strict=True):
        try:
            value = reference.value(*case)
        except (ValueError, NotImplementedError) as fault:
            value = case[3] if "invalid literal" in str(fault) else fault  # a text is as wrong as a fault
        texts += value == case[3]
        if not same_value(value, ours):
            differences.append((case, value, ours))
    print(f"values of {len(cases)} expressions, of {texts} the text itself, {len(differences)} differ")
    for case, value, ours in differences[: options.show]:
        print(f"  {json.dumps(case, ensure_ascii=False)}\n    {value!r}\n    {json.dumps(ours, ensure_ascii=False)}")
    print()
    return len(differences)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("packages")
    parser.add_argument("--each", type=int, default=4)
    parser.add_argument("--expressions", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--questions", nargs="*", default=[])
    options = parser.parse_args()
    reference = bfcl_reference.Reference(options.packages)
    questions = [
        q for subset in bfcl_reference.CALLS_SUBSETS for q in bfcl_reference.read_questions(reference.data, subset)
    ]
    for path in options.questions:
        questions += bfcl_reference.read_lines(path)
    differ = compare_tools(reference, options.program)
    differ += compare_values(reference, options.program, options)
    differ += compare_answers(reference, options.program, questions, options)
    raise SystemExit(differ > 0)


if __name__ == "__main__":
    main()
