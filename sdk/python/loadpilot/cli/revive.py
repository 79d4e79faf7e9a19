"""``loadpilot resume``: going on with a run that is paused, or whose command or stack is gone.

Such a run is where its log says: agents take it up at the tick that is now, what was due meanwhile
was offered by nobody and is reported so. Must never go on with a run that is over.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..local.folders import connect
from ..local.stack import LocalStack, StackFault, is_running
from . import results
from .exit_code import ExitCode, exit_code
from .fleet import Server, ServerFlags, read_server
from .history import Asked, Past, find, opened, place_of, reporting
from .steer import asked, say_told
from .terminal import say, write_product

if TYPE_CHECKING:
    from .. import _native
    from ..compile.problem import Problem
    from .signals import Interruptions


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user wants of the rest of a run."""

    results_json: Path | None
    strict: bool


def resume(name: str, *, results_json: str | None, strict: bool, server: ServerFlags) -> ExitCode:
    """Go on with a run that is not over: unpause it, or own it and follow it to its end."""
    problems: list[Problem] = []
    fleet = read_server(server, os.environ, problems)
    path = Path(results_json) if results_json is not None else None
    if path is not None:
        problems += results.problems(path, "--results-json")
    if problems:
        from .run import refuse

        return refuse(problems)
    with reporting() as (interruptions, outcome):
        found = find(name, interruptions, fleet)
        alive(found)
        outcome.append(_gone_on(found, interruptions, Wanted(path, strict)))
    return outcome[-1]


def _gone_on(one: Past, interruptions: Interruptions, wanted: Wanted) -> ExitCode:
    """Do what the run lacks."""
    if isinstance(one.log, Path) and not is_running(one.log):
        return _on_a_new_stack(one, one.log, interruptions, wanted)
    answer = asked(one, "resume", interruptions)
    if isinstance(one.log, Server) and answer.get("why") == "not_paused":
        return taken_up(one.log.join(), one, None, interruptions, wanted)
    return say_told(one, answer, "resume")


def alive(one: Past) -> None:
    """Raise Asked for a run that is over."""
    if one.is_over:
        ended = one.facts["ending"] or one.facts["state"]
        raise Asked(f"run {one.run} is over ({ended}); `loadpilot report {one.run}` shows it")


def _on_a_new_stack(one: Past, log: Path, interruptions: Interruptions, wanted: Wanted) -> ExitCode:
    """Start a stack on the log of the one that died; it ends whatever happens."""
    with opened(log, interruptions) as session:
        agents = json.loads(session.unfinished(one.run))["agents"]["want"]
    stack = LocalStack.for_revival(log, agents, one.run)
    try:
        address = stack.ready(interruptions.any)
        if address is None:
            raise KeyboardInterrupt
        if stack.log_dir is None:
            raise Asked(f"run {one.run} is under way: another command has the stack of {log}")
        return taken_up(connect(address), one, stack, interruptions, wanted)
    finally:
        stack.stop()


def taken_up(
    session: _native.Session,
    one: Past,
    stack: LocalStack | None,
    interruptions: Interruptions,
    wanted: Wanted,
) -> ExitCode:
    """Own the run from now on, follow it to its end, and report it."""
    from .follow import Follower
    from .live import Scene, view

    run = one.run
    try:
        plan: dict[str, Any] = json.loads(session.unfinished(run))["plan"]
        session.adopt(run)
        say(f"run {run}, log {place_of(one.log)}: goes on")
        screen = view(Scene.of(plan))
        try:
            Follower(session, run, screen, interruptions).follow(session.watch(run), stack)
        finally:
            screen.close()
        return _ended(session.report(run), interruptions, wanted)
    except StackFault as fault:
        say(f"error: {fault}")
        return exit_code(None, interruptions.first, strict=wanted.strict, fault=True)
    finally:
        session.close()


def _ended(report_json: str, interruptions: Interruptions, wanted: Wanted) -> ExitCode:
    """Print the summary, write the results, choose the code."""
    from .._generated.report import Report
    from .summary import summary

    fault = not results.keep(wanted.results_json, report_json)
    report = Report.model_validate_json(report_json)
    write_product(summary(report))
    return exit_code(report, interruptions.first, strict=wanted.strict, fault=fault)
