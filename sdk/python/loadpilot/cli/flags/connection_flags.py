"""How a run connects to its target, as flags of ``loadpilot run``; the compiler reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...compile.scenario import connections
from .declaration import TARGET, flag

MACHINE_CERTIFICATES = "those of this machine"
"""The default of each flag that names certificates to trust."""


@dataclass(frozen=True, slots=True)
class ConnectionFlags(connections.ConnectionFlags):
    """The flags of the target's connections, unparsed; each replaces a setting of the scenario."""

    http: Annotated[
        str | None,
        flag(
            TARGET,
            "1.1|2|auto",
            "HTTP version. `auto`: an https target chooses.",
            default=connections.HTTP[0],
        ),
    ] = None
    max: Annotated[
        str | None,
        flag(
            TARGET,
            "INT",
            "Maximum number of open connections of each agent. Arrivals that find none free wait "
            "in the queue. An HTTP/1.1 connection that is idle and not needed for a minute is "
            "closed.",
            "--connections",
        ),
    ] = None
    open_first: Annotated[
        str | None,
        flag(
            TARGET,
            "INT",
            "Number of connections that each agent opens, TLS included, before the run starts. "
            "That many stay open however long they are idle.",
        ),
    ] = None
    reuse: Annotated[
        str | None,
        flag(
            TARGET,
            "always|never|SHARE",
            "Calls that may use an open connection; a share such as 0.3.",
            default="always",
        ),
    ] = None
    connect_to: Annotated[
        str | None,
        flag(
            TARGET,
            "ADDRESS",
            "Connect to host:port or unix:/path instead; Host and TLS keep the target's name.",
        ),
    ] = None
    sources: Annotated[
        tuple[str, ...],
        flag(
            TARGET,
            "ADDRESS",
            "Local address to connect from, optionally with ports: 10.0.0.5:20000-30000 or "
            "[fd00::1]:20000-30000. Repeatable; addresses are taken in turn.",
            "--source",
        ),
    ] = ()
    ip: Annotated[
        str | None, flag(TARGET, "4|6", "Connect to addresses of this IP family only.")
    ] = None
    proxy: Annotated[
        str | None,
        flag(
            TARGET,
            "URL",
            "Proxy for all connections to the target: http://host:port (CONNECT) or "
            "socks5://host:port. It resolves the target's name. Agents of a fleet need "
            "--allow-proxy.",
        ),
    ] = None
    proxy_credentials_env: Annotated[
        str | None,
        flag(
            TARGET,
            "NAME",
            "Environment variable with user:password for --proxy. They never enter plan, log or "
            "report.",
        ),
    ] = None
    redirects: Annotated[
        str | None,
        flag(
            TARGET,
            "INT",
            "Maximum number of redirects that a call of a task without code follows, within the "
            "origin of its target and its own time-out. The status is that of the last response.",
            default="0",
        ),
    ] = None
    redirect_to: Annotated[
        tuple[str, ...],
        flag(
            TARGET,
            "URL",
            "Further origin that --redirects may lead to, such as https://login.example. It gets "
            "no headers with credentials. Repeatable.",
        ),
    ] = ()
    insecure: Annotated[
        bool,
        flag(TARGET, "", "Do not verify the certificate of an https target; the report says so."),
    ] = False
    cacert: Annotated[
        str | None,
        flag(
            TARGET,
            "FILE",
            "Certificates to trust for the target, PEM.",
            default=MACHINE_CERTIFICATES,
        ),
    ] = None
    cert: Annotated[str | None, flag(TARGET, "FILE", "Client certificate, PEM; needs --key.")] = (
        None
    )
    key: Annotated[
        str | None,
        flag(TARGET, "FILE", "Private key of --cert, PEM. It never enters plan, log or report."),
    ] = None
