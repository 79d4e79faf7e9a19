"""The runs of this directory or of a fleet, and the logs that hold them.

Runs are found by their id, its first characters, ``last`` or the file that they are in. To open a
log starts its server, or computes the checksum of a run file: a command opens each once.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from .. import _native
from ..local.folders import ROOT, RUN_FILE, cache_of, log_dirs, run_files, running
from ..local.log_readers import reading
from ..local.stack import StackFault, is_running
from ..problem import nearest
from .nats_settings import Server
from .outcome import FINAL_STATES
from .terminal import safe, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .signals import Interruptions

T = TypeVar("T")
READERS_MAX = 8
"""Maximum number of runs read at a time: folding leaves Python to the other threads."""
NEWEST = "last"
"""Name of the newest run."""
NO_NAME = "the id is empty; `last` names the newest"
"""Message for an empty name, such as that of a variable that is not set."""
Log = Path | Server
"""Place of a log: a folder, the file of a run, or a fleet."""
OPEN_MAX = 4
"""Maximum number of logs that stay open: each folder has a server of its own."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run and the log that holds it."""

    log: Log
    facts: dict[str, Any]
    has_stack: bool = True
    """Result of the function of this name, at the time when the runs were read."""

    @property
    def run(self) -> str:
        """Its id; ids sort by creation."""
        return str(self.facts["run"])

    @property
    def is_over(self) -> bool:
        """Whether the run cannot change any more."""
        return self.facts["state"] in FINAL_STATES or (
            not self.facts["asked"] and not self.owes_teardown
        )

    @property
    def owes_teardown(self) -> bool:
        """Whether its teardown is still to be played, by its command or by another."""
        return bool(self.facts["teardown"] == "owed")

    @property
    def has_no_load_left(self) -> bool:
        """Whether the run sends nothing any more: it is over, or was only set up."""
        return self.facts["state"] in FINAL_STATES or not self.facts["asked"]

    @property
    def is_killed(self) -> bool:
        """Whether no process is left that could end it: a resume continues it."""
        return bool(self.facts["asked"]) and not (self.is_over or self.has_stack)

    def require_stack(self) -> None:
        """Raise StackFault if it is not over and no process is left that would take a request."""
        if not self.is_over and not has_stack(self.log):
            raise stack_is_gone(self.run)

    @property
    def state(self) -> str:
        """Its ending, else its state; "killed" if no process is left that could end it."""
        if not self.facts["asked"]:
            return "set up"
        if self.is_killed:
            return "killed"
        return str(self.facts["ending"] or self.facts["state"])


class OpenLogs:
    """The logs that a command reads: each is opened once and stays open until the command ends."""

    def __init__(self, interruptions: Interruptions) -> None:
        """Open nothing yet."""
        self._interruptions = interruptions
        self._open: dict[Log, tuple[_native.Session, ExitStack]] = {}
        self._used: list[Log] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for log in list(self._open):
            self._close(log)

    @contextmanager
    def session(self, log: Log) -> Iterator[_native.Session]:
        """Return the session of a log, which stays open for as long as the block and longer."""
        if log not in self._open:
            unused = [one for one in self._open if one not in self._used]
            if len(self._open) >= OPEN_MAX and unused:
                self._close(unused[0])
            opened = ExitStack()
            session = opened.enter_context(open_log(log, self._interruptions))
            self._open[log] = session, opened
        self._used.append(log)
        try:
            yield self._open[log][0]
        finally:
            self._used.remove(log)

    def _close(self, log: Log) -> None:
        _, opened = self._open.pop(log)
        opened.close()


@contextmanager
def open_log(log: Log, through: Interruptions | OpenLogs) -> Iterator[_native.Session]:
    """Open a session on a log for the length of the block, or take that of the command."""
    if isinstance(through, OpenLogs):
        with through.session(log) as session:
            yield session
        return
    if isinstance(log, Path):
        with reading(log, through.any) as session:
            yield session
        return
    session = log.visit()
    try:
        yield session
    finally:
        session.close()


def place_of(log: Log | None) -> str:
    """Place of a log; without one, that of the logs of this directory."""
    return log.place if isinstance(log, Server) else str(log or ROOT)


class UnknownRun(LookupError):
    """No run, or more than one, has this name."""


def every_run(
    through: Interruptions | OpenLogs,
    server: Server | None = None,
    folders: list[Path] | None = None,
) -> list[PastRun]:
    """Read the runs of a fleet, else of ``folders`` or all logs of this directory, newest last.

    An imported run whose file is damaged is left out with a message.
    """
    past: list[PastRun] = []
    here = [*log_dirs(ROOT), *run_files(ROOT)] if folders is None else folders
    logs: list[Log] = [server] if server is not None else [*here]
    for log in logs:
        try:
            with open_log(log, through) as session:
                # Opening has replaced the stack file of a killed stack, whose pid may be in use.
                is_served = has_stack(log)
                found = json.loads(session.runs())
            past += [PastRun(log, facts, is_served) for facts in found]
        except _native.Refused as refused:
            if not (isinstance(log, Path) and log.suffix == RUN_FILE):
                raise
            say(f"left out: {safe(str(refused))}")
    return sorted(past, key=lambda one: one.run)


def stack_is_gone(run: str) -> StackFault:
    """Build the fault of a request to a run whose processes are gone."""
    what = f"run {run} is not over, and its stack is gone"
    return StackFault(f"{what}; `loadpilot resume {run}` goes on with it")


def has_stack(log: Log) -> bool:
    """Whether a log has processes that run its runs; fleets and run files count as having them."""
    return isinstance(log, Server) or log.suffix == RUN_FILE or is_running(log)


def indexed(session: _native.Session, one: PastRun) -> _native.Reading:
    """Read the log of a run from where its index ends.

    An index that is only in its file yet is read at the first question that needs it.
    """
    return session.read(one.run, cache_of(one.log))


def read_all(
    past: list[PastRun],
    through: Interruptions | OpenLogs,
    read: Callable[[_native.Session, PastRun], T],
) -> list[T]:
    """Read several runs, each log opened once; returns what ``read`` returned, in their order."""
    found: dict[str, T] = {}
    for log in dict.fromkeys(one.log for one in past):
        here = [one for one in past if one.log == log]
        with open_log(log, through) as session, ThreadPoolExecutor(READERS_MAX) as readers:
            try:
                results = readers.map(partial(read, session), here)
                found |= {one.run: result for one, result in zip(here, results, strict=True)}
            except BaseException:
                readers.shutdown(cancel_futures=True)
                raise
    return [found[one.run] for one in past]


def find_run(name: str, through: Interruptions | OpenLogs, server: Server | None) -> PastRun:
    """Find a run by its name; in this directory, runs that are not over come first.

    Raises UnknownRun.
    """
    if server is None and not is_file(name):
        alive = [one for one in every_run(through, None, running(ROOT)) if not one.is_over]
        with suppress(UnknownRun):
            return match_run(name, alive, place_of(None))
    return past_run(name, through, server)


def past_run(name: str, through: Interruptions | OpenLogs, server: Server | None) -> PastRun:
    """Find a run by its name or its file; raises UnknownRun, and Refused for a damaged file."""
    if is_file(name):
        file = Path(name)
        with open_log(file, through) as session:
            held = json.loads(session.runs())
        if len(held) != 1:
            raise UnknownRun(f"{name}: must hold one run, and holds {len(held)}")
        return PastRun(file, held[0])
    return match_run(name, every_run(through, server), place_of(server))


def run_of(run: str, through: Interruptions | OpenLogs, place: Server | Path) -> PastRun:
    """Find a run by its whole id, in a fleet or in a log below ``place``, the newest log first.

    Raises UnknownRun, and StackFault or Fault of a log that may hold it and cannot be read.
    """
    if isinstance(place, Server):
        return match_run(run, every_run(through, place), place.place)
    unread: StackFault | _native.Fault | None = None
    for log in reversed(log_dirs(place)):
        try:
            found = every_run(through, None, [log])
        except (StackFault, _native.Fault) as fault:
            unread = fault
            continue
        for one in found:
            if one.run == run:
                return one
    if unread is not None:
        raise unread
    raise UnknownRun(f"there is no run {run!r} in {place}")


def is_file(name: str) -> bool:
    """Whether a command's RUN is the file of a run; an id has no dot and no slash."""
    return name.endswith(RUN_FILE) or "/" in name


def match_run(name: str, past: list[PastRun], where: str) -> PastRun:
    """Find a run by its id, its first characters, or `last`; raises UnknownRun."""
    if not name:
        raise UnknownRun(NO_NAME)
    if name == NEWEST and past:
        return past[-1]
    found = [one for one in past if one.run.startswith(name.lower())]
    exact = [one for one in found if one.run == name.lower()]
    if len(exact) == 1:
        return exact[0]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownRun(f"{name!r} matches several runs: {', '.join(one.run for one in found)}")
    near = nearest(name.lower(), [one.run for one in past])
    hint = f"did you mean {near}?" if near is not None else "`loadpilot runs` lists them"
    raise UnknownRun(f"there is no run {name!r} in {where}; {hint}")
