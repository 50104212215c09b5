#!/usr/bin/env python3
"""Runs the colugo program as a user would: cli_test.py COLUGO FIXTURES_DIR [unittest arguments]."""
import array
import json
import math
import os
import re
import shutil
import signal
import subprocess
import threading
import time

from program import COLUGO, FIXTURES, TINY, ProgramCase, colugo, environment, main

VOCAB = 512
PROMPT_IDS = ",".join(str(i * 29 % 479) for i in range(70))


class CommandTest(ProgramCase):
    def refuse(self, *arguments, words=(), code=1, **options):
        """Fails with one sentence that has the words, and nothing on standard output."""
        done = colugo(*arguments, **options)
        sentence = done.stderr.decode()
        self.assertEqual(done.returncode, code, sentence)
        self.assertEqual(done.stdout, b"")
        self.assertTrue(sentence.startswith("colugo: ") and sentence.count("\n") == 1, sentence)
        for word in words:
            self.assertIn(word, sentence)
        return done

    def ids(self, *arguments, **options):
        text = self.succeed("run", "-m", TINY, "--print-ids", *arguments, **options).stdout.decode()
        return [int(part) for part in text.strip().split(",")]

    def logits(self, *arguments):
        path = self.path("logits")
        self.succeed("run", "-m", TINY, "--logits", path, "--print-ids", *arguments)
        with open(path, "rb") as file:
            return file.read()


class RunTest(CommandTest):
    def test_text(self):
        done = self.succeed("run", "-m", TINY, "Hello", "-n", 8, "--temp", 0)
        self.assertTrue(done.stdout.endswith(b"\n"))
        self.assertGreater(len(done.stdout), 1)
        done.stdout.decode("utf-8")
        figures = done.stderr.decode()
        self.assertEqual(figures.count("\n"), 1)
        for word in ("prompt ", "tok/s", "decode 7 tokens", "GB/s"):
            self.assertIn(word, figures)

    def test_text_and_ids_are_the_same_tokens(self):
        rendered = self.succeed("run", "-m", TINY, "Hello", "--print-prompt", "--print-ids").stdout.decode().strip()
        by_text = self.ids("Hello", "-n", 8, "--temp", 0)
        self.assertEqual(by_text, self.ids("--prompt-ids", rendered, "-n", 8, "--temp", 0))
        self.assertEqual(by_text, self.ids("--prompt-ids", "-", "-n", 8, "--temp", 0, stdin=rendered.encode()))
        self.assertEqual(by_text, self.ids("-", "-n", 8, "--temp", 0, stdin=b"Hello"))

    def test_raw_has_control_tokens_and_no_template(self):
        self.assertEqual(self.succeed("run", "-m", TINY, "--raw", "a<|im_end|>", "--print-prompt").stdout, b"a<|im_end|>")
        raw = self.succeed("run", "-m", TINY, "--raw", "a<|im_end|>", "--print-prompt", "--print-ids").stdout
        self.assertEqual(raw.count(b","), 1)

    def test_seed(self):
        first = self.ids("--prompt-ids", PROMPT_IDS, "-n", 12, "--temp", 1.5, "--top-k", 0, "--top-p", 1, "--seed", 3)
        again = self.ids("--prompt-ids", PROMPT_IDS, "-n", 12, "--temp", 1.5, "--top-k", 0, "--top-p", 1, "--seed", 3, "-ub", 7)
        other = self.ids("--prompt-ids", PROMPT_IDS, "-n", 12, "--temp", 1.5, "--top-k", 0, "--top-p", 1, "--seed", 4)
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_a_made_seed_is_told_and_repeats_the_run(self):
        done = self.succeed("run", "-m", TINY, "Hi", "-n", 6, "--temp", 1, "--print-ids", "--json")
        seed = json.loads(done.stderr)["seed"]
        again = self.succeed("run", "-m", TINY, "Hi", "-n", 6, "--temp", 1, "--print-ids", "--seed", seed)
        self.assertEqual(done.stdout, again.stdout)
        self.assertIsNone(json.loads(self.succeed("run", "-m", TINY, "Hi", "-n", 1, "--temp", 0, "--json").stderr)["seed"])

    def test_figures_are_json(self):
        done = self.succeed("run", "-m", TINY, "--prompt-ids", PROMPT_IDS, "--print-ids", "-n", 5, "--temp", 0, "--json", "-t", 1)
        figures = json.loads(done.stderr)
        self.assertEqual(figures["prompt_tokens"], 70)
        self.assertEqual(figures["generated_tokens"], 5)
        self.assertEqual(figures["decode_tokens"], 4)
        self.assertEqual(figures["finish_reason"], "length")
        self.assertEqual(figures["threads"], 1)
        for rate in ("prefill_tokens_per_second", "decode_tokens_per_second", "decode_bytes_per_second", "ttft_seconds"):
            self.assertGreater(figures[rate], 0)

    def test_context_ends_the_text(self):
        done = self.succeed("run", "-m", TINY, "--prompt-ids", PROMPT_IDS, "--print-ids", "-c", 75, "--temp", 0, "--json")
        self.assertEqual(json.loads(done.stderr)["finish_reason"], "context")
        self.assertEqual(done.stdout.count(b","), 4)

    def test_system_and_reasoning_reach_the_template(self):
        def prompt(*arguments):
            return self.succeed("run", "-m", TINY, "Hi", "--print-prompt", *arguments).stdout.decode()

        self.assertIn("<|im_start|>user\nHi<|im_end|>", prompt())
        self.assertIn("<|im_start|>system\nBe brief<|im_end|>", prompt("--system", "Be brief"))
        self.assertTrue(prompt("--reasoning", "off").endswith("<think>\n\n</think>\n\n"))
        self.assertEqual(prompt("--reasoning", "on"), prompt())

    def test_messages_file(self):
        chat = {"messages": [{"role": "user", "content": "Read a"},
                             {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function":
                              {"name": "read", "arguments": "{\"path\": \"a\"}"}}]},
                             {"role": "tool", "content": "b"}],
                "tools": [{"type": "function", "function": {"name": "read", "description": "é", "a": 1}}],
                "chat_template_kwargs": {"enable_thinking": False}}
        path = self.path("chat.json", json.dumps(chat))
        prompt = self.succeed("run", "-m", TINY, "--messages", path, "--print-prompt").stdout.decode("utf-8")
        self.assertIn('{"type": "function", "function": {"name": "read", "description": "é", "a": 1}}', prompt)
        self.assertIn("<function=read>\n<parameter=path>\na\n</parameter>", prompt)
        self.assertTrue(prompt.endswith("</think>\n\n"))
        self.ids("--messages", path, "-n", 2)

    def test_chat_template_file(self):
        template = self.path("t.jinja", "{{ messages[0].content }}|{{ eos_token }}")
        done = self.succeed("run", "-m", TINY, "Hi", "--print-prompt", "--chat-template", template)
        self.assertEqual(done.stdout, b"Hi|<|im_end|>")

    def test_standard_input_holds_what_a_dash_stands_for(self):
        chat = b'{"messages": [{"role": "user", "content": "Hi"}]}'
        by_file = self.succeed("run", "-m", TINY, "--messages", "-", "--print-prompt", stdin=chat).stdout
        self.assertEqual(by_file, self.succeed("run", "-m", TINY, "Hi", "--print-prompt").stdout)
        empty = self.succeed("run", "-m", TINY, "-", "--print-prompt").stdout
        self.assertEqual(empty, self.succeed("run", "-m", TINY, "", "--print-prompt").stdout)
        self.refuse("run", "-m", TINY, "--messages", "-", stdin=b"[", words=["standard input is not JSON"])
        for redirection in ("< /", "<&-"):
            done = subprocess.run(f"{COLUGO} run -m {TINY} - {redirection}", shell=True, capture_output=True, env=environment())
            self.assertEqual(done.returncode, 1, redirection)
            self.assertIn(b"cannot read standard input", done.stderr)

    def test_a_pipe_stands_for_a_file(self):
        def run(text, *arguments):
            pipe = self.path("pipe")
            os.mkfifo(pipe)
            writer = threading.Thread(target=lambda: self.path("pipe", text))
            writer.start()
            done = colugo("run" if "--messages" in arguments else "eval", *arguments, pipe)
            writer.join()
            os.remove(pipe)
            return done

        chat = json.dumps({"messages": [{"role": "user", "content": "Hi " * 40000}]})
        asked = ("-m", TINY, "--print-prompt", "--messages")
        whole = self.succeed("run", *asked, self.path("file", chat)).stdout
        self.assertEqual(run(chat, *asked).stdout, whole)
        broken = run("[", *asked)
        self.assertEqual(broken.returncode, 1)
        self.assertIn(b"pipe is not JSON", broken.stderr)
        self.assertEqual(run("Some words and more of them.", TINY, "--text").returncode, 0)

    def test_a_command_that_lacks_its_prompt_says_where_it_may_come_from(self):
        self.refuse("run", "-m", TINY, stdin=b"Hi", code=2, words=["a prompt (- reads standard input)"])

    def test_an_interrupt_ends_the_wait_for_input(self):
        process = subprocess.Popen([COLUGO, "run", "-m", TINY, "--print-prompt", "-"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        process.stdin.write(b"part")
        process.stdin.flush()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (130, b""))

    def test_reasoning_has_to_be_able_to_act(self):
        self.refuse("run", "-m", TINY, "--raw", "Hi", "--reasoning", "on", code=2)
        plain = self.path("plain.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}")
        self.refuse("run", "-m", TINY, "Hi", "--reasoning", "on", "--chat-template", plain, words=["enable_thinking"])

    def test_print_prompt_needs_no_weights(self):
        folder = self.path("text")
        os.mkdir(folder)
        shutil.copy(os.path.join(TINY, "chat_template.jinja"), folder)
        self.assertIn(b"<|im_start|>user\nHi<|im_end|>", self.succeed("run", "-m", folder, "Hi", "--print-prompt").stdout)


class LogitsTest(CommandTest):
    def test_size_and_default_of_no_new_tokens(self):
        logits = self.logits("--prompt-ids", PROMPT_IDS)
        self.assertEqual(len(logits), 70 * VOCAB * 4)
        values = array.array("f", logits)
        self.assertTrue(all(math.isfinite(value) for value in values))
        self.assertGreater(max(values) - min(values), 0.1)

    def test_are_equal_for_every_chunking_and_thread_count(self):
        whole = self.logits("--prompt-ids", PROMPT_IDS)
        for arguments in (("-ub", 1), ("-ub", 3), ("-ub", 32), ("-ub", 33), ("-t", 1), ("-t", 3)):
            self.assertEqual(self.logits("--prompt-ids", PROMPT_IDS, *arguments), whole, arguments)

    def test_decoded_positions_are_those_of_a_prompt(self):
        path = self.path("decoded")
        done = self.succeed("run", "-m", TINY, "--prompt-ids", PROMPT_IDS, "--print-ids", "-n", 6, "--temp", 0, "--logits", path)
        with open(path, "rb") as file:
            decoded = file.read()
        fed = done.stdout.decode().strip().split(",")[:-1]  # the last one was drawn and not fed
        self.assertEqual(decoded, self.logits("--prompt-ids", ",".join([PROMPT_IDS, *fed])))

    def test_need_no_tokenizer_or_template(self):
        folder = self.path("bare")
        os.mkdir(folder)
        for name in ("config.json", "model.safetensors"):
            os.symlink(os.path.join(TINY, name), os.path.join(folder, name))
        bare = self.path("bare-logits")
        done = self.succeed("run", "-m", folder, "--prompt-ids", PROMPT_IDS, "--logits", bare)
        self.assertEqual(done.stdout, b"")
        with open(bare, "rb") as file:
            self.assertEqual(file.read(), self.logits("--prompt-ids", PROMPT_IDS))
        self.succeed("run", "-m", folder, "--prompt-ids", PROMPT_IDS, "--print-ids", "-n", 2)
        self.refuse("run", "-m", folder, "--prompt-ids", PROMPT_IDS, "-n", 2, words=["tokenizer.json"])
        self.refuse("run", "-m", folder, "Hi", "-n", 2, words=["chat template"])

    def test_compute_and_kv_types_differ_a_little(self):
        base = array.array("f", self.logits("--prompt-ids", PROMPT_IDS, "--compute", "f32"))
        for arguments in (("--compute", "bf16"), ("--compute", "bf16", "--kv-type", "fp8")):
            other = array.array("f", self.logits("--prompt-ids", PROMPT_IDS, *arguments))
            dot = sum(a * b for a, b in zip(base, other))
            cosine = dot / math.sqrt(sum(a * a for a in base) * sum(b * b for b in other))
            self.assertNotEqual(base, other)
            self.assertGreater(cosine, 0.99)

    def test_an_earlier_file_survives_a_failure(self):
        path = self.path("logits", "kept")
        self.refuse("run", "-m", TINY, "--prompt-ids", "999", "--logits", path, words=["999"])
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "kept")
        self.assertEqual(os.listdir(self.folder), ["logits"])


class EveryFormatTest(CommandTest):
    def test_runs(self):
        for name in sorted(os.listdir(FIXTURES)):
            model = os.path.join(FIXTURES, name)
            if not os.path.isfile(os.path.join(model, "config.json")):
                continue
            with self.subTest(name):
                self.succeed("run", "-m", model, "Hello", "-n", 3, "--temp", 0)
                document = json.loads(self.succeed("inspect", model, "--json").stdout)
                self.assertGreater(document["memory"]["total_bytes"], document["memory"]["weight_bytes"])


class ErrorTest(CommandTest):
    def test_paths(self):
        self.refuse("run", "-m", "/nowhere", "Hi", words=["/nowhere"])
        self.refuse("run", "-m", __file__, "Hi", words=["is not a folder"])
        self.refuse("run", "-m", self.folder, "Hi", words=["config.json"])
        self.refuse("inspect", "/nowhere", words=["/nowhere"])
        self.refuse("inspect", self.folder, words=["config.json"])
        self.refuse("run", "-m", TINY, "--messages", "/nowhere.json", words=["/nowhere.json"])
        self.refuse("run", "-m", TINY, "Hi", "--chat-template", "/nowhere.jinja", words=["/nowhere.jinja"])
        self.refuse("run", "-m", TINY, "--prompt-ids", "1", "--logits", "/nowhere/x", words=["/nowhere/x"])

    def test_values(self):
        self.refuse("run", "-m", TINY, "--prompt-ids", "1,x", words=["--prompt-ids", "x"])
        self.refuse("run", "-m", TINY, "--prompt-ids", "512", "--print-ids", words=["512"])
        self.refuse("run", "-m", TINY, "Hi", "--temp", "-1", words=["temperature is -1"], code=2)
        self.refuse("run", "-m", TINY, "Hi", "--temp", "nan", words=["temperature is nan"], code=2)
        self.refuse("run", "-m", TINY, "Hi", "--top-p", "0", words=["top_p is 0"], code=2)
        for value in ("0x10", "1.5", "-2", "18446744073709551616", ""):
            self.refuse("run", "-m", TINY, "Hi", "--seed", value, code=2)
        self.refuse("run", "-m", TINY, "Hi", "-n", "0x10", words=["0x10 is not a whole number"], code=2)
        self.refuse("run", "-m", TINY, "Hi", "-c", "5", words=["5"])
        self.refuse("run", "-m", TINY, "Hi", "-c", "300000", words=["300000"])
        self.refuse("run", "-m", TINY, "Hi", env={"COLUGO_FORCE_ISA": "mmx"}, words=["mmx"])

    def test_what_is_known_to_fail_fails_before_the_weights_are_read(self):
        folder = self.path("weightless")
        shutil.copytree(TINY, folder, ignore=shutil.ignore_patterns("*.safetensors"))
        for arguments, word in ((("Hi", "-c", "5"), "context of 5"), (("--raw", ""), "empty"),
                                (("--prompt-ids", "512"), "512"), (("Hi", "--logits", "/nowhere/x"), "/nowhere/x")):
            self.refuse("run", "-m", folder, *arguments, words=[word])
        self.refuse("run", "-m", folder, "Hi", "--top-k", "-1", code=2)
        self.refuse("run", "-m", folder, "Hi", words=["holds no weights"])

    def test_a_sentence_is_one_line(self):
        self.refuse("run", "-m", "/no\nwhere\x1b[1m", "Hi", words=[r"/no\x0awhere\x1b[1m"])

    def test_template_that_refuses(self):
        path = self.path("chat.json", '{"messages": [{"role": "nobody", "content": "x"}]}')
        self.refuse("run", "-m", TINY, "--messages", path, words=["chat_template.jinja"])

    def test_usage(self):
        for arguments in (("fly",), ("run",), ("run", "-m", TINY), ("run", "-m", TINY, "Hi", "--bogus"),
                          ("run", "-m", TINY, "Hi", "--prompt-ids", "1"), ("run", "-m", TINY, "Hi", "-n", "many"),
                          ("run", "-m", TINY, "Hi", "--compute", "f8"), ("run", "-m", TINY, "Hi", "-t", "-1"),
                          ("run", "-m", TINY, "--raw", "--prompt-ids", "1"), ("inspect",),
                          ("run", "-m", TINY, "--prompt-ids", "1", "--print-prompt")):
            with self.subTest(arguments):
                self.refuse(*arguments, code=2)

    def test_what_is_not_known_is_named_as_it_was_typed(self):
        for arguments, sentence in ((("run", "--tempp", "1", "hi"), "--tempp is no flag of colugo run, --temp is ("),
                                    (("run", "-np", "2", "hi"), "-np is no flag of colugo run (colugo run --help"),
                                    (("serve", "--kv_type=fp8"), "--kv_type=fp8 is no flag of colugo serve, --kv-type is ("),
                                    (("eval", "--bogus"), "--bogus is no flag of colugo eval ("),
                                    (("run", "a", "b"), "b is one argument too many for colugo run ("),
                                    (("runn", "--temp", "1"), "runn is no command of colugo, run is ("),
                                    (("bench", "everything"), "everything is no command of colugo bench; there are agentic, ")):
            with self.subTest(arguments):
                self.assertIn("colugo: " + sentence, self.refuse(*arguments, code=2).stderr.decode())

    def test_a_program_without_its_models_says_where_they_would_be(self):
        os.makedirs(self.path("bin"))
        program = shutil.copy(COLUGO, self.path("bin/colugo"))
        done = subprocess.run([program, "inspect", "nano"], capture_output=True, env=environment())
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"there is no checkpoint folder nano, nor a model of that name with the program, neither in "
                      f"{self.folder}/share/colugo/models nor", done.stderr.decode())

    def test_damaged_weights_fail_the_self_test(self):
        folder = self.path("damaged")
        shutil.copytree(TINY, folder)
        weights = os.path.join(folder, "model.safetensors")
        with open(weights, "r+b") as file:
            header_length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(header_length))
            name = next(name for name in header if name.endswith("model.norm.weight"))
            begin, end = header[name]["data_offsets"]
            file.seek(8 + header_length + begin)
            file.write(b"\x7f\x7f" * ((end - begin) // 2))  # the largest finite bf16
        self.refuse("run", "-m", folder, "Hi", words=["self-test", folder])

    def test_closed_outputs(self):
        command = f"{COLUGO} run -m {TINY} --prompt-ids 1 --print-ids -n 3"
        full = subprocess.run(command + " > /dev/full", shell=True, capture_output=True, env=environment())
        self.assertEqual(full.returncode, 1)
        self.assertIn(b"standard output", full.stderr)
        closed = subprocess.run(command + " >&-", shell=True, capture_output=True, env=environment())
        self.assertEqual(closed.returncode, 1)
        read, write = os.pipe()
        os.close(read)
        broken = subprocess.run([COLUGO, "run", "-m", TINY, "--prompt-ids", PROMPT_IDS, "--print-ids", "-n", "100000"],
                                stdout=write, stderr=subprocess.PIPE, env=environment(), timeout=60)
        os.close(write)
        self.assertEqual(broken.returncode, 0)
        self.assertIn(b"cancelled", broken.stderr)

    def test_help_that_cannot_be_written_is_a_failure(self):
        done = subprocess.run(f"{COLUGO} --help > /dev/full", shell=True, capture_output=True, env=environment())
        self.assertEqual(done.returncode, 1)

    def test_diagnostics_nobody_can_read_change_no_outcome(self):
        for sink in ("2>&-", "2>/dev/full"):
            for arguments, code in ((f"run -m {TINY} --prompt-ids 1 --print-ids -n 3", 0), ("run -m /nowhere x", 1), ("foo", 2)):
                done = subprocess.run(f"{COLUGO} {arguments} {sink}", shell=True, capture_output=True, env=environment())
                self.assertEqual(done.returncode, code, f"{arguments} {sink}")

    def test_logits_that_were_not_written_are_a_failure(self):
        path = self.path("logits")
        read, write = os.pipe()
        os.close(read)  # nobody reads, so the run ends before its end
        done = subprocess.run([COLUGO, "run", "-m", TINY, "--prompt-ids", PROMPT_IDS, "--print-ids", "-n", "100000", "--logits", path],
                              stdout=write, stderr=subprocess.PIPE, env=environment(), timeout=60)
        os.close(write)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"is not written", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_pipe_in_the_folder_is_refused(self):
        folder = self.path("pipe")
        shutil.copytree(TINY, folder)
        os.remove(os.path.join(folder, "tokenizer.json"))
        os.mkfifo(os.path.join(folder, "tokenizer.json"))
        self.refuse("run", "-m", folder, "Hi", words=["tokenizer.json", "regular file"])

    def test_template_variables_cannot_replace_the_request(self):
        messages = self.path("messages.json", json.dumps({
            "messages": [{"role": "user", "content": "one"}],
            "chat_template_kwargs": {"messages": [{"role": "user", "content": "two"}]}}))
        self.refuse("run", "-m", TINY, "--messages", messages, "--print-prompt", words=["messages", "variables"])

    def test_a_foreign_pre_tokenizer_is_told(self):
        folder = self.path("foreign")
        shutil.copytree(TINY, folder)
        path = os.path.join(folder, "tokenizer.json")
        with open(path, encoding="utf-8") as file:
            tokenizer = json.load(file)
        tokenizer["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = r"\w+|\s+|."
        with open(path, "w", encoding="utf-8") as file:
            json.dump(tokenizer, file)
        done = self.succeed("run", "-m", folder, "Hi", "-n", "1")
        self.assertIn(b"colugo: note: ", done.stderr)
        self.assertIn(b"pattern", done.stderr)

    def test_interrupt(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                self.interrupt(number)

    def interrupt(self, number):
        folder = self.path(f"endless{number}")  # names no token that ends a text
        os.mkdir(folder)
        os.symlink(os.path.join(TINY, "model.safetensors"), os.path.join(folder, "model.safetensors"))
        with open(os.path.join(TINY, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        config["text_config"]["eos_token_id"] = None
        self.path(f"endless{number}/config.json", json.dumps(config))
        process = subprocess.Popen([COLUGO, "run", "-m", folder, "--prompt-ids", "1", "--print-ids"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        process.stdout.read(2)  # it has begun
        process.send_signal(number)
        out, figures = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn(b"cancelled", figures)
        self.assertTrue(out.endswith(b"\n"))


class SettingsTest(CommandTest):
    def test_command_line_then_environment_then_file_then_default(self):
        settings = self.path("colugo.toml", f'[run]\nmodel = "{TINY}"\npredict = 4\ntemp = 0\nprint-ids = true\n')

        def count(*arguments, env=None):
            return self.succeed("run", "Hi", *arguments, env=env).stdout.count(b",") + 1

        self.assertEqual(count("--config", settings), 4)
        self.assertEqual(count(env={"COLUGO_CONFIG": settings}), 4)
        self.assertEqual(count("--config", settings, env={"COLUGO_PREDICT": "3"}), 3)
        self.assertEqual(count("--config", settings, "-n", 2, env={"COLUGO_PREDICT": "3"}), 2)
        self.assertEqual(count("--config", settings, env={"COLUGO_PREDICT": ""}), 4)

    def test_values_of_a_file(self):
        os.symlink(TINY, self.path('#1 "b"\ttab'))
        settings = self.path("colugo.toml", f'''
            [run]
            model = "{self.folder}/#1 \\"b\\"\\ttab"
            print-prompt = true
            ctx-size = 1_024
            temp = 0.5
            [doctor]
            threads = 99999  # another command's
            ''')
        expected = self.succeed("run", "-m", TINY, "Hi", "--print-prompt").stdout
        self.assertEqual(self.succeed("run", "Hi", "--config", settings).stdout, expected)
        with open(settings, "rb") as file:
            piped = self.succeed("run", "Hi", "--config", "/dev/stdin", stdin=file.read())
        self.assertEqual(piped.stdout, expected)
        for text, word in (("[run]\ntemp = [1]", "run.temp"), ("[run]\ntemp = 1979-05-27", "run.temp"), ("[run]\ntemp =", "line 2"),
                           ("[run]\nprompt-ids = '1'", "run.prompt-ids"), ("[run.temp]\nx = 1", "run.temp.x"),
                           ("[run]\ntemp = 1\ntemperature = 1", "twice"), ("seed = 1", "seed"), ("[run]\nseed = -7", "-7")):
            with self.subTest(text):
                self.refuse("run", "-m", TINY, "Hi", "--config", self.path("bad.toml", text), words=[word], code=2)

    def test_variables_of_other_commands_do_not_count(self):
        self.succeed("run", "-m", TINY, "Hi", "--print-prompt", env={"COLUGO_PARALLEL": "0"})
        self.succeed("inspect", TINY, env={"COLUGO_TEMP": "x"})

    def test_short_options_of_two_letters(self):
        self.assertEqual(self.succeed("run", "-m", TINY, "--raw", "--print-prompt", "--", "-ub").stdout, b"-ub")
        self.refuse("run", "-m", TINY, "Hi", "-ub", code=2)

    def test_a_prompt_does_not_come_from_the_environment(self):
        base = self.ids("--prompt-ids", "5,6", "-n", 2, "--temp", 0)
        self.assertEqual(base, self.ids("--prompt-ids", "5,6", "-n", 2, "--temp", 0, env={"COLUGO_MESSAGES": "/nowhere.json"}))

    def test_inspect_takes_the_same_model(self):
        self.assertEqual(self.succeed("inspect", env={"COLUGO_MODEL": TINY}).stdout, self.succeed("inspect", TINY).stdout)
        by_option, by_place = (re.sub(rb"\(.* available\)", b"", self.succeed("inspect", *model, TINY).stdout)
                               for model in (["-m"], []))
        self.assertEqual(by_option, by_place)

    def test_what_is_no_setting_is_refused(self):
        self.refuse("run", "Hi", "--config", "/nowhere.toml", words=["/nowhere.toml"], code=2)
        self.refuse("run", "Hi", env={"COLUGO_CONFIG": "/nowhere.toml"}, words=["/nowhere.toml"], code=2)
        bogus = self.path("bogus.toml", "[run]\nbogus = 1\n")
        self.refuse("run", "Hi", "-m", TINY, "--config", bogus, words=["run.bogus"], code=2)
        for text, words in (("[serve]\ncache_gib = 2\n", "serve.cache_gib: no setting of the table [serve]; cache-gib is ("),
                            ("[bench.agentic]\nbogus = 2\n", "bench.agentic.bogus: no setting of the table [bench.agentic] ("),
                            ("[serv]\nport = 2\n", "serv.port: there is no command for a table [serv]; expected one such as [serve]"),
                            ("port = 2\n", "port: stands in no command's table, such as [serve]"),
                            ("[serve\n", "line 1, column ")):
            path = self.path("wrong.toml", text)
            self.refuse("run", "Hi", "-m", TINY, "--config", path, words=[f"colugo: {path}: {words}"], code=2)
            self.refuse("run", "Hi", "-m", TINY, env={"COLUGO_CONFIG": path}, words=[f"colugo: {path}: {words}"], code=2)
        self.refuse("run", "Hi", "-m", TINY, env={"COLUGO_TEMP": "warm"}, words=["warm"], code=2)


class ToolsTest(CommandTest):
    def test_without_a_command_the_commands_are_shown(self):
        done = colugo()
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        for line in (r"  serve +\S", r"  man +\S", r"  completion +\S", "colugo: A command is required"):
            self.assertRegex(done.stderr.decode(), "(?m)^" + line)

    def test_version_and_help(self):
        self.assertRegex(self.succeed("--version").stdout.decode(), r"^colugo \d+\.\d+\.\d+\n$")
        self.assertIn(b"inspect", self.succeed("--help").stdout)
        self.assertIn(b"COLUGO_FORCE_ISA", self.succeed("--help").stdout)
        text = self.succeed("run", "--help").stdout.decode()
        for option in ("--prompt-ids TEXT ", "--messages FILE ", r"--model DIR(=nano| \[nano\]) ", "--config FILE "):
            self.assertRegex(text, option)

    def test_inspect(self):
        text = self.succeed("inspect", TINY, "-c", 4096, "-np", 4).stdout.decode()
        for word in ("lm_head", "bf16", "4 x 4096 tokens", "total"):
            self.assertIn(word, text)
        small = json.loads(self.succeed("inspect", TINY, "-c", 4096, "--json").stdout)["memory"]
        large = json.loads(self.succeed("inspect", TINY, "-c", 4096, "-np", 4, "--json").stdout)["memory"]
        self.assertEqual(small["pages"], 4096 // 32)
        self.assertEqual(large["kv_bytes"], 4 * small["kv_bytes"])
        self.assertEqual(large["weight_bytes"], small["weight_bytes"])
        summary = self.succeed("inspect", TINY, "-c", 4096, "-np", 4, "--summary").stdout.decode()
        self.assertNotIn("lm_head", summary)
        self.assertEqual(text[:text.index("module ")] + text[text.index("\nbf16 ") + 1:text.index("  total")],
                         summary[:summary.index("  total")])

    def test_inspect_shows_schemes(self):
        document = json.loads(self.succeed("inspect", os.path.join(FIXTURES, "tiny-mixed"), "--json").stdout)
        schemes = {module["scheme"] for module in document["modules"]}
        self.assertEqual(schemes, {"bf16", "fp8", "nvfp4 w4a16"})
        self.assertEqual(document["shape"]["num_hidden_layers"], 4)

    def test_doctor(self):
        document = json.loads(self.succeed("doctor", "--json").stdout)
        self.assertTrue(document["passed"])
        self.assertGreater(document["read_bytes_per_second"], 1e8)
        self.assertIn(document["tier"], [tier["tier"] for tier in document["tiers"]])
        scalar = json.loads(self.succeed("doctor", "--json", env={"COLUGO_FORCE_ISA": "scalar"}).stdout)
        self.assertEqual(scalar["tier"], "scalar")
        self.assertNotIn("FAIL", self.succeed("doctor").stdout.decode())


if __name__ == "__main__":
    main()
