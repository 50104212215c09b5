#!/usr/bin/env python3
"""What the client of MLPerf Inference's Edge Agentic workload (mlcommons/endpoints) sends, and what it makes of the
answers, played against colugo serve: mlperf_harness_test.py COLUGO FIXTURES_DIR [unittest arguments].

That client keeps one connection, over which it writes HTTP/1.1 itself. A request has the recorded history; fields that
have nothing to say are left out, thoughts among them, and reasoning is turned off at the server. Of an answer's bytes it
takes each line `data: {...}`, all it can read of them in one go, and gives up what comes behind one that it cannot."""
import json
import os
import re
import select
import socket
import sys
import unittest

from program import COLUGO, ProgramCase, main
from serving import Server, joined

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SHARED = os.environ.get("COLUGO_SHARED", os.path.join(ROOT, "..", "shared"))
RECORDED = os.path.join(SHARED, "workload", "agentic_coding_16.jsonl")
SAMPLE = os.path.join(ROOT, "workloads", "sample.jsonl")
IDLE_SECONDS = 4.0  # that client closes a connection that was idle for longer
HEADER_TOKENS = 8   # at most: what a template writes before a reply, which a history need not have
CALL = "<tool_call>\n<function=bash>\n<parameter=command>\n%s\n</parameter>\n</function>\n</tool_call>"

sys.path.append(os.path.join(ROOT, "tools"))
from agentic_reference import iou, programs_of_calls


class Connection:
    """HTTP/1.1 over one socket, which is never made anew."""

    def __init__(self, port):
        self._port, self._buffer = port, b""
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def _read(self, is_there):
        while not is_there():
            data = self._socket.recv(1 << 16)
            if not data:
                raise AssertionError("the server closed the connection within an answer")
            self._buffer += data

    def _line(self):
        self._read(lambda: b"\r\n" in self._buffer)
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line.decode("ascii")

    def _bytes(self, size):
        self._read(lambda: len(self._buffer) >= size)
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def _chunks(self):
        while size := int(self._line(), 16):
            yield self._bytes(size + 2).removesuffix(b"\r\n")
        if self._line():
            raise AssertionError("there is more behind the last chunk")

    def chat(self, body):
        """The status and the text of an answer."""
        data = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
        accept = "text/event-stream" if body["stream"] else "application/json"
        self._socket.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nContent-Type: application/json\r\n"
                             f"Accept: {accept}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
        status, headers = self._line().split(" ")[:2], {}
        while line := self._line():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if status[0] != "HTTP/1.1" or "close" in headers.get("connection", "").lower():
            raise AssertionError(f"the connection is not kept: {status} {headers}")
        chunked = headers.get("transfer-encoding") == "chunked"
        text = b"".join(self._chunks()) if chunked else self._bytes(int(headers["content-length"]))
        return int(status[1]), text.decode()

    def is_idle(self, seconds):
        """Whether nothing comes for so long, neither bytes nor the connection's end."""
        return not self._buffer and not select.select([self._socket], [], [], seconds)[0]


class Conversation:
    """Rows of a workload as that client reads them. turns: of each, the messages, the recorded reply, and seconds."""

    def __init__(self, rows):
        self.rows, self.id, self.tools, self.turns = rows, rows[0]["conversation_id"], rows[0]["tools"], []
        history = [{"role": "system", "content": rows[0]["system"]}]
        for row, reply in zip(rows, rows[1:] + [None]):
            if row["role"] == "tool":
                history += [{"role": "tool", **result} for result in row["tool_results"]]
            else:
                history.append({key: row[key] for key in ("role", "content", "tool_calls", "reasoning_content") if key in row})
            if row["role"] != "assistant":
                self.turns.append((list(history), reply, row.get("delay_seconds", 0.0)))

    def cut(self, turns):
        return Conversation(self.rows[:2 * turns])


def conversations(path):
    rows = {}
    with open(path, encoding="utf-8") as file:
        for row in map(json.loads, file):
            rows.setdefault(row["conversation_id"], []).append(row)
    return [Conversation(group) for group in rows.values()]


def plain(message):
    """A message as that client writes it."""
    return {key: value for key, value in message.items() if key != "reasoning_content" and value is not None}


def whole(message):
    """A message with all that was recorded, and what was not said."""
    return {"content": None, **message}


def empty(message):
    return {"content": "", **message}


class HarnessTest(ProgramCase):
    def body(self, conversation, messages, form, **fields):
        return {"model": "nano", "messages": list(map(form, messages)), "temperature": 0, "max_completion_tokens": 1024,
                "stream": True, "tools": conversation.tools, "seed": 42, **fields}

    def read_stream(self, text, usage):
        """The message, why it ended, and the usage, of a stream in which that client has to find all of it."""
        self.assertTrue(text.endswith("\n\ndata: [DONE]\n\n"), text[-200:])
        blocks = [block for block in text.removesuffix("\n\ndata: [DONE]\n\n").split("\n\n") if not block.startswith(":")]
        events = [json.loads(re.fullmatch(r"data: (\{[^\n]+\})", block)[1]) for block in blocks]
        told = events.pop() if usage else None
        first = None
        for i, event in enumerate(events):
            self.assertEqual(len(event["choices"]), 1, event)  # one without is unreadable to earlier versions of that client
            choice = event["choices"][0]
            delta = choice["delta"]
            for key in ("role", "content", "reasoning_content"):
                self.assertIsInstance(delta.get(key, ""), (str, type(None)), event)
            for call in delta.get("tool_calls") or []:
                self.assertIsInstance(call.get("index"), int, event)
                self.assertIsInstance(call["function"].get("arguments", ""), str, event)
            self.assertEqual(choice["finish_reason"] is not None, i == len(events) - 1, event)
            if first is None and (delta.get("content") or delta.get("tool_calls")):
                first = i  # what it takes for the first token
        message, (reason,) = joined(events)
        self.assertNotIn("reasoning_content", message)
        self.assertIn(reason, ("stop", "length", "tool_calls"))
        self.assertEqual(first is None, not message["content"] and "tool_calls" not in message)
        for call in message.get("tool_calls", []):
            self.assertEqual(call.pop("id")[:5], "call_")  # no two replies have the same
        if usage:
            self.assertEqual(told["choices"], [])
        return message, reason, told and told["usage"]

    def play(self, connection, conversation, form=plain, waits=False, **fields):
        """The replies to a conversation's turns."""
        replies = []
        for i, (messages, _, seconds) in enumerate(conversation.turns):
            if waits:
                gap = IDLE_SECONDS if i == len(conversation.turns) // 2 else seconds
                self.assertTrue(connection.is_idle(gap), f"turn {i} of {conversation.id}")
            status, text = connection.chat(self.body(conversation, messages, form, **fields))
            self.assertEqual(status, 200, text)
            replies.append(self.read_stream(text, "stream_options" in fields))
        self.assertTrue(connection.is_idle(0))
        return replies

    def check_cached(self, server, conversation, replies, earlier, **fields):
        """All of a prompt that an earlier one begins with is cached, but the header of a reply; `earlier` grows."""
        for (messages, _, _), (_, _, usage) in zip(conversation.turns, replies):
            tokens = server.post("/apply-template", self.body(conversation, messages, whole, **fields))[1]["tokens"]
            self.assertEqual(len(tokens), usage["prompt_tokens"])
            cached = usage["prompt_tokens_details"]["cached_tokens"]
            common = max((len(os.path.commonprefix([tokens, other])) for other in earlier), default=0)
            self.assertGreaterEqual(cached, common - HEADER_TOKENS)
            self.assertLess(cached, len(tokens))
            earlier.append(tokens)

    def check_bench(self, server, played):
        """`played`: conversations and their replies; the bench, which reads lists that are texts too, says the same of them."""
        rows = [{**row, "tool_results": repr(row["tool_results"])} if row["role"] == "tool" else row
                for conversation, _ in played for row in conversation.rows]
        data = self.path("data.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        out = self.path(f"out-{len(os.listdir(self.folder))}")
        self.succeed("bench", "agentic", "--url", f"http://127.0.0.1:{server.port}", "--data", data, "--mlperf", "--out", out)
        files = {}
        for name in ("results.json", "scores.json", "turns.jsonl"):
            with open(os.path.join(out, name), encoding="utf-8") as file:
                files[name] = [json.loads(line) for line in file] if name == "turns.jsonl" else json.load(file)
        results, scores, turns = files["results.json"], files["scores.json"], iter(files["turns.jsonl"])
        own = []
        for conversation, replies in played:
            for (_, recorded, _), (message, reason, usage) in zip(conversation.turns, replies):
                turn = next(turns)
                self.assertEqual((turn["conversation"], turn["turn"]), (conversation.id, recorded["turn"]))
                self.assertEqual((turn["content"] or "", turn["finish_reason"]), (message["content"] or "", reason))
                self.assertEqual([call["function"] for call in turn["tool_calls"]],
                                 [call["function"] for call in message.get("tool_calls", [])])
                if usage:
                    self.assertEqual((turn["prompt_tokens"], turn["output_tokens"]), (usage["prompt_tokens"], usage["completion_tokens"]))
                expected, got = programs_of_calls(recorded.get("tool_calls")), programs_of_calls(message.get("tool_calls"))
                score = iou(expected, got)
                self.assertEqual((turn["expected"], turn["got"]), (expected, got))
                self.assertEqual(turn["iou"] is None, score is None)
                if score is not None:
                    self.assertAlmostEqual(turn["iou"], score, 12)
                    own.append(score)
        self.assertIsNone(next(turns, None))
        self.assertTrue(results["valid"])
        self.assertEqual((results["iou"], results["iou_turns"]), (round(sum(own) / len(own), 4), len(own)))
        self.assertEqual((scores["score"], scores["turns"]["missing"]), (results["iou"], 0))
        return results["iou"]

    def test_conversations_on_nano(self):
        chosen = [one for one in conversations(SAMPLE) if any(len(row.get("tool_results", [])) > 1 for row in one.rows)][:2]
        told = {"stream_options": {"include_usage": True}, "chat_template_kwargs": {"enable_thinking": False}}
        with Server(COLUGO, "--reasoning", "off", "-np", 1) as server, Connection(server.port) as connection:
            earlier, played = [], []
            for i, conversation in enumerate(chosen):
                replies = self.play(connection, conversation, whole, waits=i == 0, **told)
                self.check_cached(server, conversation, replies, earlier, **told)
                played.append((conversation, replies))
            for conversation, replies in played:
                said = [reply[:2] for reply in replies]
                for form in (plain, empty):  # the sample has no thoughts, so these are the same prompts
                    self.assertEqual([reply[:2] for reply in self.play(connection, conversation, form)], said)
                again = self.play(connection, conversation, whole, **told)
                self.assertEqual([reply[:2] for reply in again], said)
                for _, _, usage in again:
                    self.assertGreaterEqual(usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"] - HEADER_TOKENS)
                for (messages, _, _), (message, reason) in zip(conversation.turns, said):
                    status, text = connection.chat(self.body(conversation, messages, plain, stream=False))
                    self.assertEqual(status, 200, text)
                    choice = json.loads(text)["choices"][0]
                    for call in choice["message"].get("tool_calls", []):
                        del call["id"]
                    self.assertEqual((choice["message"], choice["finish_reason"]), (message, reason))
            self.check_bench(server, played)

    def play_replies(self, chosen):
        """The bench's IoU where replies are those recorded for other turns."""
        recorded = [reply for conversation in chosen for _, reply, _ in conversation.turns]
        lines = []
        for reply in recorded[1:] + recorded[:1]:
            commands = [json.loads(call["function"]["arguments"]).get("command", "") for call in reply.get("tool_calls", [])]
            lines.append(json.dumps({"text": reply.get("content") or "\n".join(CALL % command for command in commands)}))
        script = self.path("script.jsonl", "\n".join(lines) + "\n")
        with Server(COLUGO, "--model", "scripted:" + script) as server, Connection(server.port) as connection:
            return self.check_bench(server, [(one, self.play(connection, one)) for one in chosen])

    def test_replies_that_agree_in_part(self):
        self.assertTrue(0.05 < self.play_replies(conversations(SAMPLE)) < 0.95)

    @unittest.skipUnless(os.path.exists(RECORDED), f"there is no {RECORDED}")
    def test_recorded_conversations(self):
        chosen = sorted(conversations(RECORDED), key=lambda one: len(one.rows))
        self.assertTrue(0.05 < self.play_replies(chosen[:2]) < 0.95)
        told = {"stream_options": {"include_usage": True}}
        first = chosen[0].cut(4)
        with Server(COLUGO, "--reasoning", "off", "-np", 1) as server, Connection(server.port) as connection:
            replies = self.play(connection, first, whole, **told)
            self.check_cached(server, first, replies, [], **told)
            self.check_bench(server, [(first, replies)])
            self.play(connection, first)  # as that client writes it, without the thoughts


if __name__ == "__main__":
    main()
