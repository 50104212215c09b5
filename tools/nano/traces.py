"""Procedural agent traces: conversations in which every call follows from what was said and shown before, and from
nothing else. All names are made up for each trace, so a model can only be right by copying from the context.

trace(seed, size) gives (messages, tools); sizes 0, 1, 2 are about 250, 450 and 1,250 tokens. The same seed gives the
same trace everywhere (with `modules`, where the standard library is the same).
"""

import random

import function_traces
import library
import names
from code_lines import code_line, function_body
from dialects import Functions, Shell


class Conversation:
    """Messages in the making."""

    def __init__(self, rng, dialect, size):
        self.rng, self.dialect, self.size, self.messages = rng, dialect, size, []
        self.thinks = rng.random() < 0.25  # says before some calls what it is going to do

    def user(self, text):
        self.messages.append({"role": "user", "content": text + self.dialect.convention})

    def call(self, *calls, thought=""):
        thought = thought if self.thinks and self.rng.random() < 0.7 else ""
        self.messages.append({"role": "assistant", "reasoning_content": thought, "tool_calls": list(calls)})

    def shown(self, *texts, failed=False):
        for text in texts:
            self.messages.append({"role": "tool", "content": self.dialect.result(text, failed)})

    def answer(self, text):
        self.messages.append({"role": "assistant", "content": text})

    def pick(self, *choices):
        return self.rng.choice(choices)

    def amount(self, short, middle, long):
        """A random count, with the bound of this size."""
        return self.rng.randint(1, (short, middle, long)[self.size])


def _listing(c, folder, wanted, others):
    """Output of a search: the line of `wanted` (path, line, text) among others of the same folder."""
    rows = [wanted] + [
        (names.path(c.rng, folder), c.rng.randint(1, 1200), code_line(c.rng, symbol)) for symbol in others
    ]
    c.rng.shuffle(rows)
    return "\n".join(f"{path}:{line}:{text}" for path, line, text in rows)


def _noise(c, symbol, count):
    """Names that look like `symbol` or are used beside it."""
    return [symbol if c.rng.random() < 0.5 else symbol + "_" + names.word(c.rng) for _ in range(count)]


def locate(c):
    """Search for a definition, open the file that has it at its line."""
    symbol, folder = names.symbol(c.rng), names.folder(c.rng)
    keyword = "class" if symbol[0].isupper() else "def"
    path, line, count = names.path(c.rng, folder, "py"), c.rng.randint(1, 1400), c.pick(10, 20, 30, 40)
    request = c.pick(
        f"Where under {folder} is `{symbol}` defined? Show {count} lines of it.",
        f"Find the definition of {symbol} in {folder} and show me {count} lines.",
        f"`{symbol}` misbehaves. Look for it in {folder} and read {count} lines from its definition.",
    )
    c.user(request)
    c.call(c.dialect.search(symbol, folder), thought=f"First I search for {symbol} in {folder}.")
    body = function_body(c.rng, symbol, keyword, c.amount(2, 5, 14))
    c.shown(_listing(c, folder, (path, line, body[0]), _noise(c, symbol, c.amount(2, 5, 16))))
    c.call(c.dialect.open(path, line, count), thought=f"The definition is in {path}, line {line}.")
    c.shown("\n".join(body))
    c.answer(f"`{symbol}` is defined in {path} at line {line}.")


def fix(c):
    """Find a function in a given file, read it, change the line that has the wrong value, run the test it names."""
    symbol, path = names.snake(c.rng, 2, 3), names.path(c.rng, extension="py")
    old, new = names.distinct(c.rng, names.constant, 2)
    variable, line, count = names.snake(c.rng, 1, 2), c.rng.randint(2, 1400), c.pick(10, 15, 20, 30)
    test = names.path(c.rng, "tests", "py")
    steps = [f"In {path} the function `{symbol}` sets {variable} to {old}; it should be {new}."]
    steps.append(c.pick(f"Then run {test}.", f"Check it with {test}.", f"The test is {test}."))
    shows = c.rng.random() < 0.4
    c.user(" ".join(steps) + (" Show the diff." if shows else ""))
    c.call(c.dialect.search(f"def {symbol}", path), thought=f"I look for {symbol} in {path}.")
    body = function_body(c.rng, symbol, "def", c.amount(1, 4, 14))
    c.shown(f"{line}:{body[0]}" if c.rng.random() < 0.8 else f"{path}:{line}:{body[0]}")
    c.call(c.dialect.open(path, line, count), thought=f"{symbol} begins at line {line}.")
    wrong = f"    {variable} = {old}"
    body.insert(c.rng.randint(1, len(body)), wrong)
    c.shown("\n".join(body))
    c.call(c.dialect.edit(path, f"{variable} = {old}", f"{variable} = {new}"), thought=f"{old} becomes {new}.")
    c.shown("")
    c.call(c.dialect.test(test), thought="Now the test.")
    _tested(c, path, test, symbol, shows)


def _tested(c, path, test, symbol, shows):
    if c.size and c.rng.random() < 0.5:
        case = "test_" + names.snake(c.rng, 1, 2).strip("_")
        c.shown(f"FAILED {test}::{case} - assert {c.rng.randint(0, 99)} == {c.rng.randint(100, 999)}", failed=True)
        c.call(c.dialect.test(f"{test}::{case}"), thought=f"{case} fails; I run it alone.")
    c.shown(f"{c.rng.randint(1, 40)} passed in {c.rng.randint(0, 9)}.{c.rng.randint(10, 99)}s")
    if shows:
        c.call(c.dialect.diff(path), thought=f"I show what changed in {path}.")
        c.shown(f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}")
    c.answer(f"`{symbol}` in {path} is corrected and {test} passes.")


def failures(c):
    """Run tests; look at the one that failed, in the file and at the line that the output names."""
    tests = names.folder(c.rng)
    c.user(c.pick(f"Run the tests in {tests} and look into what fails.", f"Something in {tests} fails. Which test?"))
    c.call(c.dialect.test(tests), thought=f"I run {tests}.")
    files = names.distinct(c.rng, lambda rng: names.path(rng, tests, "py"), c.amount(1, 3, 10) + 1)
    bad, case, line = c.rng.choice(files), "test_" + names.snake(c.rng, 2, 3).strip("_"), c.rng.randint(3, 700)
    count = 20
    rows = [f"{file} {'.' * c.rng.randint(1, 9)}{'F' if file == bad else ''}" for file in files]
    left, right = names.distinct(c.rng, names.constant, 2)
    rows.append(f"{bad}:{line}: in {case}\n    assert {left} == {right}")
    rows.append(f"FAILED {bad}::{case}")
    c.shown("\n".join(rows), failed=True)
    c.call(c.dialect.open(bad, line, count), thought=f"{case} fails at line {line} of {bad}.")
    body = function_body(c.rng, case, "def", c.amount(2, 4, 12))
    body.append(f"    assert {left} == {right}")
    c.shown("\n".join(body))
    c.answer(f"{case} in {bad} fails: {left} is not {right}.")


def pick_file(c):
    """List files, open the one whose name was asked for."""
    folder, extension = names.folder(c.rng), names.path(c.rng).rsplit(".", 1)[1]
    files = names.distinct(c.rng, lambda rng: names.path(rng, folder, extension), c.amount(3, 7, 25) + 1)
    wanted = c.rng.choice(files)
    stem = wanted.rsplit("/", 1)[1].rsplit(".", 1)[0]
    c.user(c.pick(
        f"Find the .{extension} files in {folder} and show the one called {stem}.",
        f"List *.{extension} in {folder}, then print {stem}.",
    ))  # fmt: skip
    c.call(c.dialect.list(folder, extension), thought=f"I list the files of {folder}.")
    c.shown("\n".join(files))
    c.call(c.dialect.show(wanted), thought=f"{stem} is {wanted}.")
    c.shown("\n".join(code_line(c.rng, names.snake(c.rng, 2, 2)) for _ in range(c.amount(2, 5, 20))))
    c.answer(f"That is {wanted}.")


def several(c):
    """Parallel calls: the beginnings of several files, or searches for several symbols."""
    amount = c.rng.choice([2, 2, 3])
    paths = names.distinct(c.rng, names.path, amount)
    if c.rng.random() < 0.5:
        count = c.pick(5, 10, 20, 50)
        c.user(f"Show the first {count} lines of {', '.join(paths[:-1])} and {paths[-1]}.")
        c.call(*[c.dialect.head(path, count) for path in paths])
    else:
        symbols = names.distinct(c.rng, names.symbol, amount)
        pairs = list(zip(symbols, paths))
        c.user("Search " + ", ".join(f"{path} for {symbol}" for symbol, path in pairs) + ".")
        c.call(*[c.dialect.search(symbol, path) for symbol, path in pairs])
    c.shown(*[code_line(c.rng, names.snake(c.rng, 2, 2)) for _ in paths])
    c.answer("Shown above: " + ", ".join(paths) + ".")


def ranges(c):
    """A table of symbols with their lines; open the range of the one that was asked for."""
    symbols = names.distinct(c.rng, names.symbol, c.amount(2, 5, 20) + 1)
    rows, line = [], c.rng.randint(1, 300)
    for symbol in symbols:
        end = line + c.rng.randint(3, 60)
        rows.append((symbol, names.path(c.rng, extension="py"), line, end))
        line = end + c.rng.randint(2, 40)
    symbol, path, first, last = c.rng.choice(rows)
    form = c.pick("{0} {1}:{2}-{3}", "{1} {2}-{3} {0}", "{0}\t{2}-{3}\t{1}")
    c.user("Symbols:\n" + "\n".join(form.format(*row) for row in rows) + f"\n\nShow {symbol}.")
    c.call(c.dialect.range(path, first, last), thought=f"{symbol} is at {first}-{last} of {path}.")
    c.shown("\n".join(function_body(c.rng, symbol, "def", c.amount(2, 5, 12))))
    c.answer(f"Lines {first} to {last} of {path}.")


def echo(c):
    """Run the commands that were given."""
    for _ in range(c.amount(1, 2, 5)):
        parts = [
            f"{c.pick('cat', 'ls -l', 'wc -l', 'git log --', 'python', 'head -20', 'file')} {names.path(c.rng)}",
            f"grep -n {names.symbol(c.rng)} {names.path(c.rng)}",
            f"{names.snake(c.rng)} --{names.word(c.rng)} {c.rng.randint(1, 500)} --{names.word(c.rng)} {names.word(c.rng)}",
        ]
        command = c.rng.choice(parts)
        c.user(c.pick(f"Run `{command}`.", f"Run this:\n\n{command}", f"Please run {command}"))
        c.call(c.dialect.command(command))
        c.shown(" ".join(names.word(c.rng) for _ in range(c.amount(3, 8, 40))))
        c.answer("Done.")


def reproduce(c):
    """Write a script that uses what the task names, and run it; read the file that its error names."""
    symbol, module = names.symbol(c.rng), names.snake(c.rng, 1, 2).strip("_")
    package, argument = names.word(c.rng), names.constant(c.rng)
    script = c.pick("/tmp/repro.py", "repro.py", f"/tmp/{names.word(c.rng)}.py", f"{names.word(c.rng)}_test.py")
    c.user(f"`{symbol}({argument})` from {package}.{module} raises. Reproduce it in {script} and open the place.")
    text = f"from {package}.{module} import {symbol}\n\nprint({symbol}({argument}))"
    c.call(c.dialect.script(script, text), thought=f"A script that calls {symbol}.")
    c.shown("")
    c.call(c.dialect.execute(script), thought="Now I run it.")
    frames = [(f"{package}/{module}.py", c.rng.randint(3, 900))]
    frames += [(names.path(c.rng, package, "py"), c.rng.randint(3, 900)) for _ in range(c.amount(1, 2, 8))]
    rows = "\n".join(f'  File "{path}", line {line}, in {names.snake(c.rng)}' for path, line in frames)
    c.shown(f"Traceback (most recent call last):\n{rows}\n{names.camel(c.rng)}Error: {argument}", failed=True)
    path, line = frames[-1]
    c.call(c.dialect.open(path, line, 20), thought=f"It is raised in {path} at line {line}.")
    c.shown("\n".join(function_body(c.rng, names.snake(c.rng), "def", c.amount(2, 4, 14))))
    c.answer(f"It is raised in {path}, line {line}.")


AGENT = [locate, locate, fix, fix, failures, pick_file, several, ranges, echo, reproduce]
SYSTEMS = [
    "You are a helpful assistant that can interact with a computer shell to solve programming tasks.",
    "You work on a repository with the tools given.",
    "You are a programmer's assistant.",
]


def trace(seed, size, modules=None):
    """(messages, tools) of the trace `seed`; tools may be None in short ones, where the format needs no introduction.

    With `modules` (library.load()) some of the longer traces show real code.
    """
    rng = random.Random(seed)
    if rng.random() < (0.45 if size == 0 else 0.25):
        return function_traces.trace(rng, size)
    shell = size == 0 or rng.random() < 0.7
    c = Conversation(rng, Shell(rng) if shell else Functions(rng), size)
    for _ in range(1 if size < 2 else rng.randint(1, 4)):
        if modules and size and rng.random() < 0.3:
            library.read_code(c, modules)
        else:
            rng.choice(AGENT)(c)
    head = [{"role": "system", "content": rng.choice(SYSTEMS)}] if size and rng.random() < 0.6 else []
    tools = c.dialect.tools if size else None
    return head + c.messages, tools
