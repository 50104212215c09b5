"""Random weights that are the same bits on every machine and with every numpy version.

Each tensor has its own stream, keyed by the seed and its name, so neither the order of tensors nor the size of a chunk
changes a value. Only raw 64-bit Philox output is used: each word gives four 16-bit indices into a table of quantiles.
"""

import hashlib
import math

import numpy as np


def _normal_quantiles():
    """65536 equally likely values close to a standard normal (kurtosis 2.9, largest magnitude 4.02).

    They are the quantiles of the sum of 12 fair 64-sided dice, interpolated between sums. Counting is done in integers,
    so that no mathematical library can change a bit.
    """
    faces, dice = 64, 12
    ways = [1]
    for _ in range(dice):
        longer, running = [], 0
        for index in range(len(ways) + faces - 1):
            running += ways[index] if index < len(ways) else 0
            running -= ways[index - faces] if index >= faces else 0
            longer.append(running)
        ways = longer
    sigma = math.sqrt(dice * (faces * faces - 1) / 12 + 1 / 12)
    middle = len(ways) / 2
    total = faces**dice
    upper, below, position = [], 0, 0
    for index in range(32768, 65536):
        target = (2 * index + 1) * total // 131072
        while below + ways[position] <= target:
            below += ways[position]
            position += 1
        upper.append((position + (target - below) / ways[position] - middle) / sigma)
    upper = np.array(upper)
    return np.concatenate([-upper[::-1], upper]).astype(np.float32)


NORMAL = _normal_quantiles()
UNIFORM = ((np.arange(65536) + 0.5) / 65536).astype(np.float32)  # of the interval [0, 1)


class Stream:
    """Random 64-bit words of one tensor, from their beginning."""

    def __init__(self, seed, name):
        digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
        self._words = np.random.Philox(key=np.frombuffer(digest[:16], "<u8").astype(np.uint64))

    def indices(self, count):
        """`count` uint16 values. Whole words are consumed: counts that are multiples of 4 can be split freely."""
        return self._words.random_raw(-(-count // 4)).astype("<u8", copy=False).view("<u2")[:count]

    def bytes(self, count):
        """`count` uint8 values; multiples of 8 can be split freely."""
        return self._words.random_raw(-(-count // 8)).astype("<u8", copy=False).view(np.uint8)[:count]

    def uniform(self, low, high, count):
        return np.float32(low) + np.float32(high - low) * UNIFORM[self.indices(count)]
