#!/bin/sh
# Packages the chart of a release and pushes it: push_chart.sh VERSION
#
# REGISTRY: registry and folder, such as ghcr.io/owner; the chart is oci://REGISTRY/charts/loadpilot,
# and takes its images from REGISTRY. Helm is logged in there.
set -eu

cd "$(dirname "$0")/../.."
: "${REGISTRY:?is not set: registry and folder, such as ghcr.io/owner}"
: "${1:?usage: push_chart.sh VERSION}"
# Names of images are in lower case; an owner may have capitals.
REGISTRY="$(printf %s "$REGISTRY" | tr '[:upper:]' '[:lower:]')"
case "$REGISTRY" in
    *[!a-z0-9._/:-]*) echo "push_chart.sh: '$REGISTRY' is no registry" >&2 && exit 2 ;;
esac
source=target/chart/source/loadpilot
rm -rf target/chart
mkdir -p target/chart/source
cp -RL deploy/helm/loadpilot "$source" # its files are links to those of other folders
sed "s|^  registry: \"\"\$|  registry: \"$REGISTRY\"|" deploy/helm/loadpilot/values.yaml \
    >"$source/values.yaml"
grep -qxF "  registry: \"$REGISTRY\"" "$source/values.yaml"
helm package "$source" --version "$1" --app-version "$1" --destination target/chart
helm push "target/chart/loadpilot-$1.tgz" "oci://$REGISTRY/charts"
