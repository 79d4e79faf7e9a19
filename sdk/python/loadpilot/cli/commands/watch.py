"""``loadpilot watch``: follow a run that another command started to its end.

Must never steer: leaving a watch leaves the run as it is.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import json
import os
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

from ... import _native
from ...control.exit_code import ExitCode
from ...control.follow import Follower
from ...control.run_list import find_run, open_log
from ...control.terminal import say, write_product
from ...local.stack import StackFault, is_running
from ..output.live import PlanInfo, view
from .history import fleet_of, reporting

if TYPE_CHECKING:
    from ..._native import Session
    from ...control.nats_settings import ServerFlags
    from ...control.protocols import View
    from ...control.run_list import PastRun
    from ...control.signals import Interruptions

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

    def answer(self) -> None:
        """Raise UserLeft on an interruption, StackGone when no more events can come."""
        if self.interruptions.any():
            raise UserLeft
        if isinstance(self._log, Path) and not is_running(self._log):
            raise StackGone

    def without_log(self, what: str) -> None:
        """Print it, and go on: the log may come back."""
        self.view.tell(what)


def watch(name: str, server: ServerFlags, *, strict: bool, verbose: bool = False) -> ExitCode:
    """Follow a run to its end and print its summary; the exit code is that of the run."""
    with reporting() as (interruptions, outcome):
        place = fleet_of(server)
        one = find_run(name, interruptions, place)
        try:
            if not one.is_over:
                _follow(one, interruptions, verbose=verbose)
            text = _report(one, interruptions)
        except UserLeft:
            say(f"left; run {one.run} goes on (loadpilot stop {one.run} ends it)")
            outcome.append(interruptions.first or ExitCode.INTERRUPTED)
            return outcome[-1]
        from ..output.github import announce
        from ..output.run_end import RunEnd
        from ..output.summary import summary

        report = json.loads(text)
        end = RunEnd.of(report, None, strict=strict)
        announce(end, os.environ)
        write_product(summary(report, verbose=verbose))
        outcome.append(end.code)
    return outcome[-1]


def _follow(one: PastRun, interruptions: Interruptions, *, verbose: bool) -> None:
    """Follow a run to its end, or to the end of its stack."""
    try:
        with open_log(one.log, interruptions) as session:
            say(f"run {one.run}, log {one.log if isinstance(one.log, Path) else one.log.place}")
            screen = view(PlanInfo.of(json.loads(session.plan(one.run))))
            try:
                Watcher(session, one, screen, interruptions, verbose).follow(None)
            finally:
                screen.close()
    except StackGone:
        pass
    except (StackFault, _native.Fault):
        # The stack ended between two requests, or the server of the fleet is gone.
        if not isinstance(one.log, Path):
            raise


def _report(one: PastRun, interruptions: Interruptions) -> str:
    """Read the report; the log of a stack that is about to end is opened again."""
    give_up = monotonic() + REOPEN_SECS
    while True:
        try:
            with open_log(one.log, interruptions) as session:
                return session.report(one.run)
        except (StackFault, _native.Fault):
            if not isinstance(one.log, Path) or monotonic() > give_up:
                raise
            sleep(RETRY_SECS)
