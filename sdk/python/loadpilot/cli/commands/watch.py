"""``loadpilot watch``: follow a run that another command started to its end.

Must never steer: leaving a watch leaves the run as it is.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

from ... import _native
from ...control.exit_code import ExitCode
from ...control.follow import Follower
from ...control.run_list import find_run, open_log
from ...control.terminal import say, write_result
from ...local.stack import StackFault, is_running
from ...problem import Refused
from ..output.live import PlanInfo, view
from ..sinks.live_sinks import LiveSinks
from ..sinks.outs import StandardOutput, end_scrapes, read_metrics, read_outs
from .history import FAULTS, fleet_of, reporting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._native import Session
    from ...control.nats_settings import ServerFlags
    from ...control.protocols import View
    from ...control.run_list import PastRun
    from ...control.signals import Interruptions
    from ...problem import Problem
    from ..sinks.outs import Out

REOPEN_SECS = 30.0
"""Timeout of the wait for the log of a stack that ends."""
RETRY_SECS = 0.2
"""Retry delay of that wait."""


class UserLeft(Exception):
    """The user left the watch."""


class StackGone(Exception):
    """The stack of the run is gone; its log stays."""


class Watcher(Follower):
    """A follower that does not steer the run."""

    def __init__(
        self,
        session: Session,
        one: PastRun,
        screen: View,
        interruptions: Interruptions,
        verbose: bool,  # noqa: FBT001  (the flag of the command)
    ) -> None:
        """Follow the run through ``session``."""
        super().__init__(session, one.run, screen, interruptions, verbose)
        self._log = one.log

    def cut_off(self) -> None:
        """Leave the run alone: it is another command's."""

    def answer(self) -> None:
        """Raise UserLeft on an interruption, StackGone when no more events can come."""
        if self.interruptions.any():
            raise UserLeft
        if isinstance(self._log, Path) and not is_running(self._log):
            raise StackGone

    def without_log(self, what: str) -> None:
        """Print it, and go on: the log may come back."""
        self.view.tell(what)


def watch(
    name: str,
    server: ServerFlags,
    *,
    strict: bool,
    verbose: bool = False,
    outs: Sequence[str] = (),
    metrics: str | None = None,
) -> ExitCode:
    """Follow a run to its end and print its summary; the exit code is that of the run."""
    with reporting() as (interruptions, outcome):
        place = fleet_of(server)
        wanted = _outs(outs, metrics)
        one = find_run(name, interruptions, place)
        sinks = LiveSinks(wanted, one.run, sys.stdout)
        try:
            if not one.is_over:
                _follow(one, interruptions, sinks, verbose=verbose)
            text = _report(one, interruptions, sinks)
        except UserLeft:
            sinks.leave("you left")
            say(f"left; run {one.run} goes on (loadpilot stop {one.run} ends it)")
            outcome.append(interruptions.first or ExitCode.INTERRUPTED)
            return outcome[-1]
        except FAULTS:
            sinks.leave("the log does not answer")
            raise
        from ..output.github import announce
        from ..output.run_end import RunEnd
        from ..output.summary import summary

        report = json.loads(text)
        end = RunEnd.of(report, None, strict=strict)
        announce(end, os.environ)
        # Rows of an output are all of standard output.
        has_rows = any(out.is_standard_output for out in wanted)
        write_result(summary(report, verbose=verbose), sys.stderr if has_rows else sys.stdout)
        outcome.append(end.code)
        end_scrapes(wanted, interruptions)
    return outcome[-1]


def _outs(texts: Sequence[str], metrics: str | None) -> tuple[Out, ...]:
    """Read the outputs; raises Refused."""
    problems: list[Problem] = []
    stdout = StandardOutput(quiet=False, product=None)
    outs = read_outs(texts, {}, stdout, problems)
    outs += read_metrics(metrics, problems)
    if problems:
        raise Refused(problems)
    return outs


def _follow(one: PastRun, interruptions: Interruptions, sinks: LiveSinks, *, verbose: bool) -> None:
    """Follow a run to its end, or to the end of its stack."""
    try:
        with open_log(one.log, interruptions) as session:
            say(f"run {one.run}, log {one.log if isinstance(one.log, Path) else one.log.place}")
            screen = view(PlanInfo.of(json.loads(session.plan(one.run))))
            try:
                with sinks.reading(session):
                    Watcher(session, one, screen, interruptions, verbose).follow(None)
                # At once: the stack ends soon.
                sinks.read_rest(session)
            finally:
                screen.close()
    except StackGone:
        pass
    except (StackFault, _native.Fault):
        # The stack ended between two requests, or the server of the fleet is gone.
        if not isinstance(one.log, Path):
            raise


def _report(one: PastRun, interruptions: Interruptions, sinks: LiveSinks) -> str:
    """Read the report and end the outputs.

    The log of a stack that is about to end is opened again.
    """
    give_up: float | None = None
    while True:
        try:
            with open_log(one.log, interruptions) as session:
                report = session.report(one.run)
                sinks.read_rest(session)
                sinks.finish(session)
                return report
        except (StackFault, _native.Fault):
            # From here on: the session may have waited long for a server that has ended.
            give_up = give_up or monotonic() + REOPEN_SECS
            if not isinstance(one.log, Path) or monotonic() > give_up:
                raise
            sleep(RETRY_SECS)
