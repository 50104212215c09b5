"""Traces over real code: the modules of the running Python's standard library (Python Software Foundation License)."""

import os
import re
import sysconfig

import names

PACKAGES = ("", "json", "email", "asyncio", "unittest", "http", "logging", "importlib", "xml/dom", "concurrent/futures")
_DEFINITION = re.compile(r"^( *)(?:async )?(def|class) (\w+)")


def load():
    """[(name of the module's file, its lines)], sorted; files of moderate size only."""
    root = sysconfig.get_paths()["stdlib"]
    modules = []
    for package in PACKAGES:
        folder = os.path.join(root, package)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            path = os.path.join(folder, name)
            if name.endswith(".py") and 2_000 < os.path.getsize(path) < 120_000:
                with open(path, encoding="utf-8", errors="replace") as file:
                    modules.append((name, file.read().split("\n")))
    return modules


def texts(modules):
    return ["\n".join(lines) for _, lines in modules]


def read_code(c, modules):
    """Find a definition in a module, read it, replace a word of a line that was shown."""
    while True:
        name, lines = c.rng.choice(modules)
        definitions = [(i, match) for i, line in enumerate(lines) if (match := _DEFINITION.match(line))]
        if definitions:
            break
    at, match = c.rng.choice(definitions)
    keyword, symbol = match.group(2), match.group(3)
    path = f"{names.folder(c.rng)}/{name}"
    count = (8, 15, 40)[c.size]
    count = c.rng.choice([count, count // 2, count + 5])
    shown = lines[at : at + count + 1]
    hits = [(i, line) for i, line in enumerate(lines) if f"{keyword} {symbol}" in line][: (3, 6, 20)[c.size]]
    change = _change(c, shown)
    request = f"Read `{symbol}` in {path} from its {keyword} on, {count} lines."
    if change:
        request += f" There, replace `{change[0]}` by `{change[1]}`."
    c.user(request)
    c.call(c.dialect.search(f"{keyword} {symbol}", path), thought=f"I look for {symbol}.")
    c.shown("\n".join(f"{i + 1}:{line}" for i, line in hits))
    c.call(c.dialect.open(path, hits[0][0] + 1, count), thought=f"It begins at line {hits[0][0] + 1}.")
    at = hits[0][0]
    c.shown("\n".join(lines[at : at + count + 1]))
    if change:
        c.call(c.dialect.edit(path, *change), thought=f"{change[0]} becomes {change[1]}.")
        c.shown("")
    c.answer(f"`{symbol}` is at line {at + 1} of {path}.")


def _change(c, shown):
    """(a call or attribute that the lines have once, another name in its place), or None."""
    words = re.findall(r"\b[a-z_]+\.[a-z_]+\b|\b[a-z_]+\(", "\n".join(shown))
    once = [word for word in words if words.count(word) == 1 and len(word) > 5]
    if not once or c.rng.random() < 0.3:
        return None
    word = c.rng.choice(once).rstrip("(")
    return word, word.split(".")[0] + "." + names.snake(c.rng, 1, 2) if "." in word else names.snake(c.rng, 2, 2)
