"""The recurrence of a Gated DeltaNet layer over a whole sequence, in chunks, with gradients.

Within a chunk of C tokens the updates delta solve a unit lower triangular system (docs/qwen35.md, "The grid form"), so
everything but the state at the chunk borders is computed for all chunks at once:

    (I + A) U = diag(beta) V      (I + A) W = diag(beta e^G) K      A = strictly lower part of diag(beta) K K' * E
    delta = U - W S      O = diag(e^G) Q S + (Q K' * E) delta      S <- e^{G_C} S + (diag(e^{G_C - G}) K)' delta

with G the running sum of g inside the chunk and E_ij = e^{G_i - G_j} for i >= j, else 0.
"""

import torch
import torch.nn.functional as F

CHUNK = 64


class UnitLowerInverse(torch.autograd.Function):
    """(I + A)^-1 for strictly lower triangular A [..., C, C]."""

    @staticmethod
    def forward(ctx, lower):
        eye = torch.eye(lower.shape[-1]).expand_as(lower)
        inverse = torch.linalg.solve_triangular(eye + lower, eye, upper=False, unitriangular=True)
        ctx.save_for_backward(inverse)
        return inverse

    @staticmethod
    def backward(ctx, gradient):
        (inverse,) = ctx.saved_tensors
        transposed = inverse.mT
        return -(transposed @ gradient @ transposed).tril(-1)


def _chunks(x, count):
    """[B, T, heads, d] -> [B, heads, count, C, d]"""
    batch, _, heads, width = x.shape
    return x.transpose(1, 2).reshape(batch, heads, count, -1, width)


def gated_delta(q, k, v, beta, g, state=None, chunk=CHUNK):
    """q, k [B, T, Hk, Dk] normalized and scaled; v [B, T, Hv, Dv]; beta, g [B, T, Hv]; state [B, Hv, Dk, Dv] or None.

    Returns o [B, T, Hv, Dv] and the state after the last token. Value head h reads key head h / (Hv / Hk).
    """
    batch, length, value_heads, value_width = v.shape
    ratio = value_heads // q.shape[2]
    chunk = min(chunk, length)
    count = -(-length // chunk)
    padding = count * chunk - length
    if padding:  # rows with k = v = beta = g = 0 leave the state as it is
        q, k, v = (F.pad(x, (0, 0, 0, 0, 0, padding)) for x in (q, k, v))
        beta, g = (F.pad(x, (0, 0, 0, padding)) for x in (beta, g))
    q, k, v = _chunks(q, count), _chunks(k, count), _chunks(v, count)
    beta = _chunks(beta.unsqueeze(-1), count)  # [B, Hv, N, C, 1]
    total = _chunks(g.unsqueeze(-1), count).cumsum(-2)
    decay = _decay(total)

    keys = k.repeat_interleave(ratio, 1)
    lower = beta * (k @ k.mT).repeat_interleave(ratio, 1) * decay
    inverse = UnitLowerInverse.apply(lower.tril(-1))
    growth = total.exp()
    u = inverse @ (beta * v)
    w = inverse @ (beta * growth * keys)
    inside = (q @ k.mT).repeat_interleave(ratio, 1) * decay
    queries = growth * q.repeat_interleave(ratio, 1)
    last = total[..., -1:, :]
    outgoing = ((last - total).exp() * keys).mT
    last = last.exp()

    if state is None:
        state = v.new_zeros(batch, value_heads, q.shape[-1], value_width)
    outputs = []
    # unbind: the gradient of one slice after the other would fill and add whole tensors
    for u_i, w_i, q_i, inside_i, last_i, out_i in zip(*(x.unbind(2) for x in (u, w, queries, inside, last, outgoing))):
        delta = u_i - w_i @ state
        outputs.append(q_i @ state + inside_i @ delta)
        state = last_i * state + out_i @ delta
    o = torch.cat(outputs, 2).transpose(1, 2)
    return o[:, :length], state


def _decay(total):
    """E [B, Hv, N, C, C]: masked before the exponential, whose upper part would overflow."""
    difference = total - total.mT
    upper = torch.ones(difference.shape[-2:], dtype=torch.bool).triu(1)
    return difference.masked_fill(upper, float("-inf")).exp()
