#!/usr/bin/env python3
"""Train nano: tokenizer, model and its multi-token-prediction head, from nothing to a checkpoint folder.

    python tools/nano/train.py --data DIR --out DIR [--resume] [--minutes N]

DIR of --data has agentic_coding_16.jsonl. --out gets tokenizer/, checkpoint.pt (every few minutes, and at the end of
--minutes), log.jsonl, and export/ when all stages are done. tools/nano/README.md tells more.
"""

import argparse
import json
import os
import signal
import sys
import time

# Before torch: workers have one thread each, and large blocks of memory stay with the process.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(1 << 40))
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(1 << 40))
os.environ.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")

import torch
import torch.multiprocessing

import chat
import conversations
import library
import tokenizer
import traces
from model import Nano, Shape
from shared_state import SharedState
from worker import NUM_SUMS, Worker

CONVERSATIONS = "agentic_coding_16.jsonl"


def tokenizer_texts(training, modules):
    """What the tokenizer learns from: conversations, some of the library, traces."""
    for conversation in training:
        yield from [conversation.text()] * 2
    yield from library.texts(modules)[::4]
    for seed in range(1500):
        yield chat.render(*traces.trace(f"tokenizer {seed}", seed % 3))


def prepare(arguments):
    """The tokenizer's folder, made when it is missing."""
    folder = os.path.join(arguments.out, "tokenizer")
    if not os.path.exists(os.path.join(folder, "chat_template.jinja")):
        training, _ = conversations.split(conversations.load(os.path.join(arguments.data, CONVERSATIONS)))
        begin = time.time()
        tokenizer.train(tokenizer_texts(training, library.load()), folder, Shape().vocab_size)
        print(f"tokenizer learned in {time.time() - begin:.0f} s", flush=True)
    return folder


def _own_scheduling_group():
    """A session for each process: Linux shares cores between sessions first, and niceness counts inside one only."""
    os.setsid()
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write(str(os.nice(0)))
    except OSError:
        pass


def run_worker(index, shared, arguments, folder, state):
    _own_scheduling_group()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the parent passes it on
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    Worker(index, shared, arguments, folder, state).run()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help=f"folder with {CONVERSATIONS}")
    parser.add_argument("--out", required=True)
    parser.add_argument("--resume", action="store_true", help="go on from checkpoint.pt of --out")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this long, with a checkpoint")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count()), help="processes (part of the result)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    checkpoint = os.path.join(arguments.out, "checkpoint.pt")
    if arguments.resume and not os.path.exists(checkpoint):
        sys.exit(f"--resume: {checkpoint} does not exist")
    if not arguments.resume and os.path.exists(checkpoint):
        sys.exit(f"{checkpoint} exists: continue it with --resume, or choose another --out")
    folder = prepare(arguments)

    model = Nano().initialize(torch.Generator().manual_seed(arguments.seed))
    context = torch.multiprocessing.get_context("spawn")
    shared = SharedState(model, arguments.workers, context.Barrier(arguments.workers), NUM_SUMS)
    state = {"step": 0, "stage": 0, "stage_tokens": 0, "tokens": 0, "exact": 0.0, "seconds": 0.0}
    if arguments.resume:
        saved = torch.load(checkpoint)
        if saved["workers"] != arguments.workers or saved["seed"] != arguments.seed:
            sys.exit(f"{checkpoint} was made with --workers {saved['workers']} --seed {saved['seed']}")
        shared.load(saved)
        state = saved["state"]
    signal.signal(signal.SIGTERM, lambda *_: shared.stop.fill_(1))
    signal.signal(signal.SIGINT, lambda *_: shared.stop.fill_(1))
    workers = [
        context.Process(target=run_worker, args=(index, shared, arguments, folder, state))
        for index in range(arguments.workers)
    ]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        time.sleep(1)
        if any(worker.exitcode for worker in workers):
            for worker in workers:
                worker.kill()
    failed = any(worker.exitcode for worker in workers)
    print(json.dumps({"finished": not failed, "checkpoint": checkpoint}), flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
