"""The log of a run that goes on, read again and again, and the rows of its ticks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ... import _native
from ...library.tables.series_table import series_columns
from ...library.tables.slice_query import SliceQuery

if TYPE_CHECKING:
    from ...control.protocols import Session

TICKS_MAX = 10_000
"""Maximum number of ticks of one query; the engine has a limit, too."""


class LiveRun:
    """A run as far as its log was read."""

    def __init__(self, run: str) -> None:
        """Read nothing yet."""
        self._session: Session | None = None
        self._run = run
        self._reading: _native.Reading | None = None
        self._head: dict[str, Any] = {}
        self._settled_us = 0
        self.settled_us = 0
        """Time up to which all arrivals had ended at the read before the last one."""

    def open(self, session: Session) -> None:
        """Read the log through this session from now on; anew, if it is another one."""
        if session is not self._session:
            self._session, self._reading = session, None

    @property
    def reading(self) -> _native.Reading:
        """The log, read and indexed; raises Fault."""
        if self._reading is None and self._session is not None:
            self._reading = self._session.read(self._run)
        if self._reading is None:
            raise _native.Fault("the log is not available here")
        return self._reading

    def refresh(self, *, is_last: bool = False) -> None:
        """Read on; raises Fault, Refused.

        Agents take their counts and the age of their oldest arrival one after the other: a tick is
        settled for certain at the next read.
        """
        self.reading.refresh()
        self.settled_us = self._settled_us
        self._settled_us = max(self._settled_us, self.reading.settled_us() or 0)
        if is_last or not self.has_started:
            self._head = json.loads(self.reading.report_without_series())

    @property
    def tick_us(self) -> int:
        """Length of a tick; 0 before the run is created."""
        return int(self._head["run"]["tick_us"]) if self._head else 0

    @property
    def has_started(self) -> bool:
        """Whether the rows have a time."""
        return bool(self._head) and self._head["run"]["start_at"] is not None

    def columns(self, from_us: int, to_us: int | None = None) -> dict[str, list[Any]]:
        """Compute the columns of the ticks in a part of the run; raises Refused, Fault."""
        columns: dict[str, list[Any]] = {}
        step_us = TICKS_MAX * self.tick_us
        while True:
            end_us = from_us + step_us if to_us is None else min(to_us, from_us + step_us)
            query = SliceQuery(from_us=from_us, to_us=end_us)
            part = series_columns(self.reading, self._head, query)  # type: ignore[arg-type]
            for name, values in part.items():
                columns.setdefault(name, []).extend(values)
            read = len(next(iter(part.values()), []))
            from_us = end_us
            if read < TICKS_MAX or end_us == to_us:
                return columns
