"""The searches of this directory or of a fleet: each is a fold over the runs that have its tag."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .... import _native
from ....control.run_list import (
    NEWEST,
    NO_NAME,
    OpenLogs,
    PastRun,
    UnknownRun,
    every_run,
    indexed,
    place_of,
    read_all,
)
from ....problem import nearest
from .probe_plan import SEARCH_TAG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....control.nats_settings import Server


@dataclass(frozen=True, slots=True)
class PastSearch:
    """A search with its runs, the oldest first."""

    id: str
    runs: list[PastRun]

    def probes(self, logs: OpenLogs) -> list[dict[str, Any]]:
        """Read its probes that ended, each with the search that it belongs to."""
        ended = [one for one in self.runs if one.facts["ending"] is not None]
        return read_all(ended, logs, _probe)

    def judged(self, logs: OpenLogs) -> dict[str, Any]:
        """Judge it by its probes; raises UnknownRun for one without any."""
        probes = self.probes(logs)
        if not probes:
            raise UnknownRun(f"search {self.id} has no probe that ended")
        return judge(probes[0], [one["probe"] for one in probes])


def judge(of: Mapping[str, Any], probes: list[dict[str, Any]]) -> dict[str, Any]:
    """Judge a search; ``of`` has its id, scenario, target and settings."""
    head = {key: of[key] for key in ("id", "scenario", "target_url", "settings")}
    found: dict[str, Any] = json.loads(_native.search_state(json.dumps({**head, "probes": probes})))
    return found


def past_searches(logs: OpenLogs, server: Server | None) -> list[PastSearch]:
    """List the searches, the one with the newest probe last."""
    runs: dict[str, list[PastRun]] = {}
    for one in every_run(logs, server):
        search = one.facts["tags"].get(SEARCH_TAG)
        if search is not None:
            runs.setdefault(search, []).append(one)
    found = [PastSearch(search, of_search) for search, of_search in runs.items()]
    return sorted(found, key=lambda search: search.runs[-1].run)


def find_search(name: str, logs: OpenLogs, server: Server | None) -> PastSearch:
    """Find a search by its id, its first characters, or ``last``; raises UnknownRun."""
    if not name:
        raise UnknownRun(NO_NAME)
    every = past_searches(logs, server)
    if name == NEWEST and every:
        return every[-1]
    found = [one for one in every if one.id.startswith(name.lower())]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownRun(f"{name!r} matches several searches: {', '.join(s.id for s in found)}")
    where = place_of(server)
    near = nearest(name.lower(), [one.id for one in every])
    if near is not None:
        hint = f"did you mean {near}?"
    elif every:
        hint = f"the newest is {every[-1].id}"
    else:
        hint = "`loadpilot search` starts one"
    raise UnknownRun(f"there is no search {name!r} in {where}; {hint}")


def _probe(session: _native.Session, one: PastRun) -> dict[str, Any]:
    report = indexed(session, one).report_without_series()
    probe: dict[str, Any] = json.loads(_native.search_probe(report))
    return probe
