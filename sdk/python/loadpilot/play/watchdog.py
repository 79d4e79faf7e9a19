"""A watch over the firing thread: who keeps every user waiting is named, and ended in the end.

A user that blocks (`requests.get`, a driver of a database, a long computation) stops all users of
its agent, and the load with them. Only another thread can see that while it happens.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from .._native import moves, note_blocking, raise_in
from ..errors import TookTooLong
from .tracebacks import places_below

if TYPE_CHECKING:
    from types import FrameType

CHECK_INTERVAL_S = 0.1
"""In s."""
BLOCKING_AFTER_S = 0.4
"""So long may a user's code run without a request or a rest, in s."""
INTERRUPT_AFTER_S = 10.0
"""Code that has run so long without either is ended, in s: else a loop without an end would be a
run without one."""
CLIENTS = frozenset({"requests", "urllib3", "urllib", "http", "httpx", "aiohttp", "pycurl"})
"""Packages whose users had better use the client that they are given."""


class Watchdog(threading.Thread):
    """Looks at the thread that loaded a scenario, as long as it plays it."""

    def __init__(self) -> None:
        """Watchdog the calling thread."""
        super().__init__(name="loadpilot-watch", daemon=True)
        self._watched = threading.get_ident()
        self._over = threading.Event()

    def run(self) -> None:
        """Look, now and then."""
        seen, since, is_named, is_ended = 0, time.monotonic(), False, False
        while not self._over.wait(CHECK_INTERVAL_S):
            now, current = time.monotonic(), moves()
            if current != seen or current % 2 == 0:
                seen, since, is_named, is_ended = current, now, False, False
                continue
            if now - since >= BLOCKING_AFTER_S and not is_named:
                is_named = self._tell()
            if now - since >= INTERRUPT_AFTER_S and not is_ended:
                is_ended = True
                raise_in(self._watched, TookTooLong)

    def end(self) -> None:
        """Look no more."""
        self._over.set()

    def _tell(self) -> bool:
        """Say who blocks, if it is a user."""
        frame = sys._current_frames().get(self._watched)  # noqa: SLF001  (CPython's documented door)
        places = places_below(frame)
        if not places:
            return False
        instead = "use the client that the task is given"
        if not _is_in(frame, CLIENTS):
            instead = "rest with time.sleep or asyncio.sleep, or await asyncio.to_thread(…)"
        note_blocking(f"kept every user waiting: {places[0].line} ({places[0]}); {instead}")
        return True


def _is_in(frame: FrameType | None, packages: frozenset[str]) -> bool:
    """Whether one of these packages runs."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in packages:
            return True
        frame = frame.f_back
    return False
