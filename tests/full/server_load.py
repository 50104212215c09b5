#!/usr/bin/env python3
"""Many clients at once against colugo serve: server_load.py COLUGO SECONDS [--model MODEL].

64 clients: streams and whole replies, connections that stay, clients that leave in the middle, readers that are slow,
sockets that send half a request. Fails where anything but a declared answer comes (200, 400, 413, 429, 503), where the
server is not healthy, where its memory grows on and on, or where it does not end in time. Prints requests a second.
"""
import argparse
import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
sys.argv[2:2] = [os.devnull]  # what tests of the program are given
from program import COLUGO  # noqa: E402
from serving import Server  # noqa: E402

CLIENTS = 64
DECLARED = {200, 400, 413, 429, 503}
TEXTS = ["Hello there, how are you today? " * 4, "<think>\nhm\n</think>\n\nYes.", "caf\u00e9 \u4eca\u65e5 " * 30,
         "<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>"]


class Load:
    def __init__(self, server, seconds):
        self.server, self.end = server, time.monotonic() + seconds
        self.lock, self.counts, self.faults = threading.Lock(), {}, []

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def fault(self, what):
        with self.lock:
            self.faults.append(what)

    def body(self, rng):
        body = {"messages": [{"role": "user", "content": f"client {rng.randrange(50)} " + "word " * rng.randrange(200)}],
                "max_tokens": rng.randrange(1, 60), "stream": rng.random() < 0.6, "temperature": rng.random()}
        if rng.random() < 0.2:
            body["tools"] = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"x": {"type": "integer"}}}}}]
        if rng.random() < 0.05:
            body["messages"] = rng.choice([[], 5, [{"role": "wizard"}]])
        return json.dumps(body)

    def client(self, seed):
        rng, connection = random.Random(seed), self.server.connect(120)
        while time.monotonic() < self.end:
            try:
                self.act(rng, connection)
            except (OSError, http.client.HTTPException) as error:
                self.fault(f"{type(error).__name__}: {error}")
                connection.close()
        connection.close()

    def act(self, rng, connection):
        choice, body = rng.random(), self.body(rng)
        if choice < 0.1:
            return self.leave(rng, body)
        if choice < 0.12:
            with self.server.socket() as half:
                half.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Le")
                time.sleep(rng.random() * 0.2)
            return self.count("half a request")
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if choice < 0.17:
            while answer.read(64):
                time.sleep(0.01)
        else:
            text = answer.read()
            if answer.status == 200 and b'"stream": true' in body.encode() and not text.endswith(b"data: [DONE]\n\n"):
                self.fault(f"a stream ends with {text[-60:]}")
        if answer.status not in DECLARED:
            self.fault(f"status {answer.status}")
        self.count(answer.status)

    def leave(self, rng, body):
        with self.server.socket() as client:
            client.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body.encode())}\r\n\r\n{body}".encode())
            time.sleep(rng.random() * 0.05)
        self.count("left")


def resident_mib(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("colugo")
    parser.add_argument("unused")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--model", help="default: scripted replies")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "script.jsonl")
        with open(script, "w", encoding="utf-8") as file:
            for i, text in enumerate(TEXTS * 2):
                file.write(json.dumps({"text": text, "delay_ms": i % 3, "step_ms": i % 2, "chunk": 1 + i % 5}) + "\n")
        options = ["--reasoning", "off", "-np", 8, "--cache-gib", 0.3] if arguments.model else ["--reasoning", "off"]
        with Server(COLUGO, "--model", arguments.model or "scripted:" + script, *options) as server:
            load, memory = Load(server, arguments.seconds), []
            clients = [threading.Thread(target=load.client, args=(seed,)) for seed in range(CLIENTS)]
            begin = time.monotonic()
            for client in clients:
                client.start()
            while any(client.is_alive() for client in clients):
                time.sleep(min(1, arguments.seconds / 20))
                memory.append(resident_mib(server.pid))
                if server.get("/health")[0] != 200 or server.get("/health/ready")[0] != 200:
                    load.fault("not healthy")
            seconds = time.monotonic() - begin
            code = server.end()
    half = max(memory[len(memory) // 4 : len(memory) // 2]), max(memory[len(memory) // 2 :])
    if half[1] > 1.1 * half[0] + 8:
        load.fault(f"memory grew from {half[0]:.0f} to {half[1]:.0f} MiB")
    if code != 0:
        load.fault(f"exit code {code}")
    answers = sum(count for status, count in load.counts.items() if isinstance(status, int))
    print(f"{CLIENTS} clients, {seconds:.0f} s: {answers} answers, {answers / seconds:.0f} a second; {load.counts}; "
          f"resident {half[0]:.0f} then {half[1]:.0f} MiB; {len(load.faults)} faults")
    for fault in load.faults[:10]:
        print("fault:", fault)
    sys.exit(1 if load.faults else 0)


if __name__ == "__main__":
    main()
