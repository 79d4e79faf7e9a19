"""Runs that were read lately: each is read once, and brought up to date when somebody asks.

Must never answer from a reading whose connection failed.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from loadpilot import _native

from ..limits import READINGS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(slots=True)
class Kept:
    """One run."""

    lock: Lock = field(default_factory=Lock)
    reading: _native.Reading | None = None
    is_over: bool = False


class Readings:
    """As many runs as fit, those that were asked for last."""

    def __init__(self, read: Callable[[str], _native.Reading]) -> None:
        """Take what reads one; it raises Refused or Fault."""
        self._read = read
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._lock = Lock()

    @contextmanager
    def of(self, run: str) -> Iterator[_native.Reading]:
        """Lend the reading of a run, as the log is now; raises Refused, Fault."""
        kept = self._entry(run)
        try:
            yield self._fresh(run, kept)
        except _native.Fault:
            self.forget(run)
            raise

    def forget(self, run: str) -> None:
        """Read a run anew the next time."""
        with self._lock:
            self._kept.pop(run, None)

    def _entry(self, run: str) -> Kept:
        with self._lock:
            kept = self._kept.setdefault(run, Kept())
            self._kept.move_to_end(run)
            while len(self._kept) > READINGS_MAX:
                self._kept.popitem(last=False)
            return kept

    def _fresh(self, run: str, kept: Kept) -> _native.Reading:
        """Whoever asks while a run is read waits for that; a run that is over stays as it is."""
        with kept.lock:
            if kept.reading is None:
                kept.reading = self._read(run)
            elif not kept.is_over:
                kept.reading.refresh()
            kept.is_over = bool(json.loads(kept.reading.position())["over"])
            return kept.reading
