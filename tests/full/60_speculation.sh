#!/usr/bin/env bash
# What drafts cost at the 0.8B shape; tokens a pass with nano on recorded conversations, for each way to draft, and what
# that would be at the 0.8B shape: a projection from its passes' times.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${COLUGO_PYTHON:-/usr/bin/python3}
benchmarks="${COLUGO_BUILD_DIR:?}/benchmarks"
"$python" -B "$root/tools/make_checkpoint.py" "$work/m" --shape 0.8b --format nvfp4-w4a4 --lm-head nvfp4 --mtp nvfp4 >/dev/null
"$benchmarks/model_benchmark" --model "$work/m" --threads "$(nproc)" --kv-type fp8 --mtp --depths "" | sed 's/^/0.8B: /'

data=${COLUGO_SHARED:-$root/../shared}/workload/agentic_coding_16.jsonl
nano=${COLUGO_NANO:-$root/models/nano}
if [ ! -f "$data" ] || [ ! -d "$nano" ]; then
    echo "speculation: left out, it needs $data and $nano"
    exit 0
fi
validation=flask-5014,sympy-18763
turns=${COLUGO_SPEC_TURNS:-20} # of each conversation
draft() {
    local set=$1 name=$2
    shift 2
    local which=--only
    [ "$set" = training ] && which=--without
    "$benchmarks/replay_benchmark" --model "$nano" --data "$data" "$which" "$validation" --chosen-turns "$turns" \
        --new-tokens 512 --cache-gib 2 --cost-of "$work/m" --json "$work/$set $name.json" "$@" >/dev/null 2>&1
}
for set in validation training; do
    draft $set off --spec off
    draft $set "mtp 3" --spec mtp --spec-depth 3
    draft $set "lookup 8" --spec lookup --spec-nodes 9
    draft $set "lookup 15" --spec lookup --spec-nodes 16
    draft $set "tree 16" --spec tree --spec-depth 8 --spec-topk 2 --spec-nodes 16
    draft $set "tree 32" --spec tree --spec-depth 8 --spec-topk 2 --spec-nodes 32
    draft $set auto --spec auto --spec-nodes 32
done
"$python" -B - "$work" <<'EOF'
import glob, json, os, sys

print(f"{'conversations':14} {'drafts':10} {'tokens/pass':>11} {'drafted':>8} {'accepted':>8} {'ms/pass':>8} {'tok/s':>8} {'0.8B tok/s':>10}")
for path in sorted(glob.glob(sys.argv[1] + "/*.json"), key=os.path.getmtime):
    one, (data, name) = json.load(open(path)), os.path.basename(path)[:-5].split(" ", 1)
    tokens, passes, drafts = one["generated_tokens"], one["decode_passes"], one["drafts"]
    print(f"{data:14} {name:10} {tokens / passes:11.2f} {drafts['drafted'] / passes:8.2f} {drafts['accepted'] / passes:8.2f} "
          f"{1e3 * one['decode_seconds'] / passes:8.2f} {tokens / one['decode_seconds']:8.1f} {tokens / one['projected_decode_seconds']:10.1f}")
EOF
