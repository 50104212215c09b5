#!/usr/bin/env bash
# The machine the figures below were taken on, and its kernels on every tier against the scalar ones.
set -euo pipefail
"${COLUGO_BUILD_DIR:?}/src/cli/colugo" doctor
