#!/bin/sh
# Writes what a release contains, by the tool of each language from its lock file (CycloneDX):
# the native module, agent and coordinator, the Python packages, the pages: sbom.sh FOLDER
#
# No path of this machine is in them. UV: the program uv.
set -eu

cd "$(dirname "$0")/../.."
: "${1:?usage: sbom.sh FOLDER}"
VERSION=0.5.9 # of cargo-cyclonedx
TOOLS="$PWD/.dev/cyclonedx-$VERSION"
WRITTEN=loadpilot-sbom # the name of what cargo-cyclonedx writes, beside each Cargo.toml

mkdir -p "$1"
[ -x "$TOOLS/bin/cargo-cyclonedx" ] ||
    cargo install --quiet --locked --root "$TOOLS" "cargo-cyclonedx@$VERSION"
trap 'find . -name "$WRITTEN.json" -not -path "./target/*" -delete' EXIT
"$TOOLS/bin/cargo-cyclonedx" cyclonedx --quiet --manifest-path sdk/Cargo.toml --features python \
    --target all --format json --spec-version 1.5 --override-filename "$WRITTEN"
for part in native:sdk agent:services/agent coordinator:services/coordinator; do
    sed "s|file://$PWD/|file:///|g" "${part#*:}/$WRITTEN.json" >"$1/loadpilot-${part%%:*}.cdx.json"
done
"${UV:-uv}" export --quiet --frozen --all-packages --no-dev --preview-features sbom-export \
    --format cyclonedx1.5 --output-file "$1/loadpilot-python.cdx.json" >/dev/null
(cd services/gateway/web && npm sbom --sbom-format cyclonedx --package-lock-only --omit dev) \
    >"$1/loadpilot-pages.cdx.json"
ls -l "$1"/*.cdx.json
