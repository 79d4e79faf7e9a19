"""``loadpilot resume``: go on with a run that is paused, or whose command or stack is gone.

The log holds the position of the run: agents continue at the current tick, and arrivals that were
due meanwhile are reported as not offered. A teardown that the run owes is played at its end; for a
run that is over, that is all that is done. Must never go on with a run that is over.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...control.coordinator_address import Api
from ...control.exit_code import ExitCode
from ...control.nats_settings import Server, ServerFlags
from ...control.run_list import PastRun, find_run, open_log, place_of
from ...control.terminal import safe_lines, say, write_result
from ...control.trust import problems as trust_problems
from ...local.log_readers import connect
from ...local.stack import LocalStack, LogUnavailable, is_running
from ...problem import Refused
from ..configuration.sources import current
from ..flags import allow
from ..flags.fleet import read_place
from ..output.log_unavailable import report_log_unavailable
from ..sinks.outs import StandardOutput, end_scrapes, read_metrics, read_outs
from .history import FAULTS, UsageError, reporting
from .steer import print_result, request

if TYPE_CHECKING:
    from ... import _native
    from ...control.signals import Interruptions
    from ...problem import Problem
    from ..flags.coordinator_flags import ApiFlags
    from ..flags.result_flags import FollowFlags
    from ..output.results import Reported, ResultFiles
    from ..sinks.outs import Out


@dataclass(frozen=True, slots=True)
class ResumeOptions:
    """Options for the rest of a run."""

    files: ResultFiles
    strict: bool
    trusted: str | None
    """Hash of a bundle that may be executed though it was not submitted from this machine."""
    outs: tuple[Out, ...]
    """Outputs of the whole run, including the time before the resume."""


def resume(
    name: str,
    *,
    flags: FollowFlags,
    server: ServerFlags,
    api: ApiFlags,
    teardown: bool = False,
    trust: str | None = None,
) -> ExitCode:
    """Resume a run that is not over: unpause it, or own it and follow it to its end.

    For a run that is over, or was never requested, the teardown is played if the run owes one; with
    ``teardown``, or over HTTP at ``api``, nothing else is ever done.
    """
    with reporting() as (interruptions, outcome):
        problems: list[Problem] = []
        place = read_place(server, api, current().environ, problems)
        files = flags.results.read(problems)
        stdout = StandardOutput(quiet=False, product=None)
        outs = read_outs(flags.out, flags.results.written(), stdout, problems)
        outs += read_metrics(flags.metrics, problems)
        problems += trust_problems(trust)
        if problems:
            raise Refused(problems)
        if isinstance(place, Api):
            outcome.append(_play_teardown_over_http(name, place, interruptions, trust))
            return outcome[-1]
        found = find_run(name, interruptions, place)
        if teardown or (found.owes_teardown and found.has_no_load_left):
            outcome.append(_play_teardown(found, interruptions, trust))
            return outcome[-1]
        require_unfinished(found)
        options = ResumeOptions(files, flags.strict, trust, outs)
        outcome.append(_go_on(found, interruptions, options))
        end_scrapes(outs, interruptions)
    return outcome[-1]


def _play_teardown(one: PastRun, interruptions: Interruptions, trusted: str | None) -> ExitCode:
    """Play the teardown of a run that is over."""
    from .teardown import play_owed_teardown

    if not one.owes_teardown:
        raise UsageError(f"run {one.run} owes no teardown")
    if not one.has_no_load_left:
        what = "is not over, and its teardown comes last"
        raise UsageError(f"run {one.run} {what}; `loadpilot resume {one.run}` goes on with it")
    with open_log(one.log, interruptions) as session:
        return play_owed_teardown(session, one, interruptions, trusted)


def _play_teardown_over_http(
    run: str, api: Api, interruptions: Interruptions, trusted: str | None
) -> ExitCode:
    """Play the teardown of a run through a coordinator, which needs the whole id."""
    from ...control.identity import new_claimant
    from ...control.teardown_ledger import Ledger
    from .teardown import play_and_report

    session, claimant = api.join(), new_claimant()
    try:
        ledger = Ledger(session.ledger(run, claimant), run, claimant, is_begun=True)
        owed = ledger.owed()
        if not owed["is_owed"]:
            raise UsageError(f"run {run} owes no teardown")
        if owed["asked"] and not owed["over"]:
            what = "is not over, and its teardown comes last"
            raise UsageError(
                f"run {run} {what}; another command can go on with it only at the log (--nats-url)"
            )
        return play_and_report(ledger, interruptions, trusted)
    finally:
        session.close()


def _go_on(one: PastRun, interruptions: Interruptions, options: ResumeOptions) -> ExitCode:
    """Start a stack for the run, own it, or unpause it, as its state requires."""
    if isinstance(one.log, Path) and not is_running(one.log):
        return _on_new_stack(one, one.log, interruptions, options)
    answer = request(one, "resume", interruptions)
    if isinstance(one.log, Server) and answer.get("why") == "not_paused":
        return adopt_and_follow(one.log.join(), one, None, interruptions, options)
    return print_result(one, answer, "resume")


def require_unfinished(one: PastRun) -> None:
    """Raise UsageError for a run that is over, or was never requested."""
    if not one.facts["asked"]:
        raise UsageError(f"run {one.run} was set up and never asked for; it cannot be resumed")
    if one.is_over:
        ended = one.facts["ending"] or one.facts["state"]
        raise UsageError(f"run {one.run} is over ({ended}); `loadpilot report {one.run}` shows it")


def _on_new_stack(
    one: PastRun, log: Path, interruptions: Interruptions, options: ResumeOptions
) -> ExitCode:
    """Start a stack on the log of the one that died; it is always stopped in the end."""
    with open_log(log, interruptions) as session:
        unfinished = json.loads(session.unfinished(one.run))
    agents = unfinished["agents"]["want"]
    targets = allow.arguments(current().allow_target)
    proxies = allow.proxy_arguments(unfinished["plan"])
    stack = LocalStack.for_resume(log, agents, one.run, targets, proxies)
    try:
        address = stack.ready(interruptions.any)
        if address is None:
            raise KeyboardInterrupt
        if stack.has_other_owner:
            if is_running(log):
                what = f"run {one.run} is under way: another command has the stack of {log}"
            else:
                what = f"another command reads {log}; end it, then resume run {one.run}"
            raise UsageError(what)
        return adopt_and_follow(connect(address), one, stack, interruptions, options)
    except LogUnavailable as fault:
        code = report_log_unavailable(fault, stack.log_dir or log)
        return _failed(one, code, str(fault), options)
    finally:
        stack.stop()


def adopt_and_follow(
    session: _native.Session,
    one: PastRun,
    stack: LocalStack | None,
    interruptions: Interruptions,
    options: ResumeOptions,
) -> ExitCode:
    """Own the run, follow it to its end, and report it."""
    from ...control.follow import Follower
    from ..output.live import PlanInfo, view
    from ..output.results import Reported
    from ..sinks.live_sinks import live_sinks

    run = one.run
    try:
        plan: dict[str, Any] = json.loads(session.unfinished(run))["plan"]
        session.adopt(run)
        say(f"run {run}, log {place_of(one.log)}: goes on")
        with live_sinks(options.outs, session, run, sys.stdout):
            screen = view(PlanInfo.of(plan))
            holds = bool(plan.get("hold"))
            try:
                Follower(session, run, screen, interruptions, holds=holds).follow(stack)
            finally:
                screen.close()
        session.close()
        if one.owes_teardown:
            from .teardown import play_owed_teardown

            play_owed_teardown(session, one, interruptions, options.trusted)
        reported = Reported(session.report(run), session, run)
        return _ended(reported, interruptions, options)
    except LogUnavailable:
        raise
    except FAULTS as fault:
        say(f"error: {safe_lines(str(fault))}")
        return _failed(one, ExitCode.INFRASTRUCTURE, str(fault), options)
    finally:
        session.close()


def _ended(reported: Reported, interruptions: Interruptions, options: ResumeOptions) -> ExitCode:
    """Print the summary, write the files, choose the code."""
    from ..output.run_end import RunEnd
    from ..output.summary import summary

    report = json.loads(reported.json)
    end = RunEnd.of(report, interruptions.first, strict=options.strict)
    end = options.files.publish(end, reported)
    # Rows of an output are all of standard output.
    has_rows = any(out.is_standard_output for out in options.outs)
    write_result(summary(report), sys.stderr if has_rows else sys.stdout)
    return end.code


def _failed(one: PastRun, code: ExitCode, why: str, options: ResumeOptions) -> ExitCode:
    """Write the files of a run whose report cannot be read; returns its exit code."""
    from ..output.run_end import RunEnd

    end = RunEnd.without_report(one.facts["scenario"], code, why)
    return options.files.publish(end, None).code
