#!/usr/bin/env bash
# Each fuzz target for 30 minutes, one behind the other: COLUGO_FUZZ_MINUTES or the first argument says otherwise,
# further arguments name targets. Inputs that reach something new go to build/fuzz/corpus/TARGET, inputs that break a
# property to build/fuzz/findings; with one of these it fails.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
minutes=${1:-${COLUGO_FUZZ_MINUTES:-30}}
shift $(($# > 0))
if [[ ! $minutes =~ ^[1-9][0-9]*$ ]]; then
    echo "90_fuzz.sh: '$minutes' is no number of minutes above 0" >&2
    exit 2
fi
if ! command -v clang++ >/dev/null; then
    echo "fuzz: left out, it needs clang (Debian's packages clang, llvm and libclang-rt-dev)"
    exit 0
fi
cd "$root"
mkdir -p build
# shellcheck source=scripts/lib/build.sh
source scripts/lib/build.sh
if ! build_preset fuzz "$(default_jobs)" >build/fuzz-build.log 2>&1; then
    tail -n 40 build/fuzz-build.log
    exit 1
fi
if (($# == 0)); then
    mapfile -t targets < <(cd fuzz/corpus && ls)
    set -- "${targets[@]}"
fi
# Of the last line of a log that says it.
said() {
    grep -oE "$2" "$1" | tail -n 1 | grep -oE '[0-9]+' | head -n 1 || echo 0
}
# For stacks with names.
symbolizer=$(command -v llvm-symbolizer || command -v llvm-symbolizer-14 || true)
export ASAN_SYMBOLIZER_PATH=$symbolizer UBSAN_OPTIONS=print_stacktrace=1
failed=0
findings=build/fuzz/findings
mkdir -p "$findings"
printf 'fuzz: %-16s %12s %9s %9s %8s %8s  %s\n' target executions exec/s coverage corpus MB result
for target in "$@"; do
    log=build/fuzz/$target.log
    mkdir -p "build/fuzz/corpus/$target"
    dictionary=()
    if [[ -f fuzz/$target.dict ]]; then dictionary=("-dict=fuzz/$target.dict"); fi
    result=clean
    if ! "build/fuzz/fuzz/fuzz_$target" -max_total_time=$((60 * minutes)) -timeout=60 -rss_limit_mb=4096 \
        -print_final_stats=1 "-artifact_prefix=$findings/$target-" "${dictionary[@]}" \
        "build/fuzz/corpus/$target" "fuzz/corpus/$target" >"$log" 2>&1; then
        result="FINDING: $(grep -oE 'CHECK failed.*|ERROR: .*|runtime error: .*' "$log" | head -n 1 || true)"
        failed=1
    fi
    printf 'fuzz: %-16s %12d %9d %9d %8d %8d  %s\n' "$target" "$(said "$log" 'number_of_executed_units: *[0-9]+')" \
        "$(said "$log" 'average_exec_per_sec: *[0-9]+')" "$(said "$log" 'cov: [0-9]+')" "$(said "$log" 'corp: [0-9]+')" \
        "$(said "$log" 'peak_rss_mb: *[0-9]+')" "$result"
done
exit "$failed"
