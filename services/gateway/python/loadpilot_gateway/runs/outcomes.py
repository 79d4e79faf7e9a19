"""Outcomes of ended runs for lists: each run is folded once, in the background.

Must never delay a list by more than WAIT_SECS: folding a run of hours takes seconds.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from typing import TYPE_CHECKING

from fastapi import HTTPException

from loadpilot import _native
from loadpilot.control.outcome import RunOutcome, outcome
from loadpilot.local.stack import StackFault

from ..limits import OUTCOMES_MAX

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .logs import Listed

WAIT_SECS = 0.5
"""Maximum delay of a list for outcomes; later ones are in the next list."""
UNREADABLE = (_native.Fault, _native.Refused, StackFault, OSError, HTTPException)
"""Errors of a fold: an unreachable log, or a run that was deleted meanwhile."""


class Outcomes:
    """The outcomes of up to OUTCOMES_MAX runs, by when they were last listed; of more runs after a
    list that needed more at once, such as one that is sorted by a figure.
    """  # noqa: D205

    def __init__(self, report: Callable[[str], Awaitable[str]]) -> None:
        """Take the function that reads a report as JSON; it may raise one of UNREADABLE."""
        self._report = report
        self._known: OrderedDict[str, RunOutcome] = OrderedDict()
        self._most = OUTCOMES_MAX
        self._unreadable: set[str] = set()
        self._wanted: list[str] = []
        self._folding: asyncio.Task[None] | None = None

    async def of(self, listed: list[Listed]) -> dict[str, RunOutcome]:
        """Find the outcomes that are ready within WAIT_SECS; the others are folded later."""
        ended = list(dict.fromkeys(str(one["run"]) for one in listed if one["ending"] is not None))
        # Otherwise each fold would drop an outcome that the same list needs.
        self._most = max(self._most, len(ended))
        self._wanted = [run for run in ended if run not in self._known]
        if self._wanted:
            if self._folding is None or self._folding.done():
                self._folding = asyncio.get_running_loop().create_task(self._fold())
            await asyncio.wait([self._folding], timeout=WAIT_SECS)
        found = {run: self._known[run] for run in ended if run in self._known}
        for run in found:
            self._known.move_to_end(run)
        return found

    def unreadable(self, runs: list[str]) -> int:
        """Count the runs whose last fold failed; they are tried again with the next list."""
        return sum(run in self._unreadable for run in runs)

    async def _fold(self) -> None:
        """Fold the runs of the newest list, one at a time."""
        while self._wanted:
            run = self._wanted.pop(0)
            try:
                self._known[run] = outcome(json.loads(await self._report(run)))
                self._unreadable.discard(run)
            except UNREADABLE:
                self._unreadable.add(run)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
