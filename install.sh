#!/bin/sh
# Installs the agent of a release, a program without Python, for this machine and user:
#
#     curl -fsSL RELEASES/latest/download/install.sh | sh
#
# INSTALL_DIR         folder of the program (default: ~/.local/bin)
# LOADPILOT_VERSION   version, such as 0.1.0 (default: the latest release)
# LOADPILOT_RELEASES  address of a mirror of the releases page, with the same paths:
#                     latest/download/FILE and download/vVERSION/FILE
#
# The program is installed when its checksum is that of the release's SHA256SUMS and it starts on
# this machine; otherwise nothing is changed. It asks for no password, and needs curl or wget.
set -eu

NAME=loadpilot-agent
RELEASES="" # the release workflow writes the address of its own releases here

fail() { # reason, then what to do
    echo "install.sh: $1" >&2
    [ "$#" -lt 2 ] || echo "            $2" >&2
    exit 1
}

platform() { # OS-ARCHITECTURE, as in the names of a release's files
    case "$(uname -s)" in
        Linux) os=linux ;;
        Darwin) os=darwin ;;
        *) fail "no agent is built for $(uname -s): there are linux and darwin" ;;
    esac
    case "$(uname -m)" in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=arm64 ;;
        *) fail "no agent is built for $os on $(uname -m): there are x86_64 and arm64" ;;
    esac
    echo "$os-$machine"
}

download() { # address, file
    case "$1" in https://*) secure=1 ;; *) secure="" ;; esac
    if command -v curl >/dev/null 2>&1; then
        # A redirect must not lead from https to http.
        curl --fail --silent --show-error --location --retry 2 --connect-timeout 20 \
            ${secure:+--proto =https --tlsv1.2} --output "$2" "$1"
    elif command -v wget >/dev/null 2>&1; then
        wget --quiet --tries=3 --timeout=20 ${secure:+--https-only} --output-document="$2" "$1"
    else
        fail "needs curl or wget"
    fi || fail "cannot download $1" "nothing was installed"
}

digest() { # file
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1"
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 "$1"
    else
        fail "needs sha256sum or shasum, to check what it downloads"
    fi | cut -d ' ' -f 1
}

check() { # folder with SHA256SUMS and the archive, name of the archive
    expected="$(awk -v file="$2" '$2 == file || $2 == "*" file { print $1 }' "$1/SHA256SUMS")"
    [ -n "$expected" ] || fail "this release has no $2" "see $releases"
    found="$(digest "$1/$2")"
    [ "$found" = "$expected" ] ||
        fail "$2 is not the file of the release: SHA-256 $found, expected $expected" \
            "nothing was installed; try again, or tell the people of the mirror"
}

install() {
    releases="${LOADPILOT_RELEASES:-$RELEASES}"
    releases="${releases%/}"
    [ -n "$releases" ] || fail "LOADPILOT_RELEASES is not set, and this copy is of no release" \
        "set it to the address of releases, such as https://github.com/OWNER/loadpilot/releases"
    version="${LOADPILOT_VERSION:-latest}"
    version="${version#v}"
    case "$version" in
        latest) from="$releases/latest/download" ;;
        [0-9]*.[0-9]*.[0-9]*) from="$releases/download/v$version" ;;
        *) fail "LOADPILOT_VERSION=$version is no version: 0.1.0, or latest" ;;
    esac
    target="${INSTALL_DIR:-${HOME:?is not set, and INSTALL_DIR neither}/.local/bin}"
    archive="$NAME-$(platform).tar.gz" || exit 1

    mkdir -p "$target" 2>/dev/null && [ -w "$target" ] ||
        fail "cannot write to $target" "set INSTALL_DIR to a folder of yours"
    # In the same folder: the last step renames, so that no half-written program is ever there.
    work="$(mktemp -d "$target/.$NAME.XXXXXX")" || fail "cannot write to $target"
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' HUP INT TERM

    download "$from/SHA256SUMS" "$work/SHA256SUMS"
    download "$from/$archive" "$work/$archive"
    check "$work" "$archive"
    tar -xzf "$work/$archive" -C "$work" "$NAME" || fail "$archive holds no $NAME"
    chmod 755 "$work/$NAME"
    said="$("$work/$NAME" --version 2>&1)" ||
        fail "$NAME does not start on this machine: $said" "nothing was installed"
    mv -f "$work/$NAME" "$target/$NAME"

    echo "installed $said as $target/$NAME"
    case ":$PATH:" in
        *":$target:"*) ;;
        *) echo "$target is not on PATH: add it there, or call $target/$NAME" ;;
    esac
}

# Last: a script that was cut off on its way here does nothing.
install
