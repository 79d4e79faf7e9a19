"""``loadpilot.run``: a run of a scenario, from a program, a notebook or a test."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from ..control.exit_code import ExitCode
from ..control.run_list import UnknownRun
from ..errors import RunFailed, RunInterrupted, RunRefused
from ..local.folders import ROOT
from ..problem import Refused
from ..scenario_file import load
from .command import Ended, execute
from .keywords import arguments
from .result import RunResult
from .scenario_source import ScenarioSource, source_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path
    from typing import Unpack

    from .._generated.run_keywords import RunKeywords
    from ..control.coordinator_address import Api
    from ..control.nats_settings import Server
    from .tables.run import Run

ERROR = "error: "
OWN = ("--output=json", "--json=false", "--dry-run=false", "--detach=false")
"""Flags with which the command prints a report, whatever the configuration sets."""
GUARD = (
    "loadpilot.run() was called while this file was loaded for a run; call it below "
    '`if __name__ == "__main__":`'
)
_reads_flags = threading.Lock()
"""Held while flags are read: the command keeps the sources of one command at a time."""


def run(
    scenario: type | str | os.PathLike[str],
    /,
    *,
    quiet: bool = True,
    verbose: bool = False,
    **keywords: Unpack[RunKeywords],
) -> RunResult:
    """Run a scenario as ``loadpilot run`` does, and return its result.

    ``loadpilot.run(Checkout, target="http://127.0.0.1:8000", rps=50, duration="10s",
    thresholds={"p99_ms": 300})``

    ``scenario`` is a class, which is loaded again from its file (or from the cells of its
    notebook), or the path of a scenario file. The keywords are the flags of ``loadpilot run``, so
    are their values, defaults, variables and configuration; ``thresholds`` and ``tags`` are dicts.
    Durations are text or seconds, rates text or arrivals per second, shares in percent as there.
    Without ``nats_url`` or ``coordinator_url`` the run has its own servers, which end with it; its
    log is in ``.loadpilot`` of the working directory.

    Nothing is printed unless ``quiet=False``, or ``verbose=True`` for every step; then standard
    error gets the lines of the command. The call blocks, also below an event loop:
    ``await asyncio.to_thread(loadpilot.run, …)`` does not.

    Raises RunRefused for wrong values or scenarios, RunFailed when there is no report or a file
    could not be written, RunInterrupted after Ctrl-C, and TypeError for unknown keywords. A gate
    that fails raises nothing: see ``result.passed`` and ``result.raise_for_gates()``.
    """
    if load.is_loading():
        raise RunRefused([GUARD])
    shown = ["--verbose"] if verbose else ["--quiet"] if quiet else []
    flags = arguments(keywords)
    with source_of(scenario) as source:
        tell = None if quiet and not verbose else _tell
        words = ["run", *OWN, *shown, *flags, *source.arguments()]
        place = _fleet(words) or ROOT.absolute()
        ended = execute(words, tell)
    return _result(ended, source, place)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _fleet(words: list[str]) -> Server | Api | None:
    """Read the fleet of a command's run; None when it runs on this machine.

    Invalid words are ignored here: the command reports them.
    """
    from cyclopts import CycloptsError  # noqa: PLC0415  (only a caller of run needs the flags)

    from ..cli.app import app  # noqa: PLC0415  (as above)
    from ..cli.configuration.sources import current  # noqa: PLC0415  (as above)
    from ..cli.flags.fleet import read_place  # noqa: PLC0415  (as above)
    from ..cli.flags.run_flags import RunFlags  # noqa: PLC0415  (as above)

    with _reads_flags, suppress(CycloptsError, Refused):
        _, bound, _ = app.parse_args(words)
        fleet = bound.arguments.get("flags", RunFlags()).fleet
        return read_place(fleet.server, fleet.api, current().environ, [])
    return None


def _opener(run: str, place: Server | Api | Path) -> Callable[[], Run]:
    """Return a function that opens the log of a run, once."""

    def opened() -> Run:
        from ..control.coordinator_address import Api  # noqa: PLC0415  (few programs open a log)
        from .tables.run import open_ended  # noqa: PLC0415  (as above)

        if isinstance(place, Api):
            what = f"the log of run {run} cannot be read over HTTP at {place.place}"
            raise UnknownRun(f"{what}; loadpilot.open(…, nats_url=…) reads it")
        return open_ended(run, place)

    return cache(opened)


def _result(ended: Ended, source: ScenarioSource, place: Server | Api | Path) -> RunResult:
    """Read the result of the command, or raise its error."""
    result = None
    if ended.product.strip() and ended.code in list(ExitCode):
        report = json.loads(ended.product)
        result = RunResult(report, ExitCode(ended.code), _opener(report["run"]["id"], place))
    # Once the run is over, Ctrl-C ends the wait for a last scrape only.
    if ended.is_interrupted and (result is None or ended.code == ExitCode.INTERRUPTED):
        raise RunInterrupted(result)
    messages = [source.explained(message) for message in _messages(ended.lines)]
    if result is not None and (ended.code != ExitCode.INFRASTRUCTURE or not messages):
        return result
    if ended.code == ExitCode.USAGE:
        raise RunRefused(messages)
    if ended.code < 0:
        messages.append(f"the command was ended by signal {-ended.code}")
    raise RunFailed(messages or list(ended.lines), ended.code, result)


def _messages(lines: tuple[str, ...]) -> list[str]:
    """The errors among the lines of a command, each with the indented lines that continue it."""
    found: list[str] = []
    is_open = False
    for line in lines:
        is_continued = is_open and line.startswith(" ")
        is_open = is_continued or line.startswith(ERROR)
        if is_continued:
            found[-1] += f"\n{line}"
        elif is_open:
            found.append(line.removeprefix(ERROR))
    return found
