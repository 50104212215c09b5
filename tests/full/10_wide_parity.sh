#!/usr/bin/env bash
# The widths of the 27B model (24/4 attention heads, 3 value heads to a key head) with 4 layers: f32 logits against the
# numpy reference, in one piece and in pieces; the bf16 mode against f32.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
shape='{"hidden_size":5120,"intermediate_size":17408,"num_hidden_layers":4,"num_attention_heads":24,"num_key_value_heads":4,"linear_num_key_heads":16,"linear_num_value_heads":48,"vocab_size":4096}'
python=${COLUGO_PYTHON:-/usr/bin/python3}
"$python" -B "$root/tools/make_checkpoint.py" "$work/wide" --shape "$shape" >/dev/null
ids=$(seq -s, 3 29 2000)  # 69 tokens: two borders
colugo="${COLUGO_BUILD_DIR:?}/src/cli/colugo"
run() { "$colugo" run -m "$work/wide" --prompt-ids "$ids" -c 128 "$@"; }
run --compute f32 --logits "$work/whole"
run --compute f32 --ubatch-size 7 --logits "$work/pieces"
run --logits "$work/bf16"
cmp "$work/whole" "$work/pieces"
echo "27B widths: one piece and pieces of 7 give the same bits"
"$python" -B "$root/tools/reference_model.py" "$work/wide" --dtype float32 --ids "$ids" --logits "$work/reference"
echo "27B widths, f32 against the numpy reference:"
"$python" "$root/tools/compare_logits.py" "$work/whole" "$work/reference" 4096 2e-4
echo "27B widths, bf16 mode against f32:"
"$python" "$root/tools/compare_logits.py" "$work/bf16" "$work/whole" 4096
