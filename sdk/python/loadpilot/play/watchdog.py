"""Watchdog of a firing thread: reports a user that blocks it, and interrupts it in the end.

A user that blocks (`requests.get`, a database driver, a long computation) stops all users of its
agent, and their load. Only another thread can detect that while it happens.
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
"""Interval between checks, in s."""
BLOCKING_AFTER_S = 0.4
"""Time without a request or sleep after which a user's code is reported, in s."""
INTERRUPT_AFTER_S = 10.0
"""Time without a request or sleep after which a user's code is interrupted, in s: otherwise an
endless loop would make the run endless."""
HTTP_PACKAGES = frozenset({"requests", "urllib3", "urllib", "http", "httpx", "aiohttp", "pycurl"})
"""HTTP packages, which the client of the task should replace."""


class Watchdog(threading.Thread):
    """Checks the thread that loaded a scenario until :meth:`end`."""

    def __init__(self) -> None:
        """Watch the calling thread."""
        super().__init__(name="loadpilot-watch", daemon=True)
        self._watched = threading.get_ident()
        self._over = threading.Event()

    def run(self) -> None:
        """Check at each interval."""
        seen, since, is_named, is_ended = 0, time.monotonic(), False, False
        while not self._over.wait(CHECK_INTERVAL_S):
            now, current = time.monotonic(), moves()
            if current != seen or current % 2 == 0:
                seen, since, is_named, is_ended = current, now, False, False
                continue
            if now - since >= BLOCKING_AFTER_S and not is_named:
                is_named = self._report()
            if now - since >= INTERRUPT_AFTER_S and not is_ended:
                is_ended = True
                raise_in(self._watched, TookTooLong)

    def end(self) -> None:
        """Stop the checks."""
        self._over.set()

    def _report(self) -> bool:
        """Report the blocking line, if it is the user's; returns whether it is."""
        frame = sys._current_frames().get(self._watched)  # noqa: SLF001  (CPython's documented door)
        places = places_below(frame)
        if not places:
            return False
        instead = "use the client that the task is given"
        if not _is_in(frame, HTTP_PACKAGES):
            instead = "rest with time.sleep or asyncio.sleep, or await asyncio.to_thread(…)"
        note_blocking(f"kept every user waiting: {places[0].line} ({places[0]}); {instead}")
        return True


def _is_in(frame: FrameType | None, packages: frozenset[str]) -> bool:
    """Whether the stack of a frame contains code of one of these packages."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in packages:
            return True
        frame = frame.f_back
    return False
