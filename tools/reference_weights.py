"""Reading any checkpoint that make_checkpoint.py writes into linear layers that act as the format says.

A Linear holds its dequantized weight and quantizes its input where the format asks for it. Run-time quantization is
done in float32, in the order of operations written here; products and sums are done in the dtype of the model.
"""

import fnmatch
import json
import os

import numpy as np

import colugo_formats as formats
from colugo_safetensors import Reader

F32 = np.float32


def quantize_nvfp4_rows(x, scale):
    """float32 [R, K] and the static tensor scale -> e2m1 codes [R, K], e4m3 scale codes [R, K/16]."""
    blocks = np.asarray(x, F32).reshape(len(x), -1, 16)
    scale_codes = formats.e4m3_encode(np.abs(blocks).max(-1) / F32(6) / F32(scale))
    step = formats.e4m3_decode(scale_codes)[..., None] * F32(scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        codes = formats.e2m1_encode(blocks / step)
    codes[np.broadcast_to(step == 0, codes.shape)] = 0
    return codes.reshape(x.shape), scale_codes


def quantize_fp8_rows(x, scale):
    """float32 [R, K] and the static tensor scale -> e4m3 codes [R, K]."""
    return formats.e4m3_encode(np.asarray(x, F32) / F32(scale))


def quantize_fp8_block_rows(x):
    """float32 [R, K] -> e4m3 codes [R, K] and a float32 scale for each row and 128 columns (0 where all are zero)."""
    x = np.asarray(x, F32)
    padded = np.zeros((len(x), -(-x.shape[1] // 128), 128), F32)
    padded.reshape(len(x), -1)[:, : x.shape[1]] = x
    scales = np.abs(padded).max(-1) / F32(448)
    with np.errstate(divide="ignore", invalid="ignore"):
        codes = formats.e4m3_encode(padded / scales[..., None])
    codes[scales == 0] = 0
    return codes.reshape(len(x), -1)[:, : x.shape[1]], scales


class Linear:
    """y = x W^T with the input treated as `scheme` says: plain, w4a16, nvfp4, fp8 or fp8_block."""

    def __init__(self, weight, scheme="plain", input_scale=None):
        self.weight, self.scheme, self.input_scale = weight, scheme, input_scale

    def __call__(self, x, round_input):
        """`round_input` rounds the inputs of plain and weight-only layers to bf16."""
        return (self._input(x, round_input) @ self.weight.T).astype(self.weight.dtype)

    def _input(self, x, round_input):
        dtype = self.weight.dtype
        if self.scheme == "nvfp4":
            codes, scale_codes = quantize_nvfp4_rows(x, self.input_scale)
            values = formats.e2m1_decode(codes) * formats.e4m3_decode(scale_codes).repeat(16, -1)
            return values.astype(dtype) * dtype.type(self.input_scale)
        if self.scheme == "fp8":
            return formats.e4m3_decode(quantize_fp8_rows(x, self.input_scale)).astype(dtype) * dtype.type(
                self.input_scale
            )
        if self.scheme == "fp8_block":
            codes, scales = quantize_fp8_block_rows(x)
            return formats.e4m3_decode(codes).astype(dtype) * scales.repeat(128, -1)[:, : x.shape[1]].astype(dtype)
        return formats.round_bf16(x.astype(F32)).astype(dtype) if round_input else x


class Checkpoint:
    """Weights by their names without prefix (`layers.0.mlp.up_proj`), in the dtype asked for."""

    def __init__(self, folder, dtype=np.float64):
        self._reader, self._dtype = Reader(folder), np.dtype(dtype)
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            top = json.load(file)
        self.config = {**{k: v for k, v in top.items() if k != "text_config"}, **top.get("text_config", {})}
        self._quantization = top.get("quantization_config") or {}
        wrapped = "model.language_model.embed_tokens.weight" in self._reader
        self._prefix = "model.language_model." if wrapped else "model."

    def _name(self, name):
        return name if name.startswith(("lm_head", "mtp.")) else self._prefix + name

    def has(self, name):
        return self._name(name) in self._reader

    def tensor(self, name):
        """A stored float tensor, widened."""
        name = self._name(name)
        raw, stored = self._reader.raw(name), self._reader.dtype(name)
        decode = {"BF16": formats.bf16_decode, "F16": formats.f16_decode, "F8_E4M3": formats.e4m3_decode}.get(
            stored, np.asarray
        )
        return decode(raw).astype(self._dtype)

    def scalar(self, name, default=None):
        name = self._name(name)
        return F32(self._reader.raw(name).reshape(-1)[0]) if name in self._reader else default

    def has_linear(self, module):
        return self.has(module + ".weight") or self.has(module + ".weight_packed")

    def linear(self, module):
        if self.has(module + ".weight_packed"):
            scale_2 = F32(1) / self.scalar(module + ".weight_global_scale")
            input_scale = F32(1) / self.scalar(module + ".input_global_scale")
            return self._nvfp4(module, module + ".weight_packed", scale_2, input_scale, self._quantizes_inputs(module))
        stored = self._reader.dtype(self._name(module + ".weight"))
        if stored == "U8":
            return self._nvfp4(
                module,
                module + ".weight",
                self.scalar(module + ".weight_scale_2"),
                self.scalar(module + ".input_scale"),
                self._algorithm(module) == "NVFP4",
            )
        if stored != "F8_E4M3":
            return Linear(self.tensor(module + ".weight"))
        weight = self.tensor(module + ".weight")
        if self.has(module + ".weight_scale_inv"):
            scales = self.tensor(module + ".weight_scale_inv").repeat(128, 0)[: len(weight)].repeat(128, 1)
            return Linear(weight * scales[:, : weight.shape[1]], "fp8_block")
        scale = self._dtype.type(self.scalar(module + ".weight_scale"))
        return Linear(weight * scale, "fp8", self.scalar(module + ".input_scale"))

    def _nvfp4(self, module, packed, scale_2, input_scale, quantize_inputs):
        codes = formats.unpack_nibbles(self._reader.raw(self._name(packed)))
        scales = formats.e4m3_decode(self._reader.raw(self._name(module + ".weight_scale")))
        weight = (formats.e2m1_decode(codes) * scales.repeat(16, 1)).astype(self._dtype) * self._dtype.type(scale_2)
        if quantize_inputs and input_scale is not None:
            return Linear(weight, "nvfp4", input_scale)
        return Linear(weight, "w4a16")

    def _algorithm(self, module):
        layers, name = self._quantization.get("quantized_layers", {}), self._name(module)
        matches = [key for key in layers if fnmatch.fnmatchcase(name, key)]
        return layers[max(matches, key=len)]["quant_algo"] if matches else self._quantization.get("quant_algo")

    def _quantizes_inputs(self, module):
        return any(group.get("input_activations") for group in self._quantization["config_groups"].values())
