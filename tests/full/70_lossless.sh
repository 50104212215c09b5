#!/usr/bin/env bash
# Plain decoding against drafts on a trained model, whose drafts are accepted: nano, where it is there.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
nano=${COLUGO_NANO:-$root/models/nano}
if [ ! -d "$nano" ]; then
    echo "lossless: left out, it needs $nano"
    exit 0
fi
for test in spec_matrix_test spec_long_test; do
    COLUGO_SPEC_MODEL=$nano "${COLUGO_BUILD_DIR:?}/tests/engine/$test" --gtest_brief=1 | sed 's/^/lossless: /'
done
