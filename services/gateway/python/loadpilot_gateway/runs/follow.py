"""Live views: one follower for each watched run serves all of its watchers.

A watcher has no queue: it holds its position in the story, and takes the newest snapshot when it is
ready. A watcher that does not read costs the buffer of its connection, and delays no other.
"""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_right
from http import HTTPStatus
from threading import Thread
from typing import TYPE_CHECKING

from fastapi.sse import ServerSentEvent

from loadpilot import _native
from loadpilot.local.stack import StackFault

from ..limits import FOLLOWED_MAX, LIVE_VIEWS_DEFAULT, STORY_LINES_MAX, WAKING_SECS, WOKEN_MAX
from ..problem import ApiError, Code, unavailable
from .sessions import Lane

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable

    from .logs import Log

WATCH_SECS = 0.5
"""Interval at which a follower checks whether it has watchers."""
LINGER_SECS = 5.0
"""How long a run is followed after its last watcher left: most reconnect."""
SNAPSHOT, UNSTORED, CONNECTION = '{"snapshot":', '{"unstored":', '{"connection":'


class Followed:
    """One watched run. All but its thread runs on the event loop."""

    def __init__(self, run: str, log: Log, loop: asyncio.AbstractEventLoop) -> None:
        """Take the run and its log; `start` begins."""
        self.run = run
        self.watchers: set[Watcher] = set()
        self.version = 0
        """Number of changes so far."""
        self.lines: list[tuple[int, str]] = []
        self.snapshot: tuple[int, str] = (0, "")
        self.unstored: tuple[int, str] = (0, "")
        """Number of such events so far, and the newest."""
        self.end: ServerSentEvent | None = None
        self._log = log
        self._loop = loop
        self._left = False
        self._to_wake: list[Watcher] = []
        self._woken_version = 0

    def start(self) -> None:
        """Start the thread that follows."""
        Thread(target=self._follow, name=f"follow-{self.run}", daemon=True).start()

    def leave(self) -> None:
        """End the thread."""
        self._left = True

    def finish(self, event: str, data: str) -> None:
        """Send all watchers a last event."""
        if self.end is None:
            self.end = ServerSentEvent(event=event, raw_data=data)
            self.wake()

    def after(self, seq: int) -> list[tuple[int, str]]:
        """List the lines of the story after a sequence of the log."""
        return self.lines[bisect_right(self.lines, seq, key=lambda line: line[0]) :]

    def _follow(self) -> None:
        event, data = "sealed", "{}"
        try:
            with self._log.lend(Lane.FOLLOW) as session:
                watch = session.watch(self.run)
                while not self._left:
                    change = watch.next(WATCH_SECS)
                    if change is None:
                        if self._log.has_ended():
                            what = "the command with the server of this run has ended"
                            event, data = "fault", unavailable(what).text()
                            break
                        if self._log.is_killed(self.run):
                            event = "killed"
                            break
                        continue
                    if change.startswith('{"sealed"'):
                        break
                    self._loop.call_soon_threadsafe(self._take, change)
        except (_native.Fault, _native.Refused, StackFault, OSError) as error:
            event, data = "fault", unavailable(str(error)).text()
        except RuntimeError:
            return  # The event loop is closed, and all watchers with it.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.finish, event, data)

    def _take(self, change: str) -> None:
        if change.startswith(SNAPSHOT):
            self.snapshot = (self.snapshot[0] + 1, change[len(SNAPSHOT) : -1])
        elif change.startswith(UNSTORED):
            self.unstored = (self.unstored[0] + 1, change[len(UNSTORED) : -1])
        elif change.startswith(CONNECTION):
            return  # The pages learn from the readiness of the gateway that NATS is away.
        else:
            line = json.loads(change)["story"]
            self.lines.append((line["seq"], json.dumps(line, ensure_ascii=False)))
            # A watcher that is further behind reads the story page by page.
            del self.lines[:-STORY_LINES_MAX]
        self.wake()

    def wake(self) -> None:
        """Wake all watchers to read new events, WOKEN_MAX at a time."""
        self.version += 1
        if not self._to_wake:
            self._wake_some()

    def _wake_some(self) -> None:
        """Wake the next watchers. Each takes time of the event loop, which other requests need."""
        if not self._to_wake and self._woken_version != self.version:
            self._woken_version, self._to_wake = self.version, list(self.watchers)
        for one in self._to_wake[:WOKEN_MAX]:
            one.woken.set()
        del self._to_wake[:WOKEN_MAX]
        if self._to_wake or self._woken_version != self.version:
            self._loop.call_later(WAKING_SECS, self._wake_some)


class Watcher:
    """One live view."""

    def __init__(
        self,
        followed: Followed,
        after: int,
        is_current: Callable[[], bool] = lambda: True,
        caller: Hashable = None,
    ) -> None:
        """Begin to watch the run; take the sequence of the last line that the caller has, whether
        the caller is still admitted, and a value that is equal in all views of the caller.
        """  # noqa: D205
        self.is_current = is_current
        self.caller = caller
        self.woken = asyncio.Event()
        self._followed = followed
        self._after = after
        followed.watchers.add(self)

    async def events(self) -> AsyncIterator[ServerSentEvent]:
        """Yield events until the run is over."""
        followed, shown, warned = self._followed, 0, 0
        while True:
            version = followed.version
            self.woken.clear()
            if not self.is_current():
                yield ServerSentEvent(event="fault", raw_data=signed_out().text())
                return
            for seq, text in followed.after(self._after):
                self._after = seq
                yield ServerSentEvent(event="story", id=str(seq), raw_data=text)
            count, snapshot = followed.snapshot
            if count > shown:
                shown = count
                yield ServerSentEvent(event="snapshot", raw_data=snapshot)
            count, why = followed.unstored
            if count > warned:
                warned = count
                yield ServerSentEvent(event="unstored", raw_data=why)
            # New events may have come while the caller read: the end is sent after all of them.
            if version != followed.version:
                continue
            if followed.end is not None:
                yield followed.end
                return
            await self.woken.wait()


class Hub:
    """All watched runs."""

    def __init__(self, views: int = LIVE_VIEWS_DEFAULT) -> None:
        """Begin without any; take the maximum number of live views."""
        self._followed: dict[str, Followed] = {}
        self._watchers = 0
        self._views = views

    def join(
        self, run: str, log: Log, after: int, is_current: Callable[[], bool], caller: Hashable
    ) -> tuple[Followed, Watcher]:
        """Add a watcher of a run, with its caller; raises ApiError at a limit."""
        # First: a follower without a watcher would never end.
        if self._watchers >= self._views:
            raise busy(f"live views are open here: {self._views}, the limit")
        followed = self._followed.get(run)
        if followed is None or followed.end is not None:
            if len(self._followed) >= FOLLOWED_MAX:
                raise busy("runs are followed here")
            followed = Followed(run, log, asyncio.get_running_loop())
            self._followed[run] = followed
            followed.start()
        watcher = Watcher(followed, after, is_current, caller)
        self._watchers += 1
        return followed, watcher

    def end_views(self) -> None:
        """Wake the watchers of each run with a caller that is no longer admitted."""
        for followed in self._followed.values():
            # One check for each caller, which may have thousands of views.
            by_caller = {one.caller: one for one in followed.watchers}
            if not all(one.is_current() for one in by_caller.values()):
                followed.wake()

    def leave(self, followed: Followed, watcher: Watcher) -> None:
        """Remove a watcher; the follower of a run ends LINGER_SECS after its last one."""
        followed.watchers.discard(watcher)
        self._watchers -= 1
        if not followed.watchers:
            asyncio.get_running_loop().call_later(LINGER_SECS, self._forget, followed)

    def close(self) -> None:
        """End all views."""
        for followed in self._followed.values():
            followed.leave()
            followed.finish("fault", unavailable("this gateway shuts down; connect again").text())

    def _forget(self, followed: Followed) -> None:
        if followed.watchers:
            return
        followed.leave()
        if self._followed.get(followed.run) is followed:
            del self._followed[followed.run]


def signed_out() -> ApiError:
    """Build the last event of a view whose key, or whose rule for a proxy's user, is gone."""
    detail = "the caller of this view is no longer admitted; sign in again"
    return ApiError(HTTPStatus.UNAUTHORIZED, Code.UNAUTHORIZED, detail)


def busy(what: str) -> ApiError:
    """Build the answer for a limit that is reached."""
    return ApiError(HTTPStatus.SERVICE_UNAVAILABLE, Code.BUSY, f"too many {what}; try again later")
