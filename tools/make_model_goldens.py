#!/usr/bin/env python3
"""Write tests/golden/model/{tiny,tiny-r1}.safetensors: what transformers computes for the test checkpoints.

Needs torch and transformers >= 5.24; runs in float32 on the plain torch path. The MTP head, which transformers does not
have, is composed from its decoder layer, norm and rotary embedding.

  ids               [T] int32       the token sequence, T = 330
  logits_positions  [n] int32       positions of `logits` (tiny: every one)
  logits            [n, vocab]
  positions         [m] int32       positions of `residual` and `hidden`
  residual          [layers, m, H]  the residual stream after each layer
  hidden            [m, H]          after the final norm, at positions
  conv.<layer>      [conv_dim, 3]   in_proj_qkv outputs of the last 3 tokens, oldest first
  state.<layer>     [Hv, k, v]      recurrent state S after the last token: S[:, 1::5, 2::7] of [Hv, Dk, Dv]
  mtp_ends          [e] int32       p: tokens 0..p are committed, hidden h_p is pending
  mtp_tokens        [e, 4] int32    the token of the MTP row at position p + d: x_{p+1}, then the argmax of depth d - 1
  mtp_logits        [e, 4, vocab]   of depth d = 1..4
  mtp_hidden        [e, 4, H]       after mtp.norm; feeds the next depth

The MTP row of pair (h_p, x_{p+1}) sits at position p + 1, also for RoPE; there is no row at position 0. Before depth 1
of end p the rows 1..p hold the committed pairs; the rows of depths 2..4 follow at p + 2..p + 4.
"""

import argparse
import json
import os
import tempfile

os.environ["USE_HUB_KERNELS"] = "NO"

from packages_needed import need

need("numpy", "torch", "transformers")

import numpy as np
import torch
import transformers
from transformers.models.qwen3_5 import modeling_qwen3_5 as qwen
from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5TextConfig

import colugo_formats as formats
import colugo_safetensors as safetensors
import make_checkpoint
from colugo_random import Stream

NUM_TOKENS = 330
REAL_TOKENS = 512  # of the built-in tokenizer
POSITIONS = [0, 1, 2, 31, 32, 33, 63, 64, 95, 191, 256, 320, 329]
SOME_LOGITS = sorted({*POSITIONS, 3, 30, 34, 65, 96, 97, 127, 128, 159, 160, 224, 288, 319, 328})
MTP_ENDS = [0, 1, 30, 31, 32, 62, 63, 64, 150, 255, 319, 327]
MTP_DEPTH = 4


def input_ids(name, count):
    """Random ids of tokens that exist."""
    return (Stream(1, f"input ids {name}").indices(count).astype(np.int64) * REAL_TOKENS >> 16).astype(np.int32)


def load_weights(folder):
    reader = safetensors.Reader(folder)
    weights = {}
    for name in reader.names():
        raw = reader.raw(name)
        values = formats.bf16_decode(raw) if reader.dtype(name) == "BF16" else raw.astype(np.float32)
        weights[name] = torch.from_numpy(values.reshape(reader.shape(name)).copy())
    return weights


def load_config(folder):
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        return Qwen3_5TextConfig(**json.load(file)["text_config"], attn_implementation="eager")


def load_into(module, weights, prefix):
    wanted = {name: weights[prefix + name] for name in module.state_dict() if prefix + name in weights}
    missing = module.load_state_dict(wanted, strict=False).missing_keys
    assert all(name == "lm_head.weight" for name in missing), missing
    return module.eval()


class MtpHead:
    """The definition: fc(concat(norm(embedding), norm(hidden))), one full attention layer, norm, the shared lm_head."""

    def __init__(self, config, model, weights):
        self.embed, self.lm_head, self.rotary = model.model.embed_tokens, model.lm_head, model.model.rotary_emb
        self.layer = load_into(
            qwen.Qwen3_5DecoderLayer(config, config.layer_types.index("full_attention")), weights, "mtp.layers.0."
        )
        self.norms = {}
        for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"):
            norm = qwen.Qwen3_5RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
            self.norms[name] = load_into(norm, weights, f"mtp.{name}.")
        self.fc = weights["mtp.fc.weight"]

    def row(self, hidden, tokens):
        """Input rows of the layer from hidden [r, H] and token ids [r]."""
        embedding = self.norms["pre_fc_norm_embedding"](self.embed(tokens))
        return torch.cat([embedding, self.norms["pre_fc_norm_hidden"](hidden)], dim=-1) @ self.fc.T

    def run(self, rows):
        """The layer over rows at positions 1, 2, ...; returns hidden [r, H] after mtp.norm."""
        count = len(rows)
        positions = torch.arange(1, count + 1).view(1, 1, -1)
        mask = torch.full((count, count), float("-inf")).triu(1)[None, None]
        output = self.layer(rows[None], position_embeddings=self.rotary(rows[None], positions), attention_mask=mask)
        return self.norms["norm"](output[0] if isinstance(output, tuple) else output)[0]


def mtp_goldens(head, hidden, ids):
    committed = head.row(hidden[:-1], ids[1:])  # row q - 1 holds position q
    tokens, all_hidden, all_logits = [], [], []
    for end in MTP_ENDS:
        rows, feed, token = committed[:end], hidden[end], ids[end + 1]
        chain = []
        for _ in range(MTP_DEPTH):
            rows = torch.cat([rows, head.row(feed[None], token[None])])
            feed = head.run(rows)[-1]
            logits = head.lm_head(feed)
            chain.append((int(token), feed, logits))
            token = logits[:REAL_TOKENS].argmax()
        tokens.append([entry[0] for entry in chain])
        all_hidden.append(torch.stack([entry[1] for entry in chain]))
        all_logits.append(torch.stack([entry[2] for entry in chain]))
    return np.array(tokens, np.int32), torch.stack(all_hidden).numpy(), torch.stack(all_logits).numpy()


def goldens(shape, folder, all_logits):
    make_checkpoint.main([folder, "--shape", shape])
    config, weights = load_config(folder), load_weights(folder)
    prefix = "model.language_model."
    model = qwen.Qwen3_5ForCausalLM(config).to(torch.float32)
    renamed = {name.replace(prefix, "model."): value for name, value in weights.items()}
    load_into(model, renamed, "")
    model.tie_weights()
    ids = input_ids(shape, NUM_TOKENS)
    residual = [None] * config.num_hidden_layers
    for index, layer in enumerate(model.model.layers):
        layer.register_forward_hook(lambda _, __, output, index=index: residual.__setitem__(index, output[0]))
    cache = transformers.DynamicCache(config=config)
    ids_tensor = torch.from_numpy(ids.astype(np.int64))
    hidden = model.model(ids_tensor[None], cache=cache, use_cache=True).last_hidden_state[0]
    logits = model.lm_head(hidden)
    chosen = list(range(NUM_TOKENS)) if all_logits else SOME_LOGITS
    result = {
        "ids": ids,
        "logits_positions": np.array(chosen, np.int32),
        "logits": logits[chosen].numpy(),
        "positions": np.array(POSITIONS, np.int32),
        "residual": torch.stack([r[POSITIONS] for r in residual]).numpy(),
        "hidden": hidden[POSITIONS].numpy(),
    }
    for index, layer_type in enumerate(config.layer_types):
        if layer_type == "linear_attention":
            result[f"conv.{index}"] = cache.get_conv_state(index, state_idx=0)[0, :, -3:].numpy()
            result[f"state.{index}"] = cache.get_recurrent_state(index, state_idx=0)[0, :, 1::5, 2::7].numpy()
    head = MtpHead(config, model, weights)
    tokens, mtp_hidden, mtp_logits = mtp_goldens(head, hidden, ids_tensor)
    result.update(
        mtp_ends=np.array(MTP_ENDS, np.int32), mtp_tokens=tokens, mtp_hidden=mtp_hidden, mtp_logits=mtp_logits
    )
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join(os.path.dirname(__file__), "..", "tests", "golden", "model"))
    out = parser.parse_args().out
    os.makedirs(out, exist_ok=True)
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    for shape, all_logits in (("tiny", True), ("tiny-r1", False)):
        with tempfile.TemporaryDirectory() as folder:
            tensors = goldens(shape, folder, all_logits)
        path = os.path.join(out, f"{shape}.safetensors")
        safetensors.save(
            path,
            tensors,
            {
                "made_by": "tools/make_model_goldens.py",
                "checkpoint": f"tools/make_checkpoint.py DIR --shape {shape}",
                "reference": f"transformers {transformers.__version__}, torch {torch.__version__}, float32",
                "state": "state.<layer> is S[:, 1::5, 2::7] of [Hv, Dk, Dv]",
            },
        )
        print(f"{path}: {os.path.getsize(path) / 1e6:.2f} MB, largest logit {np.abs(tensors['logits']).max():.2f}")


if __name__ == "__main__":
    main()
