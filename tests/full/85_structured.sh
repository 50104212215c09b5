#!/usr/bin/env bash
# Replies of nano that are held to random schemas and calls, read over HTTP and judged by Python's jsonschema, which a
# virtual environment in the build folder gets from PyPI.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${COLUGO_BUILD_DIR:?}
venv=$build/structured-venv
if [ ! -x "$venv/bin/python" ]; then "${COLUGO_PYTHON:-/usr/bin/python3}" -m venv "$venv"; fi
if ! "$venv/bin/python" -m pip install -q jsonschema rfc3339-validator rfc3986-validator; then
    echo "structured: left out, it needs jsonschema from PyPI"
    exit 0
fi
"$venv/bin/python" -B "$root/tests/full/structured.py" "$build/src/cli/colugo" "$build/tests/sampling/write_schemas" "$@" |
    sed 's/^/structured: /'
