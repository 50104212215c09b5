#!/usr/bin/env bash
# Decode and prefill at the 0.8B shape, NVFP4 with an NVFP4 head, against the machine's limits.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${COLUGO_PYTHON:-/usr/bin/python3}
"$python" -B "$root/tools/make_checkpoint.py" "$work/model" --shape 0.8b --format nvfp4-w4a4 --lm-head nvfp4 --mtp nvfp4 >/dev/null
"${COLUGO_BUILD_DIR:?}/benchmarks/model_benchmark" --model "$work/model" --threads "$(nproc)" --kv-type fp8
