#!/usr/bin/env python3
"""The manual page, the completions, and where settings come from: reference_test.py COLUGO FIXTURES_DIR [unittest arguments]."""
import json
import os
import re
import shutil
import subprocess
import unittest

from program import COLUGO, ProgramCase, colugo, main
from serving import Server

def flags(*command):
    """The options that --help names."""
    text = colugo(*command, "--help").stdout.decode()
    found = set()
    for names in re.findall(r"^  (-\S+)", text, re.M):
        found |= set(names.split(","))
    return found


def parts(*command):
    """The commands that --help lists."""
    listed = colugo(*command, "--help").stdout.decode().partition("\nSubcommands:\n")[2]
    return re.findall(r"^  (\w+) ", listed, re.M)


COMMANDS = parts()
GROUPS = {command: parts(command) for command in COMMANDS if parts(command)}
# Each command as the words it is given by.
PATHS = [path for command in COMMANDS for path in [(command,), *((command, part) for part in GROUPS.get(command, ()))]]


class ReferenceTest(ProgramCase):
    def test_the_commands_are_found(self):
        self.assertLessEqual({"run", "serve", "bench", "man", "completion"}, set(COMMANDS))
        self.assertIn("agentic", GROUPS["bench"])

    def test_every_command_names_config_in_its_help(self):
        for path in PATHS:
            self.assertLessEqual({"--config", "--help"}, flags(*path), path)

    def test_the_manual_has_every_option_of_every_command(self):
        page = self.succeed("man").stdout.decode()
        sections = re.split(r"^\.SS colugo (.+)$", page, flags=re.M)
        named = dict(zip(sections[1::2], sections[2::2]))
        self.assertEqual(list(named), [" ".join(path) for path in PATHS])
        for path in PATHS:
            for flag in flags(*path):
                self.assertIn(f"\\fB{flag}\\fR".replace("-", "\\-"), named[" ".join(path)], (path, flag))
        for flag in flags():
            self.assertIn(f"\\fB{flag}\\fR".replace("-", "\\-"), sections[0], flag)
        self.assertIn("COLUGO_CACHE_GIB", page)

    @unittest.skipUnless(shutil.which("man"), "there is no man")
    def test_man_has_nothing_to_say_against_the_page(self):
        path = self.path("colugo.1", self.succeed("man").stdout.decode())
        done = subprocess.run(["man", "--warnings=w", "-l", path], capture_output=True, text=True,
                              env={**os.environ, "MANROFFSEQ": "", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
        if "has been minimized" in done.stdout:
            self.skipTest("this system's man shows nothing")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--cache-gib", done.stdout)

    def complete_in_bash(self, script, *words):
        command = f"source {script}; COMP_WORDS=({' '.join(map(repr, words))}); COMP_CWORD={len(words) - 1}; _colugo; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return set(done.stdout.split())

    def test_bash_completes_commands_options_and_values(self):
        script = self.path("colugo.bash", self.succeed("completion", "bash").stdout.decode())
        self.assertEqual(self.complete_in_bash(script, "colugo", ""), set(COMMANDS))
        self.assertEqual(self.complete_in_bash(script, "colugo", "-"), flags())
        for path in PATHS:
            self.assertEqual(self.complete_in_bash(script, "colugo", *path, "-"), flags(*path), path)
        for group, commands in GROUPS.items():
            self.assertEqual(self.complete_in_bash(script, "colugo", group, ""), set(commands))
        self.assertEqual(self.complete_in_bash(script, "colugo", "serve", "--spec", "m"), {"mtp"})
        self.assertEqual(self.complete_in_bash(script, "colugo", "serve", "--port", ""), set())
        self.assertEqual(self.complete_in_bash(script, "colugo", "serve", "--api-key-file", "colugo"), {"colugo.bash"})
        self.assertEqual(self.complete_in_bash(script, "colugo", "completion", ""), {"bash", "zsh", "fish"})

    @unittest.skipUnless(shutil.which("fish"), "there is no fish")
    def test_fish_completes_commands_options_and_values(self):
        script = self.path("colugo.fish", self.succeed("completion", "fish").stdout.decode())

        def complete(line):
            done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], capture_output=True, text=True,
                                  env={**os.environ, "HOME": self.folder}, cwd=self.folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return {found.split("\t")[0] for found in done.stdout.splitlines()}

        self.assertLessEqual(set(COMMANDS), complete("colugo "))
        for path in PATHS:
            wanted = {flag for flag in flags(*path) if flag.startswith("--")}
            self.assertEqual(complete(f"colugo {' '.join(path)} --"), wanted, path)
        for group, commands in GROUPS.items():
            self.assertLessEqual(set(commands), complete(f"colugo {group} "))
        self.assertEqual(complete("colugo serve --spec m"), {"mtp"})
        self.assertEqual(complete("colugo completion "), {"bash", "zsh", "fish"})

    def test_zsh_gets_every_option(self):
        text = self.succeed("completion", "zsh").stdout.decode()
        for path in PATHS:
            part = re.search(rf"^_colugo_{'_'.join(path)}\(\) {{(.*?)^}}$", text, re.M | re.S)[1]
            for flag in flags(*path):
                self.assertIn(f"){flag}[", part, (path, flag))
        if shutil.which("zsh") is None:
            self.skipTest("there is no zsh to read it")
        script = self.path("_colugo", text)
        check = f"autoload -U compinit; compinit -u -d {self.folder}/dump; source {script}; which _colugo >/dev/null"
        done = subprocess.run(["zsh", "-fc", check], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_misspelt_variable_is_named_once(self):
        done = self.succeed("inspect", "nano", "--json", env={"COLUGO_CTX_SZIE": "5", "COLUGO_BANANA": "x", "COLUGO_PORT": "x",
                                                                "COLUGO_X": "x", "COLUGO_OTU": "x", "COLUGO_PROT": "x"})
        self.assertEqual(sorted(done.stderr.decode().splitlines()),
                         ["colugo: note: the variable COLUGO_BANANA sets nothing",
                          "colugo: note: the variable COLUGO_CTX_SZIE (COLUGO_CTX_SIZE does) sets nothing",
                          "colugo: note: the variable COLUGO_OTU sets nothing",
                          "colugo: note: the variable COLUGO_PROT (COLUGO_PORT does) sets nothing",
                          "colugo: note: the variable COLUGO_X sets nothing"])

    def settings(self, script, key_file):
        return {"model": "scripted:" + script, "alias": "other", "port": 0, "host": "127.0.0.1", "api-key-file": key_file,
                "cors-origin": ["http://one", "http://two"], "max-body-mib": 1, "sse-ping-interval": 1, "grace": 1,
                "reasoning": "off", "temp": 0.5, "top-k": 3, "top-p": 0.5, "min-p": 0.1, "seed": "7", "insecure": True}

    def check(self, server):
        """That the server is the one these settings ask for."""
        key = {"Authorization": "Bearer secret"}
        self.assertEqual(server.get("/v1/models")[0], 401)
        self.assertEqual(server.get("/v1/models", key)[1]["data"][0]["id"], "other")
        for origin, allowed in (("http://one", "http://one"), ("http://two", "http://two"), ("http://three", None)):
            headers = server.request("OPTIONS", "/v1/models", headers={"Origin": origin})[1]
            self.assertEqual(headers.get("Access-Control-Allow-Origin"), allowed)
        status, body = server.post("/v1/chat/completions", json.dumps({"x": "y" * (1 << 20)}), key)
        self.assertEqual(status, 413, body)
        self.assertEqual(server.end(), 0)

    def test_serve_is_set_by_a_file_and_by_variables(self):
        script = self.path("script.jsonl", json.dumps({"text": "x"}))
        key_file = self.path("key", "secret\n")
        settings = self.settings(script, key_file)
        lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
        config = self.path("serve.toml", "[serve]\n" + lines)
        with Server(COLUGO, "--config", config) as server:
            self.check(server)
        variables = {"COLUGO_" + name.upper().replace("-", "_"):
                     ",".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)
                     for name, value in settings.items()}
        with Server(COLUGO, env=variables) as server:
            self.check(server)
        repeated = ("--cors-origin", "http://one", "--cors-origin", "http://two")
        file = self.path("rest.toml", "[serve]\n" + lines.replace('"http://one", "http://two"', '"http://none"'))
        with Server(COLUGO, "--config", file, *repeated) as server:
            self.check(server)

    def test_every_option_of_serve_may_stand_in_a_file(self):
        for flag in sorted(flags("serve") - {"--help", "--config"}):
            if not flag.startswith("--"):
                continue
            file = self.path("one.toml", f"[serve]\n{flag[2:]} = \"//\"\n")
            done = colugo("serve", "--config", file, "--model", "/nowhere", "--port", 0)
            self.assertNotIn("no setting", done.stderr.decode(), flag)
        wrong = colugo("serve", "--config", self.path("one.toml", "[serve]\nport = [1, 2]\n"))
        self.assertIn("serve.port", wrong.stderr.decode())
        self.assertEqual(wrong.returncode, 2)


if __name__ == "__main__":
    main()
