"""How an agent's actions are written as tool calls: shell commands, or functions whose names differ from trace to trace."""


def _tool(name, description, parameters, required=None):
    schema = {
        "type": "object",
        "properties": {key: {"type": kind, "description": text} for key, (kind, text) in parameters.items()},
        "required": list(parameters) if required is None else required,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


class Shell:
    """One tool that runs a command."""

    TOOLS = [_tool("bash", "Execute a bash command", {"command": ("string", "The bash command to execute")})]

    def __init__(self, rng):
        self.wrapped = rng.random() < 0.5
        self.prefix, self.python, self.convention = "", "python", ""  # `convention` tells of what is unusual
        if rng.random() < 0.1:
            folder = rng.choice(["/testbed", "/repo", "/work", "/src"])
            self.prefix, self.convention = f"cd {folder} && ", f" Work in {folder}."
        elif rng.random() < 0.1:
            self.python, self.convention = "python3", " Use python3."
        self.tools = self.TOOLS

    def _run(self, command):
        return {"name": "bash", "arguments": {"command": self.prefix + command}}

    def search(self, pattern, path):
        return self._run(f'grep -n "{pattern}" {path}' if "." in path else f'grep -rn "{pattern}" {path}/')

    def open(self, path, line, count):
        return self._run(f"sed -n '{line},+{count}p' {path}")

    def range(self, path, first, last):
        return self._run(f"sed -n '{first},{last}p' {path}")

    def show(self, path):
        return self._run(f"cat {path}")

    def head(self, path, count):
        return self._run(f"head -{count} {path}")

    def list(self, folder, extension):
        return self._run(f'find {folder} -name "*.{extension}"')

    def edit(self, path, old, new):
        return self._run(f"sed -i 's/{old}/{new}/' {path}")

    def test(self, target):
        return self._run(f"{self.python} -m pytest {target} -q")

    def script(self, path, text):
        return self._run(f"cat > {path} << 'EOF'\n{text}\nEOF")

    def execute(self, path):
        return self._run(f"{self.python} {path}")

    def diff(self, path):
        return self._run(f"git diff -- {path}")

    def command(self, text):
        return {"name": "bash", "arguments": {"command": text}}

    def result(self, text, failed=False):
        if self.wrapped:
            return f"<returncode>{int(failed)}</returncode>\n<output>\n{text}\n</output>"
        return text or "(no output)"


class Functions:
    """Several tools; their names and their parameters' names have to be read from the tools' descriptions."""

    convention = ""

    def __init__(self, rng):
        pick = rng.choice
        self.names = {
            "search": pick(["search", "grep_code", "find_text", "search_files"]),
            "open": pick(["read_lines", "view", "open_file", "read_file"]),
            "list": pick(["list_files", "glob", "find_files"]),
            "edit": pick(["edit_file", "replace", "str_replace", "apply_edit"]),
            "test": pick(["run_tests", "pytest", "check"]),
            "write": pick(["write_file", "create", "save"]),
            "run": pick(["run", "execute", "shell"]),
        }
        self.path, self.line, self.count, self.verbose = (
            pick(["path", "file", "filename", "target_file"]),
            pick(["line", "offset", "start", "first_line"]),
            pick(["count", "limit", "lines", "num_lines"]),
            pick(["verbose", "quiet", "fail_fast"]),
        )
        self.flag = pick([True, False])
        path, line, count = (self.path, ("string", "A file")), (self.line, ("integer", "First line")), None
        count = (self.count, ("integer", "How many lines"))
        names = self.names
        self.all = {
            "search": _tool(names["search"], "Search for text", dict([("pattern", ("string", "The text")), path])),
            "open": _tool(names["open"], "Show lines of a file", dict([path, line, count])),
            "list": _tool(names["list"], "List files", {"folder": ("string", ""), "extension": ("string", "")}),
            "edit": _tool(names["edit"], "Replace text", dict([path, ("old", ("string", "")), ("new", ("string", ""))])),
            "test": _tool(
                names["test"], "Run tests",
                {"target": ("string", ""), self.verbose: ("boolean", f"Always {str(self.flag).lower()} here")}),
            "write": _tool(names["write"], "Write a file", dict([path, ("content", ("string", ""))])),
            "run": _tool(names["run"], "Run a program", {"argv": ("array", "The words of the command")}),
        }  # fmt: skip
        self.used = {}

    @property
    def tools(self):
        """The tools this trace has used so far, in the order of `all`."""
        return [tool for key, tool in self.all.items() if key in self.used]

    def _run(self, key, **arguments):
        self.used[key] = True
        return {"name": self.names[key], "arguments": arguments}

    def search(self, pattern, path):
        return self._run("search", **{"pattern": pattern, self.path: path})

    def open(self, path, line, count):
        return self._run("open", **{self.path: path, self.line: line, self.count: count})

    def range(self, path, first, last):
        return self.open(path, first, last)

    def show(self, path):
        return self.open(path, 1, 100)

    def head(self, path, count):
        return self.open(path, 1, count)

    def list(self, folder, extension):
        return self._run("list", folder=folder, extension=extension)

    def edit(self, path, old, new):
        return self._run("edit", **{self.path: path, "old": old, "new": new})

    def test(self, target):
        return self._run("test", **{"target": target, self.verbose: self.flag})

    def script(self, path, text):
        return self._run("write", **{self.path: path, "content": text})

    def execute(self, path):
        return self._run("run", argv=["python", path])

    def diff(self, path):
        return self._run("run", argv=["git", "diff", "--", path])

    def command(self, text):
        return self._run("run", argv=text.split(" "))

    def result(self, text, failed=False):
        return text or "(no output)"
