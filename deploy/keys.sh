#!/bin/sh
# Makes the certificates and passwords of a fleet, once: keys.sh DIR [NAME...]
#
# Each role gets a folder with its own files only: `nats`, `coordinator`, `agent`, `gateway`, and
# for commands `submitter` and `watcher`. An authority signs a certificate for nats and one for the
# gateway; its key is then deleted. `nats-token` and `connect.json` log a role in at NATS as its own
# user; `nats` has the passwords of all. `prometheus` has a token for the gateway's metrics,
# `grafana` the first password of its user admin (GRAFANA_PASSWORD, or a random one). NAMEs are
# further host names of the gateway. A complete DIR is left unchanged, but for these two.
#
# As root, the script gives each folder to the user id of its role. KEYS_AT is the path at which a
# role sees its folder (default: the folder itself). LOG has folders that it gives to the user of
# nats. NODES has the host names of further nodes of the log, which then keeps a copy on each.
set -eu
umask 077

DAYS=825 # the maximum that browsers accept
place="${1:?keys.sh DIR [NAME...]}"
shift

token() { openssl rand -hex 24; }

# Also for keys of an older version. The token of Prometheus reads metrics and nothing else.
make_monitoring_keys() {
    [ -e gateway/metrics-token ] || token >gateway/metrics-token
    mkdir -p prometheus grafana
    cp gateway/ca.pem gateway/metrics-token prometheus/
    [ -e grafana/password ] || printf '%s\n' "${GRAFANA_PASSWORD:-$(token)}" >grafana/password
    if [ "$(id -u)" = 0 ]; then
        chown -R 10004:10004 gateway
        chown -R 65534:65534 prometheus
        chown -R 472:0 grafana
    fi
}

if [ -e "$place/nats/complete" ]; then
    cd "$place"
    if [ "$(cat nats/complete)" != "${NODES:-}" ]; then
        echo "keys.sh: NODES is '${NODES:-}', but the keys in $place are those of" \
            "'$(cat nats/complete)'; delete it for new keys" >&2
        exit 2
    fi
    make_monitoring_keys
    echo "keys.sh: $place is complete; delete it for new keys (running parts must then restart)"
    exit 0
fi
mkdir -p "$place"
cd "$place"

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

alternatives() { # DNS:one,IP:127.0.0.1
    for name in "$@"; do
        case "$name" in
            *[!0-9.]*) printf 'DNS:%s,' "$name" ;;
            *) printf 'IP:%s,' "$name" ;;
        esac
    done | sed 's/,$//'
}

sign() { # file name of the certificate, then its subject names
    part="$1"
    shift
    key "$part-key.pem"
    # Nodes of the log are each other's clients, and no other part is.
    usage=serverAuth
    [ "$part" != nats ] || usage=serverAuth,clientAuth
    printf 'subjectAltName=%s\nextendedKeyUsage=%s\n' "$(alternatives "$@")" "$usage" >extensions
    openssl req -new -key "$part-key.pem" -subj "/CN=$part" -out request.pem
    openssl x509 -req -in request.pem -CA ca.pem -CAkey ca-key.pem -CAcreateserial \
        -days "$DAYS" -sha256 -extfile extensions -out "$part.pem" 2>/dev/null
    rm request.pem extensions
}

key ca-key.pem
openssl req -x509 -new -key ca-key.pem -sha256 -days "$DAYS" -subj "/CN=LoadPilot $(token)" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" \
    -addext "keyUsage=critical,keyCertSign" -out ca.pem
# shellcheck disable=SC2086 # a list of names
sign nats nats ${NODES:-} localhost 127.0.0.1
sign gateway gateway localhost 127.0.0.1 "$@"
rm -f ca-key.pem ca.srl

mkdir -p nats coordinator agent gateway submitter watcher
mv nats.pem nats-key.pem nats/
mv gateway.pem gateway-key.pem gateway/
token >gateway/gateway-token
cp ca.pem nats/ca.pem
url="tls://nats:4222"
copies=1
for node in ${NODES:-}; do
    url="$url,tls://$node:4222"
    copies=$((copies + 1))
done
: >nats/nats-auth.conf
for role in coordinator agent gateway submitter watcher; do
    password="$(token)"
    name="$(printf %s "$role" | tr '[:lower:]' '[:upper:]')"
    printf '%s_PASSWORD: "%s"\n' "$name" "$password" >>nats/nats-auth.conf
    cp ca.pem "$role/ca.pem"
    printf '%s:%s\n' "$role" "$password" >"$role/nats-token"
    printf '{"url": "%s", "token": "%s:%s", "cacert": "%s/ca.pem", "replicas": %s}\n' \
        "$url" "$role" "$password" "${KEYS_AT:-$PWD/$role}" "$copies" >"$role/connect.json"
done
rm ca.pem
make_monitoring_keys
if [ "$(id -u)" = 0 ]; then
    # shellcheck disable=SC2086 # a list of folders
    chown -R 10001:10001 nats ${LOG:-}
    chown -R 10002:10002 coordinator
    chown -R 10003:10003 agent
fi
# Written last: its presence means that all other files are complete.
echo "${NODES:-}" >nats/complete
echo "keys.sh: made keys and passwords in $PWD"
