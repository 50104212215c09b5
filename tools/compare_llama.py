#!/usr/bin/env python3
"""Compare greedy text and log-probabilities of a checkpoint with llama.cpp, an independent implementation.

llama-server runs the checkpoint as an f32 GGUF file (tools/export_gguf.py makes one unless --gguf names it) with an f32
cache and no flash attention, and writes up to --tokens greedy tokens after each of a few prompts, with the
log-probabilities of the --probs most likely ones. Then reference_model.py, and colugo in f32 mode when --colugo names
its executable, read the same tokens; colugo also writes its own greedy text. Printed for each: how many positions
choose the same token, and the largest difference of a log-probability. Exits with 1 where colugo's greedy text differs,
or a difference is above --tolerance.

The binaries of llama.cpp are looked for in --llama, else in the folder that LLAMA_BIN names. Prompts are token ids from
llama-server's own tokenizer; with the PyPI package `tokenizers` at hand they are checked as well. Needs numpy, and gguf
for the export.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from packages_needed import need_for_work

need_for_work("numpy")

import numpy as np

from checkpoint_tokenizer import byte_alphabet
from reference_model import ReferenceModel

PROMPTS = [
    "Hello",
    "<|im_start|>user\nWhat does this function return?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    "def read_file(path):\n    with open(path) as file:\n        return file.read()\n\ndef write_file(path, text):\n",
    "The quick brown fox jumps over the lazy dog. " * 6 + "1 + 1 = 2, café, 你好, Привет!",
    "<|im_start|>system\nYou are a careful engineer.<|im_end|>\n<|im_start|>user\n"
    + "".join(f"{i}. Look at line {i * 37 % 101} of src/main.cpp and say what it does.\n" for i in range(1, 16))
    + "<|im_end|>\n<|im_start|>assistant\n<think>\n",
]
START_SECONDS = 300
REQUEST_SECONDS = 1800


class LlamaServer:
    """llama-server on a free loopback port, for the length of a with block."""

    def __init__(self, folder, model, threads, context, arguments):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        self._log = tempfile.TemporaryFile()
        command = [os.path.join(folder, "llama-server"), "-m", model, "--host", "127.0.0.1", "--port", str(port)]
        command += ["-t", str(threads), "-c", str(context), "-np", "1", "--special"]
        command += ["-ctk", "f32", "-ctv", "f32", "-fa", "off"]
        environment = {**os.environ, "LD_LIBRARY_PATH": os.path.abspath(folder)}
        self._process = subprocess.Popen(
            command + arguments, env=environment, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log
        )

    def __enter__(self):
        end = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < end:
            try:
                with urllib.request.urlopen(self._url + "/health", timeout=10):
                    return self
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        self.__exit__()
        self._log.seek(0)
        raise SystemExit(f"llama-server did not start:\n{self._log.read().decode(errors='replace')[-2000:]}")

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _post(self, path, body):
        data, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, data, headers)
        with urllib.request.urlopen(request, timeout=REQUEST_SECONDS) as response:
            return json.load(response)

    def tokenize(self, text):
        return self._post("/tokenize", {"content": text, "add_special": False, "parse_special": True})["tokens"]

    def complete(self, prompt, count, probs, vocabulary):
        """Greedy ids, and a dict from their indices to candidate ids and those ids' log-probabilities.

        The server leaves out the log-probabilities of a token after which its text ends inside a character.
        """
        body = {"prompt": prompt, "n_predict": count, "temperature": 0, "n_probs": probs, "cache_prompt": False}
        body["return_tokens"] = True
        body["logit_bias"] = [[token, False] for token in vocabulary.unused]
        answer = self._post("/completion", body)
        tokens, rows, text, candidates = answer["tokens"], iter(answer["completion_probabilities"]), b"", {}
        for index, token in enumerate(tokens):
            text += vocabulary.piece(token)
            if ends_inside_character(text):
                continue
            row = next(rows, {"id": None})
            if row["id"] != token:
                raise SystemExit(f"llama-server gives log-probabilities of token {row['id']} where {token} was drawn")
            top = row["top_logprobs"]
            candidates[index] = np.array([c["id"] for c in top]), np.array([c["logprob"] for c in top])
        if next(rows, None) is not None:
            raise SystemExit("llama-server gives log-probabilities of more tokens than it drew")
        return tokens, candidates


def ends_inside_character(text):
    """As llama-server judges: one of the last bytes starts a character that needs more bytes than follow."""
    for length in range(1, min(4, len(text)) + 1):
        byte = text[-length]
        if length < (2 if byte >> 5 == 0b110 else 3 if byte >> 4 == 0b1110 else 4 if byte >> 3 == 0b11110 else 1):
            return True
    return False


class Vocabulary:
    """What tokenizer.json says about ids: their bytes, and which of them stand for no token."""

    def __init__(self, folder, size):
        with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
            tokenizer = json.load(file)
        self._texts = {index: text for text, index in tokenizer["model"]["vocab"].items()}
        self._added = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
        self.unused = sorted(set(range(size)) - {*self._texts, *self._added})
        self._bytes = {character: byte for byte, character in byte_alphabet().items()}

    def piece(self, token):
        """The bytes that the token adds to a text which shows control tokens."""
        if token in self._added:
            return self._added[token].encode()
        return bytes(self._bytes[character] for character in self._texts[token])


class Colugo:
    def __init__(self, program, checkpoint, vocab_size, threads):
        self._command = [program, "run", "-m", checkpoint, "--compute", "f32", "--threads", str(threads)]
        self._vocab_size = vocab_size

    def _run(self, ids, *arguments):
        command = [*self._command, "--prompt-ids", ",".join(map(str, ids)), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=REQUEST_SECONDS)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)[:200]}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def logits(self, ids):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "logits")
            self._run(ids, "--logits", path)
            return np.fromfile(path, "<f4").reshape(-1, self._vocab_size)

    def greedy(self, ids, count):
        text = self._run(ids, "-n", str(count), "--temp", "0", "--print-ids").strip()
        return [int(token) for token in text.split(",")] if text else []


def log_softmax(logits):
    logits = logits.astype(np.float64)
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


class Comparison:
    """Figures of one implementation against llama.cpp, over all prompts."""

    def __init__(self, name):
        self.name, self.positions, self.same, self.worst, self.worst_margin = name, 0, 0, 0.0, 0.0

    def add(self, logits, tokens, candidates, forbidden):
        """`logits` [len(tokens), vocab]: those that the tokens were chosen from. Returns what to print of them."""
        logprobs = log_softmax(logits)
        allowed = logprobs.copy()
        allowed[:, forbidden] = -np.inf
        worst = max(float(np.abs(logprobs[i][ids] - values).max()) for i, (ids, values) in candidates.items())
        chosen = allowed.argmax(-1)
        margins = allowed.max(-1) - allowed[np.arange(len(tokens)), tokens]  # 0 where the choice is the same
        self.positions += len(tokens)
        self.same += int((chosen == tokens).sum())
        self.worst = max(self.worst, worst)
        self.worst_margin = max(self.worst_margin, float(margins.max()))
        return f"{int((chosen == tokens).sum())}/{len(tokens)} same, max {worst:.1e}"

    def line(self):
        return (
            f"{self.name} against llama.cpp: {self.same} of {self.positions} choices the same"
            f"{'' if self.same == self.positions else f' (largest margin {self.worst_margin:.1e})'}, "
            f"largest difference of a log-probability {self.worst:.2e}"
        )

    def good(self, tolerance):
        return self.worst <= tolerance and self.worst_margin <= 2 * tolerance


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_tokenizer(folder, texts, ids):
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    same = sum(tokenizer.encode(text, add_special_tokens=False).ids == row for text, row in zip(texts, ids))
    print(f"prompts with the same ids from the package tokenizers: {same} of {len(texts)}")


def compare_greedy(colugo, prompt, tokens, count):
    """Both stop at their own end-of-turn tokens, which only llama-server lists; up to there the texts are the same."""
    own = colugo.greedy(prompt, count)
    length = min(len(own), len(tokens))
    first = next((i for i in range(length) if own[i] != tokens[i]), length)
    return f"greedy {first}/{length} same", first == length and length >= len(tokens) - 1


def run(options, model):
    reference = ReferenceModel(options.checkpoint, dtype=np.dtype(options.dtype))
    vocab_size = reference.config["vocab_size"]
    vocabulary = Vocabulary(options.checkpoint, vocab_size)
    comparisons = {"reference": Comparison("reference_model.py")}
    colugo, greedy_good = None, True
    if options.colugo:
        colugo = Colugo(options.colugo, options.checkpoint, vocab_size, options.threads)
        comparisons["colugo"] = Comparison("colugo")
    with LlamaServer(options.llama, model, options.threads, options.context, options.llama_arguments) as server:
        texts = PROMPTS + options.text
        prompts = [server.tokenize(text) for text in texts]
        check_tokenizer(options.checkpoint, texts, prompts)
        for prompt in prompts:
            tokens, candidates = server.complete(prompt, options.tokens, min(options.probs, vocab_size), vocabulary)
            ids, first = np.array([*prompt, *tokens[:-1]]), len(prompt) - 1
            logits = reference.lm_head(reference.forward(ids)["hidden"][first:])
            parts = ["reference: " + comparisons["reference"].add(logits, tokens, candidates, vocabulary.unused)]
            if colugo:
                logits = colugo.logits(ids)[first:]
                parts.append("colugo: " + comparisons["colugo"].add(logits, tokens, candidates, vocabulary.unused))
                text, good = compare_greedy(colugo, prompt, tokens, options.tokens)
                parts.append(text)
                greedy_good = greedy_good and good
            print(f"prompt {len(prompt):4d} tokens, {len(tokens):3d} new | {' | '.join(parts)}", flush=True)
    for comparison in comparisons.values():
        print(comparison.line())
    return greedy_good and all(comparison.good(options.tolerance) for comparison in comparisons.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="folder with a plain (f32, f16 or bf16) checkpoint")
    parser.add_argument("--llama", default=os.environ.get("LLAMA_BIN"), help="folder with llama-server")
    parser.add_argument("--gguf", help="the checkpoint as an f32 GGUF file (default: made for this run)")
    parser.add_argument("--colugo", help="the colugo executable")
    parser.add_argument("--tokens", type=int, default=64, help="new tokens for each prompt (default 64)")
    parser.add_argument("--probs", type=int, default=256, help="log-probabilities compared at each (default 256)")
    parser.add_argument("--text", type=read_text, default=[], action="append", help="a file with one more prompt")
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=2e-3, help="of a log-probability (default 0.002)")
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64", help="of the reference")
    parser.add_argument("llama_arguments", nargs="*", metavar="-- ARGUMENT", help="more arguments for llama-server")
    options = parser.parse_args()
    if not options.llama:
        raise SystemExit("where is llama-server? give its folder with --llama or in LLAMA_BIN")
    if options.gguf:
        sys.exit(0 if run(options, options.gguf) else 1)
    from export_gguf import export

    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.gguf")
        export(options.checkpoint, model, "F32")
        sys.exit(0 if run(options, model) else 1)


if __name__ == "__main__":
    main()
