"""``loadpilot agents``: the agents of a fleet, with load and clock.

An agent without signs of life must never look present.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...control.figures import number
from ...control.nats_settings import HEARD_BY_OPERATOR
from ...control.protocols import LISTEN_SECS
from ...control.run_list import open_log, place_of
from ...control.terminal import safe, say, write_product
from ...local.folders import ROOT, running
from .history import fleet_of, reporting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...control.exit_code import ExitCode
    from ...control.nats_settings import Server, ServerFlags
    from ...control.run_list import Log

WIDTHS = (18, 20, 9, 6, 7, 22)
HEADS = ("agent", "host", "version", "cores", "cpu", "clock")


def agents(server: ServerFlags, *, as_json: bool) -> ExitCode:
    """List the agents of a fleet, or of the stacks that run in this directory."""
    with reporting() as (interruptions, outcome):
        place = fleet_of(server)
        logs: list[Log] = [place] if place is not None else [*running(ROOT)]
        present: list[dict[str, Any]] = []
        for log in logs:
            with open_log(log, interruptions) as session:
                present += json.loads(session.agents(LISTEN_SECS))
        if as_json:
            write_product(json.dumps(present, indent=2) + "\n")
        elif not present:
            say(_no_agents(place))
        else:
            write_product("".join(f"{row}\n" for row in table(present)))
            if place is not None and not any(one["heard"] for one in present):
                say(f"none answered; {HEARD_BY_OPERATOR}")
    return outcome[-1]


def _no_agents(place: Server | None) -> str:
    if place is not None:
        start = f"start one: loadpilot agent --nats-url URL; {HEARD_BY_OPERATOR}"
        return f"no agent answered at {place_of(place)}; {start}"
    return f"no stack runs in {ROOT}; the agents of a fleet: --nats-url URL"


def table(present: list[dict[str, Any]]) -> Iterator[str]:
    """Write the agents as rows."""
    yield _row((*HEADS, "state, what it can do"))
    for one in present:
        cpu = one["cpu_millicores"]
        cells = (
            safe(one["holder"]["agent"]),
            safe(one["host"] or "—"),
            safe(one["version"] or "—"),
            number(one["cores"]) if one["cores"] is not None else "—",
            f"{cpu / 10:.0f} %" if cpu is not None else "—",
            _clock(one),
            ", ".join([_state(one), *map(safe, one["has"])]),
        )
        yield _row(cells)


def _row(cells: tuple[str, ...]) -> str:
    *narrow, last = cells
    padded = (f"{cell:<{width}}" for cell, width in zip(narrow, WIDTHS, strict=True))
    return "".join(f"{cell} " if cell[-1] != " " else cell for cell in padded) + last


def _clock(one: dict[str, Any]) -> str:
    """Clock offset: to the coordinator if a run measured it, else approximate, to this machine."""
    clock, ahead_us = one["clock"], one["ahead_us"]
    if clock is not None:
        return f"{-clock['offset_us'] / 1e3:+.2f} ± {clock['bound_us'] / 1e3:.2f} ms"
    return "—" if ahead_us is None else f"about {ahead_us / 1e3:+.0f} ms"


def _state(one: dict[str, Any]) -> str:
    if not one["heard"]:
        return "silent"
    if not one["holds"]:
        return "idle"
    return "; ".join(_held(held) for held in one["holds"])


def _held(held: dict[str, Any]) -> str:
    load = f", {number(round(held['rps'], 1))}/s" if held["rps"] is not None else ""
    paused = ", paused" if held["paused"] else ""
    return f"{safe(held['run'])} {held['shards']} of {held['of']} shards{load}{paused}"
