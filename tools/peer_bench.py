#!/usr/bin/env python3
"""Measure llama.cpp's prefill and decode speed with llama-bench: a table, and the samples as JSON.

    peer_bench.py MODEL.gguf ... --llama FOLDER [--threads 2] [--depths 0,4096,16384] [--rounds 3] [--json FILE]

Models take turns within a round, so that a change of the machine's load meets all of them. A figure is the median and
the best of all samples in tokens a second. Beside it stands how much of the machine other processes took and how much
the host took from it (steal), both as shares of all processors' time while that test ran, with warm-up and load: above
a few hundredths the figure says more about the load than about llama.cpp. The binaries are looked for in --llama, else
in the folder that LLAMA_BIN names. Needs Python only.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys

TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds():
    """Seconds of all processors since boot: (everything, busy, stolen by the host)."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, idle, wait, irq, soft, steal = (int(n) / TICKS for n in file.readline().split()[1:9])
    busy = user + nice + system + irq + soft
    return busy + idle + wait + steal, busy, steal


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Load:
    """What others did between start and end, as shares of all processors."""

    def __init__(self):
        self._machine, self._children = processor_seconds(), children_seconds()

    def shares(self):
        total, busy, stolen = (now - then for now, then in zip(processor_seconds(), self._machine))
        own = children_seconds() - self._children
        return {"others": round(max(0.0, busy - own) / total, 3), "steal": round(stolen / total, 3)}


def bench(options, model, test):
    """One run of llama-bench: its JSON record with the load added, or None where it failed."""
    prompt, new, depth = test
    command = [os.path.join(options.llama, "llama-bench"), "-m", model, "-o", "json", "-t", str(options.threads)]
    command += ["-p", str(prompt), "-n", str(new), "-d", str(depth), "-r", str(options.repetitions)]
    environment = {**os.environ, "LD_LIBRARY_PATH": os.path.abspath(options.llama)}
    load = Load()
    done = subprocess.run(command + options.llama_arguments, env=environment, capture_output=True, text=True)
    if done.returncode:
        print(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-1000:]}", file=sys.stderr)
        return None
    return {**json.loads(done.stdout)[0], "load": load.shares()}


def name(test):
    prompt, new, depth = test
    return (f"pp{prompt}" if prompt else f"tg{new}") + (f" @ {depth}" if depth else "")


def summary(records):
    samples = [speed for record in records for speed in record["samples_ts"]]
    return {
        "median": statistics.median(samples),
        "best": max(samples),
        "samples": samples,
        "others": max(record["load"]["others"] for record in records),
        "steal": max(record["load"]["steal"] for record in records),
    }


def measure(options):
    """{(model, test): records} with the models in turn."""
    tests = [(options.prompt, 0, depth) for depth in options.depths]
    tests += [(0, options.new, depth) for depth in (options.depths if options.decode_at_depth else options.depths[:1])]
    records = {}
    for number in range(options.rounds):
        for test in tests:
            for model in options.models:
                record = bench(options, model, test)
                if record:
                    records.setdefault((model, test), []).append(record)
                    speeds = " ".join(f"{speed:.2f}" for speed in record["samples_ts"])
                    print(f"round {number + 1}: {os.path.basename(model)} {name(test)}: {speeds}", file=sys.stderr)
    return records


def integers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.gguf")
    parser.add_argument("--llama", default=os.environ.get("LLAMA_BIN"), help="folder with llama-bench")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--prompt", type=int, default=512, help="prompt tokens measured (default 512)")
    parser.add_argument("--new", type=int, default=32, help="new tokens measured (default 32)")
    parser.add_argument("--depths", type=integers, default=[0], help="tokens in the cache before, as in 0,4096,16384")
    parser.add_argument(
        "--decode-at-depth", action="store_true", help="new tokens at every depth, not only at the first"
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of llama-bench for each figure (default 3)")
    parser.add_argument("--repetitions", type=int, default=3, help="samples of each run (default 3)")
    parser.add_argument("--json", help="write the figures and llama-bench's records to this file")
    parser.add_argument("--llama-arguments", type=str.split, default=[], help="as in --llama-arguments='--repack 0'")
    options = parser.parse_args()
    if not options.llama:
        raise SystemExit("where is llama-bench? give its folder with --llama or in LLAMA_BIN")
    records = measure(options)
    if not records:
        raise SystemExit("llama-bench measured nothing")
    figures = {key: summary(value) for key, value in records.items()}

    first = next(iter(records.values()))[0]
    print(f"{first['cpu_info']}, {options.threads} threads, llama.cpp build {first['build_commit']}\n")
    print("| model | MB | test | median tok/s | best tok/s | samples | others | steal |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for (model, test), figure in sorted(figures.items(), key=lambda item: options.models.index(item[0][0])):
        size = records[model, test][0]["model_size"] / 1e6
        print(
            f"| {os.path.basename(model)} | {size:.0f} | {name(test)} | {figure['median']:.2f} | {figure['best']:.2f} "
            f"| {len(figure['samples'])} | {figure['others']:.2f} | {figure['steal']:.2f} |"
        )
    if options.json:
        rows = [
            {"model": os.path.basename(model), "test": name(test), **figure, "records": records[model, test]}
            for (model, test), figure in figures.items()
        ]
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"threads": options.threads, "figures": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
