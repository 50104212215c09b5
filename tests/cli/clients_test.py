#!/usr/bin/env python3
"""The settings of clients, as the clients read them: clients_test.py COLUGO FIXTURES_DIR [unittest arguments]."""
import json
import re
import subprocess
import sys
import types

from fake_server import FakeServer
from program import COLUGO, ProgramCase, colugo, main
from serving import Server, until

ODD = "it's \"odd\" $HOME \u00e9"
SECRET = "sesame-5219"
CLIENTS = {"aider", "cline", "continue", "curl", "goose", "openai-python", "opencode", "qwen-code", "roo", "zed"}


def words(script, command, env=None):
    """The arguments with which a shell's script calls a command, and the variables it exports."""
    shell = f"{command}() {{ printf '%s\\0' \"$@\"; printf '\\n'; env -0; }}\n{script}"
    done = subprocess.run(["bash", "-euc", shell], capture_output=True, env={"PATH": "/usr/bin:/bin", **(env or {})})
    if done.returncode:
        raise AssertionError(done.stderr.decode())
    first, _, rest = done.stdout.decode().partition("\0\n")
    return first.split("\0"), dict(pair.split("=", 1) for pair in rest.split("\0") if "=" in pair)


class ClientsTest(ProgramCase):
    def serve(self, *arguments):
        script = self.path("script.jsonl", json.dumps({"text": "Hello there"}))
        return Server(COLUGO, "--model", "scripted:" + script, "--reasoning", "off", "--alias", ODD, *arguments)

    def settings(self, client, server, key=None, arguments=()):
        done = self.succeed("doctor", "--client", client, "--url", f"http://127.0.0.1:{server.port}", *arguments,
                            env={"COLUGO_API_KEY": key} if key else None)
        self.assertNotIn(SECRET, done.stdout.decode() + done.stderr.decode())
        return done.stdout.decode()

    def test_the_table_is_the_one_tested_here(self):
        done = colugo("doctor", "--client", "emacs")
        self.assertEqual(done.returncode, 1)
        names = re.search(r"emacs: expected one of (.*)$", done.stderr.decode())[1]
        self.assertEqual(set(names.split(", ")), CLIENTS)
        self.assertIn("Responses API", colugo("doctor", "--client", "codex").stderr.decode())

    def test_json_names_the_model_and_its_context(self):
        with self.serve() as server:
            context = server.get("/v1/models")[1]["data"][0]["context_length"]
            url = f"http://127.0.0.1:{server.port}/v1"
            found = {client: json.loads(self.settings(client, server)) for client in ("opencode", "qwen-code", "roo", "zed")}
            provider = found["opencode"]["provider"]["colugo"]
            self.assertEqual((provider["npm"], provider["options"]), ("@ai-sdk/openai-compatible", {"baseURL": url}))
            self.assertEqual(provider["models"][ODD]["limit"]["context"], context)
            self.assertEqual(found["opencode"]["model"], "colugo/" + ODD)
            model, = found["qwen-code"]["modelProviders"]["openai"]
            self.assertEqual((model["id"], model["baseUrl"], model["generationConfig"]),
                             (ODD, url, {"contextWindowSize": context}))
            self.assertEqual(found["qwen-code"]["env"], {model["envKey"]: "none"})
            profile = found["roo"]["providerProfiles"]["apiConfigs"]["colugo"]
            self.assertEqual((profile["openAiBaseUrl"], profile["openAiModelId"]), (url, ODD))
            self.assertEqual(profile["openAiCustomModelInfo"]["contextWindow"], context)
            zed = found["zed"]["language_models"]["openai_compatible"]["colugo"]
            self.assertEqual((zed["api_url"], zed["available_models"][0]["max_tokens"]), (url, context))

    def test_shells_get_the_words_as_they_are(self):
        with self.serve() as server:
            url = f"http://127.0.0.1:{server.port}/v1"
            arguments, exported = words(self.settings("aider", server), "aider")
            self.assertEqual(arguments[:2], ["--model", "openai/" + ODD])
            self.assertEqual((exported["OPENAI_API_BASE"], exported["OPENAI_API_KEY"]), (url, "none"))
            arguments, _ = words(self.settings("cline", server), "cline")
            self.assertEqual(arguments, ["auth", "--provider", "openai", "--baseurl", url, "--modelid", ODD, "--apikey", "none"])
            _, exported = words(self.settings("goose", server), "goose")
            self.assertEqual(exported["OPENAI_HOST"] + "/" + exported["OPENAI_BASE_PATH"], url + "/chat/completions")
            self.assertEqual((exported["GOOSE_PROVIDER"], exported["GOOSE_MODEL"]), ("openai", ODD))
            self.assertGreater(int(exported["GOOSE_CONTEXT_LIMIT"]), 1000)
            arguments, _ = words(self.settings("curl", server), "curl")
            self.assertEqual(arguments[0], url + "/chat/completions")
            status, body = server.post("/v1/chat/completions", arguments[-1].encode())
            self.assertEqual((status, body["choices"][0]["message"]["content"]), (200, "Hello there"))

    def test_a_key_is_named_and_not_told(self):
        with self.serve("--api-key", SECRET) as server:
            for key in (None, "wrong", SECRET):
                texts = {client: self.settings(client, server, key) for client in CLIENTS}
                self.assertEqual(json.loads(texts["opencode"])["provider"]["colugo"]["options"]["apiKey"], "{env:COLUGO_API_KEY}")
                self.assertNotIn("env", json.loads(texts["qwen-code"]))
                self.assertIn("${{ secrets.COLUGO_API_KEY }}", texts["continue"])
                profile = json.loads(texts["roo"])["providerProfiles"]["apiConfigs"]["colugo"]
                self.assertEqual((profile["openAiModelId"] == ODD, profile["openAiApiKey"]), (key == SECRET, ""))
                for client, name in (("aider", "OPENAI_API_KEY"), ("goose", "OPENAI_API_KEY")):
                    _, exported = words(texts[client], client, {"COLUGO_API_KEY": SECRET})
                    self.assertEqual(exported[name], SECRET)
                arguments, _ = words(texts["curl"], "curl", {"COLUGO_API_KEY": SECRET})
                self.assertIn("Authorization: Bearer " + SECRET, arguments)
            self.assertTrue(until(lambda: any("for others:" in line for line in server.log)))
            self.assertNotIn(SECRET, "\n".join(server.log))

    def test_python_runs(self):
        calls = []

        class OpenAI:
            def __init__(self, **fields):
                calls.append(fields)
                self.chat = self.completions = self

            def create(self, **fields):
                calls.append(fields)
                message = types.SimpleNamespace(content="Hi")
                return types.SimpleNamespace(choices=[types.SimpleNamespace(message=message)])

        with self.serve() as server:
            sys.modules["openai"] = types.SimpleNamespace(OpenAI=OpenAI)
            self.addCleanup(sys.modules.pop, "openai")
            exec(compile(self.settings("openai-python", server), "settings", "exec"), {"print": calls.append})
            self.assertEqual(calls[0], {"base_url": f"http://127.0.0.1:{server.port}/v1", "api_key": "none"})
            self.assertEqual((calls[1]["model"], calls[2]), (ODD, "Hi"))

    def test_what_nano_is_asked_first_has_a_tool_for_it(self):
        calls = []

        class OpenAI:
            def __init__(self, **_):
                self.chat = self.completions = self

            def create(self, **fields):
                status, body = server.post("/v1/chat/completions", fields)
                message = {"content": None, "tool_calls": None, **body["choices"][0]["message"]}
                return types.SimpleNamespace(choices=[types.SimpleNamespace(message=types.SimpleNamespace(**message))])

        with Server(COLUGO, "--reasoning", "off", "--temp", 0) as server:
            arguments, _ = words(self.settings("curl", server), "curl")
            _, body = server.post("/v1/chat/completions", arguments[-1].encode())
            self.assertEqual(body["choices"][0]["finish_reason"], "tool_calls")
            sys.modules["openai"] = types.SimpleNamespace(OpenAI=OpenAI)
            self.addCleanup(sys.modules.pop, "openai")
            exec(compile(self.settings("openai-python", server), "settings", "exec"), {"print": calls.append})
            self.assertEqual(calls[0][0]["function"]["name"], "bash")

    def test_the_start_says_how_the_key_is_set(self):
        key = self.path("a key", SECRET + "\n")
        with self.serve("--api-key-file", key) as server:
            self.assertTrue(until(lambda: any("for others:" in line for line in server.log)))
            log = "\n".join(server.log)
            self.assertNotIn(SECRET, log)
            script = log[log.index("export COLUGO_API_KEY"):log.index("for aider:")].replace("for curl:", "")
            arguments, exported = words(script, "curl")
            self.assertEqual(exported["COLUGO_API_KEY"], SECRET)
            self.assertIn("Authorization: Bearer " + SECRET, arguments)

    def test_yaml_has_the_fields(self):
        with self.serve() as server:
            text = self.settings("continue", server)
            fields = dict(re.findall(r"^\s*(?:- )?(\w+): (.+)$", text, re.M))
            self.assertEqual(json.loads(fields["model"]), ODD)
            self.assertEqual(json.loads(fields["apiBase"]), f"http://127.0.0.1:{server.port}/v1")
            self.assertGreater(int(fields["contextLength"]), 1000)

    def test_models_and_addresses_that_are_none(self):
        with self.serve() as server:
            done = colugo("doctor", "--client", "zed", "--url", f"http://127.0.0.1:{server.port}/v1/", "--model", "other")
            self.assertEqual(done.returncode, 1)
            self.assertIn("has no model other", done.stderr.decode())
            zed = json.loads(self.settings("zed", server, arguments=("--model", ODD)))
            self.assertEqual(zed["language_models"]["openai_compatible"]["colugo"]["available_models"][0]["name"], ODD)
        for url in ("localhost:8080", "http://", "http://x:port/v1", "ftp://x", "http://u@x/v1", "https://"):
            done = colugo("doctor", "--client", "zed", "--url", url)
            self.assertEqual(done.returncode, 1, url)
            self.assertIn("is no address of a server", done.stderr.decode())
        behind_a_proxy = self.succeed("doctor", "--client", "opencode", "--url", "https://models.example/", "--model", "m")
        self.assertEqual(json.loads(behind_a_proxy.stdout)["provider"]["colugo"]["options"]["baseURL"], "https://models.example/v1")
        self.assertRegex(behind_a_proxy.stderr.decode(), "colugo speaks no TLS, so https://models.example/v1 is not asked, and the context stays unknown: .*http://HOST:PORT")
        # Nobody listens at a port that was just given back.
        done = colugo("doctor", "--client", "opencode", "--url", f"http://127.0.0.1:{server.port}", "--model", "m")
        self.assertEqual(done.returncode, 0)
        self.assertIn("no server answers", done.stderr.decode())
        self.assertEqual(json.loads(done.stdout)["provider"]["colugo"]["models"], {"m": {"name": "m"}})
        # Zed has to be told a context; a name that nobody said is said to be assumed.
        done = self.succeed("doctor", "--client", "zed", "--url", f"http://127.0.0.1:{server.port}")
        zed, = json.loads(done.stdout)["language_models"]["openai_compatible"]["colugo"]["available_models"]
        self.assertEqual((zed["name"], zed["max_tokens"]), ("nano", 32768))
        for word in ("context stays unknown", "name is taken to be nano", "32768", "COLUGO_API_KEY"):
            self.assertIn(word, done.stderr.decode())
        self.assertEqual(colugo("doctor", "--url", "http://x").returncode, 2)

    def test_a_name_with_control_characters_is_shown_and_not_written_down(self):
        with FakeServer(None, model="m\x1b[31m") as server:
            done = colugo("doctor", "--client", "aider", "--url", server.url)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn("calls its model m\\x1b[31m, a name with control characters", done.stderr.decode())
            done = colugo("doctor", "--client", "aider", "--url", server.url, "--model", "other")
            self.assertIn("has no model other: it has m\\x1b[31m", done.stderr.decode())

    def test_the_start_shows_what_to_paste(self):
        with self.serve("-c", 4096) as server:
            self.assertTrue(until(lambda: any("for others:" in line for line in server.log)))
            log = "\n".join(server.log)
            script = log[log.index("export OPENAI_API_BASE"):log.index("for others:")]
            arguments, exported = words(script, "aider")
            self.assertEqual(arguments[1], "openai/" + ODD)
            self.assertEqual(exported["OPENAI_API_BASE"], f"http://127.0.0.1:{server.port}/v1")
            self.assertIn(f"colugo doctor --client NAME --url http://127.0.0.1:{server.port}/v1", log)


if __name__ == "__main__":
    main()
