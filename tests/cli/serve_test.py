#!/usr/bin/env python3
"""colugo serve over HTTP, with scripted replies: serve_test.py COLUGO FIXTURES_DIR [unittest arguments]."""
import http.client
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

from program import COLUGO, ProgramCase, colugo, environment, main
from serving import Server, joined, until

TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "get_ip", "parameters": {"type": "object", "properties": {}}}},
]
CALL = "<tool_call>\n<function=get_weather>\n<parameter=city>\n%s\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>"


class ServeTest(ProgramCase):
    def serve(self, *replies, arguments=(), env=None):
        """A server whose replies are these: texts, or lines of a script."""
        lines = [reply if isinstance(reply, dict) else {"text": reply} for reply in replies]
        script = self.path("script.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        return Server(COLUGO, "--model", "scripted:" + script, *(arguments if "--reasoning" in arguments else ("--reasoning", "off", *arguments)), env=env)

    def test_a_reply_whole_and_as_a_stream(self):
        texts = ["Hello, caf\u00e9 \u4eca\u65e5 \U0001F600!", "<think>\nhm\n</think>\n\nYes.", CALL % "Rome",
                 "I look.\n\n" + CALL % "Rome" + "\n" + CALL % "Oslo", "a\n\nb", ""]
        for text in texts:
            with self.serve({"text": text, "chunk": 2}) as server:
                whole = server.chat("Hi", tools=TOOLS)
                events = server.stream_chat("Hi", tools=TOOLS)
                self.assertEqual(events[-1], "[DONE]")
                self.assertEqual(events[0]["choices"][0]["delta"]["role"], "assistant")
                message, reasons = joined(events)
                choice = whole["choices"][0]
                for one in (message, choice["message"]):
                    for call in one.get("tool_calls", []):
                        self.assertTrue(call.pop("id").startswith("call_"))
                self.assertEqual(message, choice["message"])
                self.assertEqual(reasons, [choice["finish_reason"]])
                self.assertEqual(choice["finish_reason"], "tool_calls" if CALL[:10] in text else "stop")
                self.assertEqual(whole["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
                self.assertEqual(len({event["id"] for event in events[:-1]}), 1)

    def test_a_format_beside_tools_leaves_thought_json_and_calls_apart(self):
        value = '{"a": "as\\n<function=get_ip>"}'
        form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"properties": {"a": {"type": "string"}}, "required": ["a"]}}}
        thought = "I {\"a\": 1} look.\n</think>\n\n"
        for text, reason in (("\n\n" + value, "stop"), (CALL % "Rome", "tool_calls")):
            with self.serve({"text": thought + text, "chunk": 3}) as server:
                for fields in ({"response_format": form}, {"response_format": {"type": "json_object"}},
                               {"response_format": form, "tool_choice": "required"}):
                    fields = {**fields, "tools": TOOLS, "chat_template_kwargs": {"enable_thinking": True}}
                    choice = server.chat("Hi", **fields)["choices"][0]
                    message, reasons = joined(server.stream_chat("Hi", **fields))
                    self.assertEqual((choice["finish_reason"], reasons), (reason, [reason]))
                    for one in (message, choice["message"]):
                        self.assertEqual(one["reasoning_content"], 'I {"a": 1} look.')
                        names = [call["function"]["name"] for call in one.get("tool_calls", [])]
                        self.assertEqual(names, [] if reason == "stop" else ["get_weather"])
                        self.assertEqual((one["content"] or "").strip(), value if reason == "stop" else "")

    def test_calls_have_typed_arguments_and_ids_of_their_own(self):
        with self.serve(CALL % "Rome" + "\n" + CALL % "Oslo") as server:
            calls = server.chat("Weather?", tools=TOOLS)["choices"][0]["message"]["tool_calls"]
            self.assertEqual([json.loads(call["function"]["arguments"]) for call in calls],
                             [{"city": "Rome", "days": 3}, {"city": "Oslo", "days": 3}])
            self.assertEqual(len({call["id"] for call in calls}), 2)
            one = server.chat("Weather?", tools=TOOLS, parallel_tool_calls=False)["choices"][0]
            self.assertEqual(len(one["message"]["tool_calls"]), 1)
            self.assertEqual(one["finish_reason"], "tool_calls")

    def test_usage_in_a_stream_only_where_it_is_asked_for(self):
        with self.serve("Hello there") as server:
            for options, count in (({}, 0), ({"stream_options": {"include_usage": False}}, 0),
                                   ({"stream_options": {"include_usage": True}}, 1)):
                events = server.stream_chat("Hi", stop=["there"], **options)
                with_usage = [event for event in events[:-1] if event.get("usage")]
                self.assertEqual(len(with_usage), count)
                if count:
                    self.assertEqual(events[-2]["choices"], [])
                    self.assertGreater(events[-2]["usage"]["prompt_tokens"], 0)

    def test_stop_strings_are_never_sent(self):
        with self.serve("The quick brown fox jumps") as server:
            for path, field in (("/v1/chat/completions", "messages"), ("/v1/completions", "prompt")):
                prompt = [{"role": "user", "content": "x"}] if field == "messages" else "x"
                body = {field: prompt, "stop": "own fox"}
                status, whole = server.post(path, body)
                self.assertEqual(status, 200, whole)
                choice = whole["choices"][0]
                self.assertEqual(choice["message"]["content"] if field == "messages" else choice["text"], "The quick br")
                self.assertEqual(choice["finish_reason"], "stop")
                text = ""
                for event in server.events(path, body)[:-1]:
                    choice = event["choices"][0]
                    text += choice["delta"].get("content", "") if field == "messages" else choice["text"]
                    self.assertTrue("The quick br".startswith(text))
                self.assertEqual(text, "The quick br")

    def test_limits_cut_with_the_reason_length(self):
        with self.serve(CALL % "Rome") as server:
            for tokens, parallel in itertools.product((1, 5, 12, 20), (True, False)):
                fields = {"tools": TOOLS, "parallel_tool_calls": parallel}
                whole = server.chat("x", max_tokens=tokens, **fields)["choices"][0]
                message, reasons = joined(server.stream_chat("x", max_completion_tokens=tokens, **fields))
                self.assertEqual((whole["finish_reason"], reasons), ("length", ["length"]))
                self.assertFalse(whole["message"]["content"])
                for one in (message, whole["message"]):
                    for call in one.get("tool_calls", []):
                        call.pop("id")
                        json.loads(call["function"]["arguments"])
                self.assertEqual(message, whole["message"])
        with self.serve("plain text", arguments=("--reasoning", "auto")) as server:
            self.assertEqual(server.chat("x")["choices"][0]["message"]["content"], "plain text")
        with self.serve("thinking on and on") as server:
            message = server.chat("x", max_tokens=2, chat_template_kwargs={"enable_thinking": True})["choices"][0]["message"]
            self.assertEqual(message["content"], "")
            self.assertTrue(message["reasoning_content"])

    def test_what_is_there_and_what_is_not(self):
        with self.serve("x") as server:
            self.assertEqual(server.get("/health"), (200, {"status": "ok"}))
            self.assertEqual(server.get("/health/ready")[0], 200)
            status, models = server.get("/v1/models")
            self.assertEqual(status, 200)
            self.assertGreater(models["data"][0]["context_length"], 1000)
            self.assertEqual(models["data"][0]["context_length"], models["data"][0]["max_model_len"])
            status, headers, page = server.request("GET", "/")
            self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
            self.assertFalse(re.search(rb"(src|href)=.https?:", page))
            name = models["data"][0]["id"]
            self.assertEqual(server.get("/v1/models/" + name), (200, models["data"][0]))
            status, body = server.get("/v1/models/an%20other")
            self.assertEqual((status, body["error"]["code"], body["error"]["param"]), (404, "model_not_found", "model"))
            self.assertIn(r"no model a\x00b here; there is", server.get("/v1/models/a%00b")[1]["error"]["message"])
            self.assertIn(f"no model an other here; there is {name}", body["error"]["message"])
            for path in ("/nothing", "/v1/models/", "/chat/completions", "/v1/responses"):
                status, body = server.get(path)
                self.assertEqual((status, body["error"]["code"]), (404, "not_found"))
                self.assertIn("/v1/chat/completions", body["error"]["message"])
            status, headers, text = server.request("POST", "/v1/chat/completions", b"\x1f\x8b", {"Content-Encoding": "gzip"})
            self.assertEqual((status, headers["Accept-Encoding"]), (415, "identity"))
            self.assertIn("Content-Encoding", json.loads(text)["error"]["message"])
            self.assertEqual(server.request("POST", "/tokenize", {"content": "x"}, {"Content-Encoding": "Identity"})[0], 200)
            status, headers, _ = server.request("GET", "/v1/chat/completions")
            self.assertEqual((status, headers["Allow"]), (405, "POST"))
            ids = server.post("/tokenize", {"content": "Hello <think>"})[1]["tokens"]
            self.assertEqual(server.post("/detokenize", {"tokens": ids})[1]["content"], "Hello <think>")
            status, rendered = server.post("/apply-template", {"messages": [{"role": "user", "content": "Hi"}]})
            self.assertIn("Hi", rendered["prompt"])
            self.assertEqual(rendered["count"], len(rendered["tokens"]))
            self.assertGreaterEqual(server.metric("colugo:e2e_request_latency_seconds_count"), 0)

    def test_a_name_with_a_slash_has_a_model_too(self):
        with self.serve("x", arguments=("--alias", "maker/a model")) as server:
            for path in ("maker/a%20model", "maker%2Fa%20model"):
                self.assertEqual(server.get("/v1/models/" + path)[1]["id"], "maker/a model")

    def test_figures_are_rounded(self):
        with self.serve({"text": "one two three", "step_ms": 3}) as server:
            for value in server.chat("x")["timings"].values():
                self.assertEqual(value, round(value, 3))
            for value in re.findall(r"^colugo:\S+ (\S+)$", server.request("GET", "/metrics")[2].decode(), re.M):
                self.assertEqual(float(value), round(float(value), 6))

    def test_each_request_that_fails_has_a_line_in_the_log(self):
        with self.serve("x", arguments=("--max-body-mib", 1)) as server:
            server.get("/nothing")
            server.request("GET", "/v1/chat/completions")
            server.post("/v1/chat/completions", {"messages": [{"role": "wiz\x1b[31m\nard" + "x" * 5000, "content": "x"}]})
            server.request("POST", "/" + "y" * 5000, {})
            big = server.socket()
            big.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n")
            self.assertIn(b" 413 ", big.recv(4096))
            half = server.socket()
            half.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            time.sleep(0.2)
            half.close()
            expected = (r"404 GET /nothing: there is no /nothing here.*", r"405 GET /v1/chat/completions: .*is for POST.*",
                        r"400 POST /v1/chat/completions: .*messages.*", r"404 POST /y{199}\.\.\.: .*",
                        r"413 POST /v1/completions: the body has more than 1048576 bytes.*",
                        r"499 POST /v1/completions: the client left before its request had come")
            timed = lambda: [line for line in server.log if re.match(r"\d\d:\d\d:\d\d ", line)]
            self.assertTrue(until(lambda: len(timed()) >= len(expected)))
            for line, pattern in zip(timed(), expected, strict=True):
                self.assertRegex(line[9:], f"^{pattern}$")
                self.assertLess(len(line), 700)
                self.assertTrue(line.isprintable())

    def test_the_journal_has_the_time_itself(self):
        script = self.path("script.jsonl", json.dumps({"text": "x"}))
        with open(self.path("log"), "w+b") as log:
            place = os.fstat(log.fileno())
            process = subprocess.Popen([COLUGO, "serve", "--port", "0", "--model", "scripted:" + script], stderr=log,
                                       env=environment({"JOURNAL_STREAM": f"{place.st_dev}:{place.st_ino}"}))

            def text():
                with open(self.path("log"), encoding="utf-8") as file:
                    return file.read()

            self.assertTrue(until(lambda: "for others" in text()))
            port = int(re.search(r"^serving .*:(\d+)/v1$", text(), re.M)[1])
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/nothing")
            connection.getresponse().read()
            connection.close()
            process.terminate()
            self.assertEqual(process.wait(60), 0)
            self.assertRegex(text(), r"(?m)^404 GET /nothing: ")

    def test_bodies_that_are_none(self):
        with self.serve("x") as server:
            for body in ("", "{", "[]", "null", '"x"', "{" * 100000, "[" * 100000, '{"messages": []}', '{"messages": 5}',
                         '{"messages": [{"role": "wizard", "content": "x"}]}', b"\xff\xfe", '{"n": 3, "messages": [{}]}'):
                status, _, text = server.request("POST", "/v1/chat/completions", body)
                self.assertEqual(status, 400, (body[:40], text))
                self.assertEqual(json.loads(text)["error"]["type"], "invalid_request_error")
            self.assertEqual(server.chat("still there")["choices"][0]["message"]["content"], "x")

    def test_a_prompt_too_long_is_an_error_that_agents_know(self):
        with self.serve("x") as server:
            status, body = server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "word " * 60000}]})
            self.assertEqual((status, body["error"]["code"]), (400, "context_length_exceeded"))
            self.assertTrue(re.search(r"\d{5}.*\d{5}", body["error"]["message"]), body)

    def test_keys(self):
        key = self.path("key", "secret\n")
        with self.serve("x", arguments=("--api-key-file", key)) as server:
            self.assertEqual(server.get("/health")[0], 200)
            for headers in ({}, {"Authorization": "Bearer secre"}, {"Authorization": "Bearer secretsecret"},
                            {"Authorization": "secret"}, {"X-Api-Key": ""}):
                status, body = server.get("/v1/models", headers)
                self.assertEqual((status, body["error"]["code"]), (401, "invalid_api_key"))
                self.assertIn("Authorization: Bearer KEY", body["error"]["message"])
                self.assertIn("X-Api-Key: KEY", body["error"]["message"])
            self.assertEqual(server.get("/v1/models", {"Authorization": "Bearer secret"})[0], 200)
            self.assertEqual(server.get("/v1/models", {"X-Api-Key": "secret"})[0], 200)

    def test_a_key_comes_through_a_pipe(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        writer = threading.Thread(target=lambda: self.path("pipe", "secret\n"))
        writer.start()
        with self.serve("x", arguments=("--host", "0.0.0.0", "--api-key-file", pipe)) as server:
            writer.join()
            self.assertEqual(server.get("/v1/models")[0], 401)
            self.assertEqual(server.get("/v1/models", {"Authorization": "Bearer secret"})[0], 200)

    def test_browsers(self):
        origin = {"Origin": "http://page"}
        with self.serve("x", arguments=("--cors-origin", "http://page", "--api-key", "secret")) as server:
            status, headers, _ = server.request("OPTIONS", "/v1/chat/completions", headers=origin)
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (204, "http://page"))
            status, headers, _ = server.request("GET", "/v1/models", headers=origin)
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (401, "http://page"))
            status, headers, _ = server.request("POST", "/v1/chat/completions",
                                                {"stream": True, "messages": [{"role": "user", "content": "x"}]},
                                                {**origin, "Authorization": "Bearer secret"})
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (200, "http://page"))
            headers = server.request("GET", "/health", headers={"Origin": "http://elsewhere"})[1]
            self.assertNotIn("Access-Control-Allow-Origin", headers)

    def test_other_machines_need_a_key(self):
        done = colugo("serve", "--model", "nano", "--host", "0.0.0.0", "--port", 0)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--insecure", done.stderr.decode())
        done = colugo("serve", "--model", "nano", "--host", "nobody.invalid", "--port", 0)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot listen at nobody.invalid", done.stderr.decode())

    def test_a_client_that_is_gone_frees_its_place(self):
        slow = {"text": "one two three four five six seven eight nine ten", "delay_ms": 200, "step_ms": 60000}
        with self.serve(slow) as server:
            for stream in (False, True):
                client = server.socket()
                body = json.dumps({"messages": [{"role": "user", "content": "x"}], "stream": stream})
                client.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
                self.assertTrue(until(lambda: server.metric("colugo:num_requests_running") == 1))
                client.close()
                self.assertTrue(until(lambda: server.metric("colugo:num_requests_running") == 0, 10))
            left = [line for line in server.log if "499 POST /v1/chat/completions: the client left after" in line]
            self.assertEqual(len(left), 2, server.log)
            self.assertRegex(left[0], r"chatcmpl-\w+, \d+ of \d+ prompt tokens read, [01] new$")

    def test_connections_that_stay(self):
        with self.serve("x") as server:
            connection = server.connect()
            for _ in range(300):
                status, _, _ = server.request("GET", "/health", connection=connection)
                self.assertEqual(status, 200)
                self.assertEqual(server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]},
                                             connection=connection)[0], 200)

    def test_clients_that_do_nothing_or_too_much(self):
        with self.serve("x", arguments=("--max-body-mib", 1)) as server:
            idle = [server.socket() for _ in range(64)]
            half = server.socket()
            half.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Le")
            begin = time.monotonic()
            self.assertEqual(server.get("/health")[0], 200)
            self.assertLess(time.monotonic() - begin, 5)
            for head in (b"Content-Length: 1073741824", b"Content-Length: 1048577"):
                big = server.socket()
                big.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n\r\nabc")
                answer = big.recv(4096)
                self.assertIn(b" 413 ", answer)
                self.assertIn(b"Connection: close", answer)
            chunked = server.socket()
            chunked.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            try:
                for _ in range(40):
                    chunked.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
            except OSError:
                pass
            self.assertIn(b" 413 ", chunked.recv(4096))
            long_head = server.socket()
            long_head.sendall(b"GET /health HTTP/1.1\r\nX: " + b"x" * 100000 + b"\r\n\r\n")
            self.assertIn(b" 431 ", long_head.recv(4096))
            nonsense = server.socket()
            nonsense.sendall(b"\x16\x03\x01 hello\r\n\r\n")
            self.assertIn(b" 400 ", nonsense.recv(4096))
            for one in idle:
                one.close()
            self.assertEqual(server.get("/health")[0], 200)

    def test_a_reader_that_stalls_holds_up_nobody(self):
        with self.serve({"text": "word " * 20000, "chunk": 1000}) as server:
            stalled = server.socket()
            stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            body = json.dumps({"messages": [{"role": "user", "content": "x"}], "stream": True, "max_tokens": 30000})
            stalled.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            for _ in range(3):
                self.assertEqual(server.chat("x", max_tokens=5)["choices"][0]["finish_reason"], "length")
            stalled.close()
            self.assertTrue(until(lambda: server.metric("colugo:num_requests_running") == 0))

    def test_a_stream_that_waits_says_so(self):
        with self.serve({"text": "late", "delay_ms": 3600}, arguments=("--sse-ping-interval", 1)) as server:
            events = server.stream_chat("x")
            empty = [event for event in events[1:-1] if event["choices"][0]["delta"] == {} and not event["choices"][0]["finish_reason"]]
            self.assertGreaterEqual(len(empty), 3)
            self.assertEqual(joined(events)[0]["content"], "late")

    def test_the_end_lets_replies_finish(self):
        with self.serve({"text": "one two three four five", "step_ms": 300}) as server:
            answers = []
            client = threading.Thread(target=lambda: answers.append(server.stream_chat("x")))
            client.start()
            self.assertTrue(until(lambda: server.metric("colugo:num_requests_running") == 1))
            idle = server.connect()
            self.assertEqual(server.request("GET", "/health", connection=idle)[0], 200)
            server.send_signal(signal.SIGTERM)
            client.join(30)
            self.assertEqual(joined(answers[0])[1], ["stop"])
            self.assertEqual(server.wait(), 0)
            self.assertIn("replies that are being written", "\n".join(server.log))
        with self.serve("x") as server:
            self.assertEqual(server.end(), 0)
            self.assertTrue(until(lambda: server.log[-1] == "ending"), server.log)

    def test_the_end_waits_for_no_request_that_has_half_come(self):
        for half in (b"POST /v1/chat/comp", b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{"):
            with self.subTest(half=half), self.serve("x", arguments=("--grace", 600)) as server:
                with server.socket() as client:
                    client.sendall(half)
                    time.sleep(0.2)  # it is read
                    self.assertEqual(server.end(), 0)
                    self.assertEqual(client.recv(100), b"")
                    self.assertIn("the server ended before the request had come", "\n".join(server.log))

    def test_an_end_that_is_meant_ends_streams_with_an_error(self):
        for first, second in itertools.product((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), repeat=2):
            with self.subTest(first=first, second=second), self.serve({"text": "one two three four five", "step_ms": 60000}) as server:
                answers = []
                client = threading.Thread(target=lambda: answers.append(server.stream_chat("x")))
                client.start()
                self.assertTrue(until(lambda: server.metric("colugo:num_requests_running") == 1))
                server.send_signal(first)
                time.sleep(0.2)
                server.send_signal(second)
                client.join(30)
                self.assertEqual(answers[0][-1], "[DONE]")
                self.assertEqual(answers[0][-2]["error"]["code"], "server_shutting_down")
                self.assertEqual(server.wait(), 0)

    def test_a_hangup_ends_no_server_that_nohup_started(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        with self.serve("x") as server:
            server.send_signal(signal.SIGHUP)
            time.sleep(0.3)  # several looks of the server at what came
            self.assertEqual(server.chat("still there")["choices"][0]["message"]["content"], "x")
            self.assertEqual(server.end(), 0)

    def test_the_service_manager_is_told(self):
        path = self.path("notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(30)
            with self.serve("x", env={"NOTIFY_SOCKET": path}) as server:
                self.assertEqual(manager.recv(100), b"READY=1")
                self.assertEqual(server.end(), 0)
                self.assertEqual(manager.recv(100), b"STOPPING=1")

    def test_a_port_in_use_shows_before_a_model_is_read(self):
        with self.serve("x") as server:
            done = colugo("serve", "--port", server.port)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"port {server.port}", done.stderr.decode())
            self.assertNotIn("tier", done.stderr.decode())

    def test_scripts_that_are_none(self):
        for line, said in (('{"text": 5}', "text"), ("{", "line 1"), ('{"text": "x", "speed": 5}', "speed"), ("", "no replies")):
            done = colugo("serve", "--model", "scripted:" + self.path("bad.jsonl", line + "\n"))
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr.decode())


if __name__ == "__main__":
    main()
