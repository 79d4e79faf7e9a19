#!/bin/sh
# Builds and pushes the images of a release.
#
#     push_images.sh build VERSION amd64|arm64   on a machine of that kind: REGISTRY/NAME:VERSION-ARCH
#     push_images.sh join VERSION                one image of both kinds: VERSION, MINOR and latest
#
# MINOR and latest stay where a newer release has them.
# REGISTRY: registry and folder, such as ghcr.io/owner. Docker is logged in there.
set -eu

cd "$(dirname "$0")/../.."
: "${REGISTRY:?is not set: registry and folder, such as ghcr.io/owner}"
# Names of images are in lower case; an owner may have capitals.
REGISTRY="$(printf %s "$REGISTRY" | tr '[:upper:]' '[:lower:]')"
ROLES="coordinator agent gateway keys"

build() { # version, architecture
    commit="$(.ci/commit)"
    for role in $ROLES; do
        docker buildx build --file deploy/Dockerfile --target "$role" --platform "linux/$2" \
            --build-arg "LOADPILOT_COMMIT=$commit" --provenance mode=max --sbom true \
            --label "org.opencontainers.image.version=$1" \
            --label "org.opencontainers.image.revision=$commit" \
            --label "org.opencontainers.image.licenses=Apache-2.0" \
            --tag "$REGISTRY/loadpilot-$role:$1-$2" --push .
    done
}

join() { # version
    version="$1" minor="${1%.*}"
    newest="$(deploy/release/newest.sh "$version")"
    newest_fix="$(deploy/release/newest.sh "$version" "$minor.")"
    for role in $ROLES; do
        image="$REGISTRY/loadpilot-$role"
        set -- --tag "$image:$version"
        case "$version" in
            *-*) ;; # a pre-release is pulled by its name only
            *)
                [ "$newest_fix" != "$version" ] || set -- "$@" --tag "$image:$minor"
                [ "$newest" != "$version" ] || set -- "$@" --tag "$image:latest"
                ;;
        esac
        docker buildx imagetools create "$@" "$image:$version-amd64" "$image:$version-arm64"
    done
}

case "$#:${1:-}:${3:-}" in
    3:build:amd64 | 3:build:arm64) build "$2" "$3" ;;
    2:join:) join "$2" ;;
    *)
        echo "usage: push_images.sh build VERSION amd64|arm64, or: push_images.sh join VERSION" >&2
        exit 2
        ;;
esac
