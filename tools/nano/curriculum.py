"""What is trained on when: stages from short traces, where copying is learned, to whole conversations."""

import dataclasses
import random

import numpy as np

import chat
import traces

# How often a token of each kind is trained on, and its weight then (chat.py names the kinds). What the context says is
# mostly names that nothing predicts; answers after an empty thinking block are what the model is for. A weight below 0 is
# of what is not to be said.
CHOSEN = (0.2, 0.4, 1.0, 1.0, 1.0, 0.0, 1.0)
WEIGHTS = (0.5, 0.8, 1.0, 2.0, 1.0, 0.0, -1.0)


# Share of an answer's tokens that the model is shown as the token before once more, or as another one of the row, while
# what it is to say stays: so one wrong token does not lead to the next, nor a repeated one to a loop.
REPEATED, WRONG = 0.012, 0.004
# How many tokens a stutter says again, up to so many times, before what follows. A model that copies well copies
# itself, and has to learn how to get out of that.
STUTTER_LENGTHS, STUTTER_TIMES = (1, 1, 2, 3, 4, 5, 8, 12, 20), 4


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
    stutters: float = 0.0  # share of the answers that stutter; some are shown with mistakes as well
    renamed: float = 0.65  # share of the conversations with made-up names
    cut: float = 0.0  # share of the conversations whose tools' outputs are cut short, so that more turns fit
    micro_rows: int = 8  # rows of one forward and backward pass
    own: int = 0  # replies the model writes itself, each step of each worker, to unlearn their loops (own_replies.py)


STAGES = (
    Stage("short", 950_000, 4, 256, (1.5e-3, 1.5e-3), (1.0, 0.0, 0.0), 0, enough=0.6),
    Stage("middle", 700_000, 4, 512, (1.5e-3, 1.5e-3), (0.2, 0.55, 0.0), 1),
    Stage("long", 1_000_000, 2, 1024, (1.5e-3, 1.4e-3), (0.1, 0.2, 0.35), 2, reach=12_000, micro_rows=1),
    Stage("real", 3_000_000, 1, 2048, (1.4e-3, 4e-4), (0.05, 0.25, 0.15), 4, reach=26_000, stutters=0.35, cut=0.8),
    Stage("more", 1_100_000, 1, 2048, (6e-4, 3e-4), (0.05, 0.25, 0.15), 4, reach=26_000, stutters=0.5, cut=0.6),
    Stage("loops", 800_000, 1, 2048, (5e-4, 3e-4), (0.05, 0.25, 0.2), 4, reach=26_000, stutters=0.6, cut=0.6),
    Stage("names", 700_000, 1, 2048, (4e-4, 2e-5), (0.05, 0.25, 0.2), 8, 26_000, stutters=0.5, renamed=1.0, cut=0.5),
    Stage("wide", 3_200_000, 1, 4096, (1.2e-3, 9e-4), (0.05, 0.2, 0.2), 4, 26_000, stutters=0.4, renamed=0.9, cut=0.5),
    Stage("far", 2_600_000, 1, 8192, (9e-4, 4e-4), (0.03, 0.12, 0.25), 4, 30_000, stutters=0.35, renamed=0.9, cut=0.3),
    Stage("whole", 1_500_000, 1, 16384, (4e-4, 2e-5), (0, 0.1, 0.25), 8, 36_000, stutters=0.25, renamed=0.9, cut=0.2),
    Stage("own", 1_000_000, 1, 4096, (4e-4, 2e-5), (0.05, 0.2, 0.2), 4, 26_000, stutters=0.3, renamed=0.9, cut=0.5, own=10),
    Stage("last", 520_000, 1, 4096, (3e-4, 1e-5), (0.05, 0.2, 0.2), 4, 26_000, stutters=0.3, renamed=0.9, cut=0.5, own=12),
)


class Batches:
    """The rows of a step, the same for the same (seed, worker, step)."""

    def __init__(self, encoder, sampler, modules, seed):
        self.encoder, self.sampler, self.modules, self.seed = encoder, sampler, modules, seed

    def step(self, stage, worker, step):
        """ids [rows, T] int64, kinds [rows, T] uint8, weights [rows, T] f32 of the tokens as targets, real [rows],
        positions and shown (ids with mistakes) [rows, T] int64."""
        rng = random.Random(f"{self.seed} {worker} {step}")
        rows = [self._row(rng, stage) for _ in range(stage.rows)]
        ids = np.stack([row[0] for row in rows]).astype(np.int64)
        kinds = np.stack([row[1] for row in rows])
        draws = np.random.default_rng([self.seed, worker, step]).random(kinds.shape)
        weights = np.where(draws < np.array(CHOSEN)[kinds], np.array(WEIGHTS)[kinds], 0).astype(np.float32)
        weights[:, 0] = 0  # nothing predicts the first token
        positions = np.stack([self._positions(rng, stage) for _ in rows])
        shown = self._shown(stage, ids, kinds, np.random.default_rng([self.seed, worker, step, 1]))
        return ids, kinds, weights, np.array([row[2] for row in rows]), positions, shown

    @staticmethod
    def _shown(stage, ids, kinds, rng):
        if not stage.stutters:
            return ids
        draws = np.where(kinds >= chat.ANSWER_AFTER_REASONING, rng.random(ids.shape), 1)
        shown = np.where(draws < REPEATED, np.roll(ids, 1, axis=1), ids)
        others = np.take_along_axis(ids, rng.integers(0, ids.shape[1], ids.shape), axis=1)
        return np.where((draws >= REPEATED) & (draws < REPEATED + WRONG), others, shown)

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
                most = rng.choice((80, 160, 320)) if rng.random() < stage.cut else None
                part = self.sampler.window(rng, stage.length, whole, stage.renamed, most)
            else:
                part = self._trace(rng, stage.sizes)
            if stage.stutters:
                part = _stuttering(rng, stage.stutters, *part)
                part = tuple(x[-stage.length :] for x in part)  # a window's last answer stays
            ids.append(part[0])
            kinds.append(part[1])
            total += len(part[0])
        return np.concatenate(ids)[: stage.length], np.concatenate(kinds)[: stage.length], real

    def _trace(self, rng, sizes):
        size = rng.choices((0, 1, 2), sizes)[0]
        messages, tools = traces.trace(rng.random(), size, self.modules)
        return self.encoder.encode(chat.render(messages, tools, keep_thinking=rng.random() < 0.6))


def _stuttering(rng, share, ids, kinds):
    spoken = np.concatenate([[False], kinds >= chat.ANSWER_AFTER_REASONING, [False]])
    parts, done = [], 0
    for begin, end in np.flatnonzero(spoken[1:] != spoken[:-1]).reshape(-1, 2):
        if end - begin < 3 or rng.random() >= share:
            continue
        at = rng.randint(begin + 1, end - 1)
        again = ids[max(begin, at - rng.choice(STUTTER_LENGTHS)) : at]
        marks = np.full((rng.randint(1, STUTTER_TIMES), len(again)), chat.LOOP, np.uint8)
        marks[0, 1:] = chat.STUTTER  # may be the beginning of something else
        parts += [(ids[done:at], kinds[done:at]), (np.tile(again, len(marks)), marks.flatten())]
        done = at
    parts.append((ids[done:], kinds[done:]))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
