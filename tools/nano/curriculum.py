"""What is trained on when: stages from short traces, where copying is learned, to whole conversations."""

import dataclasses
import random

import numpy as np

import chat
import traces

# How often a token of each kind is trained on, and its weight then (chat.py names the kinds). What the context says is
# mostly names that nothing predicts; answers after an empty thinking block are what the model is for.
CHOSEN = (0.2, 0.4, 1.0, 1.0, 1.0)
WEIGHTS = (0.5, 0.8, 1.0, 2.0, 1.0)


@dataclasses.dataclass(frozen=True)
class Stage:
    name: str
    tokens: int
    rows: int  # of each worker, a step
    length: int
    rates: tuple  # learning rate at the beginning and the end
    sizes: tuple  # shares of traces of size 0, 1, 2; the rest of 1 is recorded conversations
    mtp_depth: int = 0
    reach: int = 0  # positions jump in half of the rows, so that distances up to this are met in short rows
    enough: float = 2.0  # share of exact calls in traces that ends the stage early
    micro_rows: int = 8  # rows of one forward and backward pass


STAGES = (
    Stage("short", 950_000, 4, 256, (1.5e-3, 1.5e-3), (1.0, 0.0, 0.0), 0, enough=0.6),
    Stage("middle", 700_000, 4, 512, (1.5e-3, 1.5e-3), (0.2, 0.55, 0.0), 1),
    Stage("long", 1_000_000, 2, 1024, (1.5e-3, 1.4e-3), (0.1, 0.2, 0.35), 2, reach=12_000, micro_rows=1),
    Stage("real", 1_600_000, 1, 2048, (1.4e-3, 6e-4), (0.0, 0.2, 0.25), 4, reach=26_000),
    Stage("wide", 600_000, 1, 4096, (6e-4, 3e-4), (0.0, 0.1, 0.3), 6, reach=26_000),
    Stage("whole", 400_000, 1, 8192, (3e-4, 2e-5), (0.0, 0.0, 0.3), 8, reach=26_000),
)


class Batches:
    """The rows of a step, the same for the same (seed, worker, step)."""

    def __init__(self, encoder, sampler, modules, seed):
        self.encoder, self.sampler, self.modules, self.seed = encoder, sampler, modules, seed

    def step(self, stage, worker, step):
        """ids [rows, T] int64, kinds [rows, T] uint8, weights [rows, T] f32 of the tokens as targets, real [rows], and
        positions [rows, T] int64."""
        rng = random.Random(f"{self.seed} {worker} {step}")
        rows = [self._row(rng, stage) for _ in range(stage.rows)]
        ids = np.stack([row[0] for row in rows]).astype(np.int64)
        kinds = np.stack([row[1] for row in rows])
        draws = np.random.default_rng([self.seed, worker, step]).random(kinds.shape)
        weights = np.where(draws < np.array(CHOSEN)[kinds], np.array(WEIGHTS)[kinds], 0).astype(np.float32)
        weights[:, 0] = 0  # nothing predicts the first token
        positions = np.stack([self._positions(rng, stage) for _ in rows])
        return ids, kinds, weights, np.array([row[2] for row in rows]), positions

    @staticmethod
    def _positions(rng, stage):
        positions = np.arange(stage.length)
        if stage.reach and rng.random() < 0.5:
            for _ in range(rng.randint(1, 3)):
                positions[rng.randrange(stage.length) :] += rng.randrange((stage.reach - stage.length) // 3)
        return positions

    def _row(self, rng, stage):
        real = rng.random() >= sum(stage.sizes)
        ids, kinds, total = [], [], 0
        while total < stage.length:
            if real and not ids:
                whole = stage.length >= 1024 and rng.random() < 0.7
                part = self.sampler.window(rng, stage.length, whole)
            else:
                part = self._trace(rng, stage.sizes)
            ids.append(part[0])
            kinds.append(part[1])
            total += len(part[0])
        return np.concatenate(ids)[: stage.length], np.concatenate(kinds)[: stage.length], real

    def _trace(self, rng, sizes):
        size = rng.choices((0, 1, 2), sizes)[0]
        messages, tools = traces.trace(rng.random(), size, self.modules)
        return self.encoder.encode(chat.render(messages, tools, keep_thinking=rng.random() < 0.6))
