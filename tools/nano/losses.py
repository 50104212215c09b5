"""What training minimizes: the next token, and the drafts of the multi-token-prediction head, depth after depth."""

import torch
import torch.nn.functional as F

ROWS = 256  # rows of logits at a time: they stay in the cache


class HeadLoss(torch.autograd.Function):
    """Sum of weight * cross entropy of rows against a tied head; also each row's loss and best token (no gradient).

    Where the weight w is below 0 the target t is not to be said: the loss is w * log(1 - p_t), whose gradient is that of
    the cross entropy with the weight w * p_t / (1 - p_t). (The sum that is returned ignores this.)
    hidden [N, H], head [V, H], targets [N], weights [N]. The gradients are computed with the logits at hand, so logits
    are neither kept nor computed twice.
    """

    @staticmethod
    def forward(ctx, hidden, head, targets, weights):
        d_hidden, d_head = torch.empty_like(hidden), torch.zeros_like(head)
        losses, best = torch.empty_like(weights), torch.empty_like(targets)
        for begin in range(0, len(hidden), ROWS):
            rows = slice(begin, begin + ROWS)
            logits = hidden[rows] @ head.T
            largest, best[rows] = logits.max(-1)
            wanted = logits.gather(1, targets[rows, None])[:, 0]
            logits.sub_(largest[:, None]).exp_()
            total = logits.sum(-1)
            losses[rows] = total.log() + largest - wanted
            odds = 1 / torch.expm1(losses[rows]).clamp(min=1e-4)  # p / (1 - p)
            weight = torch.where(weights[rows] < 0, weights[rows] * odds, weights[rows])
            logits.mul_((weight / total)[:, None])
            logits.scatter_add_(1, targets[rows, None], -weight[:, None])
            d_hidden[rows] = logits @ head
            d_head.addmm_(logits.T, hidden[rows])
        ctx.save_for_backward(d_hidden, d_head)
        ctx.mark_non_differentiable(losses, best)
        return (losses * weights).sum(), losses, best

    @staticmethod
    def backward(ctx, gradient, *_):
        d_hidden, d_head = ctx.saved_tensors
        return d_hidden * gradient, d_head * gradient, None, None


def head_loss(hidden, head, targets, weights):
    """hidden [B, T, H], targets and weights [B, T]: mean loss over the rows with weight, their places, losses, hits."""
    chosen = weights.flatten().nonzero()[:, 0]
    w = weights.flatten()[chosen]
    targets = targets.flatten()[chosen]
    total, losses, best = HeadLoss.apply(hidden.flatten(0, 1)[chosen], head, targets, w / w.abs().sum().clamp(min=1e-6))
    return total, chosen, losses, best == targets


def _rate(hits):
    return hits.float().sum() / max(1, len(hits))


class MtpPass:
    """The head's layer over a batch: depth 1 from row `first` on, deeper depths from chosen rows.

    positions [B, T] when they are not simply counted.
    """

    def __init__(self, model, ids, hidden, first=0, positions=None):
        self.model, self.mtp, self.ids, self.first = model, model.mtp, ids, first
        self.layer = self.mtp.layers[0]
        self.attention = self.layer.self_attn
        self.positions = torch.arange(ids.shape[1]).expand_as(ids) if positions is None else positions
        x = self.mtp.row(model.model.embed_tokens(ids[:, 1:]), hidden[:, :-1])
        norm = self.layer.input_layernorm.weight
        q, self.keys, self.values, gate = self.attention.inputs(x, norm, self.positions[:, 1:])
        mask = None
        if first:
            q, gate, x = q[:, :, first:], gate[:, first:], x[:, first:]
            mask = torch.ones(q.shape[2], self.keys.shape[2], dtype=torch.bool).tril(first)
        o = F.scaled_dot_product_attention(
            q, self.attention.expand(self.keys), self.attention.expand(self.values), mask, is_causal=mask is None
        )
        x = self.layer.feed_forward(self.attention.output(x, o, gate))
        # [B, T - 1 - first, H]: the row of h_i and token i + 1 predicts token i + 2
        self.hidden = self.mtp.norm(x)

    def chain(self, rows, depth):
        """Yields (hidden [B, R, H], place of the predicted token [B, R]) for depths 2..depth from rows [B, R].

        The row of depth d sees the true rows up to its beginning and the chain's own rows, as drafting does.
        """
        batch = torch.arange(len(rows))[:, None]
        hidden = self.hidden[batch, rows - self.first]
        places = torch.arange(self.keys.shape[2])
        hides = (places > rows[..., None])[:, None]  # [B, 1, R, T - 1]
        past_keys, past_values = self.attention.expand(self.keys), self.attention.expand(self.values)
        own_keys, own_values = [], []
        for d in range(2, depth + 1):
            x = self.mtp.row(self.model.model.embed_tokens(self.ids[batch, rows + d]), hidden)
            positions = self.positions[batch, rows + d]
            q, k, v, gate = self.attention.inputs(x, self.layer.input_layernorm.weight, positions)
            own_keys.append(self.attention.expand(k))
            own_values.append(self.attention.expand(v))
            scores = (q @ past_keys.mT).masked_fill(hides, float("-inf"))
            own = torch.stack([(q * key).sum(-1) for key in own_keys], -1)
            weights = (torch.cat([scores, own], -1) * self.attention.shape.head_dim**-0.5).softmax(-1)
            o = weights[..., : -len(own_keys)] @ past_values
            for j, value in enumerate(own_values):
                o = o + weights[..., j - len(own_values), None] * value
            x = self.layer.feed_forward(self.attention.output(x, o, gate))
            hidden = self.mtp.norm(x)
            yield hidden, rows + d + 1


def mtp_losses(model, ids, hidden, weights, depth, rows, positions=None):
    """Mean losses and hit rates per depth 1..depth. weights [B, T] of target tokens; `rows` chains a sequence."""
    head = model.head
    mtp = MtpPass(model, ids, hidden, positions=positions)
    loss, _, _, hits = head_loss(mtp.hidden[:, :-1], head, ids[:, 2:], weights[:, 2:])
    losses, rates = [loss], [_rate(hits)]
    if depth > 1:
        ends = ids.shape[1] - depth - 1
        # The places whose whole chain is to be predicted come first, at random.
        order = torch.rand(ids.shape[0], ends) + (weights[:, 2 : 2 + ends] > 0).float()
        chosen = order.topk(min(rows, ends), 1).indices
        batch = torch.arange(len(ids))[:, None]
        for deeper, places in mtp.chain(chosen, depth):
            loss, _, _, hits = head_loss(deeper, head, ids[batch, places], weights[batch, places])
            losses.append(loss)
            rates.append(_rate(hits))
    return losses, rates
