#!/bin/sh
# Makes, once, what the parts of a fleet know each other by: keys.sh DIR [NAME...]
#
# An authority that signs a certificate for nats and one for the gateway, and is then thrown away;
# the token of NATS, in the forms that server and members read; the token of the gateway. NAMEs are
# further hosts by which people reach the gateway. A folder that is complete is left as it is.
set -eu
umask 077

DAYS=825 # the longest that browsers accept
place="${1:?keys.sh DIR [NAME...]}"
shift
if [ -e "$place/connect.json" ]; then
    echo "keys.sh: $place is complete; delete it for new keys (running parts must then restart)"
    exit 0
fi
mkdir -p "$place"
cd "$place"

token() { openssl rand -hex 24; }

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

alternatives() { # DNS:one,IP:127.0.0.1
    for name in "$@"; do
        case "$name" in
            *[!0-9.]*) printf 'DNS:%s,' "$name" ;;
            *) printf 'IP:%s,' "$name" ;;
        esac
    done | sed 's/,$//'
}

sign() { # certificate's file name, then the names it is for
    part="$1"
    shift
    key "$part-key.pem"
    printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\n' "$(alternatives "$@")" >extensions
    openssl req -new -key "$part-key.pem" -subj "/CN=$part" -out request.pem
    openssl x509 -req -in request.pem -CA ca.pem -CAkey ca-key.pem -CAcreateserial \
        -days "$DAYS" -sha256 -extfile extensions -out "$part.pem" 2>/dev/null
    rm request.pem extensions
}

key ca-key.pem
openssl req -x509 -new -key ca-key.pem -sha256 -days "$DAYS" -subj "/CN=LoadPilot $(token)" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" \
    -addext "keyUsage=critical,keyCertSign" -out ca.pem
sign nats nats localhost 127.0.0.1
sign gateway gateway localhost 127.0.0.1 "$@"
rm -f ca-key.pem ca.srl

nats="$(token)"
printf '%s\n' "$nats" >nats-token
printf 'authorization { token: "%s" }\n' "$nats" >nats-auth.conf
token >gateway-token
# The last: where it is, everything is.
printf '{"url": "tls://nats:4222", "token": "%s", "cacert": "%s/ca.pem"}\n' "$nats" "$PWD" >connect.new
mv connect.new connect.json
echo "keys.sh: made keys and tokens in $PWD"
