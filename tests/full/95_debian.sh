#!/usr/bin/env bash
# What the README promises of a new machine: scripts/demo, then scripts/test, each on an empty Debian 12 and 13 (the
# arguments say otherwise: bookworm, trixie), with a clone of what is committed here and nothing but Debian's packages.
# The systems are made in COLUGO_DEBIAN_DIR (build/debian otherwise), where the logs stay; one that fails stays too. The
# folder of shared data lies beside the clone, read-only, where there is one. Without root, debootstrap or a mirror
# nothing can be made, and it is left out.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${COLUGO_DEBIAN_DIR:-$root/build/debian}
shared=${COLUGO_SHARED:-$root/../shared}
mirror=${COLUGO_DEBIAN_MIRROR:-http://deb.debian.org/debian}
(($# > 0)) || set -- bookworm trixie
for suite in "$@"; do
    case $suite in
        bookworm | trixie) ;;
        *)
            echo "95_debian.sh: unknown release '$suite': expected bookworm or trixie" >&2
            exit 2
            ;;
    esac
done
if [[ $EUID != 0 ]]; then
    echo "debian: left out, it needs root"
    exit 0
fi
for program in debootstrap git; do
    if ! command -v "$program" >/dev/null; then
        echo "debian: left out, it needs $program (Debian's package $program)"
        exit 0
    fi
done
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
if ! changes=$(git -C "$root" status --porcelain 2>&1); then
    echo "debian: left out, git cannot clone $root: ${changes%%$'\n'*}"
    exit 0
fi
[[ -z $changes ]] || echo "debian: what is not committed is not tested"

child=
trap '[[ -z $child ]] || kill -KILL "$child"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# alone COMMAND...: with mounts and processes of its own, which end with it however this script ends. In the background,
# because a shell takes signals while it waits and not while a command runs.
alone() {
    local status=0
    unshare --mount --pid --fork --kill-child --mount-proc "$@" </dev/null &
    child=$!
    wait "$child" || status=$?
    child=
    return "$status"
}

# inside SYSTEM COMMAND...: in /srv/colugo of that Debian, with an environment that holds nothing of this one.
inside() {
    # shellcheck disable=SC2016  # for the inner shell
    alone bash -euc '
        shared=$1 system=$2
        shift 2
        mount -t proc proc "$system/proc"
        mount -t sysfs -o ro sysfs "$system/sys"
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$system/dev/pts"
        mount -t tmpfs tmpfs "$system/dev/shm"
        if [[ -d $shared ]]; then
            mount --bind "$shared" "$system/srv/shared"
            mount -o remount,bind,ro "$system/srv/shared"
        fi
        chroot "$system" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            ${http_proxy:+"http_proxy=$http_proxy"} sh -ec "cd /srv/colugo; exec \"\$@\"" sh "$@"' \
        inside "$shared" "$@"
}

mebibytes() {
    du -sxm "$1" | cut -f 1
}

installed() {
    chroot "$1" dpkg-query -W | wc -l
}

# make_system SUITE SYSTEM: an empty Debian. /srv/shared is there where it is here: tests look for the folder.
make_system() {
    local suite=$1 system=$2
    rm -rf --one-file-system "$system"
    alone debootstrap --variant=minbase "$suite" "$system" "$mirror" >"$folder/$suite-debootstrap.log" 2>&1 || return
    # The installer writes this file, debootstrap does not.
    [[ -e $system/etc/hosts ]] || printf '127.0.0.1\tlocalhost\n::1\tlocalhost\n' >"$system/etc/hosts"
    [[ ! -d $shared ]] || mkdir -p "$system/srv/shared"
}

# promise SUITE SYSTEM SCRIPT: runs scripts/SCRIPT there and says how it went.
promise() {
    local suite=$1 system=$2 script=$3 start=$SECONDS status=0 log
    log=$folder/$suite-$script.log
    inside "$system" "scripts/$script" >"$log" 2>&1 || status=$?
    if ((status == 0)); then
        echo "debian: $suite: scripts/$script passed in $((SECONDS - start)) s"
        return
    fi
    echo "debian: $suite: scripts/$script FAILED with exit code $status after $((SECONDS - start)) s; the end of $log:"
    tail -n 40 "$log"
    return 1
}

# check SUITE: 0 where both scripts passed.
check() {
    local suite=$1 system=$folder/$1 passed=1 empty before clone build
    if ! make_system "$suite" "$system"; then
        echo "debian: $suite: left out, debootstrap made none: $(tail -n 1 "$folder/$suite-debootstrap.log")"
        return
    fi
    empty=$(mebibytes "$system") before=$(installed "$system")
    git -c advice.detachedHead=false clone -q "file://$root" "$system/srv/colugo"
    clone=$(mebibytes "$system/srv/colugo")
    echo "debian: $suite: Debian $(cat "$system/etc/debian_version") with $before packages, $(git -C "$root" describe --always)"

    promise "$suite" "$system" demo || passed=0
    sed -n '/^== the main job/,$p' "$folder/$suite-demo.log"
    promise "$suite" "$system" test || passed=0
    grep -hE '^[0-9]+% tests passed|\(Skipped\)|warning:' "$folder/$suite"-{demo,test}.log || true

    build=$(mebibytes "$system/srv/colugo/build" 2>/dev/null)
    build=${build:-0}
    echo "debian: $suite: $(chroot "$system" sh -c 'c++ --version | head -n 1; cmake --version | head -n 1' | paste -s)"
    echo "debian: $suite: $empty MiB empty, $clone MiB the clone, $build MiB its build folder," \
        "$(($(mebibytes "$system") - empty - clone - build)) MiB for $(($(installed "$system") - before)) packages more"
    ((passed)) || return
    rm -rf --one-file-system "$system"
}

failed=0
for suite in "$@"; do
    check "$suite" || failed=1
done
exit "$failed"
