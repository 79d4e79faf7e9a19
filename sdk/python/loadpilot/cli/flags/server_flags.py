"""The NATS server of a fleet, as flags of every command that reaches one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...control import nats_settings
from ...control.nats_settings import TENANT_DEFAULT
from .connection_flags import MACHINE_CERTIFICATES
from .declaration import FLEET, flag


@dataclass(frozen=True, slots=True)
class ServerFlags(nats_settings.ServerFlags):
    """The flags of a NATS server, unparsed; without --nats-url the command uses this machine."""

    nats_url: Annotated[
        str | None,
        flag(
            FLEET,
            "URL",
            "NATS server of a fleet, nats://host:port or tls://host:port, instead of this machine "
            "and directory.",
        ),
    ] = None
    nats_token: Annotated[
        str | None,
        flag(
            FLEET,
            "TOKEN",
            "Token for the NATS server. Better in the environment as NATS_TOKEN: other users can "
            "read command lines.",
        ),
    ] = None
    nats_token_file: Annotated[
        str | None,
        flag(
            FLEET,
            "FILE",
            "File of the token, read for each connection. Without the flag: NATS_TOKEN_FILE.",
        ),
    ] = None
    creds: Annotated[
        str | None,
        flag(
            FLEET,
            "FILE",
            "NATS credentials file, or a key alone, instead of a token; read for each connection. "
            "Without the flag: NATS_CREDS.",
        ),
    ] = None
    tenant: Annotated[
        str | None, flag(FLEET, "NAME", "Tenant of the fleet.", default=TENANT_DEFAULT)
    ] = None
    nats_cacert: Annotated[
        str | None,
        flag(
            FLEET,
            "FILE",
            "Certificates to trust for a tls:// server, PEM. Without the flag: NATS_CACERT.",
            default=MACHINE_CERTIFICATES,
        ),
    ] = None
    nats_cert: Annotated[
        str | None,
        flag(
            FLEET,
            "FILE",
            "Certificate that a tls:// server asks for, PEM; with --nats-key. Without the flag: "
            "NATS_CERT.",
        ),
    ] = None
    nats_key: Annotated[
        str | None,
        flag(
            FLEET,
            "FILE",
            "Private key of --nats-cert, PEM without a password. Without the flag: NATS_KEY.",
        ),
    ] = None
    nats_domain: Annotated[
        str | None,
        flag(
            FLEET,
            "NAME",
            "JetStream domain of the log, on a leaf node with JetStream of its own. Without the "
            "flag: NATS_DOMAIN.",
        ),
    ] = None
    nats_api_prefix: Annotated[
        str | None,
        flag(
            FLEET,
            "NAME",
            "Prefix of the JetStream API, if it is not $JS.API. Without the flag: NATS_API_PREFIX.",
        ),
    ] = None
    nats_connections: Annotated[
        str | None,
        flag(
            FLEET,
            "INT",
            "Number of connections that the account of NATS allows: a run that needs more is "
            "refused before it starts. Without the flag: NATS_CONNECTIONS.",
            default="no limit",
        ),
    ] = None
    insecure_nats: Annotated[
        bool,
        flag(
            FLEET,
            "",
            "Send the token unencrypted to a nats:// address off loopback. Without the flag: "
            "NATS_INSECURE=1.",
        ),
    ] = False
