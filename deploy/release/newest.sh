#!/bin/sh
# Prints the newest of a version and of all releases, by their tags: newest.sh VERSION [PREFIX]
#
# PREFIX names the releases that count, such as 0.1. for those of a minor version. Pre-releases do
# not count.
set -eu

cd "$(dirname "$0")/../.."
version="${1:?newest.sh VERSION [PREFIX]}"
if [ "$(git rev-parse --is-shallow-repository)" != false ]; then
    echo "newest.sh: needs all tags: clone the whole history" >&2
    exit 1
fi
{
    echo "$version"
    git tag --list "v${2:-}*" | sed -n 's/^v\([0-9]*\.[0-9]*\.[0-9]*\)$/\1/p'
} | sort -V | tail -n 1
