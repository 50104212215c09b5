#!/usr/bin/env python3
"""Tests of tools/: number formats, the checkpoints of make_checkpoint.py, the goldens against reference_model.py."""

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools"))

import checkpoint_quantize
import checkpoint_shapes
import colugo_formats as formats
import make_checkpoint
import make_quantized_goldens
from checkpoint_quant_config import FORMATS
from colugo_random import NORMAL, Stream
from colugo_safetensors import Reader
from reference_model import ReferenceModel, differences
from reference_weights import Checkpoint

GOLDEN = os.path.join(ROOT, "tests", "golden", "model")

# Relative root mean square error of a dequantized normal weight.
EXPECTED_ERROR = {"nvfp4": (0.08, 0.11), "w4a16": (0.08, 0.11), "fp8": (0.02, 0.03), "fp8_block": (0.02, 0.03)}


class CheckpointCase(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def make(self, *arguments):
        """A checkpoint folder made with these options."""
        folder = os.path.join(self._folder.name, "-".join(arguments).replace("/", "_"))
        with contextlib.redirect_stdout(io.StringIO()):
            make_checkpoint.main([folder, *arguments])
        return folder

    @staticmethod
    def digest(folder, name="model.safetensors"):
        with open(os.path.join(folder, name), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()


class NumberFormats(unittest.TestCase):
    def test_exhaustively(self):
        formats.self_test()


class Help(unittest.TestCase):
    def test_needs_no_package(self):
        """Without site, no package but Python's own is found."""
        for tool, words in (("make_checkpoint", "--shape"), ("reference_model", "--help"), ("compare_llama", "--llama"),
                            ("export_gguf", "--no-mtp"), ("compare_logits", "A B VOCAB"), ("compare_tokenizer", "--random")):
            path = os.path.join(ROOT, "tools", tool + ".py")
            done = subprocess.run([sys.executable, "-S", path, "--help"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), tool)
            self.assertIn(words, done.stdout)
        done = subprocess.run([sys.executable, "-S", path, "x", "y"], capture_output=True, text=True)
        self.assertIn("needs tokenizers: pip install tokenizers", done.stderr)
        self.assertEqual(done.returncode, 1)


class RandomStreams(CheckpointCase):
    def test_values_are_the_same_everywhere(self):
        self.assertEqual(hashlib.sha256(NORMAL.astype("<f4").tobytes()).hexdigest()[:16], "0bb7889ceff85ead")
        self.assertEqual(Stream(0, "a").indices(5).tolist(), [17127, 21740, 33595, 49456, 20047])

    def test_chunk_size_changes_nothing(self):
        first = self.digest(self.make("--format", "mixed", "--seed", "3"))
        whole, checkpoint_quantize.CHUNK = checkpoint_quantize.CHUNK, 1000
        self.addCleanup(setattr, checkpoint_quantize, "CHUNK", whole)
        self.assertEqual(self.digest(self.make("--seed", "3", "--format", "mixed")), first)

    def test_seed_and_prefix(self):
        base = Checkpoint(self.make())
        other, flat = Checkpoint(self.make("--seed", "1")), Checkpoint(self.make("--flat-config"))
        name = "layers.1.mlp.up_proj.weight"
        self.assertFalse(np.array_equal(base.tensor(name), other.tensor(name)))
        self.assertTrue(np.array_equal(base.tensor(name), flat.tensor(name)))


class Storages(CheckpointCase):
    def test_every_format_holds_the_same_weights(self):
        exact = Checkpoint(self.make("--format", "f32"))
        rounded = Checkpoint(self.make())
        for format_ in FORMATS:
            checkpoint = Checkpoint(self.make("--format", format_))
            for parameter in checkpoint_shapes.parameters(checkpoint_shapes.complete(checkpoint_shapes.SHAPES["tiny"])):
                name = parameter.name[: -len(".weight")]
                if parameter.kind != "linear":
                    continue
                layer, wanted = checkpoint.linear(name), rounded.tensor(parameter.name)
                error = np.sqrt(np.mean((layer.weight - wanted) ** 2)) / wanted.std()
                if layer.scheme == "plain":
                    against = exact if format_ in ("f32", "f16") else rounded
                    difference = np.abs(layer.weight - against.tensor(parameter.name)).max()
                    self.assertLess(difference, 1e-3 if format_ == "f16" else 1e-30, (format_, name))
                else:
                    low, high = EXPECTED_ERROR[layer.scheme]
                    self.assertTrue(low < error < high, (format_, name, layer.scheme, error))

    def test_schemes_are_read_back_as_declared(self):
        def schemes(*arguments):
            checkpoint = Checkpoint(self.make(*arguments))
            modules = [
                "layers.0.mlp.up_proj",
                "layers.3.self_attn.q_proj",
                "layers.0.linear_attn.in_proj_qkv",
                "layers.0.linear_attn.out_proj",
                "layers.0.linear_attn.in_proj_a",
                "lm_head",
                "mtp.layers.0.mlp.up_proj",
                "mtp.fc",
            ]
            return [checkpoint.linear(module).scheme for module in modules]

        plain = ["plain"] * 3
        self.assertEqual(schemes("--format", "nvfp4-w4a4"), ["nvfp4"] * 4 + ["plain"] + plain)
        self.assertEqual(schemes("--format", "nvfp4-w4a16"), ["w4a16"] * 4 + ["plain"] + plain)
        self.assertEqual(schemes("--format", "fp8"), ["fp8"] * 4 + ["plain"] + plain)
        self.assertEqual(
            schemes("--format", "fp8-block", "--mtp", "fp8"), ["fp8_block"] * 4 + ["plain"] * 2 + ["fp8_block", "plain"]
        )
        self.assertEqual(
            schemes("--format", "mixed"), ["w4a16", "fp8", "fp8", "fp8", "plain", "w4a16", "plain", "plain"]
        )
        self.assertEqual(schemes("--format", "ct-nvfp4"), ["nvfp4", "nvfp4", "plain", "nvfp4", "plain"] + plain)
        self.assertEqual(schemes("--format", "bf16", "--lm-head", "nvfp4"), ["plain"] * 5 + ["nvfp4"] + ["plain"] * 2)
        self.assertEqual(
            schemes("--format", "nvfp4-w4a4", "--mtp", "nvfp4"), ["nvfp4"] * 4 + ["plain"] * 2 + ["nvfp4", "plain"]
        )

    def test_what_is_plain_is_not_declared_quantized(self):
        def excluded(*arguments):
            with open(os.path.join(self.make("--format", "nvfp4-w4a4", *arguments), "hf_quant_config.json"), encoding="utf-8") as file:
                return json.load(file)["quantization"]["exclude_modules"]

        self.assertIn("mtp.fc", excluded("--mtp", "nvfp4"))
        self.assertNotIn("mtp*", excluded("--mtp", "nvfp4"))
        self.assertIn("mtp*", excluded())

    def test_random_codes_have_the_statistics_of_quantized_ones(self):
        for format_ in ("nvfp4-w4a4", "fp8", "fp8-block", "ct-nvfp4"):
            folder = self.make("--format", format_, "--codes", "random")
            weight = Checkpoint(folder).linear("layers.0.mlp.up_proj").weight
            self.assertAlmostEqual(weight.std() * np.sqrt(weight.shape[1]), 1.2, delta=0.12, msg=format_)
            self.assertAlmostEqual(weight.mean(), 0, delta=0.003, msg=format_)

    def test_shared_inputs_share_a_scale(self):
        checkpoint = Checkpoint(self.make("--format", "nvfp4-w4a4"))
        scale = lambda module: checkpoint.linear("layers." + module).input_scale
        self.assertEqual(scale("3.self_attn.q_proj"), scale("3.self_attn.k_proj"))
        self.assertEqual(scale("3.self_attn.q_proj"), scale("3.self_attn.v_proj"))
        self.assertEqual(scale("0.mlp.gate_proj"), scale("0.mlp.up_proj"))
        self.assertNotEqual(scale("0.mlp.gate_proj"), scale("0.mlp.down_proj"))
        self.assertNotEqual(scale("0.mlp.gate_proj"), scale("1.mlp.gate_proj"))

    def test_kv_scales(self):
        checkpoint = Checkpoint(self.make("--kv", "fp8"))
        for name in ("k_proj.k_scale", "v_proj.v_scale"):
            self.assertTrue(0.02 <= checkpoint.scalar(f"layers.3.self_attn.{name}") < 0.5)
        self.assertFalse(checkpoint.has("layers.0.self_attn.k_proj.k_scale"))
        with open(os.path.join(self.make("--kv", "fp8"), "hf_quant_config.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["quantization"]["kv_cache_quant_algo"], "FP8")

    def test_tied_model_with_quantized_head_has_both(self):
        self.assertNotIn("lm_head.weight", Reader(self.make("--shape", "tiny-r1")))
        checkpoint = Checkpoint(self.make("--shape", "tiny-r1", "--lm-head", "nvfp4"))
        head, embedding = checkpoint.linear("lm_head").weight, checkpoint.tensor("embed_tokens.weight")
        self.assertLess(np.sqrt(np.mean((head - embedding) ** 2)) / embedding.std(), 0.11)

    def test_shards_hold_the_same_tensors(self):
        whole, parts = Reader(self.make()), Reader(self.make("--shard-bytes", "300000"))
        self.assertEqual(sorted(whole.names()), sorted(parts.names()))
        for name in whole.names():
            self.assertTrue(np.array_equal(whole.raw(name), parts.raw(name)), name)

    def test_impossible_requests_are_refused(self):
        for arguments in (
            ["--format", "fp8-block", "--lm-head", "nvfp4"],
            ["--shape", '{"vocab_size": 100}'],
            ["--format", "nvfp4-w4a4", "--shape", '{"hidden_size": 136}'],
            ["--format", "int4"],
        ):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                self.make(*arguments)


class Goldens(CheckpointCase):
    def test_reference_model_agrees_with_transformers(self):
        for shape, mtp_step in (("tiny", 1), ("tiny-r1", 5)):
            model = ReferenceModel(self.make("--shape", shape))
            worst = differences(model, os.path.join(GOLDEN, f"{shape}.safetensors"), mtp_step)
            self.assertLess(max(worst.values()), 1e-4, worst)

    def test_a_wrong_head_order_would_be_seen(self):
        model = ReferenceModel(self.make())
        name = "layers.0.linear_attn.A_log"
        model.tensor(name)[:] = model.tensor(name)[::-1].copy()
        worst = differences(model, os.path.join(GOLDEN, "tiny.safetensors"), mtp_step=12)
        self.assertGreater(worst["logits"], 0.1)

    def test_quantized_rows_and_layers_are_current(self):
        golden = Reader(os.path.join(GOLDEN, "quantized.safetensors"))
        for name, values in make_quantized_goldens.row_goldens().items():
            self.assertTrue(np.array_equal(golden.raw(name), values), name)
        for variant in ("nvfp4-w4a4", "mixed", "fp8-block"):
            model = ReferenceModel(self.make(*make_quantized_goldens.VARIANTS[variant][1]))
            for module, values in make_quantized_goldens.run_linears(model).items():
                self.assertLess(np.abs(golden.raw(f"{variant}.{module}") - values).max(), 1e-6 * np.abs(values).max())


class MissingPackages(unittest.TestCase):
    def test_a_tool_names_what_it_needs(self):
        for tool in ("make_checkpoint.py", "export_gguf.py", "reference_model.py"):
            path = os.path.join(ROOT, "tools", tool)
            done = subprocess.run([sys.executable, "-S", "-B", path], capture_output=True, text=True)
            sentence = f"{path} needs numpy: apt install python3-numpy, or pip install numpy in a virtual environment\n"
            self.assertEqual((done.returncode, done.stderr), (1, sentence))


if __name__ == "__main__":
    unittest.main()
