#!/usr/bin/env python3
"""colugo bench agentic over HTTP: against nano, scripted replies, and servers that behave in every way:
bench_test.py COLUGO FIXTURES_DIR [unittest arguments]."""
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time

from fake_server import FakeServer, event, reply_events
from program import COLUGO, ProgramCase, colugo, environment, main
from serving import Server, until

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
REFERENCE = os.path.join(ROOT, "tools", "agentic_reference.py")
CALL = "<tool_call>\n<function=bash>\n<parameter=command>\n%s\n</parameter>\n</function>\n</tool_call>"
BASH = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}}
FIELDS = ("valid turns iou bfcl wall_s prompt_tokens cached_tokens ideal_cached_tokens output_tokens output_tok_s ttft_ms "
          "tpot_ms tokens_per_pass computed_prompt_tokens failures setup").split()


def conversation(name, commands, delay=0.0):
    """Rows of a conversation whose recorded replies run these commands."""
    rows = [{"role": "user", "system": "You are " + name, "tools": [BASH], "content": "Go on."}]
    for i, command in enumerate(commands):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": command})}}
        rows.append({"role": "assistant", "reasoning_content": "", "tool_calls": [call]})
        rows.append({"role": "tool", "tool_results": [{"tool_call_id": f"c{i}", "content": f"result {i}"}], "delay_seconds": delay})
    return [{"conversation_id": name, "turn": i + 1, **row} for i, row in enumerate(rows)]


class BenchTest(ProgramCase):
    def data(self, *conversations):
        return self.path("data.jsonl", "".join(json.dumps(row) + "\n" for rows in conversations for row in rows))

    def run_bench(self, *arguments, code=0, env=None):
        """Results, turns and what was printed; results are None where the folder is not there."""
        out = self.path("out")
        done = colugo("bench", "agentic", "--out", out, *arguments, env=env)
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode())
        self.assertFalse([name for name in os.listdir(self.folder) if ".part-" in name])
        if not os.path.exists(out):
            return None, None, done
        with open(os.path.join(out, "results.json"), encoding="utf-8") as file:
            results = json.load(file)
        with open(os.path.join(out, "turns.jsonl"), encoding="utf-8") as file:
            turns = [json.loads(line) for line in file]
        os.rename(out, self.path(f"out-{len(os.listdir(self.folder))}"))
        return results, turns, done

    def check_scores(self, data):
        folder = max((os.path.join(self.folder, name) for name in os.listdir(self.folder) if name.startswith("out-")), key=os.path.getmtime)
        done = subprocess.run([sys.executable, REFERENCE, "check", folder, data], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def failing(self, behave, *arguments, code=1):
        """A run of two conversations of three turns against a fake server."""
        data = self.data(conversation("a", ["ls", "cat x", "pwd"]), conversation("b", ["ls", "cat x", "pwd"]))
        with FakeServer(behave) as server:
            return self.run_bench("--url", server.url, "--data", data, *arguments, code=code), server

    # A server of its own.

    def test_the_sample_on_nano(self):
        results, turns, done = self.run_bench("--model", "nano", "--limit-conversations", 2, "--mlperf", "--", "--cache-gib", 1)
        self.assertEqual([name for name in FIELDS if name not in results], [])
        self.assertTrue(results["valid"])
        self.assertEqual((results["turns"], results["conversations"], results["failures"]), (len(turns), 2, []))
        self.assertGreater(results["iou"], 0.3)
        self.assertGreater(results["cached_share"], 0.6)
        self.assertGreater(results["ideal_cached_tokens"], 0.7 * results["prompt_tokens"])
        self.assertLess(results["computed_prompt_tokens"], 1.1 * results["ideal_computed_prompt_tokens"] + 40)
        self.assertGreater(results["tokens_per_pass"], 1.0)
        self.assertGreater(results["drafts"]["accepted_by_position"][0], 0.1)
        for times in (results["ttft_ms"], results["tpot_ms"]):
            self.assertTrue(0 < times["p50"] <= times["p90"] <= times["p99"])
        server = results["setup"]["server"]
        self.assertIn("--cache-gib", server["flags"])
        self.assertRegex(server["props"]["numerics"], r"weights [0-9a-f]{32}, tier \w+")
        self.assertGreater(server["memory_peak_bytes"], 10_000_000)
        self.assertRegex(done.stdout.decode(), r"run +valid\n")
        report = re.search(r"report: (.+)\n$", done.stdout.decode())[1]
        self.assertEqual(report, self.path("out/report.html"))
        self.check_scores("sample")
        names = set()
        for folder, _, files in os.walk(self.folder):
            names |= {os.path.relpath(os.path.join(folder, name), self.folder).split("/", 1)[1] for name in files}
        self.assertEqual(names, {"results.json", "turns.jsonl", "report.html", "server.log", "scores.json",
                                 "performance/result_summary.json", "accuracy/accuracy_results.json"})

    def test_a_server_of_its_own_that_does_not_start(self):
        data = self.data(conversation("a", ["ls"]))
        for arguments, words in ((["--model", "/nonexistent"], "there is no checkpoint folder /nonexistent"),
                                 (["--model", "nano", "--", "--spec", "wild"], "--spec"),
                                 (["--model", "nano", "--", "--frobnicate"], "--frobnicate")):
            _, _, done = self.run_bench("--data", data, *arguments, code=1)
            self.assertIn("the server did not start", done.stderr.decode())
            self.assertIn(words, done.stderr.decode())

    def test_flags_of_the_server_may_come_from_settings(self):
        settings = self.path("settings.toml", "[serve]\nalias = 'other'\n[bench.agentic]\nlimit-conversations = 1\n")
        script = self.path("script.jsonl", json.dumps({"text": CALL % "ls"}) + "\n")
        results, _, _ = self.run_bench("--model", "scripted:" + script, "--data", self.data(conversation("a", ["ls"]), conversation("b", ["ls"])),
                                       "--config", settings, env={"COLUGO_MAX_BODY_MIB": "3"})
        self.assertEqual(results["setup"]["server"]["model"], "other")
        self.assertEqual((results["turns"], results["iou"]), (1, 1.0))

    def test_what_a_server_got_from_elsewhere_is_recorded_without_keys(self):
        script = self.path("script.jsonl", json.dumps({"text": CALL % "ls"}) + "\n")
        arguments = ("--model", "scripted:" + script, "--data", self.data(conversation("a", ["ls"])))
        key = self.path("key", "secret\n")
        settings = self.path("settings.toml", f"[serve]\napi-key-file = '{key}'\napi-key = 'secret'\nspec = 'off'\n")
        for environment_key in ({}, {"COLUGO_API_KEY": "secret"}):
            results, _, _ = self.run_bench(*arguments, "--config", settings, env={"COLUGO_MAX_BODY_MIB": "3", **environment_key})
            hidden = "(not written down)"
            self.assertEqual(results["setup"]["server"]["settings"], {
                "variables": {"COLUGO_MAX_BODY_MIB": "3", **{name: hidden for name in environment_key}}, "file": settings,
                "values": {"serve": {"api-key": hidden, "api-key-file": key, "spec": "off"}}})
            self.assertNotIn("secret", json.dumps(results))
        results, _, _ = self.run_bench(*arguments, "--api-key-file", key, env={"COLUGO_CONFIG": settings, "COLUGO_API_KEY": "other"})
        self.assertEqual(results["setup"]["server"]["settings"]["file"], settings)
        results, _, _ = self.run_bench(*arguments)
        self.assertEqual(results["setup"]["server"]["settings"], {"variables": {}, "file": None, "values": None})

    def test_what_is_typed_counts_before_the_other_one_from_elsewhere(self):
        data = self.data(conversation("a", ["ls"]))
        nowhere, missing = "http://127.0.0.1:9", "/nonexistent"
        files = {name: self.path(name + ".toml", f"[bench.agentic]\n{name} = '{value}'\n")
                 for name, value in (("url", nowhere), ("model", missing))}
        for arguments, variables, words in ((["--url", nowhere], {"COLUGO_MODEL": missing}, "cannot connect to"),
                                            (["-m", missing], {"COLUGO_URL": nowhere}, "no checkpoint folder"),
                                            (["--url=" + nowhere, "--config", files["model"]], {}, "cannot connect to"),
                                            (["--config", files["url"]], {"COLUGO_MODEL": missing}, "no checkpoint folder")):
            _, _, done = self.run_bench("--data", data, *arguments, code=1, env=variables)
            self.assertIn(words, done.stderr.decode())
        done = colugo("bench", "agentic", env={"COLUGO_URL": nowhere, "COLUGO_MODEL": missing})
        self.assertEqual(done.returncode, 2)

    # Another's.

    def test_recorded_replies_agree_wholly(self):
        commands = ["cd x && ls", "grep -n 'a' b | head", "python t.py; git diff"]
        data = self.data(conversation("a", commands))
        script = self.path("script.jsonl", "".join(json.dumps({"text": CALL % text}) + "\n" for text in commands))
        with Server(COLUGO, "--model", "scripted:" + script) as server:
            url = f"http://127.0.0.1:{server.port}"
            for address in (url, url + "/v1", url + "/v1/"):
                results, turns, _ = self.run_bench("--url", address, "--data", data)
                self.assertEqual((results["iou"], results["turns"], results["valid"]), (1.0, 3, True))
                self.assertEqual([turn["got"] for turn in turns], [["ls"], ["grep", "head"], ["python", "git"]])
                self.check_scores(data)
            self.assertEqual(results["setup"]["server"]["flags"], None)

    def test_requests_are_what_the_rules_say(self):
        (results, _, _), server = self.failing(lambda number, body: reply_events("x"), code=0)
        self.assertEqual(results["turns"], 6)
        self.assertEqual(len(server.requests), 6)
        for i, body in enumerate(server.requests):
            rest = {key: value for key, value in body.items() if key not in ("messages", "tools", "model")}
            self.assertEqual(rest, {"stream": True, "stream_options": {"include_usage": True}, "max_completion_tokens": 1024,
                                    "temperature": 0.0, "seed": 42, "chat_template_kwargs": {"enable_thinking": False}})
            self.assertEqual(body["tools"], [BASH])
            self.assertEqual(body["model"], "fake")
            self.assertEqual([message["role"] for message in body["messages"]], ["system", "user"] + ["assistant", "tool"] * (i % 3))
        call = server.requests[1]["messages"][2]["tool_calls"][0]
        self.assertEqual(json.loads(call["function"]["arguments"]), {"command": "ls"})  # the record, not the reply
        self.assertEqual(server.connections, 1 + 4)  # the run's, and those that ask for what the server is

    def test_conversations_take_turns_or_run_at_once(self):
        names = ["a", "b", "c"]
        data = self.data(*[conversation(name, ["ls", "pwd"]) for name in names])
        behave = lambda number, body: [0.1] + reply_events("x")
        with FakeServer(behave) as server:
            _, turns, _ = self.run_bench("--url", server.url, "--data", data, "--concurrency", 2, "--interleave")
            self.assertEqual([turn["conversation"] for turn in turns], ["a", "b", "a", "b", "c", "c"])
            self.assertEqual(server.most_at_once, 1)
            results, turns, _ = self.run_bench("--url", server.url, "--data", data, "--concurrency", 3)
            self.assertEqual(server.most_at_once, 3)
            self.assertEqual(sorted(turn["conversation"] for turn in turns), sorted(names * 2))
            self.assertTrue(results["valid"])

    def test_recorded_delays(self):
        data = self.data(conversation("a", ["ls", "pwd"], delay=0.7))
        with FakeServer(lambda number, body: reply_events("x")) as server:
            _, turns, _ = self.run_bench("--url", server.url, "--data", data, "--delays")
            self.assertGreaterEqual(turns[1]["begin_s"], 0.7)

    def test_cold_prompts(self):
        for cold in (False, True):
            results, turns, _ = self.run_bench("--model", "nano", "--limit-conversations", "1", *["--cold"] * cold, "--", "-c", "8192")
            self.assertEqual((results["setup"]["rules"]["cold"], results["cached_tokens"] == 0), (cold, cold))
            self.assertGreater(results["ideal_cached_tokens"], 0)
        with FakeServer(lambda number, body: reply_events("x")) as server:
            data = self.data(conversation("a", ["ls", "pwd"]), conversation("b", ["ls"]))
            for _ in range(2):
                self.run_bench("--url", server.url, "--data", data, "--cold")
            self.assertEqual(len({body["cache_salt"] for body in server.requests}), 6)

    def test_servers_that_tell_little(self):
        (results, turns, done), _ = self.failing(lambda number, body: reply_events("x", usage=None), code=0)
        for name in ("prompt_tokens", "cached_tokens", "ideal_cached_tokens", "output_tokens", "tpot_ms", "tokens_per_pass"):
            self.assertIsNone(results[name], name)
        self.assertIn("not told", done.stdout.decode())
        self.assertGreater(turns[0]["ttft_ms"], 0)

    def test_tokens_from_llama_cpp_and_vllm(self):
        def llama(path, body):
            if path == "/apply-template":
                return {"prompt": json.dumps(body["messages"])}
            return {"tokens": list(body["content"].encode())} if path == "/tokenize" else None

        def vllm(path, body):
            return {"tokens": list(json.dumps(body["messages"]).encode()), "count": 1} if path == "/tokenize" else None

        def wrong(path, body):
            return {"tokens": [1, 2]} if path == "/apply-template" else None

        size = lambda body: len(json.dumps(body["messages"]).encode())
        for extra, told in ((llama, True), (vllm, True), (wrong, False)):
            behave = lambda number, body: reply_events("x", usage={"prompt_tokens": size(body), "completion_tokens": 2})
            with FakeServer(behave, extra=extra) as server:
                results, turns, _ = self.run_bench("--url", server.url, "--data", self.data(conversation("a", ["ls", "pwd"])))
                self.assertEqual(results["ideal_cached_tokens"] is not None, told)
                if told:
                    self.assertEqual(turns[0]["ideal_cached_tokens"], 0)
                    self.assertEqual(turns[1]["ideal_cached_tokens"], turns[0]["prompt_tokens"] - 1)  # less the "]"
                else:
                    self.assertIn("counts", results["no_ideal"])

    # Failures.

    def check_failure(self, run, kind, words, turns_done, requests):
        (results, turns, done), server = run
        self.assertFalse(results["valid"])
        self.assertEqual({failure["kind"] for failure in results["failures"]}, {kind})
        self.assertIn(words, results["failures"][0]["message"])
        self.assertEqual((results["turns"], results["turns_expected"], len(server.requests)), (turns_done, 6, requests))
        self.assertEqual(results["turns_missing"], 6 - turns_done)
        failed = [turn for turn in turns if turn["failure"]]
        self.assertTrue(all(turn["iou"] in (0.0, None) for turn in failed))
        self.assertIn("INVALID", done.stdout.decode())

    def test_a_turn_that_takes_too_long_ends_its_conversation(self):
        def stalls(number, body):
            return reply_events("x")[:1] + [30] if number == 1 else reply_events("x")

        run = self.failing(stalls, "--turn-timeout", 1)
        self.check_failure(run, "timeout", "too long", 4, 5)
        self.assertEqual([turn["conversation"] for turn in run[0][1]], ["a", "a", "b", "b", "b"])

    def test_no_answer_in_time(self):
        self.check_failure(self.failing(lambda number, body: [30], "--turn-timeout", 0.5), "timeout", "too long", 0, 2)

    def test_statuses(self):
        def refuses(number, body):
            return (400, {"error": {"message": "the context is full"}}) if number == 2 else reply_events("x")

        self.check_failure(self.failing(refuses), "status", "status 400: the context is full", 5, 6)
        self.check_failure(self.failing(lambda number, body: (503, "busy")), "status", "status 503: busy", 0, 2)

    def test_connections_that_end(self):
        def ends_within(number, body):
            return reply_events("x")[:2] + ["close"] if number == 0 else reply_events("x")

        self.check_failure(self.failing(ends_within), "closed", "broke off", 3, 4)
        self.check_failure(self.failing(lambda number, body: ["close"]), "closed", "", 0, 2)

    def test_a_connection_closed_between_two_turns_is_made_anew(self):
        (results, _, _), server = self.failing(lambda number, body: reply_events("x") + ["end", "close"], code=0)
        self.assertTrue(results["valid"])
        self.assertEqual(len(server.requests), 6)
        self.assertGreater(server.connections, 6)

    def test_replies_that_end_with_their_connection(self):
        data = self.data(conversation("a", ["ls", "pwd"]))
        with FakeServer(lambda number, body: reply_events("x"), chunked=False) as server:
            results, _, _ = self.run_bench("--url", server.url, "--data", data)
            self.assertEqual((results["valid"], results["output_tokens"]), (True, 6))

    def test_streams_that_are_none(self):
        for events, words in ((["data: {\"a\n\n"], "no JSON object"), ([event({"error": {"message": "out of memory"}})], "out of memory"),
                              (reply_events("x")[:2], "without a finish_reason"), ((200, {"choices": []}), "no stream of events")):
            self.check_failure(self.failing(lambda number, body: events), "stream", words, 0, 2)

    def test_nobody_listens(self):
        data = self.data(conversation("a", ["ls"]))
        _, _, done = self.run_bench("--url", "http://127.0.0.1:9", "--data", data, code=1)
        self.assertIn("cannot connect to http://127.0.0.1:9", done.stderr.decode())

    def test_keys(self):
        script = self.path("script.jsonl", json.dumps({"text": CALL % "ls"}) + "\n")
        data = self.data(conversation("a", ["ls"]))
        with Server(COLUGO, "--model", "scripted:" + script, env={"COLUGO_API_KEY": "secret"}) as server:
            url = f"http://127.0.0.1:{server.port}/v1"
            _, _, done = self.run_bench("--url", url, "--data", data, code=1)
            self.assertIn("wants another key", done.stderr.decode())
            results, _, _ = self.run_bench("--url", url, "--data", data, env={"COLUGO_API_KEY": "secret"})
            self.assertTrue(results["valid"])
            results, _, _ = self.run_bench("--url", url, "--data", data, "--api-key-file", self.path("key", "secret\n"))
            self.assertNotIn("secret", json.dumps(results))

    def test_runs_side_by_side(self):
        data = self.data(conversation("a", ["ls", "pwd"]), conversation("b", ["cat x"]))
        for name, delay in (("first", 60), ("second", 0)):
            script = self.path("script.jsonl", json.dumps({"text": CALL % "ls", "delay_ms": delay}) + "\n")
            done = colugo("bench", "agentic", "--model", "scripted:" + script, "--data", data, "--out", self.path(name))
            self.assertEqual(done.returncode, 0, done.stderr.decode())
        done = colugo("bench", "compare", self.path("first"), self.path("second"), "--json")
        comparison = json.loads(done.stdout)
        self.assertEqual([run["name"] for run in comparison["runs"]], ["first", "second"])
        pair = comparison["pairs"][0]
        self.assertEqual((pair["turns"], pair["same_replies"]["value"]), (3, 1.0))
        self.assertGreater(pair["faster"]["value"], 1.0)
        only = json.loads(colugo("bench", "compare", self.path("first"), self.path("second"), "--json", "--only", "b").stdout)
        self.assertEqual(only["pairs"][0]["turns"], 1)
        table = colugo("bench", "compare", self.path("first"), self.path("second")).stdout.decode()
        self.assertIn("times as fast as first", table)
        done = colugo("bench", "compare", self.path("first"), self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no results.json", done.stderr.decode())

    def test_drafts_that_were_not_made_are_none(self):
        results, _, done = self.run_bench("--limit-conversations", 1, "--", "--spec", "off")
        self.assertEqual((results["drafts"]["drafted"], results["drafts"]["acceptance"]), (0, None))
        self.assertRegex(done.stdout.decode(), "drafts accepted +none\n")

    def test_replies_that_are_replayed(self):
        results, turns, done = self.run_bench("--model", "nano", "--limit-conversations", "1", "--replay-output", "--",
                                              "--replay-acceptance", "0.9,0.95", "-c", "8192")
        self.assertEqual((results["valid"], results["iou"]), (True, 1.0))
        self.assertIn("A SIMULATION", done.stdout.decode())
        self.assertEqual(results["setup"]["server"]["props"]["simulation"], {"replay_acceptance": [0.9, 0.95]})
        self.assertGreater(results["drafts"]["accepted"], 0)
        os.rename(self.path("out-1"), self.path("first"))
        # Another server is asked for as many tokens.
        with FakeServer(lambda number, body: reply_events("x")) as server:
            self.run_bench("--url", server.url, "--limit-conversations", "1", "--lengths-of", self.path("first"))
            asked = [body for body in server.requests if "messages" in body]
        self.assertEqual([body["max_tokens"] for body in asked[:len(turns)]], [turn["output_tokens"] for turn in turns])
        self.assertTrue(all(body["ignore_eos"] and "replay_output" not in body for body in asked))
        done = colugo("bench", "agentic", "--limit-conversations", "1", "--lengths-of", self.path("first"), "--out", self.path("second"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("--lengths-of needs a server that takes ignore_eos", done.stderr.decode())
        done = colugo("bench", "agentic", "--lengths-of", self.path("first"), "--out", self.path("second"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not tell the output tokens of conversation sample-02", done.stderr.decode())

    def test_lengths_that_are_none_are_refused_by_their_line(self):
        (_, turns, _), _ = self.failing(lambda number, body: reply_events("x"), code=0)
        run = self.path(next(name for name in os.listdir(self.folder) if name.startswith("out-")))
        for tokens in (-5, 2**24 + 1, 2**63, 1.5, "3"):
            turns[1]["output_tokens"] = tokens
            with open(os.path.join(run, "turns.jsonl"), "w", encoding="utf-8") as file:
                file.write("".join(json.dumps(turn) + "\n" for turn in turns))
            done = colugo("bench", "agentic", "--url", "http://127.0.0.1:9", "--data", self.path("data.jsonl"), "--lengths-of", run,
                          "--out", self.path("second"))
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"turns.jsonl, line 2: output_tokens is {json.dumps(tokens)}; expected a whole number from 0 to 16777216",
                          done.stderr.decode())

    def test_an_error_that_is_cut_inside_a_character(self):
        (results, _, _), _ = self.failing(lambda number, body: (500, "x" * 299 + "\u00e9"))
        self.assertEqual(results["failures"][0]["kind"], "status")
        self.assertIn("x\ufffd", results["failures"][0]["message"])

    def test_control_characters_of_a_server_are_shown(self):
        message = "\x1b]0;title\x07\u009b31m\nrun  valid"
        (results, _, done), _ = self.failing(lambda number, body: (500, {"error": {"message": message}}))
        self.assertEqual(results["failures"][0]["message"], "status 500: " + message)
        self.assertIn(r"status 500: \x1b]0;title\x07\xc2\x9b31m\x0arun  valid", done.stdout.decode())
        self.assertNotRegex(done.stdout.decode() + done.stderr.decode(), "[\x00-\x09\x0b-\x1f\x7f-\x9f]")

    def test_a_stream_that_comes_too_fast_to_wait_for(self):
        endless = event({"choices": [{"index": 0, "delta": {"content": "x"}}]}) * 2000
        (results, _, _), _ = self.failing(lambda number, body: itertools.repeat(endless), "--turn-timeout", 1)
        self.assertEqual({failure["kind"] for failure in results["failures"]}, {"timeout"})

    def test_counts_that_are_none_are_not_told(self):
        usage = {"prompt_tokens": 1e300, "completion_tokens": -4, "prompt_tokens_details": {"cached_tokens": 2**63 - 1}}
        (results, turns, _), _ = self.failing(lambda number, body: reply_events("x", usage=usage), code=0)
        for name in ("prompt_tokens", "output_tokens", "cached_tokens"):
            self.assertEqual((results[name], turns[0][name]), (None, None))

    def test_ctrl_c_leaves_what_there_is(self):
        data = self.data(conversation("a", ["ls", "pwd"]))
        with FakeServer(lambda number, body: [30] if number else reply_events("x")) as server:
            out = self.path("stopped")
            process = subprocess.Popen([COLUGO, "bench", "agentic", "--url", server.url, "--data", data, "--out", out],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
            self.assertTrue(until(lambda: len(server.requests) == 2))
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 130)
            self.assertIn("INVALID: interrupted", output.decode())
            with open(os.path.join(out, "results.json"), encoding="utf-8") as file:
                results = json.load(file)
            self.assertEqual((results["valid"], results["interrupted"], results["turns"]), (False, True, 1))
            self.assertRegex(output.decode(), "in earlier prompts +not counted: the run was interrupted\n")

    def test_ctrl_c_ends_a_server_of_its_own(self):
        script = self.path("script.jsonl", json.dumps({"text": CALL % "ls", "delay_ms": 60000}) + "\n")
        process = subprocess.Popen([COLUGO, "bench", "agentic", "--model", "scripted:" + script, "--out", self.path("stopped")],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())

        def children():
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
                return file.read().split()

        self.assertTrue(until(children))
        child = children()[0]
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertFalse(os.path.exists(f"/proc/{child}"))

    def test_what_is_asked_wrongly(self):
        data = self.data(conversation("a", ["ls"]))
        cases = [
            (["--url", "http://127.0.0.1:9", "--model", "nano"], 2, "--url excludes --model"),
            (["--", "--port", "9"], 2, "--port behind --: the benchmark's server listens at any free port"),
            (["--", "-m", "nano"], 2, "-m behind --: "),
            (["--", "--spec", "off", "--reasoning=on"], 2, "--reasoning behind --: the benchmark's rules have it off"),
            (["--", "--api-key-file", "key"], 2, "--api-key-file behind --: the benchmark's server wants no key"),
            (["--model", "nano", "--replay-output"], 1, "--replay-output needs a server that is told its replies"),
            (["--url", "http://127.0.0.1:9", "--", "--spec", "off"], 2, "--spec is a flag for a server of its own"),
            (["--url", "localhost"], 1, "expected http://HOST:PORT"),
            (["--data", "/nonexistent"], 1, "cannot open the workload /nonexistent"),
            (["--data", self.path("bad.jsonl", "{}\n")], 1, "bad.jsonl, line 1: conversation_id is absent"),
            (["--concurrency", "0"], 2, "--concurrency"),
            (["--turn-timeout", "0"], 2, "--turn-timeout"),
            (["--out", self.folder], 1, "is not an empty folder"),
        ]
        for arguments, code, words in cases:
            if "--data" not in arguments:
                arguments = ["--data", data] + arguments
            done = colugo("bench", "agentic", *arguments, cwd=self.folder)
            self.assertEqual(done.returncode, code, done.stderr.decode())
            self.assertIn(words, done.stderr.decode())
        done = colugo("bench")
        self.assertEqual(done.returncode, 2)
        self.assertIn("A command of bench (agentic, compare, decode, prefill, cache)", done.stderr.decode())


if __name__ == "__main__":
    main()
