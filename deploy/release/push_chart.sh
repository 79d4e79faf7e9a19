#!/bin/sh
# Packages the chart of a release and pushes it: push_chart.sh VERSION
#
# REGISTRY: registry and folder, such as ghcr.io/owner; the chart is oci://REGISTRY/charts/loadpilot.
# Helm is logged in there.
set -eu

cd "$(dirname "$0")/../.."
: "${REGISTRY:?is not set: registry and folder, such as ghcr.io/owner}"
: "${1:?usage: push_chart.sh VERSION}"
rm -rf target/chart
helm package deploy/helm/loadpilot --version "$1" --app-version "$1" --destination target/chart
helm push "target/chart/loadpilot-$1.tgz" "oci://$REGISTRY/charts"
