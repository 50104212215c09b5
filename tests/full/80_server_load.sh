#!/usr/bin/env bash
# 64 clients at once, with scripted replies for 20 minutes and with nano for 10: COLUGO_LOAD_SECONDS says otherwise.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${COLUGO_PYTHON:-/usr/bin/python3}
seconds=${COLUGO_LOAD_SECONDS:-1200}
load() {
    "$python" -W ignore -B "$root/tests/full/server_load.py" "${COLUGO_BUILD_DIR:?}/src/cli/colugo" "$@"
}
load "$seconds" | sed 's/^/load, scripted: /'
load $((seconds / 2)) --model nano | sed 's/^/load, nano: /'
