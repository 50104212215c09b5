#!/usr/bin/env python3
"""Measure what a trained nano does: python tools/nano/evaluate.py RUN --data DIR [--turns N] [--traces N]

Free-running: the recorded history, an empty thinking block, temperature 0. Behaviour counts, not loss: a model that
ignores its context has a fair loss and one reply for everything.
"""

import argparse
import json
import os
import random
import time
from collections import Counter

import torch

import chat
import conversations
import decode
import export
import library
import scoring
import tokenizer
import traces
from losses import head_loss
from model import Cache

LIMIT = 512  # new tokens
DEPTH = 8


class Evaluation:
    def __init__(self, run):
        self.model = export.rounded(export.load(run))
        self.encoder = chat.Encoder(tokenizer.load(os.path.join(run, "tokenizer")))
        self.stops = {self.encoder.end, self.encoder.tokenizer.token_to_id("<|endoftext|>")}

    def text(self, ids):
        return self.encoder.tokenizer.decode(ids, skip_special_tokens=False)

    def reply(self, ids, hidden, cache):
        """Greedy tokens after a prompt whose last hidden is given, and their hiddens."""
        return decode.greedy(self.model, hidden, cache.fork(), self.stops, LIMIT)

    def conversation(self, recorded, count):
        """Yields a dict for each of `count` evenly chosen turns of one conversation."""
        turns = recorded.calls()
        chosen = {turns[round(i * (len(turns) - 1) / max(1, count - 1))][0] for i in range(min(count, len(turns)))}
        cache, last = Cache(), max(chosen)
        ids = self.encoder.ids(chat.render(recorded.head, recorded.tools))
        hidden = decode.prefill(self.model, ids, cache)
        prompt = chat.render(recorded.head, recorded.tools)
        opening = self.encoder.ids("<|im_start|>assistant\n" + chat.EMPTY_THINKING)
        for i, message in enumerate(recorded.turns[: last + 1]):
            if i in chosen:
                yield self.turn(ids, hidden, cache, opening, prompt, recorded.turns, i)
            text = conversations.turn_text(recorded.turns, i)
            part = self.encoder.ids(text)
            hidden = torch.cat([hidden, decode.prefill(self.model, part, cache)])
            ids, prompt = ids + part, prompt + text

    def turn(self, ids, hidden, cache, opening, prompt, turns, i):
        branch = cache.fork()
        hidden = torch.cat([hidden, decode.prefill(self.model, opening, branch)])
        begin = len(ids) + len(opening)
        tokens, hiddens = self.reply(ids, hidden[-1], branch)
        record = conversations.turn_text(turns, i, empty=True)
        wanted = self.encoder.ids(record)[len(opening) : -1]  # less the newline after the turn
        taught = torch.cat([hidden[-1:], decode.prefill(self.model, wanted[:-1], branch.fork())])
        _, _, losses, hits = head_loss(
            taught[None], self.model.head, torch.tensor([wanted]), torch.ones(1, len(wanted)))  # fmt: skip
        spoken = torch.stack(hiddens + [hidden[-1]])  # the last token was not fed: its row is not looked at
        accepted = decode.acceptance(self.model, ids + opening + tokens, torch.cat([hidden, spoken]), begin, DEPTH)
        text, expected = self.text(tokens), record.split(chat.EMPTY_THINKING, 1)[1]
        calls = scoring.parse_calls(text)
        return {
            "text": text,
            "expected": expected.strip(),
            "ends": tokens[-1] in self.stops,
            "calls": calls,
            "expected_programs": scoring.executables(scoring.parse_calls(expected) or []),
            "programs": scoring.executables(calls or []),
            "from_prompt": scoring.names_from(calls or [], prompt),
            "length": len(tokens),
            "expected_length": len(wanted),
            "loss": losses.sum().item(),
            "hits": int(hits.sum()),
            "accepted": accepted,
        }

    def conversations(self, recorded, turns):
        """Figures over `turns` turns, spread over the conversations."""
        results = []
        for index, one in enumerate(recorded):
            share = turns // len(recorded) + (index < turns % len(recorded))
            results += self.conversation(one, share) if share else []
        return summary(results), results

    @torch.no_grad()
    def traces(self, count, modules):
        """Free-running calls on fresh traces, each after the true turns before it: exact, well-formed, by size."""
        exact, total = Counter(), Counter()
        for seed in range(count):
            size = seed % 3
            messages, tools = traces.trace(f"evaluation {seed}", size, modules)
            ids, kinds = self.encoder.encode(chat.render(messages, tools, keep_thinking=True))
            ids = ids.tolist()
            begins = [t for t in range(1, len(ids)) if kinds[t] == chat.ANSWER and kinds[t - 1] != chat.ANSWER]
            called = [t for t in begins if self.text(ids[t : t + 1]) == "<tool_call>"]
            if not called:
                continue
            begin = random.Random(seed).choice(called)
            end = begin
            while kinds[end] == chat.ANSWER:
                end += 1
            cache = Cache()
            hidden = decode.prefill(self.model, ids[:begin], cache)
            tokens, _ = decode.greedy(self.model, hidden[-1], cache, self.stops, min(LIMIT, end - begin + 8))
            total[size] += 1
            exact[size] += tokens == ids[begin:end]
        return {"exact": sum(exact.values()) / max(1, sum(total.values())), "calls": sum(total.values()),
                "by_size": {size: exact[size] / total[size] for size in sorted(total)}}  # fmt: skip


def summary(results):
    count = len(results)
    scores = [s for r in results if (s := scoring.overlap(r["expected_programs"], r["programs"])) is not None]
    constant, answer = scoring.best_constant([r["expected_programs"] for r in results])
    tokens = sum(r["expected_length"] for r in results)
    looked, right = [0] * DEPTH, [0] * DEPTH
    for r in results:
        for d, (many, good) in enumerate(r["accepted"]):
            looked[d] += many
            right[d] += good
    return {
        "turns": count,
        "loss": sum(r["loss"] for r in results) / tokens,
        "accuracy": sum(r["hits"] for r in results) / tokens,
        "ends": sum(r["ends"] for r in results) / count,
        "well_formed": sum(bool(r["calls"]) for r in results) / count,
        "distinct": len({r["text"] for r in results}),
        "from_prompt": sum(r["from_prompt"] for r in results) / count,
        "iou": sum(scores) / max(1, len(scores)),
        "iou_of_best_constant": constant,
        "best_constant": dict(answer),
        "exact": sum(r["text"].removesuffix("<|im_end|>") == r["expected"].removesuffix("<|im_end|>") for r in results)
        / count,
        "mean_length": sum(r["length"] for r in results) / count,
        "mean_length_of_record": tokens / count,
        "mtp_acceptance": [good / many if many else None for many, good in zip(looked, right)],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run")
    parser.add_argument("--data", required=True)
    parser.add_argument("--turns", type=int, default=100, help="of training and of validation conversations each")
    parser.add_argument("--traces", type=int, default=150)
    parser.add_argument("--only", choices=("training", "validation"), help="these conversations alone")
    parser.add_argument("--out", help="write every reply to this JSON file")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    begin = time.time()
    evaluation = Evaluation(arguments.run)
    training, validation = conversations.split(
        conversations.load(os.path.join(arguments.data, "agentic_coding_16.jsonl"))
    )
    figures, replies = {"traces": evaluation.traces(arguments.traces, library.load())}, {}
    print(json.dumps({"traces": figures["traces"]}), flush=True)
    for name, part in (("training", training), ("validation", validation)):
        if not arguments.turns or arguments.only not in (None, name):
            continue
        figures[name], replies[name] = evaluation.conversations(part, arguments.turns)
        print(json.dumps({name: figures[name]}, indent=1), flush=True)
    figures["seconds"] = time.time() - begin
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump({"figures": figures, "replies": replies}, file, indent=1)


if __name__ == "__main__":
    main()
