#!/usr/bin/env python3
"""The accuracy phase of colugo bench agentic over HTTP, on made-up questions and real servers' ways to fail:
bench_bfcl_test.py COLUGO FIXTURES_DIR [unittest arguments]."""
import json
import os
import re
import signal
import subprocess

from fake_server import FakeServer, event, reply_events
from program import COLUGO, ProgramCase, colugo, environment, main
from serving import until

SUBSETS = ("simple_python simple_java simple_javascript multiple parallel parallel_multiple live_simple live_multiple live_parallel "
           "live_parallel_multiple irrelevance live_irrelevance").split()
WITHOUT_CALLS = ("irrelevance", "live_irrelevance")
RULES = {"stream": True, "stream_options": {"include_usage": True}, "max_completion_tokens": 1024, "temperature": 0.0, "seed": 42,
         "chat_template_kwargs": {"enable_thinking": False}}


def call_events(*calls):
    """A stream with these (name, arguments), the arguments in two parts."""
    delta = lambda fields, reason=None: event({"choices": [{"index": 0, "delta": fields, "finish_reason": reason}]})
    events = [delta({"role": "assistant"})]
    for i, (name, arguments) in enumerate(calls):
        events.append(delta({"tool_calls": [{"index": i, "id": f"c{i}", "type": "function",
                                             "function": {"name": name, "arguments": arguments[:3]}}]}))
        events.append(delta({"tool_calls": [{"index": i, "function": {"arguments": arguments[3:]}}]}))
    return events + [delta({}, "tool_calls"), "data: [DONE]\n\n"]


def question_of(body):
    return re.match(r"Question (\d+) of (\w+)\?", body["messages"][0]["content"]).groups()


def right_reply(number, body):
    row, subset = question_of(body)
    if subset in WITHOUT_CALLS:
        return reply_events("I cannot do that.")
    value = row if subset in ("simple_java", "simple_javascript") else int(row)
    return call_events((subset + "_run", json.dumps({"row": value})))


class BenchBfclTest(ProgramCase):
    def questions(self, folder, rows):
        os.makedirs(os.path.join(folder, "possible_answer"))
        for subset in SUBSETS:
            function = {"name": subset + ".run", "description": "Runs.",
                        "parameters": {"type": "dict", "properties": {"row": {"type": "integer", "description": "A row."}}, "required": ["row"]}}
            questions = [{"id": f"{subset}_{i}", "question": [[{"role": "user", "content": f"Question {i} of {subset}?"}]],
                          "function": [function]} for i in range(rows)]
            answers = [{"id": f"{subset}_{i}", "ground_truth": [{subset + ".run": {"row": [i]}}]} for i in range(rows)]
            for place, lines in ((folder, questions), (os.path.join(folder, "possible_answer"), answers)):
                with open(os.path.join(place, f"BFCL_v4_{subset}.json"), "w", encoding="utf-8") as file:
                    file.write("".join(json.dumps(line) + "\n" for line in lines))
        return folder

    def run_bench(self, behave, *arguments, code=0, env=None):
        """Results, rows of bfcl.jsonl, what was printed, and the server."""
        out = self.path(f"out-{len(os.listdir(self.folder))}")
        with FakeServer(behave) as server:
            done = colugo("bench", "agentic", "--url", server.url, "--out", out, *arguments, env=env)
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode())
        with open(os.path.join(out, "results.json"), encoding="utf-8") as file:
            results = json.load(file)
        with open(os.path.join(out, "bfcl.jsonl"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        return results, rows, done, server, out

    def test_right_replies_are_worth_everything(self):
        data = self.questions(self.path("data"), 2)
        results, rows, done, server, out = self.run_bench(right_reply, "--accuracy-only", "--bfcl", data, "--mlperf")
        self.assertEqual((results["valid"], results["phases"], results["turns"]), (True, ["accuracy"], 0))
        bfcl = results["bfcl"]
        self.assertEqual((bfcl["overall"], bfcl["normalized"], bfcl["right"], bfcl["asked"]), (100.0, 100.0, 24, 24))
        self.assertEqual([row["id"] for row in rows], [f"{subset}_{i}" for subset in SUBSETS for i in range(2)])
        self.assertTrue(all(row["score"] == 1 and "reason" not in row for row in rows))
        self.assertIn("100.00 (24 of 24)", done.stdout.decode())
        self.assertEqual((sum(bfcl["missing"].values()), bfcl["missing"]["live_simple"]), (995 - 24, 23))
        self.assertIn("BFCL DATA NOT WHOLE        971 questions are missing: simple_python 246, ", done.stdout.decode())
        self.assertNotIn("IoU", done.stdout.decode())
        self.assertEqual(results["setup"]["bfcl"], {"path": data, "questions": 24})
        self.assertIsNone(results["setup"]["data"])
        with open(os.path.join(out, "report.html"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"live_parallel_multiple +100\.00 +2 +2 +2 +2")
        with open(os.path.join(out, "accuracy/accuracy_results.json"), encoding="utf-8") as file:
            accuracy = json.load(file)
        self.assertEqual((accuracy["average_accuracy"], len(accuracy["accuracy_scores"])), (1.0, 1))
        self.assertEqual(accuracy["accuracy_scores"][0]["breakdown"]["overall_accuracy"], 100.0)
        self.assertFalse(os.path.exists(os.path.join(out, "scores.json")))

    def test_a_sample_is_called_one(self):
        data = self.questions(self.path("data"), 4)
        results, rows, done, server, out = self.run_bench(right_reply, "--accuracy-only", "--bfcl", data, "--limit-questions", 12, "--mlperf")
        self.assertEqual([row["id"] for row in rows], [f"{subset}_0" for subset in SUBSETS])
        self.assertEqual((results["valid"], results["bfcl"]["questions"], results["bfcl"]["sample_of"]), (True, 12, 48))
        self.assertRegex(done.stdout.decode(), r"BFCL, A SAMPLE +12 of 48 questions\n")
        with open(os.path.join(out, "accuracy/accuracy_results.json"), encoding="utf-8") as file:
            self.assertFalse(json.load(file)["accuracy_scores"][0]["complete"])
        done = colugo("bench", "agentic", "--limit-questions", 12, "--url", "http://127.0.0.1:9")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--limit-questions: goes with --bfcl or --accuracy-only", done.stderr.decode())

    def test_requests_are_what_the_rules_say(self):
        data = self.questions(self.path("data"), 1)
        _, _, _, server, _ = self.run_bench(right_reply, "--accuracy-only", "--bfcl", data)
        self.assertEqual([question_of(body)[1] for body in server.requests], SUBSETS)
        body = server.requests[0]
        self.assertEqual(body.pop("messages"), [{"role": "user", "content": "Question 0 of simple_python?"}])
        self.assertEqual(body.pop("tools")[0]["function"]["name"], "simple_python_run")
        self.assertEqual((body.pop("tool_choice"), body.pop("model")), ("auto", "fake"))
        self.assertEqual(body, RULES)

    def test_wrong_replies_and_none(self):
        def behave(number, body):
            row, subset = question_of(body)
            if subset == "multiple":
                return 400, {"error": {"message": "the context is full"}}
            if subset == "parallel":
                return call_events(("parallel_run", '{"row": 7}'))
            if subset == "live_simple":
                return reply_events("live_simple_run(row=0)")
            return call_events(("x", "{}")) if subset == "irrelevance" else right_reply(number, body)

        data = self.questions(self.path("data"), 1)
        results, rows, done, _, _ = self.run_bench(behave, "--accuracy-only", "--bfcl", data, "--concurrency", 3)
        bfcl = results["bfcl"]
        self.assertEqual((bfcl["right"], bfcl["answered"], bfcl["asked"]), (8, 11, 12))
        self.assertEqual(bfcl["categories"], {"non_live": 50.0, "live": 75.0, "hallucination": 50.0})
        self.assertEqual((bfcl["overall"], bfcl["normalized"]), (66.67, 58.33))
        self.assertEqual([(failure["id"], failure["kind"]) for failure in bfcl["failures"]], [("multiple_0", "status")])
        reasons = {row["subset"]: row["reason"] for row in rows if row["score"] == 0}
        self.assertEqual(reasons, {"multiple": "no reply", "parallel": "parameter row is 7, not one of [0]",
                                   "live_simple": "0 calls, not 1", "irrelevance": "x is called, but no function fits the question"})
        self.assertRegex(done.stdout.decode(), r"without a reply +1\n")

    def test_both_phases(self):
        data = self.questions(self.path("data"), 1)
        call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
        rows = [{"role": "user", "system": "S", "content": "Go on."}, {"role": "assistant", "reasoning_content": "", "tool_calls": [call]}]
        workload = self.path("data.jsonl", "".join(json.dumps({"conversation_id": "a", "turn": i + 1, **row}) + "\n" for i, row in enumerate(rows)))

        def behave(number, body):
            return call_events(("bash", '{"command": "ls"}')) if number == 0 else right_reply(number, body)

        results, _, done, server, out = self.run_bench(behave, "--data", workload, "--bfcl", data, "--mlperf")
        self.assertEqual((results["phases"], results["iou"], results["turns"]), (["performance", "accuracy"], 1.0, 1))
        self.assertEqual(results["bfcl"]["overall"], 100.0)
        self.assertEqual(len(server.requests), 13)
        with open(os.path.join(out, "accuracy/accuracy_results.json"), encoding="utf-8") as file:
            self.assertEqual([entry["dataset_type"] for entry in json.load(file)["accuracy_scores"]], ["performance", "accuracy"])

    def test_a_server_that_answers_nothing(self):
        data = self.questions(self.path("data"), 1)
        results, _, _, _, _ = self.run_bench(lambda number, body: (503, "busy"), "--accuracy-only", "--bfcl", data, code=1)
        self.assertEqual((results["valid"], results["bfcl"]["overall"], results["bfcl"]["answered"]), (False, 0.0, 0))

    def test_data_are_found_where_python_has_them(self):
        environment_folder = self.path("venv")
        packages = os.path.join(environment_folder, "lib", "python3.12", "site-packages", "bfcl_eval")
        data = self.questions(os.path.join(packages, "data"), 1)
        for arguments, env in ((["--bfcl", environment_folder], {}), (["--bfcl", "auto"], {"VIRTUAL_ENV": environment_folder}),
                               ([], {"VIRTUAL_ENV": environment_folder})):
            results, _, _, _, _ = self.run_bench(right_reply, "--accuracy-only", *arguments, env=env)
            self.assertEqual(results["setup"]["bfcl"]["path"], data)
        done = colugo("bench", "agentic", "--accuracy-only", "--bfcl", self.folder, "--url", "http://127.0.0.1:9")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not a folder of BFCL's data", done.stderr.decode())

    def test_ctrl_c_leaves_what_there_is(self):
        data = self.questions(self.path("data"), 1)
        out = self.path("stopped")
        with FakeServer(lambda number, body: [30] if number == 2 else right_reply(number, body)) as server:
            process = subprocess.Popen([COLUGO, "bench", "agentic", "--url", server.url, "--accuracy-only", "--bfcl", data, "--out", out],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
            self.assertTrue(until(lambda: len(server.requests) == 3))
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assertIn("INVALID: interrupted", output.decode())
        with open(os.path.join(out, "results.json"), encoding="utf-8") as file:
            bfcl = json.load(file)["bfcl"]
        self.assertEqual((bfcl["right"], bfcl["answered"], bfcl["asked"], bfcl["questions"]), (2, 2, 2, 12))
        self.assertEqual(bfcl["overall"], 100.0)
        self.assertRegex(output.decode(), r"not asked +10\n")
        with open(os.path.join(out, "bfcl.jsonl"), encoding="utf-8") as file:
            self.assertEqual([json.loads(line)["score"] for line in file], [1, 1] + 10 * [None])
        with open(os.path.join(out, "report.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("2 of 12 questions were asked, 2 have a reply; it was interrupted.", page)
        self.assertRegex(page, r"simple_python +100\.00 +1 +1 +1 +1\n")
        self.assertRegex(page, r"\nmultiple +0 +0 +0 +1\n")


if __name__ == "__main__":
    main()
