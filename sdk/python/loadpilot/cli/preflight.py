"""Warnings about limits that a run may hit: open files and ports of this machine, rows of feeds.

A warning, never a refusal: agents check their own machine, and the certificate judges the result.
Only settings of the plan must cause a warning.
"""

from __future__ import annotations

import ipaddress
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from ..compile.scenario.profile import peak_urps
from ..control.figures import count, number
from ..control.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SPARE_FILES = 100
"""Number of open files of an agent beside its connections."""
STREAMS_MAX = 100
"""Number of concurrent requests of an HTTP/2 connection by default."""
TIME_WAIT_SECS = 60
"""Duration of TIME_WAIT on Linux: the rest of a port whose connection this side has closed."""
USES_MAX = 10
"""How often a row of a feed is used without a warning."""
MILLION = 1_000_000
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
REUSE = Path("/proc/sys/net/ipv4/tcp_tw_reuse")


@dataclass(frozen=True, slots=True)
class Machine:
    """The limits of a process on this machine; None where the system does not tell."""

    files: int | None
    """Maximum number of open files of a process."""
    ports: int | None
    """Number of local ports for connections to one address."""
    has_time_wait: bool
    """Whether a port rests after its connection to the target was closed."""

    @classmethod
    def this(cls, target: str) -> Self:
        """Read the limits of this machine, for connections to a target."""
        return cls(_files(), _ports(), _has_time_wait(target))


def feeds_of(plan: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the feeds of a plan."""
    found: Sequence[Mapping[str, Any]] = plan.get("script", plan.get("code", {})).get("feeds", ())
    return found


def repeated_rows(plan: Mapping[str, Any], planned_per_task: Sequence[int]) -> list[str]:
    """Write which feeds have few rows for the arrivals that are planned, a line each."""
    lines = []
    for feed in feeds_of(plan):
        arrivals = sum(planned_per_task[task] for task in feed["tasks"])
        uses = arrivals // max(1, feed["rows"])
        if uses > USES_MAX:
            lines.append(
                f"each row of feed {safe(feed['name'])} is used about {count(uses)} times, and a "
                "target may answer what is repeated from a cache: real traffic has more rows"
            )
    return lines


def warnings(plan: Mapping[str, Any], agents: int, machine: Machine) -> list[str]:
    """Write the limits that the plan may hit, a line each."""
    settings: Mapping[str, Any] = plan.get("connections", {})
    if str(settings.get("connect_to", "")).startswith("unix:"):
        return []
    lines = []
    each = _connections(plan, settings, agents)
    if each is not None and machine.files is not None and each + SPARE_FILES > machine.files:
        lines.append(
            f"an agent may need {count(each)} connections, and a process may have "
            f"{count(machine.files)} open files: raise `ulimit -n`, or use more --agents"
        )
    if settings.get("sources") or machine.ports is None:
        return lines
    if each is not None and each * agents > machine.ports:
        lines.append(
            f"{count(each * agents)} connections at a time, and {count(machine.ports)} ports to "
            "connect from: widen net.ipv4.ip_local_port_range, or add addresses with --source"
        )
    rate = _new_connections(plan, settings)
    if machine.has_time_wait and rate * TIME_WAIT_SECS > machine.ports:
        most = machine.ports / TIME_WAIT_SECS
        lines.append(
            f"up to {number(round(rate, 1))} new connections/s, and each port rests "
            f"{TIME_WAIT_SECS} s when one is closed: {count(machine.ports)} ports last for "
            f"{number(round(most, 1))}/s "
            "in the long run; add addresses with --source, or set net.ipv4.tcp_tw_reuse=1"
        )
    return lines


def _connections(plan: Mapping[str, Any], settings: Mapping[str, Any], agents: int) -> int | None:
    """Maximum number of concurrent connections of an agent, if the plan limits it."""
    users = plan.get("users")
    calls = -(-users // agents) if users is not None else plan.get("max_in_flight")
    if calls is not None and settings.get("http") == "2" and "reuse" not in settings:
        calls = -(-calls // settings.get("streams_max", STREAMS_MAX))
    known = [one for one in (calls, settings.get("max")) if one is not None]
    return max(min(known), settings.get("open_first") or 0) if known else None


def _new_connections(plan: Mapping[str, Any], settings: Mapping[str, Any]) -> float:
    """New connections per second at the peak of the plan, from its reuse."""
    reuse = settings.get("reuse")
    share = 1.0 if reuse == "never" else 0.0
    if isinstance(reuse, dict):
        share = 1 - reuse["share_ppm"] / MILLION
    peak = peak_urps(plan["profile"]) / MILLION
    weights = sum(task["weight"] for task in plan["tasks"])
    calls = sum(task["weight"] * max(1, len(task["steps"])) for task in plan["tasks"])
    return float(share * peak * calls / weights)


def _files() -> int | None:
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415  (absent on Windows)

    # Agents raise the soft limit to the hard one.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if hard == resource.RLIM_INFINITY else hard


def _ports() -> int | None:
    try:
        first, last = RANGE.read_text(encoding="ascii").split()
        return int(last) - int(first) + 1
    except (OSError, ValueError):
        return None


def _has_time_wait(target: str) -> bool:
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
