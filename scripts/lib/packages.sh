# Sourced by the scripts beside this folder: the Debian packages the project needs, and how missing ones are installed.
# shellcheck shell=bash disable=SC2034

# Boost.Asio has what the server needs from 1.81 on, which Debian 12 keeps beside an older default.
boost_package=libboost-dev
if grep -qs '^VERSION_ID="12"' /etc/os-release; then boost_package=libboost1.81-dev; fi
# What the build files ask for (find_package, find_path) and what runs them.
build_packages=(g++ cmake ninja-build pkgconf "$boost_package" libcli11-dev libedit-dev libfmt-dev libpcre2-dev
    libtomlplusplus-dev libutf8proc-dev libxxhash-dev libzstd-dev nlohmann-json3-dev prometheus-cpp-dev)
# For tools/make_checkpoint.py, which makes the checkpoints of the tests.
fixture_packages=(python3 python3-numpy)
# The tests and benchmarks on top.
test_packages=("${fixture_packages[@]}" libgtest-dev libgmock-dev librapidcheck-dev python3-jinja2)
# What tests/full/90_fuzz.sh builds the fuzz targets with.
fuzz_packages=(clang llvm libclang-rt-dev)

say() {
    printf '\n== %s\n' "$*"
}

# The names among the arguments that dpkg does not have installed, one a line.
missing_packages() {
    local name
    for name in "$@"; do
        # shellcheck disable=SC2016  # the braces are dpkg-query's
        dpkg-query -W -f='${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || printf '%s\n' "$name"
    done
}

# Installs the missing ones among the arguments and nothing else, without a question asked. As root, or through sudo.
install_packages() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        echo "This is not a Debian system: what is needed must be there already (in Debian's names: $*)." >&2
        return 0
    fi
    local missing names
    missing=$(missing_packages "$@")
    if [[ -z $missing ]]; then
        echo "All packages are installed: $*"
        return 0
    fi
    local as_root=()
    if ((EUID != 0)); then
        if ! command -v sudo >/dev/null; then
            printf 'Missing packages (install them, or run this as root or where sudo is):\n%s\n' "$missing" >&2
            return 1
        fi
        as_root=(sudo)
    fi
    mapfile -t names <<<"$missing"
    echo "Installing ${names[*]}"
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 -q -y)
    "${apt[@]}" update >/dev/null && "${apt[@]}" install --no-install-recommends "${names[@]}" >/dev/null
}
