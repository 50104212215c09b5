#!/usr/bin/env python3
"""Talks with `colugo chat`, through pipes and at a terminal: chat_test.py COLUGO FIXTURES_DIR [unittest arguments]."""
import fcntl
import json
import os
import re
import select
import signal
import subprocess
import termios
import time

from program import COLUGO, TINY, ProgramCase, colugo, environment, main

PLAIN = "{% for m in messages %}<|im_start|>{{ m.role }} {{ m.content }}<|im_end|>{% endfor %}<|im_start|>"
FIGURES = re.compile(r"cached (\d+) of (\d+) prompt tokens, prefilled (\d+) at [\d.]+ tok/s, (\d+) new at [\d.]+ tok/s"
                     r"(?:; (\w+))?(?:; seed (\d+))?\n")


class ChatCase(ProgramCase):
    def endless(self):
        """A model without a token that ends a reply."""
        folder = self.path("endless")
        os.mkdir(folder)
        for name in ("model.safetensors", "tokenizer.json"):
            os.symlink(os.path.join(TINY, name), os.path.join(folder, name))
        with open(os.path.join(TINY, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        config["text_config"]["eos_token_id"] = None
        self.path("endless/config.json", json.dumps(config))
        self.path("endless/chat_template.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}")
        return folder

    def run_reply(self, *arguments):
        return self.succeed("run", "-m", TINY, *arguments).stdout


class PipeTest(ChatCase):
    def chat(self, lines, *arguments, code=0, model=TINY):
        done = colugo("chat", "-m", model, *arguments, stdin=lines.encode())
        self.assertEqual(done.returncode, code, done.stderr)
        self.stderr = done.stderr.decode()
        self.figures = FIGURES.findall(self.stderr)
        return done.stdout

    def saved(self, path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)["messages"]

    def test_a_reply_is_the_one_of_run(self):
        out = self.chat("Hi\n", "-n", 9, "--temp", 0)
        self.assertEqual(out, self.run_reply("Hi", "-n", 9, "--temp", 0))
        self.assertEqual([line[3:] for line in self.figures], [("9", "length", "")])
        self.assertRegex(self.stderr, r"context \d+ tokens; cache holds \d+ tokens, or a full context and \d+ snapshots \(")
        self.assertNotIn("\x1b", self.stderr)

    def test_the_conversation_goes_on_as_run_would_have_it(self):
        path = self.path("chat.json")
        out = self.chat(f"Hi\nMore\\\ntext\n/save {path}\n", "-n", 9, "--temp", 0, "--system", "Be brief")
        messages = self.saved(path)
        self.assertEqual([message["role"] for message in messages], ["system", "user", "assistant", "user", "assistant"])
        self.assertEqual(messages[3]["content"], "More\ntext")
        first = self.run_reply("Hi", "--system", "Be brief", "-n", 9, "--temp", 0)
        asked = self.path("asked.json", json.dumps(messages[:-1]))
        self.assertEqual(out, first + self.run_reply("--messages", asked, "-n", 9, "--temp", 0))
        self.run_reply("--messages", path, "-n", 1)

    def test_what_was_read_is_not_read_again(self):
        out = self.chat("Hi\n/retry\nMore\n/stats\n", "-n", 5, "--temp", 0)
        first, second, third = [list(map(int, line[:4])) for line in self.figures]
        self.assertEqual([line[1] - line[0] for line in (first, second, third)], [first[2], second[2], third[2]])
        self.assertEqual((first[0], first[1]), (0, second[1]))
        for line in (second, third):  # but for what begins the reply: a template may take it back
            self.assertGreater(line[0], first[1] - 8)
        reply = self.run_reply("Hi", "-n", 5, "--temp", 0)
        self.assertTrue(out.startswith(reply + reply))
        prompts, cached = (sum(line[i] for line in (first, second, third)) for i in (1, 0))
        self.assertRegex(self.stderr, rf"3 replies: {prompts} prompt tokens, {cached} cached, {prompts - cached} prefilled at "
                                      r"[\d.]+ tok/s; 15 generated at")
        self.assertRegex(self.stderr, r"cache: [\d.]+ [KM]iB of [\d.]+ \w+, \d+ pages? and \d+ snapshots; \d+ taken, 0 evicted")

    def test_stats_of_one_reply_are_its_own_with_drafts_too(self):
        self.chat("Where under src/planner is `close_orbit` defined? Show 20 lines of it.\n/stats\n", "--temp", 0, "--reasoning", "off",
                  "--spec", "tree", model="nano")
        told = re.search(r"(\d+) new at ([\d.]+) tok/s", self.stderr).groups()
        self.assertEqual(re.search(r"(\d+) generated at ([\d.]+) tok/s", self.stderr).groups(), told)

    def test_draws(self):
        arguments = ("-n", 9, "--temp", 1.5, "--top-k", 0, "--top-p", 1, "--seed", 7)
        out = self.chat("Hi\n/retry\n", *arguments)
        first, second = self.run_reply("Hi", *arguments), self.run_reply("Hi", *arguments[:-1], 8)
        self.assertEqual(out, first + second)
        self.assertNotEqual(first, second)
        self.assertEqual([line[5] for line in self.figures], ["7", "8"])

    def test_begins_anew_and_takes_back(self):
        path = self.path("chat.json")
        self.chat(f"One\n/system Be kind\nTwo\nThree\n/undo\n/save {path}\n/reset\nFour\n/save {path}\n", "-n", 3, "--temp", 0)
        self.assertEqual([message["content"] for message in self.saved(path)][:2], ["Be kind", "Four"])
        self.assertEqual(len(self.saved(path)), 3)
        for word in ("a new conversation, with this system message", "1 left", "saved to"):
            self.assertIn(word, self.stderr)

    def test_thoughts_are_kept_apart_where_the_template_has_them(self):
        path = self.path("chat.json")
        self.chat(f"Hi\n/save {path}\n", "-n", 3, "--temp", 0)
        self.assertEqual(self.saved(path)[1]["content"], "")
        self.assertNotEqual(self.saved(path)[1]["reasoning_content"], "")
        off = self.path("off.json")
        self.chat(f"Hi\n/save {off}\n", "-n", 3, "--temp", 0, "--reasoning", "off")
        self.assertNotIn("reasoning_content", self.saved(off)[1])
        template = self.path("plain.jinja", PLAIN)
        plain = self.path("plain.json")
        self.chat(f"Hi\n/save {plain}\n", "-n", 3, "--temp", 0, "--chat-template", template)
        self.assertNotIn("reasoning_content", self.saved(plain)[1])

    def test_what_is_refused_changes_nothing(self):
        kept, path = self.path("kept", "kept"), self.path("chat.json")
        out = self.chat(f"/fly\n/retry\n/undo\n/save {kept}\nHi\n/save {kept}\n/stats 1\n/save {path}\n", "-n", 3, "--temp", 0,
                        code=1)
        self.assertEqual(out, self.run_reply("Hi", "-n", 3, "--temp", 0))
        sentences = re.findall(r"^colugo: (.*)$", self.stderr, re.MULTILINE)
        self.assertEqual(len(sentences), 6, sentences)
        self.assertIn("no command /fly; there are /help, ", sentences[0])
        self.assertIn(kept, sentences[4])
        self.assertEqual(len(self.saved(path)), 2)
        with open(kept, encoding="utf-8") as file:
            self.assertEqual(file.read(), "kept")

    def test_a_question_too_long_is_taken_back(self):
        path = self.path("chat.json")
        self.chat(f"Hi\n{'long ' * 100}\nAgain\n/save {path}\n", "-n", 3, "--temp", 0, "-c", 100, code=1)
        self.assertIn("context of 100", self.stderr)
        self.assertEqual([message["content"] for message in self.saved(path)][::2], ["Hi", "Again"])

    def test_lines(self):
        self.assertEqual(self.chat("/quit\nHi\n", "-n", 3), b"")
        self.assertEqual(self.chat("\n  \n", "-n", 3), b"")
        hi = self.run_reply("Hi", "-n", 3, "--temp", 0)
        for text in ("Hi", "Hi\r\n", "Hi\\", " Hi"):
            self.assertEqual(self.chat(text, "-n", 3, "--temp", 0), hi, text)
        self.chat("/help\n")
        self.assertIn("/system [TEXT]", self.stderr)

    def test_cache_size(self):
        self.chat("Hi\n/stats\n", "-n", 1, "-c", 1000, "--cache-gib", "0.125")
        self.assertIn(" of 128 MiB", self.stderr)
        for value in ("-1", "nan", "inf", "1GB", "1e9"):
            self.chat("", "--cache-gib", value, code=2)
        self.chat("", "--cache-gib", "1e-9", code=1)
        self.assertIn("memory", self.stderr)

    def test_faults_show_before_the_weights_are_read(self):
        for arguments, code, word in ((("--reasoning", "on", "--chat-template", self.path("t", PLAIN)), 1, "enable_thinking"),
                                      (("--chat-template", "/nowhere"), 1, "/nowhere"), (("--top-p", "0"), 2, "top_p"),
                                      (("--chat-template", self.path("u", "{{ raise_exception('no') }}")), 1, "no")):
            self.chat("Hi\n", *arguments, code=code)
            self.assertIn(word, self.stderr)
            self.assertEqual(self.stderr.count("\n"), 1)
        self.chat("", model="/nowhere", code=1)
        self.chat("", model="", code=1)

    def test_signals_end_a_conversation_through_a_pipe(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([COLUGO, "chat", "-m", TINY, "-n", "3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, env=environment())
            process.stdin.write(b"Hi\n")
            process.stdin.flush()
            process.stdout.read(1)
            time.sleep(0.3)
            process.send_signal(number)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, number)

    def test_a_reader_that_goes_away_ends_it(self):
        command = f"yes Hi | {COLUGO} chat -m {self.endless()} | head -c 1"
        done = subprocess.run(["bash", "-c", command], capture_output=True, env=environment(), timeout=60)
        self.assertIn(b"cancelled", done.stderr)
        full = subprocess.run(f"echo Hi | {COLUGO} chat -m {TINY} -n 3 > /dev/full", shell=True, capture_output=True,
                              env=environment(), timeout=60)
        self.assertEqual(full.returncode, 1)
        self.assertIn(b"standard output", full.stderr)


class Terminal:
    """The program at a terminal of its own."""

    def __init__(self, *arguments, **streams):
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, b"\x18\x00\x50\x00\x00\x00\x00\x00")
        self.process = subprocess.Popen([COLUGO, "chat", *map(str, arguments)], env=environment(), start_new_session=True,
                                        **{"stdin": slave, "stdout": slave, "stderr": slave, **streams},
                                        preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.screen = ""

    def type(self, text):
        os.write(self.master, text.encode())

    def wait_for(self, text, seconds=60):
        """Returns what was shown up to the text, and forgets it."""
        self.wait_until(lambda: text in self.screen, repr(text), seconds)
        before, _, self.screen = self.screen.partition(text)
        return before + text

    def wait_until(self, shown, what, seconds=60):
        end = time.monotonic() + seconds
        while not shown():
            ready = select.select([self.master], [], [], max(0.0, end - time.monotonic()))[0]
            try:
                data = os.read(self.master, 1 << 16) if ready else b""
            except OSError:  # the program is gone
                data = b""
            if not data:
                raise AssertionError(f"{what} is not in {self.screen!r}")
            self.screen += data.decode("utf-8", "replace")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


class TerminalTest(ChatCase):
    def start(self, *arguments, **streams):
        terminal = Terminal(*arguments, **streams)
        self.addCleanup(terminal.close)
        return terminal

    def test_a_conversation(self):
        terminal = self.start("-m", TINY, "-n", 3, "--temp", 0)
        begin = terminal.wait_for("> ")
        self.assertIn("/help", begin)
        self.assertIn("\x1b[2m", begin)
        terminal.type("Hi\r")
        reply = terminal.wait_for("> ")
        self.assertRegex(reply, r"\x1b\[2mcached 0 of \d+ prompt tokens")
        self.assertEqual(reply.count("\x1b[2m"), reply.count("\x1b[0m"))
        terminal.type("/save " + self.path("chat.json") + "\r")
        terminal.wait_for("saved to")
        terminal.wait_for("> ")
        terminal.type("\x04")
        self.assertEqual(terminal.process.wait(timeout=60), 0)

    def test_lines_are_edited_and_remembered(self):
        terminal = self.start("-m", TINY, "-n", 1, "--temp", 0)
        terminal.wait_for("> ")
        terminal.type("öl\x7f\x7fäb\x1b[DX\r")  # taken back, then an X before the b
        terminal.wait_for("cached")
        terminal.wait_for("> ")
        terminal.type("\x1b[A!\\\r")  # the line before, once more
        terminal.wait_for("... ")
        terminal.type("end\r")
        terminal.wait_for("cached")
        terminal.wait_for("> ")
        path = self.path("chat.json")
        terminal.type(f"/save {path}\r")
        terminal.wait_for("saved to")
        with open(path, encoding="utf-8") as file:
            questions = [message["content"] for message in json.load(file)["messages"]][::2]
        self.assertEqual(questions, ["äXb", "äXb!\nend"])

    def test_an_interrupt_clears_the_line_and_a_second_one_quits(self):
        terminal = self.start("-m", TINY, "-n", 1, "--temp", 0)
        terminal.wait_for("> ")
        terminal.type("/fly")
        terminal.wait_for("fly")
        terminal.type("\x03")
        terminal.wait_for("another Ctrl-C")
        terminal.wait_for("> ")
        terminal.type("Hi\r")
        self.assertNotIn("no command", terminal.wait_for("cached"))
        terminal.wait_for("> ")
        for word in ("another Ctrl-C", None):
            terminal.type("\x03")
            if word:
                terminal.wait_for(word)
                terminal.wait_for("> ")
        self.assertEqual(terminal.process.wait(timeout=60), 130)

    def test_an_interrupt_ends_a_reply_that_is_kept(self):
        terminal = self.start("-m", self.endless())
        terminal.wait_for("> ")
        terminal.type("Hi\r")
        terminal.wait_until(lambda: len(terminal.screen) > 100, "a long reply")
        terminal.type("\x03\x03")
        terminal.wait_for("; cancelled")
        terminal.wait_for("> ")
        path = self.path("chat.json")
        terminal.type(f"/save {path}\r")
        terminal.wait_for("saved to")
        with open(path, encoding="utf-8") as file:
            messages = json.load(file)["messages"]
        self.assertEqual(len(messages), 2)
        self.assertGreater(len(messages[1]["content"]), 10)
        terminal.wait_for("> ")
        terminal.type("/quit\r")
        self.assertEqual(terminal.process.wait(timeout=60), 0)

    def test_signals_end_it_at_the_prompt(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            terminal = self.start("-m", TINY)
            terminal.wait_for("> ")
            terminal.process.send_signal(number)
            self.assertEqual(terminal.process.wait(timeout=60), 130)

    def test_a_reply_goes_where_standard_output_goes(self):
        with open(self.path("replies"), "wb") as file:
            terminal = self.start("-m", TINY, "-n", 3, "--temp", 0, stdout=file)
        terminal.wait_for("> ")
        terminal.type("Hi\r")
        terminal.wait_for("cached")
        terminal.wait_for("> ")
        terminal.type("\x04")
        self.assertEqual(terminal.process.wait(timeout=60), 0)
        with open(self.path("replies"), "rb") as file:
            self.assertEqual(file.read(), self.run_reply("Hi", "-n", 3, "--temp", 0))


if __name__ == "__main__":
    main()
