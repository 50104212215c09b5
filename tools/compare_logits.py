#!/usr/bin/env python3
"""Compare two files of raw logits (little-endian f32, row-major [positions, vocab]): compare_logits.py A B VOCAB [MAX].

Prints the largest difference, the smallest cosine of a row and the share of rows with the same best token. With MAX,
exits 1 where the largest difference exceeds it.
"""
import sys

from packages_needed import asks_for_help, need_for_work

need_for_work("numpy")

import numpy as np


def main(first, second, vocab, limit=None):
    a, b = (np.fromfile(path, "<f4").reshape(-1, int(vocab)).astype(np.float64) for path in (first, second))
    if a.shape != b.shape:
        sys.exit(f"{first} has {a.shape[0]} positions, {second} has {b.shape[0]}")
    largest = np.abs(a - b).max()
    cosine = ((a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))).min()
    same = (a.argmax(1) == b.argmax(1)).mean()
    print(f"{a.shape[0]} positions of scale {a.std():.2f}: largest difference {largest:.2e}, smallest cosine {cosine:.7f}, "
          f"same best token {100 * same:.1f} %")
    if not largest <= float(limit or "inf"):
        sys.exit(f"the largest difference is above {limit}")


if __name__ == "__main__":
    if asks_for_help():
        print(__doc__)
    elif len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    else:
        main(*sys.argv[1:])
