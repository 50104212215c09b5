#!/usr/bin/env python3
"""Write a trained nano as a Hugging Face checkpoint in bf16: python tools/nano/export.py RUN [FOLDER]

RUN is train.py's --out; FOLDER is RUN/export when it is not given.
"""

import argparse
import json
import os
import shutil
import sys

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import checkpoint_tokenizer as family
import colugo_formats as formats
from colugo_safetensors import Spec, write_checkpoint, write_json
from model import Nano, Shape

FULL_PRECISION = ("A_log", "linear_attn.norm.weight")  # as in the family's files


def config(shape, ids):
    """config.json of the bare text model."""
    return {
        "architectures": ["Qwen3_5ForCausalLM"],
        "model_type": "qwen3_5_text",
        "vocab_size": shape.vocab_size,
        "hidden_size": shape.hidden_size,
        "intermediate_size": shape.intermediate_size,
        "num_hidden_layers": shape.num_hidden_layers,
        "num_attention_heads": shape.num_attention_heads,
        "num_key_value_heads": shape.num_key_value_heads,
        "head_dim": shape.head_dim,
        "attn_output_gate": True,
        "attention_bias": False,
        "layer_types": shape.layer_types,
        "full_attention_interval": shape.full_attention_interval,
        "linear_num_key_heads": shape.linear_num_key_heads,
        "linear_num_value_heads": shape.linear_num_value_heads,
        "linear_key_head_dim": shape.linear_key_head_dim,
        "linear_value_head_dim": shape.linear_value_head_dim,
        "linear_conv_kernel_dim": shape.linear_conv_kernel_dim,
        "mamba_ssm_dtype": "float32",
        "rms_norm_eps": shape.rms_norm_eps,
        "hidden_act": "silu",
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": shape.rope_theta,
            "partial_rotary_factor": shape.partial_rotary_factor,
            "mrope_section": [11, 11, 10],
            "mrope_interleaved": True,
        },
        "max_position_embeddings": shape.max_position_embeddings,
        "dtype": "bfloat16",
        "tie_word_embeddings": True,
        "mtp_num_hidden_layers": 1,
        "mtp_use_dedicated_embeddings": False,
        "bos_token_id": ids["<|endoftext|>"],
        "eos_token_id": ids["<|endoftext|>"],
        "pad_token_id": None,
    }


def generation_config(ids):
    stops = [ids["<|im_end|>"], ids["<|endoftext|>"]]
    return {"bos_token_id": stops[1], "do_sample": False, "eos_token_id": stops, "pad_token_id": stops[1]}


def _values(name, tensor):
    values = np.ascontiguousarray(tensor.detach().numpy(), np.float32)
    if name.endswith(FULL_PRECISION):
        return "F32", values
    return "BF16", formats.bf16_encode(values)


def export(model, tokenizer_folder, folder):
    os.makedirs(folder, exist_ok=True)
    for name in family.COPIED:
        shutil.copyfile(os.path.join(tokenizer_folder, name), os.path.join(folder, name))
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
        ids = {token["content"]: token["id"] for token in json.load(file)["added_tokens"]}
    write_json(os.path.join(folder, "config.json"), config(model.shape, ids))
    write_json(os.path.join(folder, "generation_config.json"), generation_config(ids))
    tensors = [(name, *_values(name, p)) for name, p in model.state_dict().items()]
    specs = [Spec(name, dtype, values.shape) for name, dtype, values in tensors]
    return write_checkpoint(folder, specs, ((name, values) for name, _, values in tensors))


def load(run):
    """The model of a run's last checkpoint."""
    flat = torch.load(os.path.join(run, "checkpoint.pt"))["parameters"]
    model, begin = Nano(Shape()), 0
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(flat[begin : begin + p.numel()].view_as(p))
            begin += p.numel()
    return model.eval()


@torch.no_grad()
def rounded(model):
    """The same model with the values that the exported file has."""
    for name, p in model.named_parameters():
        if not name.endswith(FULL_PRECISION):
            p.copy_(p.bfloat16())
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run")
    parser.add_argument("folder", nargs="?")
    arguments = parser.parse_args()
    folder = arguments.folder or os.path.join(arguments.run, "export")
    size = export(load(arguments.run), os.path.join(arguments.run, "tokenizer"), folder)
    print(f"{folder}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
