#!/usr/bin/env python3
"""Write tests/golden/model/quantized.safetensors with reference_model.py: logits of quantized test checkpoints, and
rows of activations quantized at run time, for bit-for-bit tests. Needs numpy only.

  ids.<shape>, positions.<shape>   [T], [n] int32   token ids and the positions of the logits of that shape
  <variant>.logits                 [n, vocab]
  <variant>.mtp_tokens             [2, 4] int32     only where noted: see make_model_goldens.py; ends are in mtp_ends
  <variant>.mtp_logits             [2, 4, vocab]
  linear_input.<K>                 [4, K]           rows for single linear layers
  <variant>.<module>               [4, N]           what that layer makes of them (no prefix, no `.weight`).
                                                    Stored for the f32 variants and nvfp4-all, lm_head where quantized
  nvfp4_rows.input                 [8, 128]         activations; nvfp4_rows.scale [8]: the input_scale of each row
  nvfp4_rows.codes                 [8, 64] uint8    e2m1, the even element in the low nibble
  nvfp4_rows.scale_codes           [8, 8] uint8     e4m3
  fp8_rows.input, .scale, .codes   [8, 128], [8], [8, 128] uint8 e4m3
  fp8_block_rows.input             [4, 320]         two groups of 128 and one of 64
  fp8_block_rows.codes, .scales    [4, 320] uint8 e4m3, [4, 3]

The metadata entry of each variant is JSON: make_checkpoint options, compute mode, cache type, and how far the same
computation in float32 is from the float64 one stored here (largest, root mean square). Quantization of activations turns
a last-bit difference into a whole code now and then, and later tokens inherit it: logits of such variants can be bounded
in the root mean square only. The single layers are the sharp test: there the input is given, and so is every code.
"""

import argparse
import json
import os
import tempfile

from packages_needed import need

need("numpy")

import numpy as np

import checkpoint_shapes
import colugo_formats as formats
import colugo_safetensors as safetensors
import make_checkpoint
from colugo_random import NORMAL, Stream
from reference_model import ReferenceModel
from reference_weights import quantize_fp8_block_rows, quantize_fp8_rows, quantize_nvfp4_rows

NUM_TOKENS = 80
REAL_TOKENS = 512
POSITIONS = {
    "tiny": [*range(8), *range(24, 40), *range(56, 72)],
    "tiny-r1": [0, 1, 2, 3, 30, 31, 32, 33, 63, 64, 71, 79],
}
MTP_ENDS = [33, 70]
MTP_DEPTH = 4
LINEARS = [
    "layers.0.mlp.gate_proj",
    "layers.0.mlp.down_proj",
    "layers.0.linear_attn.out_proj",
    "layers.3.self_attn.k_proj",
    "lm_head",
]

# variant: shape, make_checkpoint options, compute, kv, whether MTP logits are stored
VARIANTS = {
    "nvfp4-w4a4": ("tiny", ["--format", "nvfp4-w4a4"], "f32", "f32", False),
    "nvfp4-w4a16": ("tiny", ["--format", "nvfp4-w4a16"], "f32", "f32", False),
    "fp8": ("tiny", ["--format", "fp8"], "f32", "f32", False),
    "fp8-block": ("tiny", ["--format", "fp8-block"], "f32", "f32", False),
    "mixed": ("tiny", ["--format", "mixed"], "f32", "f32", False),
    "ct-nvfp4": ("tiny", ["--format", "ct-nvfp4"], "f32", "f32", False),
    "bf16": ("tiny", ["--format", "bf16"], "bf16", "bf16", True),
    "bf16-kv-fp8": ("tiny", ["--format", "bf16", "--kv", "fp8"], "bf16", "fp8", False),
    "nvfp4-all": (
        "tiny",
        ["--format", "nvfp4-w4a4", "--lm-head", "nvfp4", "--mtp", "nvfp4", "--kv", "fp8"],
        "bf16",
        "fp8",
        True,
    ),
    "r1-fp8-block": ("tiny-r1", ["--format", "fp8-block", "--block-scale", "f32"], "f32", "f32", False),
    "r1-nvfp4-head": ("tiny-r1", ["--format", "nvfp4-w4a4", "--lm-head", "nvfp4"], "f32", "f32", False),
}


def input_ids(shape):
    return (Stream(2, f"input ids {shape}").indices(NUM_TOKENS).astype(np.int64) * REAL_TOKENS >> 16).astype(np.int32)


def run(model, ids, positions, mtp_tokens):
    """Logits at `positions`, and MTP logits for the tokens given, or for each depth's argmax where they are None."""
    hidden = model.forward(ids)["hidden"]
    result = {"logits": model.lm_head(hidden[positions])}
    if mtp_tokens is not None:
        result["mtp_tokens"] = (
            mtp_tokens if len(mtp_tokens) else np.stack([draft(model, hidden, ids, end) for end in MTP_ENDS])
        )
        chains = [model.mtp_chain(hidden, ids, end, tokens) for end, tokens in zip(MTP_ENDS, result["mtp_tokens"])]
        result["mtp_logits"] = np.stack([model.lm_head(chain) for chain in chains])
    return result


def linear_input(columns):
    rows = NORMAL[Stream(3, f"linear input {columns}").indices(4 * columns)].reshape(4, columns)
    return rows * np.float32([[1], [0.125], [3], [0.6]])


def run_linears(model):
    modules = [name for name in LINEARS if model.checkpoint.has_linear(name)]
    modules = [name for name in modules if name != "lm_head" or model.checkpoint.linear(name).scheme != "plain"]
    columns = {name: model.checkpoint.linear(name).weight.shape[1] for name in modules}
    return {name: model.linear(name, linear_input(columns[name]).astype(model.dtype)) for name in modules}


def draft(model, hidden, ids, end):
    tokens = [ids[end + 1]]
    while len(tokens) < MTP_DEPTH:
        tokens.append(model.lm_head(model.mtp_chain(hidden, ids, end, tokens)[-1:])[0, :REAL_TOKENS].argmax())
    return np.array(tokens, np.int32)


def variant_goldens(name):
    shape, arguments, compute, kv, with_mtp = VARIANTS[name]
    ids, positions = input_ids(shape), POSITIONS[shape]
    with tempfile.TemporaryDirectory() as folder:
        make_checkpoint.main([folder, "--shape", shape, *arguments])
        model = ReferenceModel(folder, compute, kv, np.float64)
        exact = run(model, ids, positions, [] if with_mtp else None)
        layers = run_linears(model) if compute == "f32" or name == "nvfp4-all" else {}
        single = run(ReferenceModel(folder, compute, kv, np.float32), ids, positions, exact.get("mtp_tokens"))
    away = np.abs(single["logits"] - exact["logits"])
    note = {
        "shape": shape,
        "options": arguments,
        "compute": compute,
        "kv": kv,
        "float32_max": float(f"{away.max():.3g}"),
        "float32_rms": float(f"{np.sqrt(np.mean(away**2)):.3g}"),
    }
    return {
        f"{name}.{kind}": v if v.dtype == np.int32 else v.astype(np.float32) for kind, v in {**exact, **layers}.items()
    }, note


def sample_rows(rows, columns, name):
    """Normal values of very different sizes, with zeros, a zero block, outliers, and values on rounding thresholds."""
    values = NORMAL[Stream(3, name).indices(rows * columns)].reshape(rows, columns).copy()
    # By the C library: numpy's own power differs in the last bit from one CPU to another.
    values *= np.float32([2.0 ** float(e) for e in np.linspace(-6, 3, rows, dtype=np.float32)])[:, None]
    values[0, :5] = [0, -0.0, 1e-30, -1e-30, 1e-42]
    values[1, 16:32] = 0
    values[2, 40] = 5000
    values[3] = 0
    values[-1, 64:72] = np.float32([0.25, -0.25, 0.75, -1.25, 1.75, 2.5, -3.5, 5.0])
    values[-1, 72:80] = [6, -6, 3, 1.5, 0.5, 0, -0.0, 4]
    return values


def row_goldens():
    scales = np.float32([0.002, 0.004, 0.0035, 0.001, 0.0017, 0.005, 0.25, 1.0])
    rows = sample_rows(8, 128, "nvfp4 rows")
    rows[5] *= np.float32(1e-6)  # block scales round to zero
    codes, scale_codes = zip(*(quantize_nvfp4_rows(rows[i : i + 1], scales[i]) for i in range(8)))
    fp8_scales = scales * np.float32(6)
    fp8_rows = sample_rows(8, 128, "fp8 rows")
    block_rows = sample_rows(4, 320, "fp8 block rows")
    block_codes, block_scales = quantize_fp8_block_rows(block_rows)
    return {
        "nvfp4_rows.input": rows,
        "nvfp4_rows.scale": scales,
        "nvfp4_rows.codes": formats.pack_nibbles(np.concatenate(codes)),
        "nvfp4_rows.scale_codes": np.concatenate(scale_codes),
        "fp8_rows.input": fp8_rows,
        "fp8_rows.scale": fp8_scales,
        "fp8_rows.codes": np.concatenate([quantize_fp8_rows(fp8_rows[i : i + 1], fp8_scales[i]) for i in range(8)]),
        "fp8_block_rows.input": block_rows,
        "fp8_block_rows.codes": block_codes,
        "fp8_block_rows.scales": block_scales,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join(os.path.dirname(__file__), "..", "tests", "golden", "model"))
    out = parser.parse_args().out
    os.makedirs(out, exist_ok=True)
    tensors, metadata = row_goldens(), {"made_by": "tools/make_quantized_goldens.py"}
    for shape, positions in POSITIONS.items():
        assert shape in checkpoint_shapes.SHAPES
        tensors[f"ids.{shape}"] = input_ids(shape)
        tensors[f"positions.{shape}"] = np.array(positions, np.int32)
    for columns in (128, 192, 256, 320, 384, 512, 768):
        tensors[f"linear_input.{columns}"] = linear_input(columns)
    tensors["mtp_ends"] = np.array(MTP_ENDS, np.int32)
    for name in VARIANTS:
        values, note = variant_goldens(name)
        tensors.update(values)
        metadata[name] = json.dumps(note)
        print(
            f"{name:14} largest logit {np.abs(values[name + '.logits']).max():.2f}, "
            f"float32 differs by {note['float32_max']:g} at most, {note['float32_rms']:g} rms"
        )
    path = os.path.join(out, "quantized.safetensors")
    safetensors.save(path, tensors, metadata)
    print(f"{path}: {os.path.getsize(path) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
