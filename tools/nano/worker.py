"""One of the processes that train: its batches, its gradients, and (worker 0) the log and the checkpoints."""

import json
import os
import random
import time

import numpy as np
import torch

import chat
import conversations
import library
import tokenizer
from curriculum import STAGES, Batches
from export import export
from losses import head_loss, mtp_losses
from model import Nano, compile_parts
from own_replies import OwnReplies

CHECKPOINT_SECONDS = 600
LOG_STEPS = 20
WARM_UP = 50  # steps
MTP_WEIGHTS = (0.3, 0.15, 0.1, 0.07, 0.05, 0.05, 0.05, 0.05)  # of the losses of depth 1..8
OWN_SHARE = 0.5  # of the rest of the gradient, that of the model's own loops at most
CHAINS = 96  # a row: places from which deeper drafts are trained
VALIDATION_WINDOWS, VALIDATION_LENGTH = 4, 2048
# Sums a step adds to: for traces and for conversations, answers' tokens, losses and hits, calls and exact calls; then
# the context's tokens and loss; then per depth of drafts the number of means and their sum; then the model's own replies
# that loop, and all of them.
COLUMNS = 5
NUM_SUMS = 2 * COLUMNS + 2 + 2 * len(MTP_WEIGHTS) + 2


class Worker:
    def __init__(self, index, shared, arguments, folder, state):
        self.index, self.shared, self.arguments, self.folder, self.state = index, shared, arguments, folder, state
        self.model = Nano()
        compile_parts()
        shared.attach(self.model, index)
        self.encoder = chat.Encoder(tokenizer.load(folder))
        self.call_token = self.encoder.tokenizer.token_to_id("<tool_call>")
        recorded = conversations.load(os.path.join(arguments.data, "agentic_coding_16.jsonl"))
        training, validation = conversations.split(recorded)
        sampler = conversations.Sampler(training, self.encoder)
        self.batches = Batches(self.encoder, sampler, library.load(), arguments.seed)
        self.own_replies = OwnReplies(self.model, self.encoder, sampler)
        self.validation = conversations.Sampler(validation, self.encoder)
        self.sums = np.zeros(NUM_SUMS)

    # The loop

    def run(self):
        begin = saved = time.time()
        logged = (begin, self.state["tokens"])
        while self.state["stage"] < len(STAGES):
            stage = STAGES[self.state["stage"]]
            norm = self.step(stage)
            now = time.time()
            self.gather()
            last_of_stage = self.advance(stage)
            if self.index == 0:
                if self.state["step"] % LOG_STEPS == 0:
                    self.log(stage, norm, (self.state["tokens"] - logged[1]) / (now - logged[0]))
                    logged = (time.time(), self.state["tokens"])
                if now - begin > self.arguments.minutes * 60:
                    self.shared.stop.fill_(1)
                stopping = self.shared.stop.clone()
                if now - saved > CHECKPOINT_SECONDS or stopping.item() or last_of_stage:
                    self.state["seconds"] += now - saved
                    saved = now
                    self.save(stage)
                    self.validate(stage)
                    logged = (time.time(), self.state["tokens"])
                    self.shared.ending.copy_(stopping)
            self.shared.wait()  # nobody changes parameters while they are saved
            if self.shared.ending.item():
                return
        if self.index == 0:
            export(self.model, self.folder, os.path.join(self.arguments.out, "export"))

    def advance(self, stage):
        """Count the step; true when it was the stage's last one. The same in all workers."""
        tokens = stage.rows * stage.length * self.shared.workers
        state = self.state
        state["step"] += 1
        state["tokens"] += tokens
        state["stage_tokens"] += tokens
        done = state["stage_tokens"] >= stage.tokens or (
            state["exact"] >= stage.enough and state["stage_tokens"] >= stage.tokens // 4
        )
        if done:
            state["stage"] += 1
            state["stage_tokens"] = 0
        return done

    def rate(self, stage):
        share = min(1.0, self.state["stage_tokens"] / stage.tokens)
        first, last = stage.rates
        return (first + (last - first) * share) * min(1.0, (self.state["step"] + 1) / WARM_UP)

    def step(self, stage):
        step = self.state["step"]
        torch.manual_seed(hash((self.arguments.seed, self.index, step)))  # of integers: the same in every process
        ids, kinds, weights, real, positions, shown = self.batches.step(stage, self.index, step)
        self.shared.gradients[self.index].zero_()
        parts = range(0, stage.rows, stage.micro_rows)
        for begin in parts:
            rows = slice(begin, begin + stage.micro_rows)
            self.micro_step(stage, torch.from_numpy(ids[rows]), kinds[rows], torch.from_numpy(weights[rows]), real[rows],
                            torch.from_numpy(positions[rows]), torch.from_numpy(shown[rows]), len(parts))  # fmt: skip
        if stage.own:
            self.unlearn_loops(stage, step)
        return self.shared.update(self.index, step + 1, self.rate(stage))

    def unlearn_loops(self, stage, step):
        """Adds to the gradient, of which it is a part: loops are nearly certain, and their gradients large."""
        gradient = self.shared.gradients[self.index]
        before = gradient.clone()
        gradient.zero_()
        seed = f"{self.arguments.seed} {self.index} {step} own"
        self.sums[-2:] += self.own_replies.backward(seed, stage.length, stage.own)
        gradient.mul_(min(1.0, OWN_SHARE * float(before.norm() / (gradient.norm() + 1e-9)))).add_(before)

    def micro_step(self, stage, ids, kinds, weights, real, positions, shown, parts):
        hidden = self.model(shown, positions=positions)
        loss, chosen, losses, hits = head_loss(hidden[:, :-1], self.model.head, ids[:, 1:], weights[:, 1:])
        self.count(kinds[:, 1:], ids[:, 1:].numpy(), shown[:, 1:].numpy(), real,
                   chosen.numpy(), losses.numpy(), hits.numpy())  # fmt: skip
        if stage.mtp_depth:
            answers = weights.clamp(min=0) * torch.from_numpy(kinds >= chat.ANSWER_AFTER_REASONING)
            deeper, rates = mtp_losses(self.model, ids, hidden, answers, stage.mtp_depth, CHAINS, positions)
            for depth, (weight, value, hit) in enumerate(zip(MTP_WEIGHTS, deeper, rates)):
                loss = loss + weight * value
                self.sums[2 * COLUMNS + 2 + 2 * depth :][:2] += 1, hit.item()
        (loss / parts).backward()

    # Figures

    def count(self, kinds, ids, shown, real, chosen, losses, hits):
        """Adds to the sums. A call that is shown as it is counts as exact when its turn's tokens are the most likely."""
        answer = ((kinds >= chat.ANSWER_AFTER_REASONING) & (kinds < chat.STUTTER)).flatten()[chosen]
        from_real = np.repeat(real, kinds.shape[1])[chosen]
        for part in (0, 1):
            rows = answer & (from_real == bool(part))
            self.sums[part * COLUMNS :][:3] += rows.sum(), losses[rows].sum(), hits[rows].sum()
        context = (kinds == chat.CONTEXT).flatten()[chosen]
        self.sums[2 * COLUMNS :][:2] += context.sum(), losses[context].sum()
        good = np.zeros(kinds.size, bool)
        good[chosen[hits]] = True
        for row, one in enumerate(good.reshape(kinds.shape)):
            spoken = np.concatenate([[False], kinds[row] >= chat.ANSWER_AFTER_REASONING, [False]])
            edges = np.flatnonzero(spoken[1:] != spoken[:-1])
            for begin, end in edges.reshape(-1, 2):
                span = ids[row, begin:end]
                whole = span[-1] == self.encoder.end and (span == shown[row, begin:end]).all()
                whole = whole and (kinds[row, begin:end] < chat.STUTTER).all()
                if whole and self.call_token in span:
                    self.sums[int(real[row]) * COLUMNS + 3 :][:2] += 1, one[begin:end].all()

    def gather(self):
        """Exchange the sums, so that all workers take the same decisions; keeps the mean share of exact calls."""
        self.shared.sums[self.index] = torch.from_numpy(self.sums)
        self.shared.wait()
        every = self.shared.sums.numpy().sum(0)
        self.total = getattr(self, "total", 0) + every
        calls, exact = every[3:5]
        if calls:
            self.state["exact"] += float(exact / calls - self.state["exact"]) * 0.01
        self.sums[:] = 0

    def log(self, stage, norm, speed):
        t, self.total = self.total, np.zeros(NUM_SUMS)
        entry = {"step": self.state["step"], "stage": stage.name, "tokens": self.state["tokens"]}
        for part, name in enumerate(("trace", "real")):
            tokens, loss, hits, calls, exact = t[part * COLUMNS :][:COLUMNS]
            if tokens:
                entry[name] = {"loss": loss / tokens, "accuracy": hits / tokens, "exact": exact / max(1, calls)}
        entry["context"] = t[2 * COLUMNS + 1] / max(1, t[2 * COLUMNS])
        drafts = t[2 * COLUMNS + 2 : -2].reshape(-1, 2)
        entry["mtp"] = [hit / count for count, hit in drafts if count]
        if t[-1]:
            entry["own_loops"] = t[-2] / t[-1]
        entry.update(exact_mean=self.state["exact"], norm=norm, rate=self.rate(stage), speed=speed)
        self.write(entry)

    def write(self, entry):
        def short(value):
            if isinstance(value, dict):
                return {key: short(one) for key, one in value.items()}
            if isinstance(value, list):
                return [short(one) for one in value]
            return float(f"{value:.4g}") if isinstance(value, float) and abs(value) < 1000 else value

        text = json.dumps(short({"time": time.strftime("%H:%M:%S"), **entry}))
        print(text, flush=True)
        with open(os.path.join(self.arguments.out, "log.jsonl"), "a", encoding="utf-8") as file:
            file.write(text + "\n")

    # Checkpoints

    def save(self, stage):
        path = os.path.join(self.arguments.out, "checkpoint.pt")
        names = {"seed": self.arguments.seed, "workers": self.shared.workers, "state": dict(self.state)}
        torch.save({**self.shared.state(), **names}, path + ".partial")
        os.replace(path + ".partial", path)
        self.write({"saved": path, "step": self.state["step"], "tokens": self.state["tokens"],
                    "hours": self.state["seconds"] / 3600})  # fmt: skip

    @torch.no_grad()
    @torch.compiler.set_stance("force_eager")  # windows differ in length
    def validate(self, stage):
        """Answers after empty thinking blocks in windows of the validation conversations."""
        if not any(sum(one.sizes) < 1 for one in STAGES[: STAGES.index(stage) + 1]):
            return
        sums, drafts = np.zeros(3), []
        for seed in range(VALIDATION_WINDOWS):
            ids, kinds = self.validation.window(random.Random(seed), VALIDATION_LENGTH, True, renamed=0)
            ids = torch.from_numpy(ids.astype(np.int64))[None]
            weights = torch.from_numpy((kinds == chat.ANSWER).astype(np.float32))[None]
            hidden = self.model(ids)
            _, _, losses, hits = head_loss(hidden[:, :-1], self.model.head, ids[:, 1:], weights[:, 1:])
            sums += len(losses), losses.sum().item(), hits.sum().item()
            drafts.append(float(mtp_losses(self.model, ids, hidden, weights, 1, 0)[1][0]))
        self.write({"validation": {"loss": sums[1] / sums[0], "accuracy": sums[2] / sums[0],
                                   "mtp": float(np.mean(drafts))}})  # fmt: skip
