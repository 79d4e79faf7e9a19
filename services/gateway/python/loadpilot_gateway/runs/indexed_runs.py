"""Indexes of recent runs: each run is read once, and updated before each answer.

Must never answer from a reading whose connection failed.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import cpu_count
from threading import Lock, Semaphore
from typing import TYPE_CHECKING

from loadpilot import _native

from ..limits import INDEXED_RUNS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WORKING_MAX = max(2, cpu_count() or 1)
"""Maximum number of threads that fold or query runs of one log at a time. More would not be faster,
and would leave the processors to other tenants, each with a log of its own, more rarely."""


@dataclass(slots=True)
class Entry:
    """The reading of one run, which its first use fills."""

    lock: Lock = field(default_factory=Lock)
    reading: _native.Reading | None = None
    is_over: bool = False


class IndexedRuns:
    """The indexed runs of up to INDEXED_RUNS_MAX runs, by their last use."""

    def __init__(self, read: Callable[[str], _native.Reading]) -> None:
        """Take the function that reads a run; it may raise Refused or Fault."""
        self._read = read
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._lock = Lock()
        self._working = Semaphore(WORKING_MAX)

    @contextmanager
    def of(self, run: str) -> Iterator[_native.Reading]:
        """Lend the reading of a run, up to date; raises Refused, Fault."""
        entry = self._entry(run)
        try:
            reading = self._fresh(run, entry)
            with self._working:
                yield reading
        except _native.Fault:
            self.forget(run)
            raise

    def forget(self, run: str) -> None:
        """Drop the reading of a run."""
        with self._lock:
            self._entries.pop(run, None)

    def forget_all(self) -> None:
        """Drop all readings."""
        with self._lock:
            self._entries.clear()

    def _entry(self, run: str) -> Entry:
        with self._lock:
            entry = self._entries.setdefault(run, Entry())
            self._entries.move_to_end(run)
            while len(self._entries) > INDEXED_RUNS_MAX:
                self._entries.popitem(last=False)
            return entry

    def _fresh(self, run: str, entry: Entry) -> _native.Reading:
        """Read or update it; concurrent calls wait. A run that is over is not read again."""
        # A thread that waits for this run does not block threads that read other runs.
        with entry.lock, self._working:
            if entry.reading is None:
                entry.reading = self._read(run)
            elif not entry.is_over:
                entry.reading.refresh()
            entry.is_over = bool(json.loads(entry.reading.position())["over"])
            return entry.reading
