"""Connections to one log, lent to one thread at a time, so many for each kind of use.

Must never lend a connection to two threads: one that waits for an answer would keep the other from
asking, and with it whoever needs the interpreter.
"""

from __future__ import annotations

from contextlib import contextmanager
from enum import Enum
from threading import Condition
from time import monotonic
from typing import TYPE_CHECKING

from loadpilot import _native

from ..limits import FOLLOWED_MAX, KEPT_MAX, SESSIONS_MAX, STEERED_MAX
from .readings import Readings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LEND_SECS = 20.0
"""How long somebody waits for a connection when all are lent."""


class Lane(Enum):
    """Uses of connections. One that takes all of its own leaves those of the others."""

    ASK = "ask"
    """Reports, plans and requests for runs."""
    FOLLOW = "follow"
    """Live views: for as long as a run is watched."""
    STEER = "steer"
    """Wishes, each for as long as its decision takes."""
    KEPT = "kept"
    """Readiness, lists and halts: short, and needed when all else waits."""


LENT_MAX = {
    Lane.ASK: SESSIONS_MAX,
    Lane.FOLLOW: FOLLOWED_MAX,
    Lane.STEER: STEERED_MAX,
    Lane.KEPT: KEPT_MAX,
}
"""Most connections that are lent at a time for each use."""


class Sessions:
    """As many connections as are needed at a time, kept for the next who asks."""

    def __init__(self, connect: Callable[[], _native.Session], cache: Path) -> None:
        """Take what opens one, which raises Refused or Fault, and where readings may be kept."""
        self.readings = Readings(self._read)
        self._cache = cache
        self._connect = connect
        self._idle: list[_native.Session] = []
        self._lent = dict.fromkeys(Lane, 0)
        self._changed = Condition()
        self._closed = False

    @contextmanager
    def lend(self, lane: Lane = Lane.ASK) -> Iterator[_native.Session]:
        """Lend one; one that failed is not kept."""
        session = self._take(lane)
        keep = False
        try:
            session = session or self._connect()
            yield session
            keep = True
        except _native.Refused:
            keep = session is not None
            raise
        finally:
            self._give_back(session, lane, keep=keep)

    def close(self) -> None:
        """Close all that are not lent, and those that are when they come back."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()

    def _read(self, run: str) -> _native.Reading:
        self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.lend() as session:
            return session.read(run, self._cache)

    def _take(self, lane: Lane) -> _native.Session | None:
        give_up = monotonic() + LEND_SECS
        with self._changed:
            while self._lent[lane] >= LENT_MAX[lane]:
                if not self._changed.wait(max(0.0, give_up - monotonic())):
                    raise _native.Fault("too many answers are being waited for; ask again")
            self._lent[lane] += 1
            return self._idle.pop() if self._idle else None

    def _give_back(self, session: _native.Session | None, lane: Lane, *, keep: bool) -> None:
        with self._changed:
            self._lent[lane] -= 1
            self._changed.notify_all()
            keep = keep and len(self._idle) < SESSIONS_MAX
            if session is not None and keep and not self._closed:
                self._idle.append(session)
                return
        if session is not None:
            session.close()
