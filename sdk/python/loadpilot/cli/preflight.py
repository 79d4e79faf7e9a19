"""What this machine may lack for a run that is about to start on it: open files, and ports.

A warning, never a refusal: agents judge their own machine, and the certificate what came of it.
Must never warn of what nobody asked for.
"""

from __future__ import annotations

import ipaddress
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from ..control.figures import count, number

if TYPE_CHECKING:
    from collections.abc import Mapping

SPARE_FILES = 100
"""Open files of an agent beside its connections."""
STREAMS_MAX = 100
"""Requests at a time on one HTTP/2 connection when nothing is said."""
REST_SECS = 60
"""A port rests for so long after its connection was closed on this side, on Linux."""
MILLION = 1_000_000
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
REUSE = Path("/proc/sys/net/ipv4/tcp_tw_reuse")


@dataclass(frozen=True, slots=True)
class Machine:
    """What a process of this machine may have; None: the system does not say."""

    files: int | None
    """Open files of one process."""
    ports: int | None
    """Ports to connect from to one address."""
    rests: bool
    """Whether a port rests after its connection to the target was closed."""

    @classmethod
    def this(cls, target: str) -> Self:
        """Look at this machine, as far as it matters for a target."""
        return cls(_files(), _ports(), _rests(target))


def warnings(plan: Mapping[str, Any], agents: int, machine: Machine) -> list[str]:
    """Say what may run out, a line each."""
    settings: Mapping[str, Any] = plan.get("connections", {})
    if str(settings.get("connect_to", "")).startswith("unix:"):
        return []
    told = []
    each = _connections(plan, settings, agents)
    if each is not None and machine.files is not None and each + SPARE_FILES > machine.files:
        told.append(
            f"an agent may need {count(each)} connections, and a process may have "
            f"{count(machine.files)} open files: raise `ulimit -n`, or use more --agents"
        )
    if settings.get("sources") or machine.ports is None:
        return told
    if each is not None and each * agents > machine.ports:
        told.append(
            f"{count(each * agents)} connections at a time, and {count(machine.ports)} ports to "
            "connect from: widen net.ipv4.ip_local_port_range, or add addresses with --source"
        )
    rate = _new_connections(plan, settings)
    if machine.rests and rate * REST_SECS > machine.ports:
        most = machine.ports / REST_SECS
        told.append(
            f"up to {number(round(rate, 1))} new connections/s, and each port rests {REST_SECS} s "
            f"when one is closed: {count(machine.ports)} ports last for {number(round(most, 1))}/s "
            "in the long run; add addresses with --source, or set net.ipv4.tcp_tw_reuse=1"
        )
    return told


def _connections(plan: Mapping[str, Any], settings: Mapping[str, Any], agents: int) -> int | None:
    """Most connections of one agent at a time, if the plan says anything about it."""
    users = plan.get("users")
    calls = -(-users // agents) if users is not None else plan.get("max_in_flight")
    if calls is not None and settings.get("http") == "2" and "reuse" not in settings:
        calls = -(-calls // settings.get("streams_max", STREAMS_MAX))
    known = [one for one in (calls, settings.get("max")) if one is not None]
    return max(min(known), settings.get("open_first") or 0) if known else None


def _new_connections(plan: Mapping[str, Any], settings: Mapping[str, Any]) -> float:
    """Connections per second that the reuse of the plan asks for at its peak."""
    reuse = settings.get("reuse")
    share = 1.0 if reuse == "never" else 0.0
    if isinstance(reuse, dict):
        share = 1 - reuse["share_ppm"] / MILLION
    peak = max(max(one["from"], one["to"]) for one in plan["profile"]["pieces"]) / MILLION
    weights = sum(task["weight"] for task in plan["tasks"])
    calls = sum(task["weight"] * max(1, len(task["steps"])) for task in plan["tasks"])
    return float(share * peak * calls / weights)


def _files() -> int | None:
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415  (not everywhere)

    # Agents raise the soft limit to the hard one.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if hard == resource.RLIM_INFINITY else hard


def _ports() -> int | None:
    try:
        first, last = RANGE.read_text(encoding="ascii").split()
        return int(last) - int(first) + 1
    except (OSError, ValueError):
        return None


def _rests(target: str) -> bool:
    """Whether ports rest: tcp_tw_reuse is 1 for all connections, 2 for those within a machine."""
    try:
        reuse = int(REUSE.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return False
    host = urlsplit(target).hostname or ""
    try:
        near = ipaddress.ip_address(host).is_loopback
    except ValueError:
        near = host == "localhost"
    return not (reuse == 1 or (near and reuse == 2))
