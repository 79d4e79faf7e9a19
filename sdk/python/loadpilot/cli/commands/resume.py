"""``loadpilot resume``: going on with a run that is paused, or whose command or stack is gone.

Such a run is where its log says: agents take it up at the tick that is now, what was due meanwhile
was offered by nobody and is reported so. If it owes a teardown, that is played at its end, and all
that is done for a run that is over. Must never go on with a run that is over.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...control.coordinator_address import Api
from ...control.exit_code import ExitCode, exit_code
from ...control.nats_settings import Server, ServerFlags
from ...control.terminal import say, write_product
from ...control.trust import problems as trust_problems
from ...local.folders import connect
from ...local.stack import LocalStack, LogUnavailable, StackFault, is_running
from ..flags import allow
from ..flags.fleet import read_place
from ..output import results
from ..output.log_unavailable import without_log
from .history import NOTHING_DONE, Asked, Past, find, opened, place_of, reporting
from .steer import asked, say_told

if TYPE_CHECKING:
    from ... import _native
    from ...control.signals import Interruptions
    from ...problem import Problem
    from ..flags.coordinator_flags import ApiFlags


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user wants of the rest of a run."""

    results_json: Path | None
    strict: bool
    trusted: str | None
    """Hash of a bundle that may be executed though it was not submitted from here."""


def resume(
    name: str,
    *,
    results_json: str | None,
    strict: bool,
    server: ServerFlags,
    api: ApiFlags,
    teardown: bool = False,
    trust: str | None = None,
) -> ExitCode:
    """Go on with a run that is not over: unpause it, or own it and follow it to its end.

    Of a run that is over, or was never asked for, the teardown is played if it owes one; with
    ``teardown`` that is all that is ever done. A coordinator at ``api`` lets nothing else be done.
    """
    problems: list[Problem] = []
    place = read_place(server, api, os.environ, problems)
    coordinator = place if isinstance(place, Api) else None
    fleet = place if isinstance(place, Server) else None
    path = Path(results_json) if results_json is not None else None
    if path is not None:
        problems += results.problems(path, "--results-json")
    problems += trust_problems(trust)
    if problems:
        from .run import refuse

        return refuse(problems, NOTHING_DONE)
    with reporting() as (interruptions, outcome):
        if coordinator is not None:
            outcome.append(_torn_down_over_http(name, coordinator, interruptions, trust))
            return outcome[-1]
        found = find(name, interruptions, fleet)
        if teardown or (found.owes and found.has_no_rest):
            outcome.append(_torn_down(found, interruptions, trust))
            return outcome[-1]
        alive(found)
        outcome.append(_gone_on(found, interruptions, Wanted(path, strict, trust)))
    return outcome[-1]


def _torn_down(one: Past, interruptions: Interruptions, trusted: str | None) -> ExitCode:
    """Play the teardown of a run that is over."""
    from .teardown import settle

    if not one.owes:
        raise Asked(f"run {one.run} owes no teardown")
    if not one.has_no_rest:
        what = "is not over, and its teardown comes last"
        raise Asked(f"run {one.run} {what}; `loadpilot resume {one.run}` goes on with it")
    with opened(one.log, interruptions) as session:
        return settle(session, one, interruptions, trusted)


def _torn_down_over_http(
    run: str, api: Api, interruptions: Interruptions, trusted: str | None
) -> ExitCode:
    """Play the teardown of a run that a coordinator knows by its whole id."""
    from ...control.identity import new_claimant
    from ...control.teardown_ledger import Ledger
    from .teardown import settle_debt

    session, claimant = api.join(), new_claimant()
    try:
        ledger = Ledger(session.ledger(run, claimant), run, claimant, is_begun=True)
        owed = ledger.owed()
        if not owed["is_owed"]:
            raise Asked(f"run {run} owes no teardown")
        if owed["asked"] and not owed["over"]:
            what = "is not over, and its teardown comes last"
            raise Asked(f"run {run} {what}; only at the log (--nats-url) can others go on with it")
        return settle_debt(ledger, interruptions, trusted)
    finally:
        session.close()


def _gone_on(one: Past, interruptions: Interruptions, wanted: Wanted) -> ExitCode:
    """Do what the run lacks."""
    if isinstance(one.log, Path) and not is_running(one.log):
        return _on_a_new_stack(one, one.log, interruptions, wanted)
    answer = asked(one, "resume", interruptions)
    if isinstance(one.log, Server) and answer.get("why") == "not_paused":
        return taken_up(one.log.join(), one, None, interruptions, wanted)
    return say_told(one, answer, "resume")


def alive(one: Past) -> None:
    """Raise Asked for a run that is over, or never began."""
    if not one.facts["asked"]:
        what = "was set up and never asked for; nothing is left to be done"
        raise Asked(f"run {one.run} {what}")
    if one.is_over:
        ended = one.facts["ending"] or one.facts["state"]
        raise Asked(f"run {one.run} is over ({ended}); `loadpilot report {one.run}` shows it")


def _on_a_new_stack(one: Past, log: Path, interruptions: Interruptions, wanted: Wanted) -> ExitCode:
    """Start a stack on the log of the one that died; it ends whatever happens."""
    with opened(log, interruptions) as session:
        agents = json.loads(session.unfinished(one.run))["agents"]["want"]
    targets = allow.words(allow.allowed((), os.environ))
    stack = LocalStack.for_revival(log, agents, one.run, targets)
    try:
        address = stack.ready(interruptions.any)
        if address is None:
            raise KeyboardInterrupt
        if stack.log_dir is None:
            raise Asked(f"run {one.run} is under way: another command has the stack of {log}")
        return taken_up(connect(address), one, stack, interruptions, wanted)
    except LogUnavailable as fault:
        return without_log(fault, stack.log_dir or log)
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
    from ...control.follow import Follower
    from ..output.live import Scene, view

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
        session.close()
        if one.owes:
            from .teardown import settle

            settle(session, one, interruptions, wanted.trusted)
        return _ended(session.report(run), interruptions, wanted)
    except LogUnavailable:
        raise
    except StackFault as fault:
        say(f"error: {fault}")
        return exit_code(None, interruptions.first, strict=wanted.strict, fault=True)
    finally:
        session.close()


def _ended(report_json: str, interruptions: Interruptions, wanted: Wanted) -> ExitCode:
    """Print the summary, write the results, choose the code."""
    from ..._generated.report import Report
    from ..output.summary import summary

    fault = not results.keep(wanted.results_json, report_json)
    report = Report.model_validate_json(report_json)
    write_product(summary(report))
    return exit_code(report, interruptions.first, strict=wanted.strict, fault=fault)
