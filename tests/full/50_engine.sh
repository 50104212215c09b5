#!/usr/bin/env bash
# A stream beside a long prompt and beside the disk's worker at the 0.8B shape, and recorded conversations replayed
# where they and nano are there.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${COLUGO_PYTHON:-/usr/bin/python3}
benchmarks="${COLUGO_BUILD_DIR:?}/benchmarks"
"$python" -B "$root/tools/make_checkpoint.py" "$work/m" --shape 0.8b --format nvfp4-w4a4 --lm-head nvfp4 >/dev/null
"$benchmarks/latency_benchmark" --model "$work/m" | sed 's/^/0.8B: /'
"$benchmarks/latency_benchmark" --model "$work/m" --prompt 3000 --cache-disk "$work/disk" | sed 's/^/0.8B, disk: /'

data=${COLUGO_SHARED:-$root/../shared}/workload/agentic_coding_16.jsonl
nano=$root/models/nano
if [ ! -f "$data" ] || [ ! -d "$nano" ]; then
    echo "replay: left out, it needs $data and $nano"
    exit 0
fi
replay() {
    echo "replay, $1 at a time, $2 GiB ${*:3}"
    "$benchmarks/replay_benchmark" --model "$nano" --data "$data" --interleaved "$1" --cache-gib "$2" "${@:3}" \
        2>/dev/null | sed 's/^/replay: /'
}
replay 1 5
replay 4 5
replay 16 5
replay 16 0.415
replay 16 0.55 --cache-disk "$work/replay"
