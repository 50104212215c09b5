"""How a reply is judged: its form, the commands it runs, and whether its names come from the prompt."""

import re
from collections import Counter

_CALL = re.compile(r"<tool_call>\n<function=([^\n>]+)>\n(.*?)</function>\n</tool_call>", re.S)
_PARAMETER = re.compile(r"<parameter=([^\n>]+)>\n(.*?)\n</parameter>\n", re.S)
_NAME = re.compile(r"[\w./-]+")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_SPLIT = re.compile(r"\|\||\||&&|;|\n")
_PREFIXES = {"env", "time", "nice", "sudo", "exec", "command"}
ALIASES = {
    **{alias: "python" for alias in ("python2", "python3", "py")},
    **{alias: "grep" for alias in ("egrep", "fgrep", "rg", "ag")},
    **{"pip3": "pip", "sphinx-build": "sphinx", "sphinx-quickstart": "sphinx", "less": "cat", "more": "cat"},
    **{"gawk": "awk", "locate": "find", ".": "source", "wget": "curl", "apt-get": "apt"},
}
COUNTED = set(
    "python pip pytest pylint sphinx cython make conda cat head tail wc diff grep sed awk tr sort uniq cut find ls xargs "
    "cp mv rm mkdir touch tee source which alias unset export git curl true false timeout date apt yum".split()
)


def parse_calls(text):
    """[(function, {parameter: text})] of a reply, or None when it is not well-formed."""
    if text.count("<tool_call>") != text.count("</tool_call>"):
        return None
    calls = []
    for name, body in _CALL.findall(text):
        parameters = dict(_PARAMETER.findall(body))
        if _PARAMETER.sub("", body).strip():
            return None
        calls.append((name, parameters))
    return calls if len(calls) == text.count("<tool_call>") else None


def executables(calls):
    """Multiset of the programs that bash calls run."""
    found = Counter()
    for name, parameters in calls:
        command = parameters.get("command", parameters.get("cmd")) if name == "bash" else None
        for stage in _SPLIT.split(_QUOTED.sub(" ", command or "")):
            words = stage.split()
            while words and (words[0].lower() in _PREFIXES or re.match(r"[A-Za-z_]\w*=", words[0])):
                words.pop(0)
            if not words:
                continue
            program = words[0].rsplit("/", 1)[-1].lower()
            program = re.sub(r"(?<=\w)(?:\.\d+)+$", "", program) or program
            program = ALIASES.get(program, program)
            program = ALIASES.get(re.sub(r"\d+$", "", program), program) if program not in COUNTED else program
            if program in COUNTED:
                found[program] += 1
    return found


def overlap(expected, got):
    """Multiset intersection over union; None when nothing is expected."""
    if not expected:
        return None
    return sum((expected & got).values()) / sum((expected | got).values())


def best_constant(expected):
    """(score, the multiset of up to three programs that scores best as the answer to everything)"""
    expected = [one for one in expected if one]
    programs = sorted({program for one in expected for program in one})
    answers = [Counter()]
    for _ in range(3):
        answers += [answer + Counter([program]) for answer in answers for program in programs]
    scored = [(sum(overlap(one, answer) for one in expected) / len(expected), answer) for answer in answers]
    return max(scored, key=lambda pair: pair[0]) if expected else (0.0, Counter())


def names_from(calls, prompt):
    """Whether a path or symbol in the calls' parameters occurs in the prompt as a whole.

    Paths have a slash or a file's extension, symbols an underscore or capitals inside; folders that any repository has
    and words of the shell do not count.
    """
    found = {name.strip("./-:") for _, parameters in calls for text in parameters.values() for name in _NAME.findall(text)}
    wanted = [name for name in found if len(name) >= 5 and name not in _COMMON and _SPECIFIC.search(name)]
    return any(re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", prompt) for name in wanted)


_SPECIFIC = re.compile(r"\w/\w|\w\.\w|\w_\w|[a-z][A-Z]")
_COMMON = {"/testbed", "testbed", "/dev/null", "dev/null", "test_file.py", "setup.py", "__init__.py", "__init__"}
