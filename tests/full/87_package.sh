#!/usr/bin/env bash
# The Debian package: made, looked over by lintian, installed with its dependencies into an empty Debian of this
# system's release, and asked over HTTP there. Where no Debian can be made (that takes root, debootstrap and a mirror),
# it is unpacked into a folder, and the program runs with the libraries of this system.
set -euo pipefail
build=${COLUGO_BUILD_DIR:?}
work=$(mktemp -d)
mounted='' server=''
tidy() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    [ -z "$mounted" ] || umount "$mounted"
    rm -rf --one-file-system "$work"
}
trap tidy EXIT

cmake --build "$build" --target colugo >/dev/null
(cd "$work" && cpack --config "$build/CPackConfig.cmake" -G DEB >/dev/null 2>&1)
package=$(echo "$work"/*.deb)
echo "package: $(basename "$package"), $(stat -c %s "$package") bytes, $(dpkg-deb -f "$package" Installed-Size) KiB installed"
echo "package: depends on $(dpkg-deb -f "$package" Depends)"
dpkg-deb --contents "$package" >"$work/contents"
dpkg-deb --fsys-tarfile "$package" | tar -xO ./usr/lib/systemd/system/colugo.service | grep -x 'ExecStart=/usr/bin/colugo serve' >/dev/null ||
    { echo "package: the service starts another program"; exit 1; }
for file in bin/colugo lib/systemd/system/colugo.service share/man/man1/colugo.1.gz share/zsh/vendor-completions/_colugo \
    share/bash-completion/completions/colugo share/fish/vendor_completions.d/colugo.fish share/doc/colugo/copyright; do
    grep -q " ./usr/$file\$" "$work/contents" || { echo "package: lacks $file"; exit 1; }
done
DESTDIR=$work/local cmake --install "$build" --prefix /usr/local >/dev/null
local=$work/local/usr/local
grep -qx 'ExecStart=/usr/local/bin/colugo serve' "$local/lib/systemd/system/colugo.service" &&
    [ -x "$local/bin/colugo" ] && [ -f "$local/share/zsh/site-functions/_colugo" ] ||
    { echo "package: installed below /usr/local it is not found"; exit 1; }
rm -rf "$work/local"
if command -v lintian >/dev/null; then
    # No upload to Debian, so no bug of theirs that it closes; and what it says to root is none of ours.
    lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$package" 2>/dev/null | sed 's/^/package: lintian: /'
    echo "package: lintian finds no error and no warning"
else
    echo "package: left out: lintian is not installed"
fi

root=$work/root
# shellcheck source=/dev/null
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
mirror=${COLUGO_DEBIAN_MIRROR:-http://deb.debian.org/debian}
if [ "$EUID" = 0 ] && command -v debootstrap >/dev/null &&
    debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/debootstrap.log" 2>&1 &&
    mount -t proc proc "$root/proc" 2>/dev/null; then
    mounted=$root/proc
    cp "$package" "$root/tmp/colugo.deb"
    chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends /tmp/colugo.deb \
        >"$work/apt.log" 2>&1 || { tail -5 "$work/apt.log"; exit 1; }
    where="an empty Debian $(cat "$root/etc/debian_version")"
    run=(chroot "$root" colugo)
else
    echo "package: left out: a Debian of its own ($(tail -1 "$work/debootstrap.log" 2>/dev/null || echo 'no root, or no debootstrap'))"
    dpkg-deb -x "$package" "$root"
    where="a folder"
    run=("$root/usr/bin/colugo")
fi

"${run[@]}" serve --port 0 --temp 0 --reasoning off 2>"$work/log" &
server=$!
for _ in $(seq 600); do
    url=$(sed -n 's/^serving .* at \(http:.*\)$/\1/p' "$work/log")
    [ -z "$url" ] || break
    kill -0 "$server" 2>/dev/null || { cat "$work/log"; exit 1; }
    sleep 0.1
done
python3 - "${url:?}" <<'EOF'
import json, sys, urllib.request
body = {"messages": [{"role": "user", "content": "Where under src/planner is `close_orbit` defined? Show 20 lines of it."}],
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}}]}
request = urllib.request.Request(sys.argv[1] + "/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
choice = json.load(urllib.request.urlopen(request, timeout=120))["choices"][0]
call = choice["message"]["tool_calls"][0]["function"]
assert choice["finish_reason"] == "tool_calls" and "src/planner" in call["arguments"], choice
print("package: nano answered", call["arguments"])
EOF
"${run[@]}" doctor --client curl --url "$url" >"$work/settings" 2>/dev/null
grep -q "$url" "$work/settings"
kill -TERM "$server"
wait "$server" && code=0 || code=$?
server=''
[ "$code" = 0 ] || { echo "package: the server ended with $code"; exit 1; }
if [ -n "$mounted" ]; then
    chroot "$root" dpkg --purge colugo >/dev/null 2>&1
    left=$(find "$root/usr" "$root/etc" -path '*colugo*' | head -3)
    [ -z "$left" ] || { echo "package: left behind: $left"; exit 1; }
fi
echo "package: installed into $where, served, and ended as it should"
