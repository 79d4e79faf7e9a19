"""A pool of connections to one log, with a limit for each kind of use.

Must never lend a connection to two threads: the one would block in the native module until the
answer of the other.
"""

from __future__ import annotations

from contextlib import contextmanager
from enum import Enum
from threading import Condition
from time import monotonic
from typing import TYPE_CHECKING

from loadpilot import _native

from ..limits import FOLLOWED_MAX, KEPT_MAX, SESSIONS_MAX, STEERED_MAX
from .indexed_runs import IndexedRuns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LEND_SECS = 20.0
"""Timeout for a connection when all of a lane are lent."""


class Lane(Enum):
    """Kinds of use. Each has its own connections, so that none can take all."""

    ASK = "ask"
    """Reports, plans and requests for runs."""
    FOLLOW = "follow"
    """Live views, as long as a run is watched."""
    STEER = "steer"
    """Steering requests, each until its decision."""
    KEPT = "kept"
    """Readiness, lists and halts: short, and needed when all other lanes are full."""


LENT_MAX = {
    Lane.ASK: SESSIONS_MAX,
    Lane.FOLLOW: FOLLOWED_MAX,
    Lane.STEER: STEERED_MAX,
    Lane.KEPT: KEPT_MAX,
}
"""Maximum number of connections lent at a time, by lane."""


class TooManyRequests(_native.Fault):
    """All connections of a lane stay lent; the log itself has no fault."""


class Sessions:
    """The connections to one log; unused ones are kept for the next call."""

    def __init__(
        self,
        connect: Callable[[], _native.Session],
        cache: Path,
        stamp: Callable[[], object] = lambda: None,
    ) -> None:
        """Take the function that connects, which may raise Refused or Fault, and a cache folder.

        ``stamp`` changes with the credentials: older connections are used for no new query.
        """
        self._stamp = stamp
        self._current = stamp()
        self.indexed_runs = IndexedRuns(self._read)
        self._cache = cache
        self._connect = connect
        self._idle: list[_native.Session] = []
        self._lent = dict.fromkeys(Lane, 0)
        self._changed = Condition()
        self._closed = False

    @contextmanager
    def lend(self, lane: Lane = Lane.ASK) -> Iterator[_native.Session]:
        """Lend a connection; one that raised a fault is not kept."""
        self.renew()
        stamp = self._current
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
            self._give_back(session, lane, keep=keep and stamp == self._current)

    def close(self) -> None:
        """Close the unused connections now, and lent ones when they are returned."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()

    def _read(self, run: str) -> _native.Reading:
        self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.lend() as session:
            return session.read(run, self._cache)

    def renew(self) -> None:
        """Drop connections and readings that were opened with other credentials."""
        stamp = self._stamp()
        with self._changed:
            if stamp == self._current:
                return
            self._current, idle, self._idle = stamp, self._idle, []
        self.indexed_runs.forget_all()
        for session in idle:
            session.close()

    def _take(self, lane: Lane) -> _native.Session | None:
        give_up = monotonic() + LEND_SECS
        with self._changed:
            while self._lent[lane] >= LENT_MAX[lane]:
                if not self._changed.wait(max(0.0, give_up - monotonic())):
                    raise TooManyRequests("too many requests wait for the log; try again later")
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
