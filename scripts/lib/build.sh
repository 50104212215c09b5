# Sourced by the scripts beside this folder: configuring and building one preset of CMakePresets.json.
# shellcheck shell=bash

# Compile jobs: a core each, as long as there are about 1.5 GB of free memory for each of them.
default_jobs() {
    local cores memory_kib jobs
    cores=$(nproc)
    memory_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
    jobs=$((memory_kib / 1500000))
    ((jobs < cores)) || jobs=$cores
    ((jobs > 0)) || jobs=1
    echo "$jobs"
}

# configure_preset NAME [CMake argument]...: from the current directory into build/NAME.
configure_preset() {
    local preset=$1 launcher=()
    shift
    if command -v ccache >/dev/null; then
        launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    fi
    cmake --preset "$preset" "${launcher[@]}" "$@"
}

# build_preset NAME JOBS: everything, tests and benchmarks too.
build_preset() {
    configure_preset "$1" && cmake --build --preset "$1" -j "$2"
}

# build_program JOBS: the release program alone. A build folder that is there keeps its settings.
build_program() {
    if [[ ! -f build/release/CMakeCache.txt ]]; then
        configure_preset release -DCOLUGO_TESTS=OFF -DCOLUGO_BENCHMARKS=OFF || return
    fi
    cmake --build --preset release -j "$1" --target colugo
}
