#!/bin/sh
# Runs a command of the README in a clone of HEAD, on a Debian that has what the README asks for and
# nothing else: no cargo, no uv. The argument is `demo` (default) or `test`.
#
# The system is made by debootstrap in a folder below target/bare-debian, from a tree that is kept
# there. The command runs in namespaces of its own: no mount and no process outlives it. Files that
# it writes outside the clone, caches excepted, are a failure. Exit code 77: cannot run here.
set -eu

cd "$(dirname "$0")/../.."
COMMAND="${1:-demo}"
KEPT="$PWD/target/bare-debian/bookworm"
PACKAGES=python3,python3-venv,gcc,libc6-dev,ca-certificates,git
# Files outside the clone that the README announces.
CACHES='^/root/\.cache/(loadpilot|pip|uv)/|^/tmp/uv-[0-9a-f]*\.lock$'
# Temporary files of tests, some of processes that they kill; fonts that Matplotlib has found.
[ "$COMMAND" != test ] || CACHES="$CACHES|^/tmp/|^/root/\.cache/matplotlib/"
AUTHORITIES=/etc/ssl/certs/ca-certificates.crt
# Where this machine finds package indexes, and whom it trusts.
NETWORK="http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL UV_INDEX_URL
UV_DEFAULT_INDEX PIP_CERT SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE"

skip() {
    echo "SKIPPED bare Debian: $1" >&2
    exit 77
}

# In namespaces of its own: mounts what a system needs, and runs the command as a user would.
if [ "${2:-}" = inside ]; then
    mount -t proc proc "$ROOT/proc"
    mount --rbind /dev "$ROOT/dev"
    mount -t tmpfs tmpfs "$ROOT/dev/shm"
    set -- HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    for name in $NETWORK; do
        eval "value=\${$name:-}"
        [ -z "$value" ] || set -- "$@" "$name=$value"
    done
    exec env -i "$@" chroot "$ROOT" sh -c "cd /root/loadpilot && exec ./dev $COMMAND"
fi

[ "$(id -u)" = 0 ] || skip "needs root"
command -v debootstrap >/dev/null || skip "needs debootstrap: sudo apt-get install -y debootstrap"

if [ ! -d "$KEPT" ]; then
    mkdir -p "${KEPT%/*}"
    rm -rf "$KEPT.part"
    debootstrap --variant=minbase --include="$PACKAGES" bookworm "$KEPT.part" >"$KEPT.txt" 2>&1 ||
        skip "debootstrap cannot make the system ($KEPT.txt)"
    mv "$KEPT.part" "$KEPT"
fi

ROOT="$(mktemp -d "${KEPT%/*}/run.XXXXXX")"
export ROOT
trap 'rm -rf --one-file-system "$ROOT"' EXIT
trap 'exit 143' HUP INT TERM
cp -a "$KEPT/." "$ROOT"
# An installer writes /etc/hosts, which knows localhost; debootstrap does not.
for file in /etc/hosts /etc/resolv.conf /etc/pip.conf "$AUTHORITIES"; do
    [ ! -e "$file" ] || cp -L "$file" "$ROOT$file"
done
git clone --quiet --no-local . "$ROOT/root/loadpilot"
touch "$ROOT/root/.began"

status=0 began="$(date +%s)"
unshare --mount --pid --fork --kill-child tests/deploy/bare_debian.sh "$COMMAND" inside ||
    status=$?
echo "wall time: $(($(date +%s) - began)) s; CPU of this shell, and of all that it started:"
times

written="$(find "$ROOT" -path "$ROOT/root/loadpilot" -prune -o \
    ! -type d -cnewer "$ROOT/root/.began" -printf '/%P\n')"
echo "outside the clone, number of files written:"
printf '%s\n' "$written" | grep . | cut -d/ -f1-4 | sort | uniq -c
foreign="$(printf '%s\n' "$written" | grep . | grep -Ev "$CACHES" || true)"
if [ -n "$foreign" ]; then
    printf 'bare Debian: files outside the clone that are no cache:\n%s\n' "$foreign" >&2
    status=1
fi
exit "$status"
