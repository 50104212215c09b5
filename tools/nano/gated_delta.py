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


class Recurrence(torch.autograd.Function):
    """The states at the chunk borders and the outputs, chunk after chunk.

    u [N, B, C, Dv]; wq [N, B, 2 C, Dk] is W over Q; io [N, B, C + Dk, C] is the inner products over K'; last
    [N, B, 1, 1]; state [B, Dk, Dv]. By hand: only two products of a chunk, forward and backward, wait for the chunk
    before or after, and the rest is done for all of them at once.
    """

    @staticmethod
    def forward(ctx, u, wq, io, last, state):
        width = u.shape[2]
        states, deltas, outputs = torch.empty(len(u), *state.shape), torch.empty_like(u), torch.empty_like(u)
        for i in range(len(u)):
            states[i] = state
            seen = wq[i] @ state
            torch.sub(u[i], seen[:, :width], out=deltas[i])
            made = io[i] @ deltas[i]
            torch.add(seen[:, width:], made[:, :width], out=outputs[i])
            state = made[:, width:].addcmul_(last[i], state)
        ctx.save_for_backward(wq, io, last, states, deltas)
        return outputs, state

    @staticmethod
    def backward(ctx, d_outputs, d_state):
        wq, io, last, states, deltas = ctx.saved_tensors
        width = deltas.shape[2]
        d_made = torch.empty(*io.shape[:3], deltas.shape[3])
        d_seen = torch.empty(*wq.shape[:3], deltas.shape[3])
        d_made[:, :, :width] = d_outputs
        d_seen[:, :, width:] = d_outputs
        d_last = torch.empty_like(last)
        for i in reversed(range(len(deltas))):
            d_made[i, :, width:] = d_state
            d_last[i] = (d_state * states[i]).sum((-1, -2), keepdim=True)
            torch.neg(io[i].mT @ d_made[i], out=d_seen[i, :, :width])
            d_state = (wq[i].mT @ d_seen[i]).addcmul_(last[i], d_state)
        return -d_seen[:, :, :width], d_seen @ states.mT, d_made @ deltas.mT, d_last, d_state


def _chunks(x, count):
    """[B, T, heads, d] -> [count, B * heads, C, d]"""
    batch, _, heads, width = x.shape
    return x.reshape(batch, count, -1, heads, width).permute(1, 0, 3, 2, 4).flatten(1, 2)


def _decay(total):
    """E [N, B, C, C]: masked before the exponential, whose upper part would overflow."""
    difference = total - total.mT
    upper = torch.ones(difference.shape[-2:], dtype=torch.bool).triu(1)
    return difference.masked_fill(upper, float("-inf")).exp()


def terms(q, k, v, beta, g, count):
    """What does not depend on states, chunk by chunk, [N, B * Hv, ...]."""
    ratio = v.shape[2] // q.shape[2]
    q, k, v = _chunks(q, count), _chunks(k, count), _chunks(v, count)
    beta, total = _chunks(beta.unsqueeze(-1), count), _chunks(g.unsqueeze(-1), count).cumsum(-2)
    decay = _decay(total)
    growth, last = total.exp(), total[..., -1:, :]
    products = (torch.cat([k, q], 2) @ k.mT).repeat_interleave(ratio, 1)
    keys, queries = k.repeat_interleave(ratio, 1), q.repeat_interleave(ratio, 1)
    lower = (beta * products[:, :, : k.shape[2]] * decay).tril(-1)
    right = torch.cat([beta * v, (beta * growth) * keys], -1)
    io = torch.cat([products[:, :, k.shape[2] :] * decay, ((last - total).exp() * keys).mT], 2)
    return lower, right, growth * queries, io, last.exp()


def gated_delta(q, k, v, beta, g, state=None, chunk=CHUNK):
    """q, k [B, T, Hk, Dk] normalized and scaled; v [B, T, Hv, Dv]; beta, g [B, T, Hv]; state [B, Hv, Dk, Dv] or None.

    Returns o [B, T, Hv, Dv] and the state after the last token. Value head h reads key head h / (Hv / Hk).
    """
    batch, length, heads, width = v.shape
    chunk = min(chunk, length)
    count = -(-length // chunk)
    padding = count * chunk - length
    if padding:  # rows with k = v = beta = g = 0 leave the state as it is
        q, k, v = (F.pad(x, (0, 0, 0, 0, 0, padding)) for x in (q, k, v))
        beta, g = (F.pad(x, (0, 0, 0, padding)) for x in (beta, g))
    if state is None:
        state = v.new_zeros(batch, heads, q.shape[-1], width)
    lower, right, queries, io, last = terms(q, k, v, beta, g, count)
    u, w = (UnitLowerInverse.apply(lower) @ right).split((width, q.shape[-1]), -1)
    outputs, state = Recurrence.apply(u, torch.cat([w, queries], 2), io, last, state.flatten(0, 1))
    o = outputs.unflatten(1, (batch, heads)).permute(1, 0, 3, 2, 4).reshape(batch, -1, heads, width)
    return o[:, :length], state.unflatten(0, (batch, heads))
