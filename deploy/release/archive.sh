#!/bin/sh
# Builds the agent without Python and packs it under the name that install.sh asks for:
# archive.sh PROFILE FOLDER
#
# PROFILE: release, or dev.
set -eu

cd "$(dirname "$0")/../.."
: "${2:?usage: archive.sh PROFILE FOLDER}"
LOADPILOT_COMMIT="$(.ci/commit)" \
    cargo build --quiet --locked --profile "$1" -p loadpilot-agent --bin loadpilot-agent
case "$1" in dev) built=target/debug ;; *) built="target/$1" ;; esac
kind="$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m | sed 's/^aarch64$/arm64/')"
file="$2/loadpilot-agent-$kind.tar.gz"
mkdir -p "$2"
tar -czf "$file" -C "$built" loadpilot-agent
ls -l "$file"
