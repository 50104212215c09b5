#!/usr/bin/env bash
# A random checkpoint at the 27B shape, NVFP4 with an NVFP4 head: loads, reads 64 tokens, decodes 8.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(df --output=avail -B1000000000 "${TMPDIR:-/tmp}" | tail -1)" -lt 25 ]; then
    echo "27B: left out, it needs 25 GB of free disk"
    exit 0
fi
if [ "$(awk '/MemAvailable/ {print int($2 / 1e6)}' /proc/meminfo)" -lt 20 ]; then
    echo "27B: left out, it needs 20 GB of available memory"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${COLUGO_PYTHON:-/usr/bin/python3}
"$python" -B "$root/tools/make_checkpoint.py" "$work/27b" --shape 27b --format nvfp4-w4a4 --lm-head nvfp4 --mtp nvfp4 >/dev/null
echo "27B: $(du -sh "$work/27b" | cut -f1) of checkpoint"
"$python" - "${COLUGO_BUILD_DIR:?}/src/cli/colugo" "$work/27b" <<'PYTHON'
import resource, subprocess, sys
ids = ",".join(str(i) for i in range(5, 6405, 100))
command = [sys.argv[1], "run", "-m", sys.argv[2], "--prompt-ids", ids, "--print-ids", "-n", "8", "-c", "4096", "--json"]
result = subprocess.run(command, capture_output=True, text=True, check=True)
print("27B: tokens", result.stdout.strip())
print("27B:", result.stderr.strip().splitlines()[-1])
print(f"27B: peak RSS {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20:.2f} GiB")
PYTHON
