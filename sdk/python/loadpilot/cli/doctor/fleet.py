"""The fleet that flags or a configuration name: reachable, and with agents of this version.

Must never show a token, nor wait longer than its timeouts for a server that does not answer.
"""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ... import __version__, _native
from ...control.coordinator_address import Api
from ...control.nats_settings import HEARD_BY_OPERATOR
from .finding import State, ok, problem, warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...control.nats_settings import Server
    from .finding import Finding

CONNECT_SECS = 3.0
"""Timeout of a TCP connection."""
ANSWER_SECS = 10.0
"""Timeout of the log, its agents, or a coordinator."""
OWN_VERSION = f"{__version__}+dev" if _native.DEVELOPMENT_BUILD else __version__
"""Version as agents name theirs."""
LISTEN_SECS = 2.5
"""Time that agents have to answer."""
NATS_PORT = 4222
PORTS = {"http": 80, "https": 443}
"""Default ports of a coordinator."""
ACCOUNT_PAGE = "what an account must allow: Use a NATS server in a cloud, in the documentation"
CREDENTIALS = "check NATS_TOKEN or --creds, --tenant, and that a coordinator of the fleet runs"


def fleet(place: Server | Api) -> Iterator[Finding]:
    """Check address, credentials, log and agents, as far as one leads to the next."""
    addresses = [_address(url.strip()) for url in place.url.split(",")]
    yield from addresses
    if all(one.state is State.PROBLEM for one in addresses):
        return
    if isinstance(place, Api):
        yield _coordinator(place)
        return
    account = _within(lambda: json.loads(_native.account(place)))
    if isinstance(account, Exception):
        yield problem("fleet account", f"{place.place}: {account}", CREDENTIALS)
        return
    yield from _account(account, place.connections)
    if account["shortage"] is not None:
        return
    present = _within(lambda: _agents(place))
    if isinstance(present, Exception):
        yield problem("fleet log", f"{place.place}: {present}", CREDENTIALS)
        return
    yield ok("fleet log", f"{place.place}: JetStream answers, and holds the log of a fleet")
    yield _present(present)


def _address(url: str) -> Finding:
    """Open a TCP connection and close it."""
    parts = urlsplit(url)
    address = parts.hostname or "", parts.port or PORTS.get(parts.scheme, NATS_PORT)
    shown = f"{address[0]}:{address[1]}"
    try:
        socket.create_connection(address, CONNECT_SECS).close()
    except OSError as error:
        what = f"{shown}: {error.strerror or error}"
        return problem("fleet address", what, f"check name, port and firewall: nc -vz {shown}")
    return ok("fleet address", f"{shown} accepts connections")


def _account(found: dict[str, Any], allowed: int | None) -> Iterator[Finding]:
    """Judge the limits of the NATS account."""
    if found["shortage"] is not None:
        yield problem("fleet account", found["shortage"], ACCOUNT_PAGE)
        return
    yield ok("fleet account", found["shown"])
    for one in found["warnings"]:
        yield warning("fleet account", one, ACCOUNT_PAGE)
    used = found["connections"]
    if used is None:
        return
    if allowed is None:
        what = f"{used} in use, this command's too; no server tells how many the account allows"
        yield ok("fleet connections", f"{what} (--nats-connections)")
        return
    # This command's own connection ends.
    left = allowed - used + 1
    what = f"{used} of {allowed} in use, this command's too"
    if left <= 1:
        mend = "end some, choose a larger plan, or let agents connect to a leaf node"
        yield warning("fleet connections", f"{what}: none is left for an agent", mend)
        return
    yield ok("fleet connections", f"{what}: enough for {left - 1} more agents and one command")


def _agents(server: Server) -> list[dict[str, Any]]:
    session = server.visit()
    try:
        found: list[dict[str, Any]] = json.loads(session.agents(LISTEN_SECS))
        return found
    finally:
        session.close()


def _present(agents: list[dict[str, Any]]) -> Finding:
    agents = [one for one in agents if one["heard"]]
    if not agents:
        mend = f"start one: loadpilot agent --nats-url URL; {HEARD_BY_OPERATOR}"
        return warning("fleet agents", "none answered", mend)
    versions = sorted({str(one["version"] or "unknown") for one in agents})
    if versions == [OWN_VERSION]:
        return ok("fleet agents", f"{len(agents)}, of this version")
    what = f"{len(agents)}, of version {', '.join(versions)}, and this command is {OWN_VERSION}"
    mend = "install the same version everywhere: agents first, then coordinators, then commands"
    return warning("fleet agents", what, mend)


def _coordinator(api: Api) -> Finding:
    joined = _within(lambda: api.join().close())
    if isinstance(joined, Exception):
        mend = "check LOADPILOT_COORDINATOR_TOKEN, --coordinator-cacert, and the coordinator's log"
        return problem("fleet coordinator", f"{api.place}: {joined}", mend)
    return ok("fleet coordinator", f"{api.place} takes runs")


def _within(action: Callable[[], Any]) -> Any:
    """Return the result of an action, or the error that it raised or that time ran out."""
    results: list[Any] = []

    def act() -> None:
        try:
            results.append(action())
        except (_native.Fault, _native.Refused, OSError, ValueError) as error:
            results.append(error)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(ANSWER_SECS)
    return results[0] if results else TimeoutError(f"no answer within {ANSWER_SECS:.0f} s")
