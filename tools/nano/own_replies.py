"""Loops in the model's own greedy replies, so that training can take them away.

A loop that training makes up goes on from a text which the model has read; those that it falls into by itself begin in
texts it has never seen. So it writes some replies of its own, and what repeats in them is not to be said (Welleck et al.,
Neural Text Generation with Unlikelihood Training, 2020).
"""

import random

import numpy as np
import torch

import chat
import decode
from losses import head_loss

LENGTH = 112  # tokens of a reply
NGRAM, TIMES = 4, 2  # tokens that end what has stood in the reply so often before are a loop


def loops(tokens):
    """Which tokens go on with a loop: [len(tokens)] bool."""
    seen, marks = {}, np.zeros(len(tokens), bool)
    for end in range(NGRAM, len(tokens) + 1):
        gram = tuple(tokens[end - NGRAM : end])
        marks[end - 1] = seen.get(gram, 0) >= TIMES
        seen[gram] = seen.get(gram, 0) + 1
    return marks


class OwnReplies:
    def __init__(self, model, encoder, sampler):
        self.model, self.encoder, self.sampler = model, encoder, sampler
        self.stops = {encoder.end}

    @torch.compiler.set_stance("force_eager")  # lengths differ
    def backward(self, seed, length, count):
        """Adds to the gradients for `count` replies within a window; returns (replies that loop, replies)."""
        rng = random.Random(seed)
        ids, kinds = self.sampler.window(rng, length, rng.random() < 0.7, renamed=1.0, most=rng.choice((80, 160, 320)))
        # Any place in an answer: long ones are where loops are, and most begin behind some tokens.
        places = np.flatnonzero(kinds == chat.ANSWER)
        chosen = sorted(rng.sample(list(places), min(count, len(places))))
        ids, cache, done, looping = ids.tolist(), decode.Cache(), 0, 0
        for begin in chosen:
            hidden = decode.prefill(self.model, ids[done:begin], cache)
            done = begin
            tokens, _ = decode.greedy(self.model, hidden[-1], cache.fork(), self.stops, LENGTH)
            marks = loops(tokens)
            looping += marks.any()
            if marks.any():
                self._unsay(tokens, marks, cache.copy(), count)
        return int(looping), len(chosen)

    def _unsay(self, tokens, marks, cache, count):
        targets = torch.tensor([tokens[1:]])
        hidden = self.model(torch.tensor([tokens[:-1]]), cache)
        loss, *_ = head_loss(hidden, self.model.head, targets, -torch.from_numpy(marks[None, 1:]).float())
        (loss / count).backward()
