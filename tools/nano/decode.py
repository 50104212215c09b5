"""Greedy decoding of nano with its cache, and the drafts of its head, one token at a time."""

import torch

from losses import MtpPass
from model import Cache

PIECE = 512  # prompt tokens of one pass


@torch.no_grad()
def prefill(model, ids, cache):
    """Feed ids (a list); returns hidden [n, H]."""
    parts = [model(torch.tensor([ids[i : i + PIECE]]), cache)[0] for i in range(0, len(ids), PIECE)]
    return torch.cat(parts)


@torch.no_grad()
def greedy(model, hidden, cache, stops, limit):
    """Tokens after the position of `hidden` [H], until a stop token (included) or the limit; and their hiddens."""
    tokens, hiddens = [], []
    while True:
        token = int((model.head @ hidden).argmax())
        tokens.append(token)
        if token in stops or len(tokens) == limit:
            return tokens, hiddens
        hidden = model(torch.tensor([[token]]), cache)[0, -1]
        hiddens.append(hidden)


@torch.no_grad()
def acceptance(model, ids, hidden, begin, depth):
    """Drafts against the text itself: [depth] of (how many, how many right) for the tokens from place `begin` on.

    ids [T] is a prompt with the model's own greedy tokens, hidden [T, H] its hiddens. A draft of depth d counts when
    those before it were right, as only then it is looked at.
    """
    length, first = len(ids), max(0, begin - 2)
    # Padding, so that chains may begin near the end; no row before it sees it.
    ids = torch.tensor(ids + [0] * depth)[None]
    hidden = torch.cat([hidden, hidden.new_zeros(depth, hidden.shape[1])])
    rows = torch.arange(first, length - 2)[None]
    if rows.numel() == 0:
        return [(0, 0)] * depth
    mtp = MtpPass(model, ids, hidden[None], first)
    alive, result = torch.ones(rows.shape[1], dtype=torch.bool), []

    def judge(deeper, places):
        nonlocal alive
        alive = alive & (places[0] < length)
        right = (deeper[0] @ model.head.T).argmax(-1) == ids[0, places[0]]
        result.append((int(alive.sum()), int((alive & right).sum())))
        alive = alive & right

    judge(mtp.hidden[:, : rows.shape[1]], rows + 2)
    for deeper, places in mtp.chain(rows, depth):
        judge(deeper, places)
    return result
