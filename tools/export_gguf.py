#!/usr/bin/env python3
"""Write a plain (f32, f16 or bf16) checkpoint of the Qwen3.5 family as one GGUF file, for a comparison with llama.cpp.

The file has the trunk, the MTP block (unless --no-mtp) and the tokenizer. Tensors are read, converted and written one
after the other, so memory stays at about twice the largest of them in f32. Needs numpy and the PyPI package gguf.

What GGUF has otherwise than the checkpoint: every norm but the gated one stores 1 + w; A_log is stored as -exp(A_log);
one-dimensional tensors, norms and the convolution are always f32; and with r value heads for each key head, value head
i * r + j of key head i is stored at place j * Hk + i, in everything that has value heads.
"""

import argparse
import json
import os
import sys

from packages_needed import need_for_work

need_for_work("numpy", "gguf")

import gguf
import numpy as np

import colugo_formats as formats
from colugo_safetensors import Reader

DECODE = {"F32": lambda codes: codes, "F16": formats.f16_decode, "BF16": formats.bf16_decode}
ENCODE = {"F32": lambda values: values, "F16": formats.f16_encode, "BF16": formats.bf16_encode}
FILE_TYPES = {
    "F32": gguf.LlamaFileType.ALL_F32,
    "F16": gguf.LlamaFileType.MOSTLY_F16,
    "BF16": gguf.LlamaFileType.MOSTLY_BF16,
}

# (name in the GGUF, name in the checkpoint, conversion) with the conversions:
#   plain   as it is                      norm    1 + w
#   rate    -exp(w), value heads          rows    value heads in the rows, one row each or a whole head each
#   tail    value heads in the rows after the key heads' (q, k, v side by side)      columns  value heads in the columns
ATTENTION = [
    ("attn_q.weight", "self_attn.q_proj.weight", "plain"),
    ("attn_k.weight", "self_attn.k_proj.weight", "plain"),
    ("attn_v.weight", "self_attn.v_proj.weight", "plain"),
    ("attn_output.weight", "self_attn.o_proj.weight", "plain"),
    ("attn_q_norm.weight", "self_attn.q_norm.weight", "norm"),
    ("attn_k_norm.weight", "self_attn.k_norm.weight", "norm"),
]
GATED_DELTA_NET = [
    ("attn_qkv.weight", "linear_attn.in_proj_qkv.weight", "tail"),
    ("attn_gate.weight", "linear_attn.in_proj_z.weight", "rows"),
    ("ssm_beta.weight", "linear_attn.in_proj_b.weight", "rows"),
    ("ssm_alpha.weight", "linear_attn.in_proj_a.weight", "rows"),
    ("ssm_conv1d.weight", "linear_attn.conv1d.weight", "tail"),
    ("ssm_a", "linear_attn.A_log", "rate"),
    ("ssm_dt.bias", "linear_attn.dt_bias", "rows"),
    ("ssm_norm.weight", "linear_attn.norm.weight", "plain"),
    ("ssm_out.weight", "linear_attn.out_proj.weight", "columns"),
]
EVERY_LAYER = [
    ("attn_norm.weight", "input_layernorm.weight", "norm"),
    ("post_attention_norm.weight", "post_attention_layernorm.weight", "norm"),
    ("ffn_gate.weight", "mlp.gate_proj.weight", "plain"),
    ("ffn_up.weight", "mlp.up_proj.weight", "plain"),
    ("ffn_down.weight", "mlp.down_proj.weight", "plain"),
]
MTP_HEAD = [
    ("nextn.eh_proj.weight", "mtp.fc.weight", "plain"),
    ("nextn.enorm.weight", "mtp.pre_fc_norm_embedding.weight", "norm"),
    ("nextn.hnorm.weight", "mtp.pre_fc_norm_hidden.weight", "norm"),
    ("nextn.shared_head_norm.weight", "mtp.norm.weight", "norm"),
]


def read_json(folder, name, missing=None):
    path = os.path.join(folder, name)
    if not os.path.exists(path) and missing is not None:
        return missing
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_config(folder):
    """The text model's configuration with layer_types spelled out."""
    config = read_json(folder, "config.json")
    config = {**config, **config.get("text_config", {})}
    interval = config.get("full_attention_interval", 4)
    config.setdefault(
        "layer_types",
        ["linear_attention" if (i + 1) % interval else "full_attention" for i in range(config["num_hidden_layers"])],
    )
    return config


class Tensors:
    """The checkpoint's tensors by their names without prefix: `layers.0.mlp.up_proj.weight`, `mtp.fc.weight`."""

    def __init__(self, folder):
        self._reader = Reader(folder)
        self._names = {}
        for name in self._reader.names():
            short = name.removeprefix("model.").removeprefix("language_model.")
            if not short.startswith("visual."):
                self._names[short] = name
        self.unused = set(self._names)

    def __contains__(self, name):
        return name in self._names

    def dtype(self, name):
        return self._reader.dtype(self._stored_name(name))

    def shape(self, name):
        return self._reader.shape(self._stored_name(name))

    def raw(self, name):
        return self._reader.raw(self._stored_name(name))

    def _stored_name(self, name):
        if name not in self._names:
            raise SystemExit(f"the checkpoint has no tensor {name}")
        stored = self._names[name]
        if self._reader.dtype(stored) not in DECODE:
            raise SystemExit(f"{stored} is {self._reader.dtype(stored)}; a checkpoint of F32, F16 or BF16 was expected")
        self.unused.discard(name)
        return stored


class Converter:
    """Brings a checkpoint's tensor into GGUF's order and values."""

    def __init__(self, config, tensors):
        self._tensors = tensors
        self._key_heads = config["linear_num_key_heads"]
        self._value_heads = config["linear_num_value_heads"]
        self._key_rows = 2 * self._key_heads * config["linear_key_head_dim"]  # rows of q and k before those of v

    def _order(self, axis_length):
        """Where each stored row (or column) of the value heads comes from."""
        heads = np.arange(self._value_heads).reshape(self._key_heads, -1).T.reshape(-1)
        size = axis_length // self._value_heads
        return (heads[:, None] * size + np.arange(size)).reshape(-1)

    def stored(self, source, conversion, dtype):
        """The array to be written; bit patterns where dtype is F16 or BF16."""
        raw, have = self._tensors.raw(source), self._tensors.dtype(source)
        if conversion == "tail":
            raw = raw.reshape(len(raw), -1)  # the convolution has an axis of length 1
            tail = self._key_rows + self._order(len(raw) - self._key_rows)
            raw = raw[np.concatenate([np.arange(self._key_rows), tail])]
        elif conversion in ("rows", "rate"):
            raw = raw[self._order(len(raw))]
        elif conversion == "columns":
            raw = raw[:, self._order(raw.shape[1])]
        if conversion == "norm":
            return np.float32(1) + DECODE[have](raw)
        if conversion == "rate":
            return -np.exp(DECODE[have](raw))
        return raw if have == dtype else ENCODE[dtype](DECODE[have](raw))


def tensor_list(config, tied, mtp):
    """(name in the GGUF, name in the checkpoint, conversion) of everything, in file order."""
    result = [("token_embd.weight", "embed_tokens.weight", "plain"), ("output_norm.weight", "norm.weight", "norm")]
    if not tied:
        result.append(("output.weight", "lm_head.weight", "plain"))

    def add(block, prefix, parts):
        result.extend((f"blk.{block}.{name}", prefix + source, conversion) for name, source, conversion in parts)

    for index, layer_type in enumerate(config["layer_types"]):
        mixer = ATTENTION if layer_type == "full_attention" else GATED_DELTA_NET
        add(index, f"layers.{index}.", EVERY_LAYER + mixer)
    if mtp:
        block = config["num_hidden_layers"]
        add(block, "mtp.layers.0.", EVERY_LAYER + ATTENTION)
        add(block, "", MTP_HEAD)
    return result


def add_hyperparameters(writer, config, mtp):
    rope = config["rope_parameters"]
    share = rope.get("partial_rotary_factor", config.get("partial_rotary_factor", 0.25))
    recurrent = [layer_type != "full_attention" for layer_type in config["layer_types"]] + [False] * mtp
    writer.add_block_count(len(recurrent))
    if mtp:
        writer.add_nextn_predict_layers(1)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(int(config["head_dim"] * share))
    writer.add_rope_dimension_sections([*rope.get("mrope_section", [11, 11, 10]), 0])
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_ssm_conv_kernel(config["linear_conv_kernel_dim"])
    writer.add_ssm_state_size(config["linear_key_head_dim"])
    writer.add_ssm_group_count(config["linear_num_key_heads"])
    writer.add_ssm_time_step_rank(config["linear_num_value_heads"])
    writer.add_ssm_inner_size(config["linear_num_value_heads"] * config["linear_value_head_dim"])
    writer.add_full_attention_interval(config.get("full_attention_interval", 4))
    # Wins over the interval where it is known.
    writer.add_array("qwen35.attention.recurrent_layers", recurrent)


def add_tokenizer(writer, folder, vocab_size):
    tokenizer = read_json(folder, "tokenizer.json")
    settings = read_json(folder, "tokenizer_config.json", {})
    tokens = [f"[PAD{index}]" for index in range(vocab_size)]
    types = [gguf.TokenType.UNUSED] * vocab_size
    for text, index in tokenizer["model"]["vocab"].items():
        tokens[index], types[index] = text, gguf.TokenType.NORMAL
    added = {token["content"]: token for token in tokenizer["added_tokens"]}
    for text, token in added.items():
        tokens[token["id"]] = text
        types[token["id"]] = gguf.TokenType.CONTROL if token["special"] else gguf.TokenType.USER_DEFINED
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen35")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in tokenizer["model"]["merges"]])
    writer.add_add_bos_token(False)

    end, padding = settings.get("eos_token"), settings.get("pad_token")
    if end in added:
        writer.add_eos_token_id(added[end]["id"])
    else:  # the first stop of generation_config.json ends a turn
        stops = read_json(folder, "generation_config.json", {}).get("eos_token_id", [])
        stops = stops if isinstance(stops, list) else [stops]
        if stops:
            writer.add_eos_token_id(stops[0])
    if padding in added:
        writer.add_pad_token_id(added[padding]["id"])
    template = settings.get("chat_template")
    path = os.path.join(folder, "chat_template.jinja")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            template = file.read()
    if template:
        writer.add_chat_template(template)


def export(folder, path, dtype, mtp=True):
    config, tensors = read_config(folder), Tensors(folder)
    if config.get("mtp_num_hidden_layers", 1) > 1:
        raise SystemExit(f"{folder} has {config['mtp_num_hidden_layers']} MTP layers; at most one was expected")
    mtp = mtp and "mtp.fc.weight" in tensors
    plan = tensor_list(config, "lm_head.weight" not in tensors, mtp)
    writer = gguf.GGUFWriter(path + ".partial", "qwen35")
    writer.add_name(os.path.basename(os.path.abspath(folder)))
    writer.add_file_type(FILE_TYPES[dtype])
    add_hyperparameters(writer, config, mtp)
    add_tokenizer(writer, folder, config["vocab_size"])

    dtypes = []
    for name, source, _ in plan:
        shape = tensors.shape(source)
        shape = tuple(n for i, n in enumerate(shape) if n != 1 or i != 1)  # conv1d: [conv_dim, 1, K] -> [conv_dim, K]
        wide = len(shape) == 1 or name.endswith("ssm_conv1d.weight")
        dtypes.append("F32" if wide else dtype)
        item = np.dtype(np.float32 if dtypes[-1] == "F32" else np.uint16)
        size = int(np.prod(shape, dtype=np.int64)) * item.itemsize
        writer.add_tensor_info(name, shape, item, size, gguf.GGMLQuantizationType[dtypes[-1]])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    converter = Converter(config, tensors)
    for (_, source, conversion), stored in zip(plan, dtypes):
        writer.write_tensor_data(np.ascontiguousarray(converter.stored(source, conversion, stored)))
    writer.close()
    os.replace(path + ".partial", path)
    left = sorted(name for name in tensors.unused if mtp or not name.startswith("mtp."))
    if left:
        print(f"not exported: {', '.join(left)}", file=sys.stderr)
    print(f"{path}: {len(plan)} tensors, {os.path.getsize(path) / 1e6:.1f} MB, {'with' if mtp else 'without'} MTP")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="folder with config.json, tokenizer.json and *.safetensors")
    parser.add_argument("output", help="the GGUF file")
    parser.add_argument("--type", choices=tuple(ENCODE), default="BF16", help="of the matrices (default BF16)")
    parser.add_argument("--no-mtp", dest="mtp", action="store_false", help="leave the MTP block out")
    options = parser.parse_args()
    export(options.checkpoint, options.output, options.type, options.mtp)


if __name__ == "__main__":
    main()
