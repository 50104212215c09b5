#!/usr/bin/env python3
"""colugo serve with nano: serve_nano_test.py COLUGO FIXTURES_DIR [unittest arguments]."""
import concurrent.futures
import itertools
import json
import os
import re
import signal
import subprocess
import time

from program import COLUGO, ProgramCase, colugo, environment, main
from serving import Server, joined, until

BASH = {"type": "function", "function": {
    "name": "bash", "description": "Execute a bash command",
    "parameters": {"type": "object", "properties": {"command": {"type": "string", "description": "The bash command to execute"}},
                   "required": ["command"]}}}
COUNT = {"type": "function", "function": {"name": "count", "strict": True, "parameters": {
    "type": "object", "properties": {"number": {"type": "integer", "minimum": 3, "maximum": 17}, "kind": {"enum": ["a", "b"]}},
    "required": ["number", "kind"]}}}
PERSON = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0, "maximum": 120},
                                           "tags": {"type": "array", "items": {"enum": ["x", "y"]}, "maxItems": 3}},
          "required": ["name", "age", "tags"], "additionalProperties": False}
TASK = "Where under src/planner is `close_orbit` defined? Show 20 lines of it."


def user(text):
    return {"role": "user", "content": text}


def form_of(schema):
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


class ServeNanoTest(ProgramCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(COLUGO, "--reasoning", "off", "-np", 4, "--cache-gib", 1, "--temp", 0)
        cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        code = cls.server.end()
        cls.server.__exit__()
        assert code == 0, code

    def cached(self, body):
        return body["usage"]["prompt_tokens_details"]["cached_tokens"]

    def test_a_conversation_with_tools_is_read_once(self):
        messages = [{"role": "system", "content": "You work in a repository. " * 20}, user(TASK)]
        first = self.server.chat(messages, tools=[BASH])
        choice = first["choices"][0]
        self.assertEqual(choice["finish_reason"], "tool_calls")
        call = choice["message"]["tool_calls"][0]
        self.assertIn("src/planner", json.loads(call["function"]["arguments"])["command"])
        # The server's own answer, as it is, is valid input.
        messages += [choice["message"], {"role": "tool", "tool_call_id": call["id"], "content": "src/planner/a.py:3: def close_orbit():"}]
        second = self.server.chat(messages, tools=[BASH])
        known = first["usage"]["prompt_tokens"]
        self.assertGreater(self.cached(second), 0.9 * known)
        self.assertEqual(second["timings"]["cache_n"], self.cached(second))
        again = self.server.chat(messages, tools=[BASH])
        self.assertGreater(self.cached(again), second["usage"]["prompt_tokens"] - 20)
        self.assertEqual(again["choices"][0]["message"].get("content"), second["choices"][0]["message"].get("content"))

    def test_cache_keys_share_nothing(self):
        messages = [{"role": "system", "content": "You keep secrets. " * 20}, user(TASK)]
        other = [messages[0], user("Another question")]
        keys = [{"prompt_cache_key": "a"}, {"prompt_cache_key": "b"}, {}, {"cache_salt": "a"}, {"prompt_cache_key": "a", "cache_salt": "a"}]
        replies = set()
        with Server(COLUGO, "--reasoning", "off", "--temp", 0) as server:
            for told, key in enumerate(keys):
                reply = server.chat(messages, max_tokens=40, **key)
                self.assertEqual(self.cached(reply), 0, key)
                replies.add(reply["choices"][0]["message"]["content"])
                self.assertGreater(self.cached(server.chat(other, max_tokens=1, **key)), 0, key)
                # Where a prompt parts from what was read is told of its own key's prompts: of the second one alone.
                parted = lambda: len([line for line in server.log if "parts from what was read" in line])
                self.assertTrue(until(lambda: parted() > told))
                self.assertEqual(parted(), told + 1)
            for key in keys:
                reply = server.chat(messages, max_tokens=40, **key)
                self.assertGreater(self.cached(reply), reply["usage"]["prompt_tokens"] - 20, key)
                replies.add(reply["choices"][0]["message"]["content"])
            self.assertEqual(len(replies), 1)
            status, body = server.post("/v1/chat/completions", {"messages": messages, "prompt_cache_key": "x" * 513})
            self.assertEqual((status, body["error"]["param"]), (400, "prompt_cache_key"))

    def test_a_prompts_report_foretells_what_is_cached(self):
        messages = [{"role": "system", "content": "You tell beforehand. " * 20}, user(TASK)]
        key = {"prompt_cache_key": "report", "tools": [BASH]}

        def report():
            status, body = self.server.post("/apply-template", {"messages": messages, **key})
            self.assertEqual(status, 200)
            return body

        body = report()
        self.assertEqual((body["cached_tokens"], body["matched_tokens"], body["divergence"]), (0, 0, None))
        for turn in range(3):
            queries = self.server.metric("colugo:prefix_cache_queries_total")
            foretold = [report() for _ in range(3)]
            self.assertEqual(foretold[0], foretold[2])
            self.assertEqual(self.server.metric("colugo:prefix_cache_queries_total"), queries)
            reply = self.server.chat(messages, max_tokens=60, **key)
            self.assertEqual(self.cached(reply), foretold[0]["cached_tokens"])
            self.assertEqual(reply["usage"]["prompt_tokens"], foretold[0]["count"])
            if turn > 0:
                self.assertGreater(foretold[0]["cached_tokens"], 0.9 * known)
            known = reply["usage"]["prompt_tokens"]
            messages += [reply["choices"][0]["message"], user(f"And step {turn}?")]
        # Another word in the second message.
        messages[1] = user("Where at all is it?")
        body = report()
        self.assertEqual(body["divergence"]["message"], 1)
        self.assertTrue(body["prompt"].encode()[body["divergence"]["byte"]:].decode().startswith(body["divergence"]["text"]))
        self.assertLessEqual(body["cached_tokens"], body["matched_tokens"])
        self.assertEqual(body["divergence"]["token"], body["matched_tokens"])
        self.assertEqual(self.cached(self.server.chat(messages, max_tokens=1, **key)), body["cached_tokens"])

    def test_streams_and_drafts_change_nothing(self):
        for temperature, seed in ((0, 1), (0.8, 5), (1.5, 6)):
            fields = {"tools": [BASH], "temperature": temperature, "seed": seed, "max_tokens": 80, "logprobs": True, "top_logprobs": 2}
            whole = self.server.chat(TASK, **fields)
            for mode in ("off", "mtp", "lookup", "tree"):
                other = self.server.chat(TASK, **fields, speculation={"mode": mode})
                for body in (whole, other):
                    for one in body["choices"][0]["message"].get("tool_calls", []):
                        one["id"] = ""
                self.assertEqual(other["choices"], whole["choices"], mode)
                self.assertEqual(other["timings"]["draft_n"] > 0, mode != "off" and other["timings"]["draft_n"] > 0)
            message, reasons = joined(self.server.stream_chat(TASK, **fields))
            for one in message.get("tool_calls", []):
                one["id"] = ""
            self.assertEqual((message, reasons), (whole["choices"][0]["message"], [whole["choices"][0]["finish_reason"]]))

    def test_a_seed_is_a_text(self):
        texts = [self.server.chat("Say something", temperature=1, seed=seed, max_tokens=40)["choices"][0]["message"]
                 for seed in (42, 42, 43)]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_equal_requests_at_once_get_equal_texts(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            bodies = list(pool.map(lambda _: self.server.chat(TASK, tools=[BASH], max_tokens=60), range(8)))
        texts = {json.dumps([call["function"] for call in body["choices"][0]["message"]["tool_calls"]]) for body in bodies}
        self.assertEqual(len(texts), 1)

    def test_what_a_client_that_left_had_read_is_kept(self):
        words = " ".join(f"word{i * 7919 % 10007}" for i in range(5000))
        body = json.dumps({"messages": [user(words)], "max_tokens": 1})
        before = self.server.metric("colugo:prompt_tokens_computed_total")
        client = self.server.socket()
        client.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        self.assertTrue(until(lambda: self.server.metric("colugo:prompt_tokens_computed_total") > before + 3000))
        client.close()
        self.assertTrue(until(lambda: self.server.metric("colugo:num_requests_running") == 0))
        computed = self.server.metric("colugo:prompt_tokens_computed_total") - before
        second = self.server.chat(words, max_tokens=1)
        self.assertLess(computed, second["usage"]["prompt_tokens"])
        self.assertGreaterEqual(self.cached(second), computed - 1)

    def test_calls_that_are_forced_and_forbidden(self):
        tools = [BASH, COUNT]
        prompts = set()
        for seed in range(6):
            for choice in ("required", {"type": "function", "function": {"name": "count"}}):
                fields = {"tools": tools, "tool_choice": choice, "temperature": 1.5, "seed": seed, "max_tokens": 400}
                body = self.server.chat("Hello", **fields)
                prompts.add(body["usage"]["prompt_tokens"])
                calls = body["choices"][0]["message"].get("tool_calls", [])
                if body["choices"][0]["finish_reason"] == "length":
                    continue
                self.assertEqual(body["choices"][0]["finish_reason"], "tool_calls")
                self.assertFalse(body["choices"][0]["message"]["content"])
                self.check_calls(calls)
                if choice != "required":
                    self.assertEqual([call["function"]["name"] for call in calls], ["count"])
                message, _ = joined(self.server.stream_chat("Hello", **fields))
                self.assertEqual([call["function"] for call in message["tool_calls"]], [call["function"] for call in calls])
            body = self.server.chat(TASK, tools=tools, tool_choice="none", temperature=1, seed=seed, max_tokens=60)
            prompts.add(body["usage"]["prompt_tokens"] - self.server.chat(TASK, tools=tools, max_tokens=1)["usage"]["prompt_tokens"])
            self.assertNotIn("tool_calls", body["choices"][0]["message"])
            self.assertFalse(body["choices"][0]["message"].get("reasoning_content"))  # the template let nano think nothing
            greedy = self.server.chat(TASK, tools=tools, tool_choice="none", max_tokens=60)
            for one, mark in itertools.product((body, greedy), ("<tool_call>", "</tool_call>", "<think>", "</think>")):
                self.assertNotIn(mark, one["choices"][0]["message"]["content"])
        self.assertEqual(len(prompts), 2)  # one for each task: no choice changes a prompt

    def test_no_thought_is_begun_where_calls_are_forbidden_and_thinking_is_off(self):
        think = str(self.server.post("/tokenize", {"content": "<think>"})[1]["tokens"][0])
        fields = {"tools": [BASH], "tool_choice": "none", "max_tokens": 20, "logit_bias": {think: 100}}
        for off in ({}, {"enable_thinking": False}, {"reasoning_effort": "none"}):  # {}: as the launch says
            body = self.server.chat(TASK, **fields, **off)
            self.assertEqual(body["usage"]["completion_tokens_details"]["reasoning_tokens"], 0, off)
            self.assertNotIn("reasoning_content", body["choices"][0]["message"])
        on = self.server.chat(TASK, **fields, enable_thinking=True)
        self.assertGreater(on["usage"]["completion_tokens_details"]["reasoning_tokens"], 0)

    def test_replies_that_are_json(self):
        finished = 0
        for seed in range(12):
            body = self.server.chat("Who?", temperature=1.5, seed=seed, max_tokens=200,
                                    response_format=form_of(PERSON))
            choice = body["choices"][0]
            if choice["finish_reason"] == "stop":
                self.check_person(choice["message"]["content"])
                finished += 1
            body = self.server.chat("Who?", temperature=1, seed=seed, max_tokens=60, response_format={"type": "json_object"})
            self.assertTrue(body["choices"][0]["message"]["content"].lstrip().startswith("{"))
        self.assertGreater(finished, 6)
        for schema, word in (({"type": "object", "not": {}}, "not"), ({"type": "string", "pattern": "(?<=x)*"}, "pattern")):
            status, body = self.server.post("/v1/chat/completions", {"messages": [user("x")], "response_format": form_of(schema)})
            self.assertEqual(status, 400)
            self.assertIn(word, body["error"]["message"])

    def test_replies_that_are_json_or_calls(self):
        open_call = self.server.post("/tokenize", {"content": "<tool_call>"})[1]["tokens"][0]
        fields = {"tools": [BASH, COUNT], "response_format": form_of(PERSON), "temperature": 1.5, "max_tokens": 300}
        ended = {"stop": 0, "tool_calls": 0, "length": 0}
        for seed in range(16):
            fields["logit_bias"] = {str(open_call): -100 if seed % 2 else 0}
            choice = self.same_as_a_stream(TASK, seed=seed, **fields)
            ended[choice["finish_reason"]] += 1
            calls = choice["message"].get("tool_calls", [])
            if choice["finish_reason"] == "stop":
                self.check_person(choice["message"]["content"])
            if choice["finish_reason"] != "length":
                self.assertEqual(choice["finish_reason"] == "tool_calls", bool(calls))
                self.assertEqual(choice["message"]["content"] is None, bool(calls))
                self.check_calls(calls)
        self.assertGreater(ended["stop"], 3)
        self.assertGreater(ended["tool_calls"], 3)
        del fields["logit_bias"]
        for seed in range(3):  # a call that is required leaves nothing to the format, and one that is forbidden everything
            for tool_choice, names in (("required", {"bash", "count"}), ({"type": "function", "function": {"name": "count"}}, {"count"})):
                choice = self.same_as_a_stream(TASK, seed=seed, tool_choice=tool_choice, **fields)
                self.assertLessEqual({call["function"]["name"] for call in choice["message"]["tool_calls"]}, names)
            choice = self.same_as_a_stream(TASK, seed=seed, tool_choice="none", **fields)
            self.assertNotIn("tool_calls", choice["message"])
            self.assertTrue(choice["message"]["content"].lstrip().startswith("{"))
        texts = {json.dumps(self.server.chat(TASK, seed=5, **fields, speculation={"mode": mode})["choices"][0]["message"].get("content"))
                 for mode in ("off", "mtp", "lookup", "tree")}
        self.assertEqual(len(texts), 1)
        broken = {**COUNT["function"], "parameters": {"type": "object", "not": {}}}
        for form, tool, param in (({"not": {}}, COUNT["function"], "response_format"), (PERSON, broken, "tools")):
            status, body = self.server.post("/v1/chat/completions", {
                "messages": [user("x")], "response_format": form_of(form), "tools": [{"type": "function", "function": tool}]})
            self.assertEqual((status, body["error"]["param"]), (400, param))
            self.assertIn("not", body["error"]["message"])

    def test_forms_begin_behind_thoughts(self):
        end = self.server.post("/tokenize", {"content": "</think>"})[1]["tokens"][0]
        thinking = {"chat_template_kwargs": {"enable_thinking": True}, "temperature": 1.2, "max_tokens": 400, "logit_bias": {str(end): 3}}
        named = {"type": "function", "function": {"name": "count"}}
        forms = {"required": {"tools": [BASH, COUNT], "tool_choice": "required"}, "named": {"tools": [BASH, COUNT], "tool_choice": named},
                 "strict": {"tools": [COUNT]}, "schema": {"response_format": form_of(PERSON)}, "object": {"response_format": {"type": "json_object"}},
                 "both": {"tools": [BASH, COUNT], "response_format": form_of(PERSON)}}
        for name, form in forms.items():
            ended = 0
            for seed in range(6):
                choice = self.same_as_a_stream(TASK, seed=seed, **thinking, **form)
                message, reason = choice["message"], choice["finish_reason"]
                self.assertTrue(message["reasoning_content"], (name, seed))
                if reason == "length":
                    continue
                ended += 1
                calls = message.get("tool_calls", [])
                self.check_calls(calls)
                if name in ("required", "named"):
                    self.assertEqual((reason, message["content"]), ("tool_calls", None))
                if name == "named":
                    self.assertEqual([call["function"]["name"] for call in calls], ["count"])
                if name in ("schema", "object") or (name == "both" and reason == "stop"):
                    self.assertEqual(reason, "stop")
                    self.assertIsInstance(json.loads(message["content"]), dict)
                if name in ("schema", "both") and reason == "stop":
                    self.check_person(message["content"])
            self.assertGreater(ended, 1, name)

    def check_calls(self, calls):
        for call in calls:
            arguments = json.loads(call["function"]["arguments"])
            if call["function"]["name"] == "count":
                self.assertIn(arguments["number"], range(3, 18))
                self.assertIn(arguments["kind"], "ab")
            else:
                self.assertEqual(call["function"]["name"], "bash")

    def check_person(self, text):
        value = json.loads(text)
        self.assertEqual(list(value), ["name", "age", "tags"])
        self.assertLessEqual(len(value["name"]), 12)
        self.assertIn(value["age"], range(121))
        self.assertLessEqual(set(value["tags"]), {"x", "y"})

    def same_as_a_stream(self, messages, **fields):
        """The choice of a reply, which a stream gives too."""
        choice = self.server.chat(messages, **fields)["choices"][0]
        message, reasons = joined(self.server.stream_chat(messages, **fields))
        for one in (message, choice["message"]):
            for call in one.get("tool_calls", []):
                call.pop("id")
        self.assertEqual((message, reasons), (choice["message"], [choice["finish_reason"]]))
        return choice

    def test_forms_and_drafts_change_nothing_of_each_other(self):
        fields = {"tools": [BASH], "tool_choice": "required", "temperature": 1.0, "seed": 3, "max_tokens": 200}
        texts = set()
        for mode in ("off", "mtp", "lookup", "tree"):
            for logprobs in (False, True):
                body = self.server.chat(TASK, **fields, logprobs=logprobs, speculation={"mode": mode})
                texts.add(json.dumps([call["function"] for call in body["choices"][0]["message"]["tool_calls"]]))
        self.assertEqual(len(texts), 1)

    def test_bytes_that_are_no_characters(self):
        for seed in range(6):
            body = self.server.chat("x", temperature=2.0, seed=seed, max_tokens=60, top_k=0, top_p=1.0, min_p=0.0,
                                    logit_bias={str(token): 8 for token in range(128, 256)})
            message, _ = joined(self.server.stream_chat("x", temperature=2.0, seed=seed, max_tokens=60, top_k=0, top_p=1.0,
                                                        min_p=0.0, logit_bias={str(token): 8 for token in range(128, 256)}))
            self.assertEqual(message, body["choices"][0]["message"])

    def test_what_was_read_beforehand_is_cached(self):
        system = {"role": "system", "content": "You are prepared. " * 40}
        bodies = [{"messages": [system, user("Anything")], "tools": [BASH]},
                  {"messages": [system, user("Anything")], "tools": [BASH], "prompt_cache_key": "k", "temperature": 0.5},
                  {"messages": [system, user("word " * 600)]}]
        path = self.path("warm.jsonl", "\n\n".join(map(json.dumps, bodies)) + "\n")
        with Server(COLUGO, "-c", 512, "--reasoning", "off", "--warm", path) as server:
            self.assertEqual(server.get("/health/ready")[0], 200)
            listening = next(i for i, line in enumerate(server.log) if line.startswith("serving "))
            said = [line for line in server.log[:listening] if path in line]
            self.assertEqual(len(said), 2, server.log)
            self.assertRegex(said[0], r"line 5 was not read: its \d+ tokens leave no room in a context of 512")
            self.assertRegex(said[1], r"2 prompts read, \d+ tokens, of which 0 were there already")
            for fields in ({}, {"prompt_cache_key": "k"}, {"prompt_cache_key": "other"}):
                body = server.chat([system, user(TASK)], tools=[BASH], max_tokens=1, **fields)
                share = self.cached(body) / body["usage"]["prompt_tokens"]
                if "other" in fields.values():
                    self.assertEqual(share, 0)
                else:
                    self.assertGreater(share, 0.8)
            self.assertEqual(server.end(), 0)

    def test_what_the_cache_has_no_room_for_is_named(self):
        bodies = [{"messages": [user(f"{i} " + f"word{i} " * 300)]} for i in range(40)]
        path = self.path("warm.jsonl", "\n".join(map(json.dumps, bodies)))
        with Server(COLUGO, "-c", 2048, "-np", 1, "--cache-gib", 0.02, "--warm", path) as server:
            named = {}
            for line in server.log:
                found = re.search(r"of line (\d+), (\d+) of (\d+) tokens are in the cache", line)
                if found:
                    named[int(found[1]) - 1] = int(found[2])
            self.assertTrue(0 < len(named) < len(bodies), server.log)
            for i, body in enumerate(bodies):
                report = server.post("/apply-template", body)[1]
                if i in named:
                    self.assertEqual(report["cached_tokens"], named[i])
                self.assertEqual(report["cached_tokens"] < report["branch_points"][-1], i in named, i)

    def test_a_wrong_line_of_the_file_is_named_before_anything_is_served(self):
        good = json.dumps({"messages": [user("x")]})
        schema = {"type": "array", "contains": {"type": "string"}}
        strict = {"type": "function", "function": {"name": "f", "strict": True, "parameters": {"type": "object", "properties": {"x": schema}}}}
        for line, words in (("{", "is not JSON"), ('{"messages": []}', "messages is a list of 0"), ('{"prompt": "x"}', "prompt"),
                            ('{"messages": [{"role": "user", "content": "x"}], "prompt_cache_key": 5}', "prompt_cache_key is 5"),
                            (json.dumps({"messages": [user("x")], "response_format": form_of(schema)}), "contains"),
                            (json.dumps({"messages": [user("x")], "tools": [strict]}), "contains"),
                            (json.dumps({"messages": [user("x")], "replay_output": {}}), "replay_output")):
            path = self.path("warm.jsonl", f"{good}\n{line}\n{good}\n")
            result = colugo("serve", "--port", 0, "--warm", path)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"{path}, line 2: ", result.stderr.decode())
            self.assertIn(words, result.stderr.decode())
            self.assertNotIn("serving", result.stderr.decode())
        self.assertIn("there is no file", colugo("serve", "--port", 0, "--warm", "/nowhere").stderr.decode())
        script = self.path("script", '{"text": "x"}')
        self.assertEqual(colugo("serve", "--model", f"scripted:{script}", "--warm", path).returncode, 2)

    def test_an_interrupt_ends_the_wait_for_prompts_from_a_pipe(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        process = subprocess.Popen([COLUGO, "serve", "--port", "0", "--warm", pipe], stderr=subprocess.PIPE,
                                   env=environment())
        with open(pipe, "w", encoding="utf-8"):  # waits until it is read
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.communicate(timeout=60)[1], b"ended before it served\n")
        self.assertEqual(process.returncode, 0)

    def test_fields_that_mean_nothing_and_a_file_without_a_line_are_named(self):
        bodies = [{"messages": [user("x")], "frobnicate": 1, "response_format": form_of(PERSON)},
                  {"messages": [user("y")], "frobnicate": 1, "z": 2}]
        path = self.path("warm.jsonl", "\n".join(map(json.dumps, bodies)))
        with Server(COLUGO, "-c", 256, "--warm", path) as server:
            said = [line for line in server.log if path in line]
            self.assertEqual(said[:2], [f"{path}: line 1 has fields that mean nothing here: frobnicate",
                                        f"{path}: line 2 has fields that mean nothing here: z"])
            self.assertRegex(said[2], "2 prompts read")
        path = self.path("empty.jsonl", "\n \n")
        with Server(COLUGO, "-c", 256, "--warm", path) as server:
            self.assertIn(f"{path} has no prompt: nothing is read beforehand", server.log)

    def test_an_end_that_is_asked_for_while_prompts_are_read(self):
        body = {"messages": [user("word " * 1500)]}
        path = self.path("warm.jsonl", "\n".join(json.dumps({**body, "prompt_cache_key": str(i)}) for i in range(400)))
        process = subprocess.Popen([COLUGO, "serve", "--port", "0", "-c", "2048", "-t", "1", "--warm", path],
                                   stderr=subprocess.PIPE, env=environment())
        with process.stderr as log:
            while b"reading prompts" not in (line := log.readline()):
                self.assertTrue(line, "it ended by itself")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(log.read().splitlines()[-1], b"ended before it served")
        self.assertEqual(process.wait(60), 0)

    def test_a_faster_kind_of_cache_is_named_where_none_was_chosen(self):
        def launch(*arguments, env=None):
            with Server(COLUGO, "-c", 256, *arguments, env=env) as server:
                tier = server.get("/props")[1]["tier"]
                kinds = [line.split()[-1] for line in server.log if " tokens in " in line]
                return tier, kinds, any("--kv-type int8 is faster" in line for line in server.log)

        tier, kinds, named = launch()
        self.assertEqual((kinds, named), (["fp8"], tier in ("avx512", "avx512_bf16")))
        self.assertEqual(launch(env={"COLUGO_FORCE_ISA": "scalar"}), ("scalar", ["fp8"], False))
        for arguments in (("--kv-type", "fp8"), ("--kv-type", "int8"), ("--compute", "f32")):
            kind = "f32" if "f32" in arguments else arguments[1]
            self.assertEqual(launch(*arguments), (tier, [kind], False))

    def test_the_context_ends(self):
        with Server(COLUGO, "-c", 256) as server:
            ends = server.post("/tokenize", {"content": "<|im_end|><|endoftext|>"})[1]["tokens"]
            body = server.chat("Count", max_tokens=10000, logit_bias={str(token): -100 for token in ends})
            self.assertEqual(body["choices"][0]["finish_reason"], "length")
            self.assertEqual(body["usage"]["total_tokens"], 256)
            status, body = server.post("/v1/chat/completions", {"messages": [user("word " * 300)]})
            self.assertEqual((status, body["error"]["code"]), (400, "context_length_exceeded"))


if __name__ == "__main__":
    main()
