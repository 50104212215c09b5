#!/usr/bin/env python3
"""Runs `colugo quantize` and reads what it wrote with numpy alone: quantize_test.py COLUGO FIXTURES_DIR [arguments]."""
import hashlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

COLUGO, FIXTURES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools")
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def e4m3_values():
    values = []
    for code in range(256):
        exponent, mantissa = code >> 3 & 15, code & 7
        value = mantissa * 2.0**-9 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7)
        values.append(float("nan") if code & 0x7F == 0x7F else -value if code & 0x80 else value)
    return np.array(values, np.float32)


E4M3 = e4m3_values()


def nearest_code(values, table):
    """Index of the nearest of an ascending table, ties to the even index."""
    values = values.astype(np.float64)
    above = np.clip(np.searchsorted(table, values), 1, len(table) - 1)
    low, high = table[above - 1].astype(np.float64), table[above].astype(np.float64)
    middle = (low + high) / 2
    up = (values > middle) | ((values == middle) & (above % 2 == 0))
    return np.where(up, above, above - 1)


def to_e4m3(values):
    codes = nearest_code(np.minimum(np.abs(values), np.float32(448)), E4M3[:0x7F]).astype(np.uint8)
    return codes | (np.signbit(values).astype(np.uint8) << 7)


def to_e2m1(values):
    codes = nearest_code(np.minimum(np.abs(values), np.float32(6)), E2M1[:8]).astype(np.uint8)
    return codes | ((values < 0).astype(np.uint8) << 3)


def read_tensors(folder):
    names = sorted(name for name in os.listdir(folder) if name.endswith(".safetensors"))
    tensors = {}
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        (length,) = struct.unpack("<Q", data[:8])
        for key, entry in json.loads(data[8 : 8 + length]).items():
            if key != "__metadata__":
                begin, end = entry["data_offsets"]
                tensors[key] = (entry["dtype"], entry["shape"], data[8 + length + begin : 8 + length + end])
    return tensors


def floats(tensor):
    dtype, shape, data = tensor
    if dtype == "BF16":
        values = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    elif dtype == "F16":
        values = np.frombuffer(data, "<f2").astype(np.float32)
    else:
        values = np.frombuffer(data, "<f4")
    return values.reshape(shape)


def nvfp4_weight(tensors, module):
    """(dequantized, codes [n, k], scale codes, weight_scale_2)"""
    dtype, shape, data = tensors[module + ".weight"]
    packed = np.frombuffer(data, np.uint8).reshape(shape)
    codes = np.stack([packed & 15, packed >> 4], axis=-1).reshape(shape[0], 2 * shape[1])
    scales = np.frombuffer(tensors[module + ".weight_scale"][2], np.uint8).reshape(tensors[module + ".weight_scale"][1])
    (global_scale,) = np.frombuffer(tensors[module + ".weight_scale_2"][2], "<f4")
    values = E2M1[codes].astype(np.float64) * np.repeat(E4M3[scales], 16, axis=1) * global_scale
    return values, codes, scales, global_scale


def fused(module):
    """The modules that share weight_scale_2 with this one."""
    parent, _, name = module.rpartition(".")
    for group in (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"), ("in_proj_qkv", "in_proj_z")):
        if name in group:
            return [f"{parent}.{other}" for other in group]
    return [module]


def fill(folder, tensor, word, begin=0, end=None):
    """Sets 16-bit values of a tensor, from the one numbered `begin` to before `end`, in its shard."""
    for name in os.listdir(folder):
        if not name.endswith(".safetensors"):
            continue
        with open(os.path.join(folder, name), "r+b") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(length))
            entry = header.get(tensor, header.get(tensor.replace("model.", "model.language_model.", 1)))
            if entry is None:
                continue
            first, last = (8 + length + offset for offset in entry["data_offsets"])
            if end is not None:
                last = first + 2 * end
            first += 2 * begin
            file.seek(first)
            file.write(struct.pack("<H", word) * ((last - first) // 2))
            return
    raise KeyError(tensor)


def folder_hash(folder):
    digest = hashlib.sha256()
    for name in sorted(os.listdir(folder)):
        digest.update(name.encode())
        with open(os.path.join(folder, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


class QuantizeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def colugo(self, *arguments):
        clean = {key: value for key, value in os.environ.items() if not key.startswith("COLUGO_") or key == "COLUGO_FORCE_ISA"}
        return subprocess.run([COLUGO, *map(str, arguments)], capture_output=True, env=clean, timeout=300)

    def quantize(self, source, name, *arguments):
        """Returns (report, tensors)."""
        done = self.colugo("quantize", os.path.join(FIXTURES, source), self.path(name), "--samples", 6, "--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout), read_tensors(self.path(name))

    def source_weight(self, source, tensors, module):
        key = module + ".weight"
        if key not in source:  # a tied head's
            key = next(name for name in source if name.endswith("embed_tokens.weight"))
        return floats(source[key])

    def test_amax_scales_are_modelopts(self):
        for fixture in ("tiny-bf16", "tiny-f16"):
            source = read_tensors(os.path.join(FIXTURES, fixture))
            report, tensors = self.quantize(fixture, fixture, "--scales", "amax")
            self.assertGreater(len(report["modules"]), 20)
            for entry in report["modules"]:
                module = entry["module"]
                weight = self.source_weight(source, tensors, module)
                _, codes, scales, global_scale = nvfp4_weight(tensors, module)
                amax = max(np.abs(self.source_weight(source, tensors, other)).max() for other in fused(module))
                wanted_global = np.float32(amax) / np.float32(6 * 448)
                self.assertEqual(global_scale, wanted_global, module)
                block_amax = np.abs(weight.reshape(weight.shape[0], -1, 16)).max(axis=2)
                wanted = block_amax / (np.float32(6) * wanted_global)
                wanted[wanted == 0] = 1
                wanted = to_e4m3(np.maximum(wanted, np.float32(2.0**-9)))
                self.assertTrue(np.array_equal(scales, wanted), module)
                divisor = np.repeat(E4M3[wanted] * wanted_global, 16, axis=1)
                self.assertTrue(np.array_equal(codes, to_e2m1(weight / divisor)), module)
                (input_scale,) = np.frombuffer(tensors[module + ".input_scale"][2], "<f4")
                self.assertEqual(input_scale, np.float32(entry["activation_amax"]) / np.float32(6 * 448), module)

    def test_fp8_amax_scales_are_modelopts(self):
        source = read_tensors(os.path.join(FIXTURES, "tiny-bf16"))
        report, tensors = self.quantize("tiny-bf16", "out", "--recipe", "fp8", "--scales", "amax")
        for entry in report["modules"]:
            module = entry["module"]
            weight = self.source_weight(source, tensors, module)
            scale = np.float32(np.abs(weight).max()) / np.float32(448)
            self.assertEqual(np.frombuffer(tensors[module + ".weight_scale"][2], "<f4")[0], scale)
            codes = np.frombuffer(tensors[module + ".weight"][2], np.uint8).reshape(weight.shape)
            self.assertTrue(np.array_equal(codes, to_e4m3(weight / scale)), module)

    def test_searched_scales_are_better_and_sound(self):
        for recipe in ("nvfp4-w4a4", "nvfp4-w4a16", "fp8"):
            source = read_tensors(os.path.join(FIXTURES, "tiny-bf16"))
            report, tensors = self.quantize("tiny-bf16", recipe, "--recipe", recipe)
            better = [entry["error"] < entry["amax_error"] for entry in report["modules"]]
            if recipe != "fp8":
                self.assertGreaterEqual(sum(better), 0.95 * len(better), recipe)
            for entry in report["modules"]:
                module = entry["module"]
                weight = self.source_weight(source, tensors, module).astype(np.float64)
                if recipe == "fp8":
                    (scale,) = np.frombuffer(tensors[module + ".weight_scale"][2], "<f4")
                    self.assertGreater(scale, 0)
                    continue
                values, _, scales, global_scale = nvfp4_weight(tensors, module)
                self.assertTrue(global_scale > 0 and scales.min() > 0 and scales.max() < 0x7F, module)
                error = np.sqrt(((values - weight) ** 2).sum() / (weight**2).sum())
                self.assertLess(error, 0.12, module)
                self.assertEqual(module + ".input_scale" in tensors, recipe == "nvfp4-w4a4")
            self.check_it_runs(recipe)

    def check_it_runs(self, name):
        document = json.loads(self.colugo("inspect", self.path(name), "--json").stdout)
        self.assertEqual(document["notices"], [])
        # Against a reader and a forward pass that share nothing with the program. Where activations are quantized, a
        # value next to a border may fall on its other side.
        ids = ",".join(str(i * 29 % 479) for i in range(40))
        done = self.colugo("run", "-m", self.path(name), "--compute", "f32", "--prompt-ids", ids, "--logits", self.path("logits"))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        reference = [sys.executable, "-B", os.path.join(TOOLS, "reference_model.py"), self.path(name), "--dtype", "float64"]
        subprocess.run([*reference, "--ids", ids, "--logits", self.path("reference")], check=True, timeout=120)
        got, expected = (np.fromfile(self.path(file), "<f4").astype(np.float64) for file in ("logits", "reference"))
        self.assertEqual(got.size, expected.size)
        if name == "nvfp4-w4a16":
            self.assertLess(np.abs(got - expected).max(), 2e-4)
        cosine = got @ expected / np.sqrt((got @ got) * (expected @ expected))
        self.assertGreater(cosine, 0.999)

    def test_what_is_not_quantized_is_carried_over(self):
        source = read_tensors(os.path.join(FIXTURES, "tiny-bf16"))
        _, tensors = self.quantize("tiny-bf16", "out")
        for name, tensor in source.items():
            if name + "_scale" in tensors:
                continue  # weight -> weight_scale
            self.assertEqual(tensors[name], tensor, name)
        for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"):
            with open(os.path.join(FIXTURES, "tiny-bf16", name), "rb") as a, open(self.path("out/" + name), "rb") as b:
                self.assertEqual(a.read(), b.read(), name)

    def test_every_number_of_threads_gives_the_same_bytes(self):
        self.quantize("tiny-bf16", "one", "-t", 1)
        self.quantize("tiny-bf16", "three", "-t", 3)
        self.assertEqual(folder_hash(self.path("one")), folder_hash(self.path("three")))

    def test_refusals(self):
        def refuse(*arguments, words, code=1):
            done = self.colugo("quantize", *arguments)
            sentence = done.stderr.decode()
            self.assertEqual(done.returncode, code, sentence)
            for word in words:
                self.assertIn(word, sentence)

        tiny = os.path.join(FIXTURES, "tiny-bf16")
        refuse(os.path.join(FIXTURES, "tiny-nvfp4-w4a4"), self.path("out"), words=["quantized already"])
        refuse(tiny, self.folder, words=["exist"])
        refuse(tiny, "/nowhere/out", words=["/nowhere"])
        refuse(tiny, words=["destination"], code=2)
        refuse(tiny, self.path("out"), "--recipe", "int3", words=["int3"])
        bad = self.path("bad.jsonl")
        with open(bad, "w", encoding="utf-8") as file:
            file.write('{"messages": [{"role": "user", "content": "Hi"}]}\n\n{"messages": [{"role": 5}]}\n')
        refuse(tiny, self.path("out"), "--calib", bad, words=["line 3 of " + bad, "role"])
        self.assertFalse(os.path.exists(self.path("out")))
        self.assertFalse(os.path.exists(self.path("out.partial")))

    def test_weights_that_lead_to_what_is_not_finite_are_refused_by_name(self):
        huge, infinite = 0x7F00, 0x7F80  # in bf16: 1.7e38, infinity
        cases = [
            ("model.layers.0.mlp.down_proj.weight", huge, 0, None, "layers.0.mlp.down_proj"),
            ("mtp.layers.0.mlp.down_proj.weight", huge, 0, None, "lm_head"),  # reads what the MTP head gives
            ("model.layers.3.self_attn.v_proj.weight", huge, 0, None, "layers.3.self_attn"),
            ("model.layers.1.mlp.up_proj.weight", infinite, 7, 8, "layers.1.mlp.up_proj"),
            ("model.embed_tokens.weight", infinite, 7, 8, "embed_tokens"),
        ]
        for tensor, word, begin, end, words in cases:
            source, out = self.path("source"), self.path("out")
            shutil.copytree(os.path.join(FIXTURES, "tiny-bf16"), source)
            fill(source, tensor, word, begin, end)
            done = self.colugo("quantize", source, out, "--samples", 4)
            sentence = done.stderr.decode().strip().split("\n")[-1]
            self.assertEqual(done.returncode, 1, sentence)
            self.assertIn(words, sentence)
            self.assertIn("finite", sentence)
            self.assertFalse(os.path.exists(out), tensor)
            shutil.rmtree(source)
            shutil.rmtree(out + ".partial")

    def test_what_lies_at_the_place_of_the_work_is_left_alone(self):
        source, out = os.path.join(FIXTURES, "tiny-bf16"), self.path("out")
        os.makedirs(out + ".partial/checkpoint")
        for name in ("notes.txt", "checkpoint/kept.txt"):
            with open(f"{out}.partial/{name}", "w", encoding="utf-8") as file:
                file.write("mine")
        for more in ([], ["--resume"]):
            done = self.colugo("quantize", source, out, *more)
            self.assertEqual(done.returncode, 1)
            self.assertIn("in the way", done.stderr.decode())
        self.assertTrue(os.path.exists(out + ".partial/checkpoint/kept.txt"))
        shutil.rmtree(out + ".partial")
        with open(out + ".partial", "w", encoding="utf-8") as file:
            file.write("mine")
        done = self.colugo("quantize", source, out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("in the way", done.stderr.decode())
        self.assertEqual(os.path.getsize(out + ".partial"), 4)

    def test_a_killed_run_leaves_nothing_that_looks_finished_and_resumes_to_the_same_bytes(self):
        arguments = ["quantize", os.path.join(FIXTURES, "tiny-bf16"), None, "--samples", "24"]
        clean = {key: value for key, value in os.environ.items() if not key.startswith("COLUGO_")}

        def start(name, *more):
            command = [COLUGO, *[argument or self.path(name) for argument in arguments], *more]
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=clean)

        begin = time.monotonic()
        self.assertEqual(start("whole").wait(), 0)
        duration = time.monotonic() - begin
        whole = folder_hash(self.path("whole"))
        random.seed(1)
        killed = 0
        for index in range(10):
            name = f"killed{index}"
            process = start(name)
            time.sleep(duration * random.random())
            process.send_signal(signal.SIGKILL)
            killed += process.wait() != 0
            if os.path.exists(self.path(name)):
                self.assertEqual(folder_hash(self.path(name)), whole)
            else:
                self.assertEqual(start(name, "--resume").wait(), 0)
                self.assertEqual(folder_hash(self.path(name)), whole)
                self.assertFalse(os.path.exists(self.path(name + ".partial")))
            shutil.rmtree(self.path(name))
        self.assertGreater(killed, 0)

    def test_an_interrupt_is_clean_and_another_job_is_refused(self):
        source = os.path.join(FIXTURES, "tiny-bf16")
        process = subprocess.Popen([COLUGO, "quantize", source, self.path("out")], stderr=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        while not os.path.exists(self.path("out.partial/progress/steps.jsonl")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, notes = process.communicate(timeout=60)
        if process.returncode == 0:
            self.skipTest("it was done before the signal came")
        self.assertEqual((process.returncode, out), (130, b""))
        self.assertIn(b"--resume", notes)
        again = self.colugo("quantize", source, self.path("out"))
        self.assertEqual(again.returncode, 1)
        self.assertIn(b"--resume", again.stderr)
        other = self.colugo("quantize", source, self.path("out"), "--resume", "--samples", 3)
        self.assertEqual(other.returncode, 1)
        self.assertIn(b"calibration", other.stderr)
        self.assertEqual(self.colugo("quantize", source, self.path("out"), "--resume").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
