"""What became of runs that ended: each log is folded once, behind the list that shows it.

Must never make a list wait for long: a run of hours takes seconds to fold.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING

from fastapi import HTTPException

from loadpilot import _native
from loadpilot._generated.report import Report
from loadpilot.control.outcome import RunOutcome, outcome
from loadpilot.local.stack import StackFault

from ..limits import OUTCOMES_MAX

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .logs import Listed

WAIT_SECS = 0.5
"""How long a list waits for outcomes; those that come later are in the next list."""
UNREADABLE = (_native.Fault, _native.Refused, StackFault, OSError, HTTPException)
"""What a fold may raise: an unreachable log, or a run that somebody deleted meanwhile."""


class Outcomes:
    """Of as many runs as fit, those that were listed last."""

    def __init__(self, report: Callable[[str], Awaitable[str]]) -> None:
        """Take what tells the report of a run as JSON; it raises one of UNREADABLE."""
        self._report = report
        self._known: OrderedDict[str, RunOutcome] = OrderedDict()
        self._wanted: list[str] = []
        self._folding: asyncio.Task[None] | None = None

    async def of(self, listed: list[Listed]) -> dict[str, RunOutcome]:
        """Find those of a list that are known by now; the others are folded meanwhile."""
        ended = [str(one["run"]) for one in listed if one["ending"] is not None]
        self._wanted = [run for run in ended if run not in self._known]
        if self._wanted:
            if self._folding is None or self._folding.done():
                self._folding = asyncio.get_running_loop().create_task(self._fold())
            await asyncio.wait([self._folding], timeout=WAIT_SECS)
        found = {run: self._known[run] for run in ended if run in self._known}
        for run in found:
            self._known.move_to_end(run)
        return found

    async def _fold(self) -> None:
        """Fold what the newest list wants, one at a time."""
        while self._wanted:
            run = self._wanted.pop(0)
            with suppress(*UNREADABLE):
                text = await self._report(run)
                self._known[run] = outcome(Report.model_validate_json(text))
            while len(self._known) > OUTCOMES_MAX:
                self._known.popitem(last=False)
