"""A fleet: agents and coordinators that others keep, reached through NATS, as flags name it.

Must never show a token, nor start anything on this machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _native
from ..compile.durations import Wrong, duration_us
from ..compile.problem import Problem, rule
from .whole import whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AGENTS_MAX = 4_096
"""Most agents that one run may ask for."""
NEEDS_MAX = 20
"""Most labels that a run may ask of its agents."""
WAIT_DEFAULT = "60s"
TENANT_DEFAULT = "local"
TOKEN_VARIABLE = "NATS_TOKEN"  # noqa: S105  (the name of a variable, not what it holds)
CREDS_VARIABLE = "NATS_CREDS"
ADDRESS = re.compile(r"(nats|tls)://[^\s/,]+/?")
NEED = re.compile(r"[A-Za-z0-9._-]{1,63}=[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class ServerFlags:
    """What was written about a server, unread."""

    nats_url: str | None = None
    """The NATS server of a fleet, nats://host:port, instead of this directory."""
    nats_token: str | None = None
    """The token for it. Better in the environment as NATS_TOKEN."""
    creds: str | None = None
    """A credentials file for it instead of a token. Else NATS_CREDS."""
    tenant: str | None = None
    """Whose fleet; `local` if nothing is said."""


@dataclass(frozen=True, slots=True)
class FleetFlags:
    """What was written about a fleet, unread."""

    server: ServerFlags = ServerFlags()
    external_agents: str | None = None
    min_agents: str | None = None
    wait_agents: str | None = None
    need: tuple[str, ...] = ()
    detach: bool = False


@dataclass(frozen=True, slots=True)
class Server:
    """Where the log of a fleet is, and how to log in."""

    url: str
    token: str | None
    creds: Path | None
    tenant: str

    @property
    def place(self) -> str:
        """The address as messages may show it."""
        shown = _native.shown_address(self.url)
        return shown if self.tenant == TENANT_DEFAULT else f"{shown}, tenant {self.tenant}"

    def join(self) -> _native.Session:
        """Connect to ask for runs; raises Fault when nobody would hear, Refused."""
        return _native.Session.join(self.url, self.token, self.creds, self.tenant)

    def visit(self) -> _native.Session:
        """Connect to read the log; raises Fault, Refused."""
        return _native.Session.visit(self.url, self.token, self.creds, self.tenant)

    def __repr__(self) -> str:
        return f"Server({self.place})"


@dataclass(frozen=True, slots=True)
class Fleet:
    """A fleet, and how many of its agents a run asks for."""

    server: Server
    want: int
    least: int
    wait_us: int
    needs: tuple[str, ...]
    detach: bool
    """Whether nobody stays with the run."""


def read_server(
    flags: ServerFlags, environ: Mapping[str, str], problems: list[Problem]
) -> Server | None:
    """Read where a server is; None when no flag names one. What is wrong is never quoted."""
    url = flags.nats_url
    if url is None:
        said = {"--nats-token": flags.nats_token, "--creds": flags.creds, "--tenant": flags.tenant}
        problems += _without_server(said)
        return None
    if not all(ADDRESS.fullmatch(one.strip()) for one in url.split(",")):
        must = "must be nats://host:port or tls://host:port"
        problems.append(rule("--nats-url", must, _native.shown_address(url)))
    token, file = flags.nats_token, flags.creds
    if token is not None and file is not None:
        problems.append(Problem("--creds", "says who you are, and so does --nats-token; drop one"))
    # What a flag says goes before all of the environment.
    if token is None and file is None:
        file = environ.get(CREDS_VARIABLE) or None
        token = None if file is not None else environ.get(TOKEN_VARIABLE) or None
    if token == "":
        problems.append(Problem("--nats-token", "is empty"))
    creds = Path(file) if file is not None else None
    if creds is not None and not creds.is_file():
        place = "--creds" if flags.creds is not None else CREDS_VARIABLE
        problems.append(rule(place, "must be a credentials file of NATS", str(creds)))
    tenant = TENANT_DEFAULT if flags.tenant is None else flags.tenant
    if not re.fullmatch(r"[a-z0-9_-]{1,128}", tenant):
        must = "must be 1 to 128 characters out of a-z 0-9 _ -"
        problems.append(rule("--tenant", must, tenant))
    return Server(url, token, creds, tenant)


def read_fleet(
    flags: FleetFlags, environ: Mapping[str, str], problems: list[Problem]
) -> Fleet | None:
    """Read which fleet a run is for; None when it is for this machine."""
    server = read_server(flags.server, environ, problems)
    if server is None:
        said = {
            "--external-agents": flags.external_agents,
            "--min-agents": flags.min_agents,
            "--wait-agents": flags.wait_agents,
            "--need": "".join(flags.need) or None,
            "--detach": "" if flags.detach else None,
        }
        problems += _without_server(said)
        return None
    want = least = whole("--external-agents", flags.external_agents or "1", 1, AGENTS_MAX, problems)
    if flags.min_agents is not None:
        least = whole("--min-agents", flags.min_agents, 1, want, problems)
    wait_us = 1
    try:
        wait_us = duration_us("--wait-agents", flags.wait_agents or WAIT_DEFAULT)
    except Wrong as wrong:
        problems.append(wrong.problem)
    if len(flags.need) > NEEDS_MAX:
        problems.append(rule("--need", f"must be said at most {NEEDS_MAX} times", len(flags.need)))
    for need in flags.need:
        if not NEED.fullmatch(need):
            must = "must be a label that agents have, KEY=VALUE such as zone=eu"
            problems.append(rule("--need", must, need))
    return Fleet(server, want, least, wait_us, flags.need, flags.detach)


def _without_server(said: Mapping[str, str | None]) -> Sequence[Problem]:
    what = "is for a fleet, and no fleet was named; add --nats-url URL"
    return [Problem(place, what) for place, value in said.items() if value is not None]
