"""An HTTP server of OpenAI's API that behaves as a test says, for the length of a with block."""
import json
import socket
import threading
import time

USAGE = {"prompt_tokens": 100, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 90}}


def event(data):
    return "data: " + json.dumps(data) + "\n\n"


def reply_events(text, usage=USAGE):
    """The events of a reply: its beginning, a text, and its end."""
    delta = lambda fields, reason=None: {"choices": [{"index": 0, "delta": fields, "finish_reason": reason}]}
    events = [event(delta({"role": "assistant"})), event(delta({"content": text})), event(delta({}, "stop"))]
    if usage is not None:
        events.append(event({"choices": [], "usage": usage}))
    return events + ["data: [DONE]\n\n"]


class FakeServer:
    """behave(number, body) says how chat request `number` is answered: (status, body), or a list of what is done one
    after the other: an event is sent, a number is seconds of nothing, "end" ends the answer, "close" the connection.
    extra(path, body) answers other requests, with None for 404. chunked: else a reply ends with its connection. model:
    its name."""

    def __init__(self, behave, extra=None, chunked=True, model="fake"):
        self._behave, self._extra, self._chunked = behave, extra or (lambda path, body: None), chunked
        self._model = model
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests, self.connections, self.most_at_once = [], 0, 0
        self._at_once, self._lock, self._open = 0, threading.Lock(), set()

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                connection.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection.makefile("rb") as stream:
                while self._answer(connection, stream):
                    pass
        except (OSError, ValueError):
            pass
        connection.close()

    def _answer(self, connection, stream):
        first = stream.readline().split()
        if not first:
            return False
        length = 0
        while (line := stream.readline().strip()):
            name, value = line.split(b":", 1)
            if name.lower() == b"content-length":
                length = int(value)
        body = json.loads(stream.read(length)) if length else None
        path = first[1].decode()
        if path != "/v1/chat/completions":
            answer = {"data": [{"id": self._model}]} if path == "/v1/models" else self._extra(path, body)
            self._whole(connection, 404 if answer is None else 200, answer)
            return True
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return self._chat(connection, self._behave(number, body))
        finally:
            with self._lock:
                self._at_once -= 1

    def _whole(self, connection, status, body):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        connection.sendall(f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)

    def _chat(self, connection, steps):
        if isinstance(steps, tuple):
            self._whole(connection, *steps)
            return True
        begun = ended = False
        for step in steps:
            if step == "close":
                return False
            if step == "end":
                connection.sendall(b"0\r\n\r\n")
                ended = True
            elif isinstance(step, (int, float)):
                time.sleep(step)
            else:
                if not begun:
                    how = b"Transfer-Encoding: chunked" if self._chunked else b"Connection: close"
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + how + b"\r\n\r\n")
                    begun = True
                data = step.encode()
                connection.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n" if self._chunked else data)
        if not self._chunked:
            return False
        if not ended:
            connection.sendall(b"0\r\n\r\n")
        return True
