"""nano's model: the Qwen3.5 hybrid with its multi-token-prediction head, for training on a CPU (docs/qwen35.md).

Parameters have the names of the checkpoint, so the state dict is the export. Everything is float32.
"""

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn

import gated_delta


@dataclasses.dataclass(frozen=True)
class Shape:
    vocab_size: int = 8192
    hidden_size: int = 256
    intermediate_size: int = 512
    num_hidden_layers: int = 8
    full_attention_interval: int = 4
    num_attention_heads: int = 2
    num_key_value_heads: int = 1
    head_dim: int = 256
    linear_num_key_heads: int = 1
    linear_num_value_heads: int = 2
    linear_key_head_dim: int = 128
    linear_value_head_dim: int = 128
    linear_conv_kernel_dim: int = 4
    rms_norm_eps: float = 1e-6
    rope_theta: float = 1e7
    partial_rotary_factor: float = 0.25
    max_position_embeddings: int = 40960

    @property
    def layer_types(self):
        every = self.full_attention_interval
        kinds = ("linear_attention", "full_attention")
        return [kinds[(i + 1) % every == 0] for i in range(self.num_hidden_layers)]

    @property
    def key_dim(self):
        return self.linear_num_key_heads * self.linear_key_head_dim

    @property
    def value_dim(self):
        return self.linear_num_value_heads * self.linear_value_head_dim


def rms_norm(x, weight, eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * (1 + weight)


def _unit(x):
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)


def _gdn_inputs(x, window, norm, qkv, z, b, a, conv, a_log, dt_bias, eps, key_heads, value_heads, width):
    x = rms_norm(x, norm, eps)
    u = torch.cat([window, F.linear(x, qkv)], 1)
    length, taps = x.shape[1], conv.shape[-1]
    mixed = sum(u[:, j : j + length] * conv[:, 0, j] for j in range(taps))
    mixed = F.silu(mixed)
    keys = key_heads * width
    q = _unit(mixed[..., :keys].unflatten(-1, (key_heads, width))) * width**-0.5
    k = _unit(mixed[..., keys : 2 * keys].unflatten(-1, (key_heads, width)))
    v = mixed[..., 2 * keys :].unflatten(-1, (value_heads, -1))
    beta = torch.sigmoid(F.linear(x, b))
    g = -a_log.exp() * F.softplus(F.linear(x, a) + dt_bias)
    return q, k, v, beta, g, F.linear(x, z), u[:, length:]


def _gdn_output(x, o, z, norm, out, eps):
    o = o * torch.rsqrt(o.square().mean(-1, keepdim=True) + eps) * norm
    return x + F.linear(o.flatten(-2) * F.silu(z), out)


def compile_parts():
    """For training: what is elementwise becomes fused loops, for each shape once (PyTorch needs a C++ compiler)."""
    torch._dynamo.config.recompile_limit = 64
    for name in ("_gdn_inputs", "_gdn_output", "_attention_inputs", "_attention_output", "_mlp"):
        globals()[name] = torch.compile(globals()[name], dynamic=False)
    gated_delta.terms = torch.compile(gated_delta.terms, dynamic=False)


class GatedDeltaNet(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        conv_dim = 2 * shape.key_dim + shape.value_dim
        heads, hidden = shape.linear_num_value_heads, shape.hidden_size
        self.in_proj_qkv = nn.Linear(hidden, conv_dim, bias=False)
        self.in_proj_z = nn.Linear(hidden, shape.value_dim, bias=False)
        self.in_proj_b = nn.Linear(hidden, heads, bias=False)
        self.in_proj_a = nn.Linear(hidden, heads, bias=False)
        self.conv1d = nn.Conv1d(conv_dim, conv_dim, shape.linear_conv_kernel_dim, groups=conv_dim, bias=False)
        self.A_log = nn.Parameter(torch.zeros(heads))
        self.dt_bias = nn.Parameter(torch.zeros(heads))
        self.norm = nn.Module()
        self.norm.weight = nn.Parameter(torch.ones(shape.linear_value_head_dim))
        self.out_proj = nn.Linear(shape.value_dim, hidden, bias=False)

    def begin_copying(self):
        """What followed a token before: keys are of the token before a value's, queries like keys, output like input.

        Recall is learned much sooner from here (Trockman et al., Mimetic Initialization Helps State Space Models Learn
        to Recall, 2024).
        """
        keys, conv = self.shape.key_dim, self.conv1d.weight[:, 0]
        weight = self.in_proj_qkv.weight
        weight[:keys] = weight[keys : 2 * keys]
        conv[:keys, -1] += 1
        conv[keys : 2 * keys, -2] += 1
        conv[2 * keys :, -1] += 1
        self.out_proj.weight.add_(weight[2 * keys :].T, alpha=0.1)

    def forward(self, x, norm, cache=None):
        s = self.shape
        window, state = cache.recurrent(self) if cache else (None, None)
        if window is None:
            window = x.new_zeros(x.shape[0], s.linear_conv_kernel_dim - 1, self.conv1d.weight.shape[0])
        q, k, v, beta, g, z, window = _gdn_inputs(
            x, window, norm, self.in_proj_qkv.weight, self.in_proj_z.weight, self.in_proj_b.weight,
            self.in_proj_a.weight, self.conv1d.weight, self.A_log, self.dt_bias, s.rms_norm_eps,
            s.linear_num_key_heads, s.linear_num_value_heads, s.linear_key_head_dim)  # fmt: skip
        o, state = gated_delta.gated_delta(q, k, v, beta, g, state)
        if cache:
            cache.set_recurrent(self, window, state)
        return _gdn_output(x, o, z, self.norm.weight, self.out_proj.weight, s.rms_norm_eps)


def _rotate(x, cos, sin):
    half = cos.shape[-1]
    first, second, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat([first * cos - second * sin, second * cos + first * sin, rest], -1)


def _attention_inputs(x, norm, query, key, value, query_norm, key_norm, cos, sin, eps, heads, kv_heads):
    x = rms_norm(x, norm, eps)
    q, gate = F.linear(x, query).unflatten(-1, (heads, 2, -1)).unbind(-2)
    k = F.linear(x, key).unflatten(-1, (kv_heads, -1))
    v = F.linear(x, value).unflatten(-1, (kv_heads, -1))
    q = _rotate(rms_norm(q, query_norm, eps), cos, sin)
    k = _rotate(rms_norm(k, key_norm, eps), cos, sin)
    return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), gate.flatten(-2)


def _attention_output(x, o, gate, out):
    return x + F.linear(o.transpose(1, 2).flatten(-2) * torch.sigmoid(gate), out)


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        heads, width = shape.num_attention_heads, shape.head_dim
        self.q_proj = nn.Linear(shape.hidden_size, 2 * heads * width, bias=False)
        self.k_proj = nn.Linear(shape.hidden_size, shape.num_key_value_heads * width, bias=False)
        self.v_proj = nn.Linear(shape.hidden_size, shape.num_key_value_heads * width, bias=False)
        self.o_proj = nn.Linear(heads * width, shape.hidden_size, bias=False)
        self.q_norm, self.k_norm = nn.Module(), nn.Module()
        self.q_norm.weight = nn.Parameter(torch.zeros(width))
        self.k_norm.weight = nn.Parameter(torch.zeros(width))

    def begin_copying(self):
        """Queries like keys, output like input."""
        s = self.shape
        query = self.q_proj.weight.view(s.num_key_value_heads, -1, 2, s.head_dim, s.hidden_size)
        query[:, :, 0].add_(self.k_proj.weight.view(s.num_key_value_heads, 1, s.head_dim, s.hidden_size))
        value = self.expand(self.v_proj.weight.view(1, s.num_key_value_heads, s.head_dim, s.hidden_size))
        self.o_proj.weight.add_(value.flatten(0, 2).T, alpha=0.1)

    def rotation(self, positions):
        """cos, sin [..., 1, rotated / 2] for positions [...]."""
        rotated = int(self.shape.partial_rotary_factor * self.shape.head_dim)
        frequencies = self.shape.rope_theta ** (-torch.arange(0, rotated, 2, dtype=torch.float32) / rotated)
        angles = positions[..., None, None].float() * frequencies
        return angles.cos(), angles.sin()

    def inputs(self, x, norm, positions):
        """q [B, heads, T, width], k and v [B, kv heads, T, width], gate [B, T, heads * width]"""
        s = self.shape
        return _attention_inputs(
            x, norm, self.q_proj.weight, self.k_proj.weight, self.v_proj.weight, self.q_norm.weight,
            self.k_norm.weight, *self.rotation(positions), s.rms_norm_eps, s.num_attention_heads,
            s.num_key_value_heads)  # fmt: skip

    def output(self, x, o, gate):
        return _attention_output(x, o, gate, self.o_proj.weight)

    def expand(self, x):
        """Each key/value head once for every query head that reads it."""
        ratio = self.shape.num_attention_heads // self.shape.num_key_value_heads
        return x.repeat_interleave(ratio, 1)

    def forward(self, x, norm, positions, cache=None):
        q, k, v, gate = self.inputs(x, norm, positions)
        if cache:
            k, v = cache.append(self, k, v)
        if q.shape[2] == 1:  # the query heads of a key head as rows: nothing is masked, nothing repeated
            o = F.scaled_dot_product_attention(q.reshape(*k.shape[:2], -1, k.shape[3]), k, v)
            return self.output(x, o.reshape(q.shape), gate)
        mask = None
        if q.shape[2] != k.shape[2]:
            mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
        o = F.scaled_dot_product_attention(q, self.expand(k), self.expand(v), mask, is_causal=mask is None)
        return self.output(x, o, gate)


def _mlp(x, norm, gate, up, down, eps):
    y = rms_norm(x, norm, eps)
    return x + F.linear(F.silu(F.linear(y, gate)) * F.linear(y, up), down)


class Mlp(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.up_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.down_proj = nn.Linear(shape.intermediate_size, shape.hidden_size, bias=False)

    def forward(self, x, norm, eps):
        return _mlp(x, norm, self.gate_proj.weight, self.up_proj.weight, self.down_proj.weight, eps)


class Norm(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.eps = shape.rms_norm_eps
        self.weight = nn.Parameter(torch.zeros(shape.hidden_size))

    def forward(self, x):
        return rms_norm(x, self.weight, self.eps)


class Layer(nn.Module):
    def __init__(self, shape, kind):
        super().__init__()
        self.eps = shape.rms_norm_eps
        self.input_layernorm = Norm(shape)
        self.post_attention_layernorm = Norm(shape)
        self.mlp = Mlp(shape)
        if kind == "linear_attention":
            self.linear_attn = GatedDeltaNet(shape)
        else:
            self.self_attn = Attention(shape)

    def forward(self, x, positions, cache=None):
        norm = self.input_layernorm.weight
        if hasattr(self, "linear_attn"):
            x = self.linear_attn(x, norm, cache)
        else:
            x = self.self_attn(x, norm, positions, cache)
        return self.feed_forward(x)

    def feed_forward(self, x):
        return self.mlp(x, self.post_attention_layernorm.weight, self.eps)


class Mtp(nn.Module):
    """The head that drafts: from h of position p and the token at p + 1, the token at p + 2 (docs/qwen35.md 4.1)."""

    def __init__(self, shape):
        super().__init__()
        self.fc = nn.Linear(2 * shape.hidden_size, shape.hidden_size, bias=False)
        self.pre_fc_norm_embedding = Norm(shape)
        self.pre_fc_norm_hidden = Norm(shape)
        self.layers = nn.ModuleList([Layer(shape, "full_attention")])
        self.norm = Norm(shape)

    def row(self, embedding, hidden):
        return self.fc(torch.cat([self.pre_fc_norm_embedding(embedding), self.pre_fc_norm_hidden(hidden)], -1))


class Trunk(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.layers = nn.ModuleList([Layer(shape, kind) for kind in shape.layer_types])
        self.norm = Norm(shape)


class Nano(nn.Module):
    def __init__(self, shape=Shape()):
        super().__init__()
        self.shape = shape
        self.model = Trunk(shape)
        self.mtp = Mtp(shape)

    @property
    def head(self):
        return self.model.embed_tokens.weight

    def forward(self, ids, cache=None, positions=None):
        """ids [B, T] -> hidden [B, T, H] after the final norm. With a cache, ids continue what it holds.

        positions [T] or [B, T] when they are not simply counted.
        """
        if positions is None:
            start = cache.length if cache else 0
            positions = torch.arange(start, start + ids.shape[1])
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x, positions, cache)
        if cache:
            cache.length += ids.shape[1]
        return self.model.norm(x)

    @torch.no_grad()
    def initialize(self, generator):
        """Normal weights, those that write into the residual stream small; then every mixer as if it could copy."""
        for name, p in self.named_parameters():
            if name.endswith("dt_bias"):
                rate = torch.empty_like(p).uniform_(-7.6, -3.0, generator=generator).exp()
                p.copy_(rate + torch.log(-torch.expm1(-rate)))  # softplus(dt_bias) = rate, 0.0005 to 0.05
            elif name.endswith("conv1d.weight"):
                p.uniform_(-0.1, 0.1, generator=generator)
            elif p.dim() == 2:
                p.normal_(0, p.shape[1] ** -0.5 * 0.6 if "embed" not in name else 0.05, generator=generator)
                if name.endswith(("o_proj.weight", "out_proj.weight", "down_proj.weight", "fc.weight")):
                    p.mul_(0.05)
        for module in self.modules():
            if isinstance(module, (GatedDeltaNet, Attention)):
                module.begin_copying()
        return self


class Cache:
    """What one sequence (a batch of equal lengths) carries between calls: windows, states, keys and values."""

    def __init__(self):
        self.length = 0
        self._recurrent, self._attention = {}, {}

    def recurrent(self, layer):
        return self._recurrent.get(layer, (None, None))

    def set_recurrent(self, layer, window, state):
        self._recurrent[layer] = (window, state)

    def append(self, layer, k, v):
        end = self.length + k.shape[2]
        buffers = self._attention.get(layer)
        if buffers is None or buffers[0].shape[2] < end:
            grown = [new.new_zeros(*new.shape[:2], 2 * end, new.shape[3]) for new in (k, v)]
            for one, old in zip(grown, buffers or ()):
                one[:, :, : self.length] = old[:, :, : self.length]
            buffers = self._attention[layer] = grown
        for buffer, new in zip(buffers, (k, v)):
            buffer[:, :, self.length : end] = new
        return [buffer[:, :, :end] for buffer in buffers]

    def fork(self):
        """A copy that goes on by itself until what it was copied from does: keys and values are written to one place."""
        copy = Cache()
        copy.length = self.length
        copy._recurrent, copy._attention = dict(self._recurrent), dict(self._attention)
        return copy

    def copy(self):
        """A copy of its own, of what the model says now: gradients end here."""
        copy = self.fork()
        copy._attention = {layer: [buffer.clone() for buffer in buffers] for layer, buffers in self._attention.items()}
        return copy
