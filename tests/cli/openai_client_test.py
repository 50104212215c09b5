#!/usr/bin/env python3
"""The official OpenAI client against colugo serve with nano: openai_client_test.py COLUGO FIXTURES_DIR.

The client is installed from PyPI into a virtual environment in the build folder; where that cannot be done the test is
skipped and says so.
"""
import os
import subprocess
import sys

SKIPPED = 77
VENV = os.path.join(os.path.dirname(os.path.abspath(sys.argv[2])), "openai-venv")


def client_python():
    """The Python that has the client, or None."""
    python = os.path.join(VENV, "bin", "python")
    known = [python, "-c", "import openai"]
    if os.path.exists(python) and subprocess.run(known, capture_output=True).returncode == 0:
        return python
    for command in ([sys.executable, "-m", "venv", VENV], [python, "-m", "pip", "install", "-q", "openai"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"skipped: {' '.join(command)}: {done.stderr.strip()[-300:]}")
            return None
    return python


if os.environ.get("COLUGO_OPENAI_CLIENT") != "1":
    found = client_python()
    if found is None:
        sys.exit(SKIPPED)
    os.execve(found, [found, "-B", *sys.argv], {**os.environ, "COLUGO_OPENAI_CLIENT": "1"})

import json

import openai
from program import COLUGO, ProgramCase, main
from serving import Server

BASH = {"type": "function", "function": {
    "name": "bash", "description": "Execute a bash command",
    "parameters": {"type": "object", "properties": {"command": {"type": "string", "description": "The bash command to execute"}},
                   "required": ["command"]}}}
TASK = [{"role": "user", "content": "Where under src/planner is `close_orbit` defined? Show 20 lines of it."}]


class OpenAiClientTest(ProgramCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(COLUGO, "--reasoning", "off", "--temp", 0, "--api-key", "secret", "-c", 8192)
        cls.server.__enter__()
        cls.client = cls.make_client("secret")

    @classmethod
    def make_client(cls, key):
        return openai.OpenAI(base_url=f"http://127.0.0.1:{cls.server.port}/v1", api_key=key, max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.end()
        cls.server.__exit__()

    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["nano"])
        self.assertEqual(self.client.models.retrieve("nano").id, "nano")

    def test_chat_and_stream(self):
        whole = self.client.chat.completions.create(model="nano", messages=TASK, max_tokens=40, seed=1)
        text, usage = "", None
        stream = self.client.chat.completions.create(model="nano", messages=TASK, max_tokens=40, seed=1, stream=True,
                                                     stream_options={"include_usage": True})
        for chunk in stream:
            usage = chunk.usage or usage
            if chunk.choices:
                text += chunk.choices[0].delta.content or ""
        self.assertEqual(text, whole.choices[0].message.content or "")
        self.assertEqual(usage.completion_tokens, whole.usage.completion_tokens)
        self.assertGreater(usage.prompt_tokens_details.cached_tokens, 0)

    def test_tools_round_trip(self):
        messages = list(TASK)
        first = self.client.chat.completions.create(model="nano", messages=messages, tools=[BASH])
        choice = first.choices[0]
        self.assertEqual(choice.finish_reason, "tool_calls")
        call = choice.message.tool_calls[0]
        self.assertIn("src/planner", json.loads(call.function.arguments)["command"])
        messages += [choice.message, {"role": "tool", "tool_call_id": call.id, "content": "src/planner/a.py:3: def close_orbit():"}]
        second = self.client.chat.completions.create(model="nano", messages=messages, tools=[BASH], max_tokens=100)
        self.assertGreater(second.usage.prompt_tokens_details.cached_tokens, 100)
        self.assertIn(second.choices[0].finish_reason, ("stop", "tool_calls", "length"))

    def test_logprobs(self):
        body = self.client.chat.completions.create(model="nano", messages=TASK, max_tokens=5, logprobs=True, top_logprobs=3)
        content = body.choices[0].logprobs.content
        self.assertEqual(len(content), 5)
        for token in content:
            self.assertLessEqual(token.logprob, 0)
            self.assertEqual(token.top_logprobs[0].logprob, token.logprob)  # greedy

    def test_completions(self):
        body = self.client.completions.create(model="nano", prompt="def main():", max_tokens=8)
        self.assertEqual(body.usage.completion_tokens, 8)
        self.assertTrue(body.choices[0].text)
        logprobs = self.client.completions.create(model="nano", prompt="def main():", max_tokens=8, logprobs=2).choices[0].logprobs
        self.assertEqual("".join(logprobs.tokens), body.choices[0].text)
        self.assertEqual([len(logprobs.token_logprobs), len(logprobs.top_logprobs[0]), logprobs.text_offset[0]], [8, 2, 0])

    def test_errors(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.chat.completions.create(model="nano", messages=[{"role": "user", "content": "word " * 9000}])
        self.assertEqual(caught.exception.code, "context_length_exceeded")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.chat.completions.create(model="nano", messages=TASK, temperature=-1)
        self.assertEqual(caught.exception.param, "temperature")
        with self.make_client("wrong") as client, self.assertRaises(openai.AuthenticationError):
            client.models.list()


if __name__ == "__main__":
    main()
