#!/usr/bin/env python3
"""What users of other servers reported, over HTTP: reported_cases_test.py COLUGO FIXTURES_DIR [unittest arguments].

tests/server/cases.md says which case each test is about.
"""
import json
import signal
import threading

from program import COLUGO, ProgramCase, main
from serving import Server, joined, until

WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}}
ADDRESS = {"type": "function", "function": {"name": "get_ip", "parameters": {"type": "object", "properties": {}}}}
TOOLS = [WEATHER, ADDRESS]
CALL = "<tool_call>\n<function=get_weather>\n<parameter=city>\n%s\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>"
NO_ARGUMENTS = "<tool_call>\n<function=get_ip>\n</function>\n</tool_call>"


def user(text):
    return {"role": "user", "content": text}


def called(name, arguments, **fields):
    return {"role": "assistant", **fields,
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}]}


def result(content):
    return {"role": "tool", "tool_call_id": "call_1", "content": content}


class ScriptedTest(ProgramCase):
    def serve(self, *replies, arguments=("--reasoning", "off")):
        lines = [reply if isinstance(reply, dict) else {"text": reply} for reply in replies]
        script = self.path("script.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        return Server(COLUGO, "--model", "scripted:" + script, *arguments)

    def both(self, server, messages="x", **fields):
        """The message and the finish reason, which are the same whole and as a stream; ids are left out."""
        choice = server.chat(messages, **fields)["choices"][0]
        message, reasons = joined(server.stream_chat(messages, **fields))
        for one in (message, choice["message"]):
            for call in one.get("tool_calls", []):
                call.pop("id")
        self.assertEqual((message, reasons), (choice["message"], [choice["finish_reason"]]))
        return message, choice["finish_reason"]

    # --- Calls ---

    def test_a_call_without_parameters_has_an_empty_object(self):
        with self.serve(NO_ARGUMENTS) as server:
            message, reason = self.both(server, tools=TOOLS)
            self.assertEqual((message["tool_calls"][0]["function"], reason), ({"name": "get_ip", "arguments": "{}"}, "tool_calls"))

    def test_a_call_in_a_thought_is_not_made(self):
        with self.serve(f"<think>\nI could write {CALL % 'Paris'} here\n</think>\n\n{CALL % 'Rome'}") as server:
            message, _ = self.both(server, tools=TOOLS)
            self.assertEqual([json.loads(call["function"]["arguments"])["city"] for call in message["tool_calls"]], ["Rome"])
            self.assertIn("Paris", message["reasoning_content"])

    def test_a_call_that_is_cut_anywhere_is_the_same_whole_and_as_a_stream(self):
        with self.serve("I look.\n\n" + CALL % "Rome" + "\n" + NO_ARGUMENTS) as server:
            reasons = set()
            for tokens in range(1, 60):
                message, reason = self.both(server, tools=TOOLS, max_tokens=tokens)
                self.assertNotIn("<", message["content"] or "")
                for call in message.get("tool_calls", []):
                    json.loads(call["function"]["arguments"])
                reasons.add(reason)
            self.assertEqual(reasons, {"length", "tool_calls"})

    def test_each_call_of_a_stream_begins_with_its_name(self):
        with self.serve("\n".join(CALL % city for city in ("Rome", "Oslo", "Bonn"))) as server:
            begun = []
            for event in server.stream_chat("x", tools=TOOLS)[:-1]:
                for call in event["choices"][0]["delta"].get("tool_calls", []):
                    if call["index"] == len(begun):
                        begun.append((call["id"], call["type"], call["function"]["name"]))
                    self.assertEqual(call["index"], len(begun) - 1)
            self.assertEqual([name for _, _, name in begun], ["get_weather"] * 3)
            self.assertEqual(len({id for id, _, _ in begun}), 3)

    # --- Histories ---

    def test_histories_that_agents_send(self):
        lone = "x \ud83d y"
        system = {"role": "system", "content": "Be brief"}
        histories = {
            "a later system message": [system, user("a"), {"role": "assistant", "content": "b"}, {"role": "system", "content": "LATER"}, user("c")],
            "a developer": [{"role": "developer", "content": "LATER"}, user("c")],
            "call and result alone": [system, called("get_ip", "{}", content=None), result("LATER")],
            "parts": [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in (("system", "a"), ("user", "LATER"))],
            "parts of a tool": [user("a"), called("get_ip", "{}"), result([{"type": "text", "text": "LATER"}])],
            "no parts": [user("LATER"), {"role": "assistant", "content": []}, user("c")],
            "a text to go on with": [user("a"), {"role": "assistant", "content": "LATER"}],
            "a thought and a text to go on with": [user("a"), {"role": "assistant", "content": "<think>\nhm\n</think>\n\nLATER"}],
            "a call at the end": [user("a"), called("LATER", "{}")],
            "broken arguments": [user("a"), called("get_weather", '{"city": "LATER'), result("x"), user("c")],
            "half a pair in a text": [user(lone), user("LATER")],
            "half a pair in a result": [user("a"), called("get_ip", "{}"), result(lone), user("LATER")],
            "half a pair in arguments": [user("a"), called("get_weather", json.dumps({lone: lone})), result("x"), user("LATER")],
            "half a pair in a name": [user("a"), called(lone, "{}"), result("x"), user("LATER")],
            "reasoning": [user("a"), {"role": "assistant", "content": "b", "reasoning": "hm"}, user("LATER")],
            "reasoning_content": [user("a"), {"role": "assistant", "content": "b", "reasoning_content": "hm"}, user("LATER")],
        }
        with self.serve("Fine.") as server:
            for name, messages in histories.items():
                with self.subTest(name):
                    body = json.dumps({"messages": messages, "tools": TOOLS})
                    status, rendered = server.post("/apply-template", body)
                    self.assertEqual(status, 200, rendered)
                    self.assertIn("LATER", rendered["prompt"])
                    for stream in ("true", "false"):
                        status, _, text = server.request("POST", "/v1/chat/completions", body[:-1] + f', "stream": {stream}}}')
                        self.assertEqual(status, 200, text)
            for messages, word in (([user([{"type": "picture"}])], "messages[0].content[0]"), ([{"role": "wizard", "content": "x"}], "wizard")):
                status, body = server.post("/v1/chat/completions", {"messages": messages})
                self.assertEqual(status, 400)
                self.assertIn(word, body["error"]["message"] + str(body["error"].get("param")))

    def test_every_reply_is_valid_input(self):
        replies = ("Hello", "<think>\nhm\n</think>\n\nYes", CALL % "Rome", "I look.\n\n" + CALL % "Rome",
                   CALL % '{"t":"\\ud99c"}', NO_ARGUMENTS)
        with self.serve(*(reply for reply in replies for _ in range(2))) as server:
            for _ in replies:
                message = server.chat("x", tools=TOOLS)["choices"][0]["message"]
                json.dumps(message).encode()
                messages = [user("x"), message]
                messages += [{"role": "tool", "tool_call_id": call["id"], "content": "y"} for call in message.get("tool_calls", [])]
                self.assertTrue(server.chat(messages, tools=TOOLS)["choices"])

    # --- Thinking ---

    def test_thinking_is_turned_off_by_either_field(self):
        with self.serve("said", arguments=("--reasoning", "auto")) as server:
            thought, _ = self.both(server, chat_template_kwargs={"enable_thinking": True})
            self.assertEqual((thought["content"], thought["reasoning_content"]), ("", "said"))
            for fields in ({"chat_template_kwargs": {"enable_thinking": False}}, {"reasoning_effort": "none"}):
                message, _ = self.both(server, **fields)
                self.assertEqual(message["content"], "said", fields)
                self.assertNotIn("reasoning_content", message)
        with self.serve("said", arguments=("--reasoning", "on")) as server:
            self.assertEqual(self.both(server, reasoning_effort="none")[0]["content"], "said")

    def test_a_thought_that_is_cut_stays_one(self):
        with self.serve("thinking on and on and on, and then <tool_call> some more of it") as server:
            for tokens in range(1, 12):
                message, reason = self.both(server, max_tokens=tokens, tools=TOOLS, chat_template_kwargs={"enable_thinking": True})
                self.assertEqual((message["content"], reason), ("", "length"))
                self.assertTrue(message["reasoning_content"])

    # --- Endings ---

    def test_stop_strings_among_thoughts_and_calls(self):
        with self.serve(f"<think>\nhm\n\nUse\n</think>\n\nHello\n\nUsers.\n\nUser: more {CALL % 'Rome'}") as server:
            message, reason = self.both(server, tools=TOOLS, stop=["\n\nUser:"])
            self.assertEqual((message["content"], message["reasoning_content"], reason), ("Hello\n\nUsers.", "hm\n\nUse", "stop"))
            self.assertNotIn("tool_calls", message)
        with self.serve(CALL % "Rome" + "\n\nUser: x") as server:
            message, reason = self.both(server, tools=TOOLS, stop=["\n\nUser:"])
            self.assertEqual((json.loads(message["tool_calls"][0]["function"]["arguments"])["city"], reason), ("Rome", "tool_calls"))

    def test_every_stream_has_one_reason_and_usage_where_it_is_asked_for(self):
        endings = {"stop": ("Hello", {}), "a stop string": ("Hello there", {"stop": "there"}), "length": ("Hello there", {"max_tokens": 1}),
                   "a call": (CALL % "Rome", {"tools": TOOLS}), "nothing": ("", {}), "a call that is cut": (CALL % "Rome", {"tools": TOOLS, "max_tokens": 12})}
        for name, (text, fields) in endings.items():
            with self.subTest(name), self.serve(text) as server:
                bodies = [("/v1/chat/completions", {"messages": [user("x")], **fields})]
                if "tools" not in fields:
                    bodies.append(("/v1/completions", {"prompt": "x", **fields}))
                for path, body in bodies:
                    events = server.events(path, {**body, "stream_options": {"include_usage": True}})
                    self.assertEqual(events[-1], "[DONE]")
                    self.assertEqual(len([event for event in events[:-2] if event["choices"][0]["finish_reason"]]), 1)
                    self.assertEqual((events[-2]["choices"], "usage" in events[-2]), ([], True))
                    self.assertIn("cached_tokens", events[-2]["usage"]["prompt_tokens_details"])
                    whole = server.post(path, body)[1]
                    self.assertEqual(whole["usage"], events[-2]["usage"])

    def test_several_replies_to_one_request_are_refused(self):
        with self.serve("x") as server:
            for n in (0, 2, 3, -1, 1.5, "3"):
                for path, body in (("/v1/chat/completions", {"messages": [user("x")]}), ("/v1/completions", {"prompt": "x"})):
                    status, answer = server.post(path, {**body, "n": n})
                    self.assertEqual((status, answer["error"]["param"]), (400, "n"))
            self.assertEqual(len(server.chat("x", n=1)["choices"]), 1)

    # --- The server ---

    def test_health_answers_while_streams_fill_the_server(self):
        with self.serve({"text": "one two three four", "step_ms": 60000}) as server:
            idle = [server.socket() for _ in range(64)]
            streams = [server.socket() for _ in range(16)]
            body = json.dumps({"messages": [user("x")], "stream": True})
            for stream in streams:
                stream.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            self.assertTrue(until(lambda: server.metric("colugo:num_requests_running") == 16))
            for path in ("/health", "/health/ready", "/v1/models", "/"):
                self.assertEqual(server.request("GET", path)[0], 200)
            for one in idle + streams:
                one.close()
            self.assertTrue(until(lambda: server.metric("colugo:num_requests_running") == 0, 10))

    def test_what_comes_when_the_server_ends_is_refused(self):
        with self.serve({"text": "one two three four five", "step_ms": 400}) as server:
            heard = []
            client = threading.Thread(target=lambda: heard.append(server.stream_chat("x")))
            client.start()
            self.assertTrue(until(lambda: server.metric("colugo:num_requests_running") == 1))
            server.send_signal(signal.SIGTERM)
            self.assertTrue(until(lambda: any("ending" in line for line in server.log)))
            with self.assertRaises(OSError):  # nobody listens, or the connection ends
                for _ in range(20):
                    self.assertEqual(server.request("GET", "/health")[0], 503)
                    raise ConnectionError
            client.join(30)
            self.assertEqual(joined(heard[0])[1], ["stop"])
            self.assertEqual(server.wait(), 0)


class NanoTest(ProgramCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(COLUGO, "--reasoning", "off", "--cache-gib", 1, "--temp", 0)
        cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        code = cls.server.end()
        cls.server.__exit__()
        assert code == 0, code

    def cached(self, body):
        return body["usage"]["prompt_tokens_details"]["cached_tokens"]

    def test_a_short_chat_is_warm_in_its_second_turn(self):
        for thinking in (False, True):
            fields = {"chat_template_kwargs": {"enable_thinking": thinking}, "max_tokens": 12}
            messages = [{"role": "system", "content": f"You are brief, {thinking}."}, user("hi")]
            first = self.server.chat(messages, **fields)
            self.assertEqual(self.cached(first), 0)
            messages += [first["choices"][0]["message"], user("and now?")]
            second = self.server.chat(messages, **fields)
            # No more is lost than the reply's header and what the template begins for a reply alone.
            self.assertGreaterEqual(self.cached(second), first["usage"]["prompt_tokens"] - 8)

    def test_a_header_that_changes_with_each_request_costs_nothing(self):
        bodies = [self.server.chat([{"role": "system", "content": [{"type": "text", "text": f"x-anthropic-billing-header: v=1; cch={mark};"},
                                                                   {"type": "text", "text": "You work in a repository. " * 20}]},
                                    user("Look")], max_tokens=1) for mark in ("aaaaa", "bbbbb")]
        # All but what the template begins for this reply alone.
        self.assertGreaterEqual(self.cached(bodies[1]), bodies[1]["usage"]["prompt_tokens"] - 8)

    def test_cached_tokens_are_told_in_every_reply(self):
        for path, body in (("/v1/chat/completions", {"messages": [user("told in every reply")]}), ("/v1/completions", {"prompt": "told in every reply here"})):
            body = {**body, "max_tokens": 2}
            told = [self.cached(self.server.post(path, body)[1])]
            told.append(self.cached(self.server.events(path, {**body, "stream_options": {"include_usage": True}})[-2]))
            self.assertLessEqual(told[0], 3)  # what every conversation begins with
            self.assertGreater(told[1], 3)

    def test_a_cancelled_request_leaves_the_next_one_alone(self):
        chat = [user("Where is `close_orbit` defined?")]
        before = self.server.chat(chat, max_tokens=20)
        text = " ".join(f"left{i * 7919 % 10007}" for i in range(6000))
        body = json.dumps({"messages": [user(text)], "max_tokens": 1})
        computed = self.server.metric("colugo:prompt_tokens_computed_total")
        client = self.server.socket()
        client.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        self.assertTrue(until(lambda: self.server.metric("colugo:prompt_tokens_computed_total") > computed + 500))
        client.close()
        after = self.server.chat(chat, max_tokens=20)
        self.assertEqual(after["choices"], before["choices"])
        self.assertGreater(self.cached(after), 0)

    def test_a_bias_for_what_is_no_token_is_refused(self):
        for token in (10**6, -1):
            status, body = self.server.post("/v1/chat/completions", {"messages": [user("x")], "logit_bias": {str(token): 100}})
            self.assertEqual((status, body["error"]["param"]), (400, "logit_bias"))

    def test_patterns_and_nestings_that_are_none(self):
        def nested(depth):
            return '{"type":"object","properties":{"a":' * depth + "{}" + "}}" * depth

        schemas = [json.dumps({"type": "string", "pattern": pattern})
                   for pattern in ("^+[a-z]$", "^{2}x$", "(?<=x)*", "(" * 10000, "(" * 60000 + ")" * 60000, "[", "a{99999999}", "\\")]
        schemas += [nested(10000), nested(100)]
        for schema in schemas:
            body = '{"messages":[{"role":"user","content":"x"}],"max_tokens":1,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":%s}}}'
            status, _, text = self.server.request("POST", "/v1/chat/completions", body % schema)
            self.assertEqual(status, 400, (schema[:60], text))
            self.assertTrue(json.loads(text)["error"]["message"])
        self.assertEqual(self.server.get("/health")[0], 200)

    def test_it_ends_while_a_prompt_is_read(self):
        with Server(COLUGO, "--grace", 0) as server:
            text = " ".join(f"word{i * 7919 % 10007}" for i in range(8000))
            body = json.dumps({"messages": [user(text)], "stream": True})
            client = server.socket()
            client.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            self.assertTrue(until(lambda: server.metric("colugo:prompt_tokens_computed_total") > 0))
            server.send_signal(signal.SIGTERM)
            heard = b""
            while data := client.recv(4096):
                heard += data
            self.assertIn(b"server_shutting_down", heard)
            self.assertIn(b"data: [DONE]", heard)
            client.close()
            self.assertEqual(server.wait(), 0)


if __name__ == "__main__":
    main()
