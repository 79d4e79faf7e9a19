"""The logs with the runs: that of a fleet, or those of a directory, one of which takes new runs.

Must never show a token, nor answer from a list that is out of date.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from loadpilot import _native
from loadpilot.control.nats_settings import Server
from loadpilot.control.run_list import PastRun, has_stack
from loadpilot.control.terminal import safe, say
from loadpilot.local.folders import IMPORTED, log_dirs, run_files
from loadpilot.local.log_readers import ReadersLock, connect, opened
from loadpilot.local.stack import STACK_FILE, StackFault, living_stack

from ..problem import unknown_run
from .sessions import Lane, Sessions, TooManyRequests

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from loadpilot.local.stack import Address, LocalStack

LISTING_SECS = 1.0
"""Lifetime of a list of runs; a run that is started here ends it at once."""
DELETED_SECS = 10.0
"""Maximum delay until a deleted run leaves the list of a log that is not written."""
IDLE_SECS = 20.0
"""How long the server of a past log runs after the last query."""

Listed = dict[str, Any]
"""A run in a list, as the native module returns it, its log and whether it was killed."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The runs of a log at one time."""

    at: float
    """When it was last known to be current."""
    read_at: float
    """When it was read."""
    state: str
    """Position of the log then."""
    runs: list[Listed]


class Log(ABC):
    """One log."""

    def __init__(self, name: str, cache: Path) -> None:
        """Take its name, and the folder of its indexed runs."""
        self.name = name
        self.cache = cache
        self._asking = Lock()
        self._listing: Listing | None = None

    @abstractmethod
    def lend(self, lane: Lane = Lane.ASK) -> AbstractContextManager[_native.Session]:
        """Lend a connection of a lane; raises Fault, Refused, StackFault."""

    @abstractmethod
    def read(self, run: str) -> AbstractContextManager[_native.Reading]:
        """Lend the reading of a run; raises as `lend` does."""

    @abstractmethod
    def close(self) -> None:
        """End all connections."""

    def has_ended(self) -> bool:
        """Whether its server has ended for good; a follower would wait for it for ever."""
        return False

    def is_killed(self, run: str) -> bool:  # noqa: ARG002
        """Whether a run is not over and no process is left that could end it."""
        return False

    @contextmanager
    def join(self) -> Iterator[_native.Session]:
        """Connect to request a run; raises Fault when no coordinator would take it."""
        with self.lend() as session:
            yield session

    def runs(self, *, now: bool = False) -> list[Listed]:
        """List its runs, at most LISTING_SECS old or of now; concurrent calls share a read."""
        with self._asking:
            if self._listing is None or now or not self._is_true(self._listing.at):
                with self.lend(Lane.KEPT) as session:
                    self._listing = self._listed(session, self._listing)
            return self._listing.runs

    def holds(self, run: str) -> bool:
        """Whether the log holds a run, or held it within LISTING_SECS."""
        return is_in(run, self.runs()) or is_in(run, self.runs(now=True))

    def _listed(self, session: _native.Session, before: Listing | None) -> Listing:
        """Read the list, unless the log was not written since the last one."""
        at = monotonic()
        state = session.log_state()
        if before is not None and before.state == state and at - before.read_at < DELETED_SECS:
            return replace(before, at=at)
        rows = json.loads(session.runs())
        known = {one["run"] for one in rows}
        for file in self.cache.glob("*.reading"):
            if file.stem not in known:
                # Its run was deleted; another gateway may delete the file, too.
                file.unlink(missing_ok=True)
        return Listing(at, at, state, [self._row(one) for one in rows])

    def _row(self, one: Listed) -> Listed:
        return {**one, "log": self.name, "is_killed": False}

    def forget(self) -> None:
        """End the validity of the list after a write."""
        self._listing = None

    def _is_true(self, at: float) -> bool:
        return monotonic() - at < LISTING_SECS


class OpenLog(Log):
    """The log of a fleet, of a stack that runs as long as this process, or the file of a run."""

    def __init__(self, place: Server | Address | Path, cache: Path) -> None:
        """Take its server or file, and the folder of its indexed runs."""
        here = place if isinstance(place, Path) else getattr(place, "log_dir", None)
        name = str(here.name) if here is not None else getattr(place, "place", "")
        super().__init__(name, cache)
        self._place = place
        stamp = getattr(place, "stamp", None)
        self._sessions = Sessions(lambda: visit(place), cache, *([stamp] if stamp else []))

    @contextmanager
    def join(self) -> Iterator[_native.Session]:
        """Connect if there is a coordinator: without one a run would start at any later time."""
        if not isinstance(self._place, Server):
            with self.lend() as session:
                yield session
            return
        session = self._place.join()
        try:
            yield session
        finally:
            session.close()

    @contextmanager
    def lend(self, lane: Lane = Lane.ASK) -> Iterator[_native.Session]:
        """Lend a connection of a lane."""
        with self._sessions.lend(lane) as session:
            yield session

    @contextmanager
    def read(self, run: str) -> Iterator[_native.Reading]:
        """Lend the reading of a run."""
        self._sessions.renew()
        with self._sessions.indexed_runs.of(run) as reading:
            yield reading

    def close(self) -> None:
        """End all connections."""
        self._sessions.close()


class Opened:
    """A past log with its server, or with that of another command."""

    def __init__(self, stack: LocalStack, sessions: Sessions, folder: Path) -> None:
        """Take the stack, the connections and the folder of the log."""
        self.sessions = sessions
        self.users = 0
        """Number of queries that use it now; those to a dead server wait for long."""
        self.used_at = monotonic()
        self._stack = stack
        self._folder = folder
        self._facts = living_stack(folder)
        self._readers = ReadersLock(folder)

    @classmethod
    def of(cls, folder: Path, cache: Path) -> Self:
        """Open the log in a folder; raises Fault, StackFault."""
        stack, sessions = opened(
            folder, lambda: False, lambda _, address: Sessions(lambda: connect(address), cache)
        )
        return cls(stack, sessions, folder)

    def has_ended(self) -> bool:
        """Whether the stack of another command, to which this is connected, has ended."""
        return self._stack.has_other_owner and living_stack(self._folder) != self._facts

    def has_readers(self) -> bool:
        """Whether other commands read through the server that was started here."""
        return not self._stack.has_other_owner and self._readers.has_others()

    def end(self) -> None:
        """End the connections, and the server if it was started here."""
        self.sessions.close()
        self._stack.stop()
        self._readers.close()


class FolderLog(Log):
    """A past log, or one of another command: opened for a query, closed IDLE_SECS later."""

    def __init__(self, folder: Path, cache: Path) -> None:
        """Take its folder, and the folder of its indexed runs."""
        super().__init__(folder.name, cache)
        self._folder = folder
        self._lock = Lock()
        self._open: Opened | None = None
        self._seen: object = None

    @contextmanager
    def lend(self, lane: Lane = Lane.ASK) -> Iterator[_native.Session]:
        """Lend a connection of a lane."""
        with self._used() as sessions, sessions.lend(lane) as session:
            yield session

    @contextmanager
    def read(self, run: str) -> Iterator[_native.Reading]:
        """Lend the reading of a run."""
        with self._used() as sessions, sessions.indexed_runs.of(run) as reading:
            yield reading

    @contextmanager
    def _used(self) -> Iterator[Sessions]:
        """Open it if it is closed; `rest` closes it when it is unused."""
        with self._lock:
            if self._open is not None and self._open.has_ended():
                self._open.end()
                self._open = None
            self._open = self._open or Opened.of(self._folder, self.cache)
            ours = self._open
            ours.users += 1
        try:
            yield ours.sessions
        except TooManyRequests:
            raise
        except (_native.Fault, StackFault, OSError):
            self._drop(ours)
            raise
        finally:
            with self._lock:
                ours.users -= 1
                ours.used_at = monotonic()

    def runs(self, *, now: bool = False) -> list[Listed]:
        """List its runs; while its files do not change, the list stays valid."""
        # Taken before the list is read: events that are written meanwhile are read the next time.
        looked = self._look()
        is_used_by_other_command = (self._folder / STACK_FILE).exists() and self._open is None
        if is_used_by_other_command or looked != self._seen:
            self._seen = None
            self.forget()
        is_served = has_stack(self._folder)
        found = super().runs(now=now and self._seen is None)
        self._seen = looked
        if is_served and not has_stack(self._folder):
            # It ended meanwhile; or it was killed, and opening the log has replaced its file.
            return self.runs(now=now)
        return [
            {**one, "is_killed": PastRun(self._folder, one, is_served).is_killed} for one in found
        ]

    def is_killed(self, run: str) -> bool:
        """Whether a run is not over and no process is left that could end it."""
        return any(one["run"] == run and one["is_killed"] for one in self.runs())

    def has_ended(self) -> bool:
        """Whether the command that has the server has ended."""
        ours = self._open
        return ours is not None and ours.has_ended()

    def rest(self) -> None:
        """Close it if it was unused for IDLE_SECS."""
        with self._lock:
            ours = self._open
            if ours is None or ours.users or monotonic() - ours.used_at < IDLE_SECS:
                return
            if ours.has_readers():
                return
            self._open = None
        ours.end()

    def close(self) -> None:
        """End all connections, and the server if it was started here."""
        with self._lock:
            ended, self._open = self._open, None
        if ended is not None:
            ended.end()

    def _is_true(self, at: float) -> bool:
        return self._seen is not None or super()._is_true(at)

    def _look(self) -> object:
        """Return names and sizes of its files, which change with each write."""
        blocks = sorted(self._folder.glob("store/**/*.blk"))
        return [(str(one), one.stat().st_size) for one in blocks if one.exists()]

    def _drop(self, ours: Opened) -> None:
        """Close it after a fault, so that the next query opens it again."""
        with self._lock:
            is_open = self._open is ours
            if is_open:
                self._open = None
        if is_open:
            ours.end()


class Logs:
    """All logs of this gateway."""

    def __init__(self, first: Log, cache: Path, root: Path | None = None) -> None:
        """Take the log that takes new runs, and the folder of past logs, if there is one."""
        self.first = first
        self._cache = cache
        self._root = root
        self._past: dict[str, FolderLog] = {}
        self._files: dict[str, OpenLog | None] = {}
        self._where: dict[str, Log] = {}
        self._lock = Lock()

    def every(self) -> list[Log]:
        """List the logs, with those that other commands created meanwhile."""
        if self._root is None:
            return [self.first]
        with self._lock:
            folders = {one.name: one for one in log_dirs(self._root)}
            folders.pop(self.first.name, None)
            for name, folder in folders.items():
                if name not in self._past:
                    self._past[name] = FolderLog(folder, self._cache / name)
            gone = [name for name in self._past if name not in folders]
            for name in gone:
                self._past.pop(name).close()
            files = {one.name: one for one in run_files(self._root)}
            for name, file in files.items():
                if name not in self._files:
                    self._files[name] = self._file(file)
            for name in [name for name in self._files if name not in files]:
                gone_file = self._files.pop(name)
                if gone_file is not None:
                    gone_file.close()
            return [self.first, *self._past.values(), *self._whole_files()]

    def _file(self, file: Path) -> OpenLog | None:
        """Open the file of an imported run; None, with a message, for a damaged one."""
        try:
            _native.Session.on_file(file).close()
        except _native.Refused as refused:
            say(f"left out: {safe(str(refused))}")
            return None
        return OpenLog(file, self._cache / IMPORTED)

    def _whole_files(self) -> list[OpenLog]:
        return [one for one in self._files.values() if one is not None]

    def runs(self) -> list[Listed]:
        """List the runs of all logs, newest first."""
        found: list[Listed] = []
        for log in self.every():
            rows = log.runs()
            for one in rows:
                self._where[one["run"]] = log
            found += rows
        return sorted(found, key=lambda one: str(one["run"]), reverse=True)

    def of(self, run: str) -> Log:
        """Find the log that holds a run; raises ApiError."""
        if self._root is None and self.first.holds(run):
            return self.first
        if self._root is not None and run not in self._where:
            self.runs()
        log = self._where.get(run)
        if log is None or not log.holds(run):
            raise unknown_run(run)
        return log

    def rest(self) -> None:
        """Close unused past logs."""
        with self._lock:
            past = list(self._past.values())
        for log in past:
            log.rest()

    def close(self) -> None:
        """Close all logs."""
        for log in [self.first, *self._past.values(), *self._whole_files()]:
            log.close()


def is_in(run: str, listed: list[Listed]) -> bool:
    """Whether a list has a run."""
    return any(one["run"] == run for one in listed)


def visit(place: Server | Address | Path) -> _native.Session:
    """Connect to a running server, or open the file of a run."""
    if isinstance(place, Path):
        return _native.Session.on_file(place)
    return place.visit() if isinstance(place, Server) else connect(place)
