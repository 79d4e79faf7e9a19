"""The NATS server of a fleet, from flags and environment: for commands and for the gateway.

Must never show a token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _native
from ..problem import Problem, rule, without

if TYPE_CHECKING:
    from collections.abc import Mapping

TENANT_DEFAULT = "local"
TOKEN_VARIABLE = "NATS_TOKEN"  # noqa: S105  (the name of a variable, not what it holds)
CREDS_VARIABLE = "NATS_CREDS"
CACERT_VARIABLE = "NATS_CACERT"
INSECURE_VARIABLE = "NATS_INSECURE"
NO_SERVER = "needs a fleet, and no fleet is named; add --nats-url URL"
ADDRESS = re.compile(r"(nats|tls)://[^\s/,]+/?")


@dataclass(frozen=True, slots=True)
class ServerFlags:
    """The flags of a NATS server, unread; :mod:`loadpilot.cli.flags.server_flags` explains them."""

    nats_url: str | None = None
    nats_token: str | None = None
    creds: str | None = None
    tenant: str | None = None
    nats_cacert: str | None = None
    insecure_nats: bool = False


@dataclass(frozen=True, slots=True)
class Server:
    """Address of the log of a fleet, and the credentials for it."""

    url: str
    token: str | None
    creds: Path | None
    tenant: str
    cacert: Path | None = None
    """Certificates to trust instead of those of this machine."""

    @property
    def place(self) -> str:
        """The address as messages may show it."""
        shown = _native.shown_address(self.url)
        return shown if self.tenant == TENANT_DEFAULT else f"{shown}, tenant {self.tenant}"

    def join(self) -> _native.Session:
        """Connect to ask for runs; raises Fault when no coordinator listens, Refused."""
        return _native.Session.join(self.url, self.token, self.creds, self.tenant, self.cacert)

    def visit(self) -> _native.Session:
        """Connect to read the log; raises Fault, Refused."""
        return _native.Session.visit(self.url, self.token, self.creds, self.tenant, self.cacert)

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
            "--creds": flags.creds,
            "--tenant": flags.tenant,
            "--nats-cacert": flags.nats_cacert,
            "--insecure-nats": "yes" if flags.insecure_nats else None,
        }
        problems += without(written, NO_SERVER)
        return None
    if not all(ADDRESS.fullmatch(one.strip()) for one in url.split(",")):
        must = "must be nats://host:port or tls://host:port"
        problems.append(rule("--nats-url", must, _native.shown_address(url)))
    token, file = flags.nats_token, flags.creds
    if token is not None and file is not None:
        problems.append(Problem("--creds", "authenticates you, and so does --nats-token; drop one"))
    # A flag goes before all of the environment.
    if token is None and file is None:
        file = environ.get(CREDS_VARIABLE) or None
        token = None if file is not None else environ.get(TOKEN_VARIABLE) or None
    if token == "":
        problems.append(Problem("--nats-token", "is empty"))
    is_insecure = flags.insecure_nats or environ.get(INSECURE_VARIABLE) == "1"
    host = None if is_insecure else _native.token_exposed_to(url, token is not None)
    if host is not None:
        must = "must be tls://, or the token travels unencrypted; --insecure-nats insists"
        problems.append(rule("--nats-url", must, host))
    creds = Path(file) if file is not None else None
    if creds is not None and not creds.is_file():
        place = "--creds" if flags.creds is not None else CREDS_VARIABLE
        problems.append(rule(place, "must be a credentials file of NATS", str(creds)))
    tenant = TENANT_DEFAULT if flags.tenant is None else flags.tenant
    if not re.fullmatch(r"[a-z0-9_-]{1,128}", tenant):
        must = "must be 1 to 128 characters out of a-z 0-9 _ -"
        problems.append(rule("--tenant", must, tenant))
    return Server(url, token, creds, tenant, _cacert(flags, environ, problems))


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
