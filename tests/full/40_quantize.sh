#!/usr/bin/env bash
# Quantizes a random checkpoint of the 4B shape: memory, time, and that it runs.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(df --output=avail -B1000000000 "${TMPDIR:-/tmp}" | tail -1)" -lt 16 ]; then
    echo "4B: left out, it needs 16 GB of free disk"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${COLUGO_PYTHON:-/usr/bin/python3}
colugo="${COLUGO_BUILD_DIR:?}/src/cli/colugo"
"$python" -B "$root/tools/make_checkpoint.py" "$work/4b" --shape 4b --format bf16 >/dev/null
echo "4B: $(du -sh "$work/4b" | cut -f1) of bf16"
"$colugo" quantize "$work/4b" "$work/out" --samples 4 >"$work/table" 2>"$work/notes"
head -1 "$work/notes" | sed 's/^/4B: /'
tail -1 "$work/notes" | sed "s|$work/||; s/^/4B: /"
"$colugo" run -m "$work/out" "Hello" -n 8 --temp 0 --print-ids -c 1024 >/dev/null
"$python" - "$work/out/quantization_report.json" <<'PYTHON'
import json, sys
modules = json.load(open(sys.argv[1]))["modules"]
better = sum(module["error"] < module["amax_error"] for module in modules)
print(f"4B: searched scales beat those by largest magnitude in {better} of {len(modules)} layers")
largest = max(module["source_bytes"] for module in modules if module["module"] != "lm_head")
print(f"4B: the largest linear layer has {largest / 2**20:.0f} MiB")
PYTHON
