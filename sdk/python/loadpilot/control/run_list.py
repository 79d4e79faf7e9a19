"""The runs of this directory or of a fleet, and the logs that hold them.

Runs are found by their id, its first characters, ``last`` or the file that they are in.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _native
from ..local.folders import ROOT, RUN_FILE, cache_of, log_dirs, reading, run_files, running
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

Log = Path | Server
"""Place of a log: a folder, the file of a run, or a fleet."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run and the log that holds it."""

    log: Log
    facts: dict[str, Any]

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
    def state(self) -> str:
        """Its ending, else its state."""
        return str(self.facts["ending"] or self.facts["state"]) if self.facts["asked"] else "set up"


class UnknownRun(LookupError):
    """No run, or more than one, has this name."""


def every_run(
    interruptions: Interruptions, server: Server | None = None, folders: list[Path] | None = None
) -> list[PastRun]:
    """Read the runs of a fleet, else of ``folders`` or all logs of this directory, newest last.

    An imported run whose file is damaged is left out with a message.
    """
    past: list[PastRun] = []
    here = [*log_dirs(ROOT), *run_files(ROOT)] if folders is None else folders
    logs: list[Log] = [server] if server is not None else [*here]
    for log in logs:
        try:
            with open_log(log, interruptions) as session:
                past += [PastRun(log, facts) for facts in json.loads(session.runs())]
        except _native.Refused as refused:
            if not (isinstance(log, Path) and log.suffix == RUN_FILE):
                raise
            say(f"left out: {safe(str(refused))}")
    return sorted(past, key=lambda one: one.run)


@contextmanager
def open_log(log: Log, interruptions: Interruptions) -> Iterator[_native.Session]:
    """Open a session on a log for the length of the block."""
    if isinstance(log, Path):
        with reading(log, interruptions.any) as session:
            yield session
        return
    session = log.visit()
    try:
        yield session
    finally:
        session.close()


def indexed(session: _native.Session, one: PastRun) -> _native.Reading:
    """Read the log of a run and index it; that of this directory from where it was read last."""
    cache = cache_of(one.log)
    if cache is not None:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    return session.read(one.run, cache)


def read_all(
    past: list[PastRun],
    interruptions: Interruptions,
    read: Callable[[_native.Session, PastRun], T],
) -> list[T]:
    """Read several runs, each log opened once; returns what ``read`` returned, in their order."""
    found: dict[str, T] = {}
    for log in dict.fromkeys(one.log for one in past):
        here = [one for one in past if one.log == log]
        with open_log(log, interruptions) as session, ThreadPoolExecutor(READERS_MAX) as readers:
            results = readers.map(partial(read, session), here)
            found |= {one.run: result for one, result in zip(here, results, strict=True)}
    return [found[one.run] for one in past]


def place_of(log: Log | None) -> str:
    """Place of a log; without one, that of the logs of this directory."""
    return log.place if isinstance(log, Server) else str(log or ROOT)


def find_run(name: str, interruptions: Interruptions, server: Server | None) -> PastRun:
    """Find a run by its name; in this directory, runs that are not over come first.

    Raises UnknownRun.
    """
    if server is None and not is_file(name):
        alive = [one for one in every_run(interruptions, None, running(ROOT)) if not one.is_over]
        with suppress(UnknownRun):
            return match_run(name, alive, place_of(None))
    return past_run(name, interruptions, server)


def past_run(name: str, interruptions: Interruptions, server: Server | None) -> PastRun:
    """Find a run by its name or its file; raises UnknownRun, and Refused for a damaged file."""
    if is_file(name):
        file = Path(name)
        with open_log(file, interruptions) as session:
            held = json.loads(session.runs())
        if len(held) != 1:
            raise UnknownRun(f"{name}: must hold one run, and holds {len(held)}")
        return PastRun(file, held[0])
    return match_run(name, every_run(interruptions, server), place_of(server))


def is_file(name: str) -> bool:
    """Whether a command's RUN is the file of a run; an id has no dot and no slash."""
    return name.endswith(RUN_FILE) or "/" in name


def match_run(name: str, past: list[PastRun], where: str) -> PastRun:
    """Find a run by its id, its first characters, or `last`; raises UnknownRun."""
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
