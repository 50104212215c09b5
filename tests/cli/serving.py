"""A colugo server for the length of a with block, and a client that knows no more than HTTP."""
import http.client
import json
import re
import signal
import socket
import subprocess
import threading
import time

from program import environment

START_SECONDS = 120


class Server:
    """colugo serve on a free loopback port. log: its lines on standard error so far."""

    def __init__(self, program, *arguments, env=None):
        command = [program, "serve", "--port", "0", *map(str, arguments)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                         env=environment(env))
        self.log, self.port, self._ready = [], None, threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stderr:
            self.log.append(line.decode().rstrip("\n"))
            found = re.search(r"^serving .* at http://\S+:(\d+)/v1$", self.log[-1])
            if found:
                self.port = int(found[1])
                self._ready.set()
        self._ready.set()

    def __enter__(self):
        if not self._ready.wait(START_SECONDS) or self.port is None:
            self._process.kill()
            raise AssertionError("the server did not start:\n" + "\n".join(self.log))
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(30)
        self._reader.join(30)
        self._process.stderr.close()

    @property
    def pid(self):
        return self._process.pid

    def end(self, seconds=60, sign=signal.SIGTERM):
        """Its exit code after a signal."""
        self._process.send_signal(sign)
        return self._process.wait(seconds)

    def send_signal(self, sign):
        self._process.send_signal(sign)

    def wait(self, seconds=60):
        return self._process.wait(seconds)

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def socket(self, timeout=60):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def request(self, method, path, body=None, headers=None, connection=None):
        """Status, headers and body of an answer."""
        own = connection or self.connect()
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        own.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
        answer = own.getresponse()
        text = answer.read()
        if connection is None:
            own.close()
        return answer.status, dict(answer.getheaders()), text

    def post(self, path, body, headers=None, connection=None):
        """Status and parsed body."""
        status, _, text = self.request("POST", path, body, headers, connection)
        return status, json.loads(text)

    def get(self, path, headers=None):
        status, _, text = self.request("GET", path, None, headers)
        return status, json.loads(text)

    def metric(self, name):
        """The sum of a metric's samples."""
        text = self.request("GET", "/metrics")[2].decode()
        found = re.findall(rf"^{re.escape(name)}(?:\{{[^}}]*\}})? (\S+)$", text, re.M)
        return sum(map(float, found)) if found else None

    def chat(self, messages, **fields):
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        status, body = self.post("/v1/chat/completions", {"messages": messages, **fields})
        if status != 200:
            raise AssertionError(f"{status}: {body}")
        return body

    def events(self, path, body):
        """The parsed events of a stream; the last one is the text "[DONE]"."""
        status, headers, text = self.request("POST", path, {**body, "stream": True})
        if status != 200 or not headers["Content-Type"].startswith("text/event-stream"):
            raise AssertionError(f"{status} {headers}: {text}")
        blocks = text.decode().split("\n\n")
        if blocks.pop() != "":
            raise AssertionError("the stream ends within an event")
        data = [block.removeprefix("data: ") for block in blocks]
        return [event if event == "[DONE]" else json.loads(event) for event in data]

    def stream_chat(self, messages, **fields):
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        return self.events("/v1/chat/completions", {"messages": messages, **fields})


def joined(events):
    """The message and the finish reasons that a stream's events come to."""
    message, reasons = {"role": None, "content": None}, []
    for event in events:
        if event == "[DONE]" or not event.get("choices"):
            continue
        choice = event["choices"][0]
        if choice["finish_reason"]:
            reasons.append(choice["finish_reason"])
        delta = choice["delta"]
        message["role"] = delta.get("role", message["role"])
        for key in ("content", "reasoning_content"):
            if delta.get(key):
                message[key] = (message.get(key) or "") + delta[key]
        for call in delta.get("tool_calls", []):
            calls = message.setdefault("tool_calls", [])
            if "id" in call:
                if call["index"] != len(calls):
                    raise AssertionError(f"call {call['index']} begins where {len(calls)} were")
                calls.append({"id": call["id"], "type": call["type"], "function": {"name": call["function"]["name"], "arguments": ""}})
            if call["index"] != len(calls) - 1:
                raise AssertionError("calls are mixed")
            calls[-1]["function"]["arguments"] += call["function"]["arguments"]
    if message["content"] is None and "tool_calls" not in message:
        message["content"] = ""
    return message, reasons


def until(condition, seconds=30):
    """Waits for something that comes soon."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
