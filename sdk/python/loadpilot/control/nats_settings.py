"""The NATS server of a fleet, from flags and environment: for commands and for the gateway.

Must never show a token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _native
from ..problem import Problem, rule, without

if TYPE_CHECKING:
    from collections.abc import Mapping

TENANT_DEFAULT = "local"
URL_DEFAULT = "tls://nats:4222"
"""Address in the files of users that `admin nats-config` writes where none is named."""
TOKEN_VARIABLE = "NATS_TOKEN"  # noqa: S105  (the name of a variable, not what it holds)
TOKEN_FILE_VARIABLE = "NATS_TOKEN_FILE"  # noqa: S105  (as above)
CREDS_VARIABLE = "NATS_CREDS"
CACERT_VARIABLE = "NATS_CACERT"
CERT_VARIABLE = "NATS_CERT"
KEY_VARIABLE = "NATS_KEY"
DOMAIN_VARIABLE = "NATS_DOMAIN"
PREFIX_VARIABLE = "NATS_API_PREFIX"
CONNECTIONS_VARIABLE = "NATS_CONNECTIONS"
CONNECTIONS_MAX = 10**9 - 1
OTHER_CONNECTIONS = 2
"""Connections of a run beside those of its agents: a coordinator, and the command or gateway."""
INSECURE_VARIABLE = "NATS_INSECURE"
NO_SERVER = "needs a fleet, and no fleet is named; add --nats-url URL"
HEARD_BY_OPERATOR = "agents of a shared fleet answer to its operator, by --tenant of the fleet"
"""Why a tenant may receive no heartbeat: those are on the subjects of the fleet's own tenant."""
ADDRESS = re.compile(r"(nats|tls)://[^\s/,]+/?")


@dataclass(frozen=True, slots=True)
class ServerFlags:
    """The flags of a NATS server, unparsed; :mod:`loadpilot.cli.flags.server_flags` has help."""

    nats_url: str | None = None
    nats_token: str | None = None
    nats_token_file: str | None = None
    creds: str | None = None
    tenant: str | None = None
    nats_cacert: str | None = None
    nats_cert: str | None = None
    nats_key: str | None = None
    nats_domain: str | None = None
    nats_api_prefix: str | None = None
    nats_connections: str | None = None
    insecure_nats: bool = False


@dataclass(frozen=True, slots=True)
class Server:
    """Address of the log of a fleet, and the credentials for it."""

    url: str
    token: str | None = field(repr=False)
    creds: Path | None
    tenant: str
    cacert: Path | None = None
    """Certificates to trust instead of those of this machine."""
    token_file: Path | None = None
    """File of the token, read for each connection as ``creds`` is."""
    cert: Path | None = None
    """Certificate that the server requires, with its ``key``."""
    key: Path | None = None
    domain: str | None = None
    """JetStream domain of the log; None for the account's own."""
    api_prefix: str | None = None
    """Prefix of the JetStream API, instead of a domain."""
    connections: int | None = None
    """Number of connections that the account allows, which no server reports; None: no limit."""

    @property
    def place(self) -> str:
        """The address as messages may show it."""
        shown = _native.shown_address(self.url)
        return shown if self.tenant == TENANT_DEFAULT else f"{shown}, tenant {self.tenant}"

    def join(self) -> _native.Session:
        """Connect to request runs; raises Fault when no coordinator listens, Refused."""
        return _native.Session.join(self)

    def visit(self) -> _native.Session:
        """Connect to read the log; raises Fault, Refused."""
        return _native.Session.visit(self)

    def reach(self) -> _native.Session:
        """Connect without the log, which a kill switch does not need; raises Fault, Refused."""
        return _native.Session.reach(self)

    def __repr__(self) -> str:
        return f"Server({self.place})"


def read_server(
    flags: ServerFlags, environ: Mapping[str, str], problems: list[Problem]
) -> Server | None:
    """Read the address of a server; None when no flag names one. No secret is quoted."""
    url = flags.nats_url
    if not url:
        written = {
            "--nats-token": flags.nats_token,
            "--nats-token-file": flags.nats_token_file,
            "--creds": flags.creds,
            "--tenant": flags.tenant,
            "--nats-cacert": flags.nats_cacert,
            "--nats-cert": flags.nats_cert,
            "--nats-key": flags.nats_key,
            "--nats-domain": flags.nats_domain,
            "--nats-api-prefix": flags.nats_api_prefix,
            "--nats-connections": flags.nats_connections,
            "--insecure-nats": "yes" if flags.insecure_nats else None,
        }
        problems += without(written, NO_SERVER)
        return None
    if not all(ADDRESS.fullmatch(one.strip()) for one in url.split(",")):
        must = "must be nats://host:port or tls://host:port"
        problems.append(rule("--nats-url", must, _native.shown_address(url)))
    login = _login(flags, environ, problems)
    is_insecure = flags.insecure_nats or environ.get(INSECURE_VARIABLE) == "1"
    has_token = login.token is not None or login.token_file is not None
    host = None if is_insecure else _native.token_exposed_to(url, has_token)
    if host is not None:
        must = "must be tls://, or the token travels unencrypted; --insecure-nats insists"
        problems.append(rule("--nats-url", must, host))
    tenant = TENANT_DEFAULT if flags.tenant is None else flags.tenant
    if not re.fullmatch(r"[a-z0-9_-]{1,128}", tenant):
        must = "must be 1 to 128 characters out of a-z 0-9 _ -"
        problems.append(rule("--tenant", must, tenant))
    cert, key = _certificate(flags, environ, problems)
    domain, api_prefix = _api_prefix(flags, environ, problems)
    return Server(
        url,
        login.token,
        login.creds,
        tenant,
        _cacert(flags, environ, problems),
        login.token_file,
        cert,
        key,
        domain,
        api_prefix,
        _connections(flags, environ, problems),
    )


@dataclass(frozen=True, slots=True)
class _Login:
    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    creds: Path | None = None


def _login(flags: ServerFlags, environ: Mapping[str, str], problems: list[Problem]) -> _Login:
    """Read how the user authenticates. A flag takes precedence over all of the environment."""
    given = {
        "--nats-token": flags.nats_token,
        "--nats-token-file": flags.nats_token_file,
        "--creds": flags.creds,
    }
    names = [name for name, value in given.items() if value is not None]
    problems += [
        Problem(name, f"authenticates you, and so does {names[0]}; drop one") for name in names[1:]
    ]
    if flags.nats_token == "":
        problems.append(Problem("--nats-token", "is empty"))
    creds, token_file, token = flags.creds, flags.nats_token_file, flags.nats_token
    if not names:
        creds = environ.get(CREDS_VARIABLE) or None
        token_file = None if creds else environ.get(TOKEN_FILE_VARIABLE) or None
        token = None if creds or token_file else environ.get(TOKEN_VARIABLE) or None
    for file, place, must in (
        (creds, CREDS_VARIABLE, "must be a credentials file of NATS"),
        (token_file, TOKEN_FILE_VARIABLE, "must be a file with the token of NATS"),
    ):
        if file is not None and not Path(file).is_file():
            flag = "--creds" if place == CREDS_VARIABLE else "--nats-token-file"
            problems.append(rule(flag if names else place, must, file))
    return _Login(token, _path(token_file), _path(creds))


def _path(file: str | None) -> Path | None:
    return None if file is None else Path(file)


def _cacert(flags: ServerFlags, environ: Mapping[str, str], problems: list[Problem]) -> Path | None:
    """Read the certificates to trust instead of those of this machine."""
    place = "--nats-cacert" if flags.nats_cacert else CACERT_VARIABLE
    file = flags.nats_cacert or environ.get(CACERT_VARIABLE) or None
    if file is None:
        return None
    if not Path(file).is_file():
        problems.append(rule(place, "must be a file of certificates in PEM", file))
    if flags.nats_cacert and "tls://" not in (flags.nats_url or ""):
        problems.append(
            Problem(place, "needs a tls:// address in --nats-url; nats:// has no certificate")
        )
    return Path(file)


def _certificate(
    flags: ServerFlags, environ: Mapping[str, str], problems: list[Problem]
) -> tuple[Path | None, Path | None]:
    """Read certificate and key that the server requires; each needs the other."""
    read: list[Path | None] = []
    for value, name, variable, must in (
        (flags.nats_cert, "--nats-cert", CERT_VARIABLE, "must be a file of certificates in PEM"),
        (flags.nats_key, "--nats-key", KEY_VARIABLE, "must be a file with a private key in PEM"),
    ):
        file = value or environ.get(variable) or None
        if file is not None and not Path(file).is_file():
            problems.append(rule(name if value else variable, must, file))
        read.append(_path(file))
    cert, key = read
    if (cert is None) != (key is None):
        lacking, other = ("--nats-cert", "--nats-key")[:: 1 if cert is None else -1]
        problems.append(Problem(lacking, f"must be given too: {other} is nothing without it"))
    if flags.nats_cert and "tls://" not in (flags.nats_url or ""):
        what = "needs a tls:// address in --nats-url; nats:// has no certificate"
        problems.append(Problem("--nats-cert", what))
    return cert, key


def _api_prefix(
    flags: ServerFlags, environ: Mapping[str, str], problems: list[Problem]
) -> tuple[str | None, str | None]:
    """Read domain or prefix of JetStream. A flag replaces the other's variable."""
    domain, prefix = flags.nats_domain, flags.nats_api_prefix
    if domain is None and prefix is None:
        domain = environ.get(DOMAIN_VARIABLE) or None
        prefix = environ.get(PREFIX_VARIABLE) or None
    wrong = _native.wrong_api_prefix(domain, prefix)
    if wrong is not None:
        problems.append(rule(*wrong))
    return domain, prefix


def _connections(
    flags: ServerFlags, environ: Mapping[str, str], problems: list[Problem]
) -> int | None:
    """Read how many connections the account allows; None: not stated."""
    place = CONNECTIONS_VARIABLE if flags.nats_connections is None else "--nats-connections"
    text = flags.nats_connections or environ.get(CONNECTIONS_VARIABLE) or None
    if text is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        problems.append(rule(place, f"must be a whole number from 1 to {CONNECTIONS_MAX:,}", text))
        return None
    return int(text)
