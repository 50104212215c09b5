#!/usr/bin/env python3
"""The forward pass of the Qwen3.5 family in numpy: token by token, nothing chunked, nothing clever.

It reads every storage make_checkpoint.py writes and can round where the runtime's bf16 mode rounds: inputs of plain and
weight-only matrix products, the convolution's input u, keys (after norm and rotation) and values, the final hidden
state. Everything else stays in the dtype of the model (float64 unless asked otherwise).

    reference_model.py CHECKPOINT --check GOLDEN     compare with a file of make_model_goldens.py
    reference_model.py CHECKPOINT --ids 1,2,3        print the largest logits after the last token
"""

import argparse

from packages_needed import need_for_work

need_for_work("numpy")

import numpy as np

import colugo_formats as formats
from colugo_safetensors import Reader
from reference_weights import Checkpoint


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


class ReferenceModel:
    def __init__(self, folder, compute="f32", kv=None, dtype=np.float64):
        """compute: f32 (no rounding) | bf16. kv: f32 | bf16 | fp8; without it, as `--kv-type auto` chooses."""
        self.checkpoint = Checkpoint(folder, dtype)
        self.config, self.dtype = self.checkpoint.config, np.dtype(dtype)
        self.rounds = compute == "bf16"
        declared = (
            "fp8"
            if any(
                self.checkpoint.has(f"layers.{i}.self_attn.k_proj.k_scale")
                for i in range(self.config["num_hidden_layers"])
            )
            else "bf16"
        )
        self.kv = kv or (declared if self.rounds else "f32")
        self._linears, self._tensors = {}, {}

    # -- weights, read when first used ------------------------------------------------------------------------------

    def linear(self, module, x):
        if module not in self._linears:
            self._linears[module] = self.checkpoint.linear(module)
        return self._linears[module](x, self.rounds)

    def tensor(self, name):
        if name not in self._tensors:
            self._tensors[name] = self.checkpoint.tensor(name)
        return self._tensors[name]

    def lm_head(self, hidden):
        return self.linear("lm_head" if self.checkpoint.has_linear("lm_head") else "embed_tokens", hidden)

    # -- parts ------------------------------------------------------------------------------------------------------

    def _round(self, x):
        return formats.round_bf16(x.astype(np.float32)).astype(self.dtype) if self.rounds else x

    def _norm(self, x, name):
        mean = np.mean(x * x, -1, keepdims=True)
        return x / np.sqrt(mean + self.config["rms_norm_eps"]) * (1 + self.tensor(name))

    def _store_kv(self, values, scale_name):
        """What the cache gives back for keys or values [T, kv_heads, head_dim]."""
        if self.kv == "f32":
            return values
        if self.kv == "bf16":
            return formats.round_bf16(values.astype(np.float32)).astype(self.dtype)
        scale = self.checkpoint.scalar(scale_name, np.float32(1))
        codes = formats.e4m3_encode(values.astype(np.float32) / scale)
        return formats.e4m3_decode(codes).astype(self.dtype) * self.dtype.type(scale)

    def _rope(self, x, positions):
        """Rotate the first dims of [T, heads, head_dim]: dim j is paired with dim j + half."""
        rope = self.config["rope_parameters"]
        half = int(x.shape[-1] * rope["partial_rotary_factor"]) // 2
        angles = positions[:, None] * rope["rope_theta"] ** (-np.arange(half) / half)
        cos, sin = np.cos(angles)[:, None].astype(self.dtype), np.sin(angles)[:, None].astype(self.dtype)
        low, high = x[..., :half], x[..., half : 2 * half]
        return np.concatenate([low * cos - high * sin, high * cos + low * sin, x[..., 2 * half :]], -1)

    def attention(self, x, positions, prefix):
        """Gated attention over rows x [T, H] at `positions`, each seeing itself and the rows before it."""
        config, count, dim = self.config, len(x), self.config["head_dim"]
        heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        query, gate = np.split(self.linear(prefix + "q_proj", x).reshape(count, heads, 2 * dim), 2, -1)
        key = self.linear(prefix + "k_proj", x).reshape(count, kv_heads, dim)
        value = self.linear(prefix + "v_proj", x).reshape(count, kv_heads, dim)
        query = self._rope(self._norm(query, prefix + "q_norm.weight"), positions)
        key = self._rope(self._norm(key, prefix + "k_norm.weight"), positions)
        key, value = self._store_kv(key, prefix + "k_proj.k_scale"), self._store_kv(value, prefix + "v_proj.v_scale")
        causal = np.tril(np.ones((count, count), bool))
        output = np.empty((count, heads, dim), self.dtype)
        for head in range(heads):
            kv_head = head // (heads // kv_heads)
            scores = query[:, head] @ key[:, kv_head].T / np.sqrt(self.dtype.type(dim))
            scores = np.where(causal, scores, -np.inf)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            output[:, head] = weights / weights.sum(-1, keepdims=True) @ value[:, kv_head]
        return self.linear(prefix + "o_proj", (output * sigmoid(gate)).reshape(count, -1))

    def gated_delta_net(self, x, prefix):
        """Returns the output [T, H], the conv window [conv_dim, 3] and the state S [Hv, Dk, Dv] after the last row."""
        config, count, dtype = self.config, len(x), self.dtype
        key_heads, value_heads = config["linear_num_key_heads"], config["linear_num_value_heads"]
        key_dim, value_dim = config["linear_key_head_dim"], config["linear_value_head_dim"]
        taps = config["linear_conv_kernel_dim"]
        u = self._round(self.linear(prefix + "in_proj_qkv", x))
        z = self.linear(prefix + "in_proj_z", x).reshape(count, value_heads, value_dim)
        beta = sigmoid(self.linear(prefix + "in_proj_b", x))
        rate = -np.exp(self.tensor(prefix + "A_log"))
        decay = np.exp(rate * softplus(self.linear(prefix + "in_proj_a", x) + self.tensor(prefix + "dt_bias")))
        kernel = self.tensor(prefix + "conv1d.weight")[:, 0]
        padded = np.concatenate([np.zeros((taps - 1, u.shape[1]), dtype), u])
        mixed = silu(sum(padded[j : j + count] * kernel[:, j] for j in range(taps)))
        query, key, value = np.split(mixed, [key_heads * key_dim, 2 * key_heads * key_dim], 1)
        query, key = (part.reshape(count, key_heads, key_dim) for part in (query, key))
        query, key = (part / np.sqrt((part * part).sum(-1, keepdims=True) + 1e-6) for part in (query, key))
        ratio = value_heads // key_heads
        query, key = (query / np.sqrt(dtype.type(key_dim))).repeat(ratio, 1), key.repeat(ratio, 1)
        value = value.reshape(count, value_heads, value_dim)
        state, output = np.zeros((value_heads, key_dim, value_dim), dtype), np.empty_like(value)
        for t in range(count):
            state *= decay[t][:, None, None]
            delta = beta[t][:, None] * (value[t] - np.einsum("hkv,hk->hv", state, key[t]))
            state += key[t][:, :, None] * delta[:, None, :]
            output[t] = np.einsum("hkv,hk->hv", state, query[t])
        scale = 1 / np.sqrt(np.mean(output * output, -1, keepdims=True) + config["rms_norm_eps"])
        gated = output * scale * self.tensor(prefix + "norm.weight") * silu(z)
        return self.linear(prefix + "out_proj", gated.reshape(count, -1)), padded[count:].T, state

    def mlp(self, x, prefix):
        return self.linear(
            prefix + "down_proj", silu(self.linear(prefix + "gate_proj", x)) * self.linear(prefix + "up_proj", x)
        )

    # -- the model --------------------------------------------------------------------------------------------------

    def forward(self, ids):
        """hidden [T, H] (rounded where the mode rounds it), residual [layers, T, H], conv and state by layer."""
        x = self.tensor("embed_tokens.weight")[ids]
        positions = np.arange(len(ids), dtype=np.float64)
        result = {"residual": [], "conv": {}, "state": {}}
        for index, layer_type in enumerate(self.config["layer_types"]):
            layer = f"layers.{index}."
            rows = self._norm(x, layer + "input_layernorm.weight")
            if layer_type == "full_attention":
                x = x + self.attention(rows, positions, layer + "self_attn.")
            else:
                mixed, result["conv"][index], result["state"][index] = self.gated_delta_net(
                    rows, layer + "linear_attn."
                )
                x = x + mixed
            x = x + self.mlp(self._norm(x, layer + "post_attention_layernorm.weight"), layer + "mlp.")
            result["residual"].append(x)
        result["hidden"] = self._round(self._norm(x, "norm.weight"))
        return result

    def mtp_row(self, hidden, ids):
        """Input rows of the MTP layer from hidden [r, H] and the ids [r] of the tokens that follow."""
        embedding = self._norm(self.tensor("embed_tokens.weight")[ids], "mtp.pre_fc_norm_embedding.weight")
        return self.linear(
            "mtp.fc", np.concatenate([embedding, self._norm(hidden, "mtp.pre_fc_norm_hidden.weight")], -1)
        )

    def mtp_run(self, rows):
        """The MTP layer over rows at positions 1, 2, ...: hidden [r, H] after mtp.norm."""
        layer, positions = "mtp.layers.0.", np.arange(1, len(rows) + 1, dtype=np.float64)
        x = rows + self.attention(self._norm(rows, layer + "input_layernorm.weight"), positions, layer + "self_attn.")
        x = x + self.mlp(self._norm(x, layer + "post_attention_layernorm.weight"), layer + "mlp.")
        return self._round(self._norm(x, "mtp.norm.weight"))

    def mtp_chain(self, hidden, ids, end, tokens):
        """Hidden [depth, H] after mtp.norm for the given draft tokens, with tokens 0..end committed."""
        rows, feed, outputs = self.mtp_row(hidden[:end], ids[1 : end + 1]), hidden[end], []
        for token in tokens:
            rows = np.concatenate([rows, self.mtp_row(feed[None], np.array([token]))])
            feed = self.mtp_run(rows)[-1]
            outputs.append(feed)
        return np.stack(outputs)


def differences(model, golden, mtp_step=1):
    """Largest absolute difference of each kind of value from a golden file of make_model_goldens.py.

    Only every `mtp_step`-th MTP chain is compared; they take most of the time.
    """
    reader = Reader(golden)
    ids = reader.raw("ids")
    result = model.forward(ids)
    worst = {}

    def compare(kind, values, name):
        worst[kind] = max(worst.get(kind, 0.0), float(np.abs(values - reader.raw(name)).max()))

    chosen, positions = reader.raw("logits_positions"), reader.raw("positions")
    compare("logits", model.lm_head(result["hidden"][chosen]), "logits")
    compare("hidden", result["hidden"][positions], "hidden")
    compare("residual", np.stack(result["residual"])[:, positions], "residual")
    for index, state in result["state"].items():
        compare("state", state[:, 1::5, 2::7], f"state.{index}")
        compare("conv", result["conv"][index], f"conv.{index}")
    for row, end in list(enumerate(reader.raw("mtp_ends")))[::mtp_step]:
        outputs = model.mtp_chain(result["hidden"], ids, end, reader.raw("mtp_tokens")[row])
        worst["mtp_hidden"] = max(
            worst.get("mtp_hidden", 0.0), float(np.abs(outputs - reader.raw("mtp_hidden")[row]).max())
        )
        logits = model.lm_head(outputs)
        worst["mtp_logits"] = max(
            worst.get("mtp_logits", 0.0), float(np.abs(logits - reader.raw("mtp_logits")[row]).max())
        )
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("--compute", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--kv", choices=("f32", "bf16", "fp8"))
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", metavar="GOLDEN")
    action.add_argument("--ids", help="token ids, separated by commas")
    parser.add_argument("--logits", metavar="FILE", help="with --ids: write the logits of every position, f32 [ids, vocab]")
    options = parser.parse_args()
    model = ReferenceModel(options.checkpoint, options.compute, options.kv, np.dtype(options.dtype))
    if options.check:
        for kind, value in differences(model, options.check).items():
            print(f"{kind:12} {value:.3g}")
        return
    hidden = model.forward(np.array([int(i) for i in options.ids.split(",")]))["hidden"]
    if options.logits:
        model.lm_head(hidden).astype("<f4").tofile(options.logits)
        return
    logits = model.lm_head(hidden[-1:])[0]
    for token in np.argsort(-logits, kind="stable")[:10]:
        print(f"{token:8d} {logits[token]:.6f}")


if __name__ == "__main__":
    main()
