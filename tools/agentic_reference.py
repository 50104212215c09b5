#!/usr/bin/env python3
"""How replies of the Edge Agentic workload are scored, read from the rules (docs/benchmark.md, "IoU") a second time, to
check `colugo bench agentic` against.

Usage: agentic_reference.py golden OUT          writes tests/golden/bench/commands.jsonl
       agentic_reference.py check RESULTS DATA  compares every turn of a results folder; exit code 1 where one differs.
                                                DATA is the workload's file, or sample
"""

import json
import os
import random
import re
import sys
from collections import Counter

# As the rules list them: a name, and in brackets all that is called so where that differs.
LISTED = """python (python, python2, python3, py); pip (pip, pip3); pytest; pylint; sphinx (sphinx-build,
sphinx-quickstart); cython; make; conda; cat (cat, less, more); head; tail; wc; diff; grep (grep, egrep, fgrep, rg, ag);
sed; awk (awk, gawk); tr; sort; uniq; cut; find (find, locate); ls; xargs; cp; mv; rm; mkdir; touch; tee; source (source,
.); which; alias; unset; export; git; curl (curl, wget); true; false; timeout; date; apt (apt-get, apt); yum"""
QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|`[^`]*`""")
SEPARATOR = re.compile(r"\|\||&&|[|;\n]")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
SAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads", "sample.jsonl")
SKIPPED = ("env", "time", "nice", "sudo", "exec", "command")


def aliases():
    table = {}
    for entry in " ".join(LISTED.split()).split("; "):
        name, _, inside = entry.partition(" (")
        for alias in inside.rstrip(")").split(", ") if inside else [name]:
            table[alias] = name
    return table


ALIASES = aliases()


def programs(command):
    """The programs of a command that count, in order."""
    found = []
    for stage in SEPARATOR.split(QUOTED.sub(" ", command)):
        words = stage.split()
        while words and (words[0] in SKIPPED or ASSIGNMENT.match(words[0])):
            del words[0]
        if words:
            leaf = words[0].split("/")[-1].lower()
            found.append(ALIASES.get(re.sub(r"(\.\d+){1,2}$", "", leaf)))
    return [program for program in found if program]


def programs_of_calls(calls):
    found = []
    for call in calls or []:
        function = call.get("function") or {}
        arguments = function.get("arguments")
        if function.get("name") != "bash":
            continue
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError:
                continue
        if isinstance(arguments, dict):
            command = arguments.get("command") or arguments.get("cmd")
            found += programs(command) if isinstance(command, str) else []
    return found


def iou(expected, got):
    """None where nothing is expected."""
    a, b = Counter(expected), Counter(got)
    return sum((a & b).values()) / sum((a | b).values()) if a else None


# Pieces of commands, most of them awkward.
WORDS = sorted(ALIASES) + """Python3.11 python3.12.1 python.3 /usr/bin/env ENV /opt/a.b/bin/python2.7 GREP ./run.sh ../bin/make
dir/ / // x= X=1 _y= 9z=1 A-B=c env sudo time nice exec command eval sh bash perl pip3.11 pip. .3 3.11 python3. python.3.
python3.11.2.5 git-log sphinx apt-cache docker echo cd true. Sudo 'grep' "find" `ls` $(cat) (head {tail} !wc ~/bin/sed
\\grep find\\ x é/ls ls/é git\u00a0log \u3000cat ma\u212ae K\u212a python3.\u0663 tee<in sort>out uniq&cut""".split()
JOINTS = ["|", " | ", "||", " && ", "&&", ";", " ; ", "\n", "&", " & ", " ", " ", "  ", "\t", "\r\n", "|&", "|||", "&&&", ";;", "\x0b", "\x1c"]
QUOTES = ["'a | grep b'", '"c; find d"', "`ls && cat`", '"e \\" | sed f"', "'g\" | head", '"h \' | tail', "'", '"', "`", '"i\\\nj" | wc',
          "''", '""', "'k\nl'", '"\\\\" | awk', "it's; git", "\\' | rm", '$\'x\' | cp', "<< 'EOF'\nfind x\nEOF\n", "<<EOF\nmake\nEOF"]


def awkward_command(rng):
    parts = []
    for _ in range(rng.randint(1, 9)):
        parts.append(rng.choice(QUOTES if rng.random() < 0.25 else WORDS))
        parts.append(rng.choice(JOINTS))
    return "".join(parts)


def awkward_calls(rng):
    calls = []
    for _ in range(rng.randint(0, 3)):
        command = awkward_command(rng)
        name = rng.choice(["bash"] * 5 + ["Bash", "python", ""])
        arguments = rng.choice([{"command": command}] * 6 + [
            {"cmd": command}, {"command": "", "cmd": command}, {"command": None, "cmd": command}, {"command": 5, "cmd": command},
            {"script": command}, [command], None, "ls", {"command": [command]}])
        text = arguments if rng.random() < 0.2 else json.dumps(arguments)
        if isinstance(text, str) and rng.random() < 0.1:
            text = text[:-1]
        calls.append({"id": "x", "type": "function", "function": {"name": name, "arguments": text}})
    return calls


def write_golden(path):
    rng = random.Random(7)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(600):
            command = awkward_command(rng)
            file.write(json.dumps({"command": command, "programs": programs(command)}) + "\n")
        for _ in range(300):
            recorded, reply = awkward_calls(rng), awkward_calls(rng)
            if rng.random() < 0.5:
                reply = recorded + reply[:1]
            score = iou(programs_of_calls(recorded), programs_of_calls(reply))
            file.write(json.dumps({"recorded": recorded, "reply": reply, "iou": score}) + "\n")


def opened(path):
    try:
        return open(path, encoding="utf-8")
    except OSError as error:
        sys.exit(f"cannot open {path}: {error.strerror}")


def lines(path):
    with opened(path) as file:
        return [json.loads(line) for line in file if line.strip()]


def check(folder, data):
    recorded = {(row["conversation_id"], row["turn"]): row
                for row in lines(SAMPLE if data == "sample" else data) if row["role"] == "assistant"}
    with opened(os.path.join(folder, "results.json")) as file:
        results = json.load(file)
    scores, findings = [], []
    turns = lines(os.path.join(folder, "turns.jsonl"))
    for turn in turns:
        if (turn["conversation"], turn["turn"]) not in recorded:
            sys.exit(f"{data} has no reply of conversation {turn['conversation']}, turn {turn['turn']}: {folder} is of "
                     "another workload")
        expected = programs_of_calls(recorded[turn["conversation"], turn["turn"]].get("tool_calls"))
        got = [] if turn["failure"] else programs_of_calls(turn["tool_calls"])
        score = iou(expected, got)
        if (turn["expected"], turn["got"], turn["iou"]) != (expected, got, score):
            findings.append(f"{turn['conversation']}, turn {turn['turn']}: {turn['iou']}, here {score}")
        if score is not None:
            scores.append(score)
    mean = round(sum(scores) / len(scores), 4) if scores else None
    if results["iou"] != mean:
        findings.append(f"IoU {results['iou']}, here {mean}")
    print("\n".join(findings + [f"{len(turns)} turns, {len(scores)} of them scored, IoU {mean}; {len(findings)} differences"]))
    return 1 if findings or not turns else 0


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if len(sys.argv) == 3 and sys.argv[1] == "golden":
        write_golden(sys.argv[2])
        return 0
    if len(sys.argv) == 4 and sys.argv[1] == "check":
        return check(*sys.argv[2:])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
