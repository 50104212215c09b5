#!/usr/bin/env python3
"""Write a random-weight checkpoint of the Qwen3.5 family in any published storage, with tokenizer and configs.

For tests (tiny: a fraction of a second) and for speed at real shapes: the text is noise. The same options give the same
bytes on every machine. Needs Python >= 3.9 and numpy >= 1.24 only; memory stays below 1 GB at every size.
"""

import argparse
import json
import os
import sys
import time

from packages_needed import need_for_work

need_for_work("numpy")

import numpy as np

import checkpoint_quantize as quantize
import checkpoint_shapes as shapes
import colugo_formats as formats
from checkpoint_quant_config import FORMATS, module_scheme, quant_configs
from checkpoint_tokenizer import write_tokenizer
from colugo_random import Stream
from colugo_safetensors import Spec, write_checkpoint, write_json

RANDOM_CODES_ABOVE = 500_000_000  # quantized weights; quantizing costs about 40 s for each 10^9 of them
PLAIN_DTYPES = {"f32": ("F32", "float32"), "f16": ("F16", "float16")}
STORE = {"F32": lambda values: values, "F16": formats.f16_encode, "BF16": formats.bf16_encode}
# Modules that read the same activations have one input scale.
INPUT_GROUPS = {
    "q_proj": "qkv",
    "k_proj": "qkv",
    "v_proj": "qkv",
    "gate_proj": "gate_up",
    "up_proj": "gate_up",
    "in_proj_qkv": "in_proj",
    "in_proj_z": "in_proj",
}


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir")
    parser.add_argument(
        "--shape", default="tiny", help=f"{' | '.join(shapes.SHAPES)} | a JSON object (see tools/checkpoint_shapes.py)"
    )
    parser.add_argument("--layers", type=int, help="use this number of layers instead of the shape's")
    parser.add_argument("--format", choices=FORMATS, default="bf16")
    parser.add_argument("--lm-head", choices=("bf16", "nvfp4", "fp8"), help="default: nvfp4 in mixed, else bf16")
    parser.add_argument(
        "--mtp", choices=("bf16", "nvfp4", "fp8"), default="bf16", help="storage of the MTP layer (mtp.fc stays bf16)"
    )
    parser.add_argument(
        "--kv", choices=("none", "fp8"), default="none", help="fp8: declare an FP8 cache and ship k/v scales"
    )
    parser.add_argument(
        "--prefix", choices=("model.", "model.language_model."), help="default: the one that goes with the config"
    )
    parser.add_argument("--shard-bytes", type=int, default=4_000_000_000, help="0: one file")
    tied = parser.add_mutually_exclusive_group()
    tied.add_argument("--tied", dest="tied", action="store_true", default=None)
    tied.add_argument("--untied", dest="tied", action="store_false")
    nested = parser.add_mutually_exclusive_group()
    nested.add_argument(
        "--nested-config", dest="nested", action="store_true", default=True, help="vision wrapper (default)"
    )
    nested.add_argument("--flat-config", dest="nested", action="store_false", help="bare text model")
    parser.add_argument(
        "--tokenizer", metavar="DIR", help="copy the tokenizer files from there (default: 512 built-in tokens)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--codes",
        choices=("auto", "quantize", "random"),
        default="auto",
        help=f"auto: quantized codes are drawn at random above {RANDOM_CODES_ABOVE:,} quantized weights",
    )
    parser.add_argument(
        "--block-scale", choices=("bf16", "f32"), default="bf16", help="dtype of weight_scale_inv in fp8-block"
    )
    parser.add_argument("--a-log", choices=("f32", "bf16"), default="f32", help="dtype of A_log and linear_attn.norm")
    parser.add_argument("--visual", action="store_true", help="add two vision tensors, which a text runtime ignores")
    options = parser.parse_args(arguments)
    options.prefix = options.prefix or ("model.language_model." if options.nested else "model.")
    options.lm_head = options.lm_head or ("nvfp4" if options.format == "mixed" else "bf16")
    return options


def resolve_shape(options):
    if options.shape in shapes.SHAPES:
        shape = dict(shapes.SHAPES[options.shape])
    else:
        shape = {**shapes.SHAPES["tiny"], **json.loads(options.shape)}
    if options.layers is not None:
        shape["num_hidden_layers"] = options.layers
        shape.pop("layer_types", None)
    if options.tied is not None:
        shape["tie_word_embeddings"] = options.tied
    return shapes.complete(shape)


class Plan:
    """Every tensor of the file in order, and the generator of its data."""

    def __init__(self, shape, options):
        self.specs, self._parts, self.schemes, self.plain_modules = [], [], {}, []
        self.options = options
        parameters = shapes.parameters(shape)
        if shape["tie_word_embeddings"] and options.lm_head != "bf16":
            # A tied model with a quantized head has both: the head is a quantized copy of the embedding.
            embedding = parameters[0]
            head = shapes.Parameter("lm_head.weight", embedding.shape, embedding.kind)
            parameters.insert([p.name for p in parameters].index("norm.weight") + 1, head)
        tied = shape["tie_word_embeddings"]
        schemes = [self._scheme(p) for p in parameters]
        count = sum(p.shape[0] * p.shape[1] for p, scheme in zip(parameters, schemes) if scheme)
        self._random_codes = options.codes == "random" or (options.codes == "auto" and count > RANDOM_CODES_ABOVE)
        for parameter, scheme in zip(parameters, schemes):
            self._add(parameter, scheme, "embed_tokens.weight" if tied and parameter.name == "lm_head.weight" else None)
        if options.visual:
            self._add(shapes.Parameter("visual.merger.norm.weight", (64,), "norm"), None)
            self._add(shapes.Parameter("visual.blocks.0.attn.qkv.weight", (192, 64), "linear"), None)

    def _scheme(self, parameter):
        if not parameter.name.endswith(".weight") or len(parameter.shape) != 2:
            return None
        return module_scheme(
            parameter.name[: -len(".weight")], self.options.format, self.options.lm_head, self.options.mtp
        )

    def _file_name(self, name):
        if name.startswith("visual."):
            return "model." + name
        return shapes.file_name(name, self.options.prefix)

    def _add(self, parameter, scheme, stream_name=None):
        draw = quantize.Draw(parameter, self.options.seed, stream_name)
        name = self._file_name(parameter.name)
        if scheme:
            module = name[: -len(".weight")]
            self.schemes[module] = scheme
            specs = quantize.specs(module, scheme, parameter.shape, self.options.block_scale.upper())
            amax = self._input_amax(parameter.name)
            self._append(specs, lambda: quantize.pieces(specs, scheme, draw, amax, self._random_codes))
        else:
            if parameter.kind in ("linear", "conv", "embedding") and not name.startswith("model.visual"):
                self.plain_modules.append(name[: -len(".weight")])
            spec = Spec(name, self._plain_dtype(parameter.kind), parameter.shape)
            self._append([spec], lambda: ((spec.name, chunk) for chunk in draw.chunks(STORE[spec.dtype](draw.table))))
        trunk_projection = parameter.name.startswith("layers.") and parameter.name.endswith(
            ("k_proj.weight", "v_proj.weight")
        )
        if self.options.kv == "fp8" and trunk_projection:
            self._add_kv_scale(parameter.name, name)

    def _plain_dtype(self, kind):
        dtype = PLAIN_DTYPES.get(self.options.format, ("BF16",))[0]
        if kind in ("A_log", "gated_norm") and dtype != "F32":
            return self.options.a_log.upper()
        return dtype

    def _input_amax(self, name):
        """The largest activation that calibration would have seen at the input of this linear."""
        module = name[: -len(".weight")]
        parent, _, last = module.rpartition(".")
        return Stream(self.options.seed, f"{parent}.{INPUT_GROUPS.get(last, last)}:input").uniform(4, 12, 1)[0]

    def _add_kv_scale(self, name, file_name):
        """Not 1.0, as published ones often are, so that a reader that ignores them is found out."""
        which, largest = ("k_scale", 0.1) if name.endswith("k_proj.weight") else ("v_scale", 0.5)
        value = Stream(self.options.seed, f"{name}:{which}").uniform(0.02, largest, 1)
        spec = Spec(file_name[: -len("weight")] + which, "F32", ())
        self._append([spec], lambda: [(spec.name, value)])

    def _append(self, specs, make):
        self.specs += specs
        self._parts.append(make)

    def pieces(self):
        for make in self._parts:
            yield from make()


def main(arguments):
    options = parse_arguments(arguments)
    shape = resolve_shape(options)
    started = time.monotonic()
    os.makedirs(options.out_dir, exist_ok=True)
    plan = Plan(shape, options)
    ids = write_tokenizer(options.out_dir, shape["vocab_size"], options.tokenizer)
    config = shapes.config_json(shape, PLAIN_DTYPES.get(options.format, ("BF16", "bfloat16"))[1], ids, options.nested)
    quantization, hf_quant = quant_configs(
        options.format, plan.schemes, plan.plain_modules, options.prefix, options.kv == "fp8"
    )
    if quantization:
        config["quantization_config"] = quantization
    if hf_quant:
        write_json(os.path.join(options.out_dir, "hf_quant_config.json"), hf_quant)
    size = write_checkpoint(options.out_dir, plan.specs, plan.pieces(), options.shard_bytes)
    write_json(os.path.join(options.out_dir, "config.json"), config)
    seconds = time.monotonic() - started
    print(
        f"{options.out_dir}: {len(plan.specs)} tensors, {size / 1e6:.1f} MB in {seconds:.1f} s "
        f"({size / 1e6 / seconds:.0f} MB/s)"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
