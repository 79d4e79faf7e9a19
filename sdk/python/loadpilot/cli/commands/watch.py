"""``loadpilot watch``: attach to a run that somebody else started, and see its end.

Must never steer: leaving a watch leaves the run as it is.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import json
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

from ... import _native
from ...control.exit_code import ExitCode, exit_code
from ...control.follow import Follower
from ...control.terminal import say, write_product
from ...local.stack import StackFault, is_running
from ..output.live import Scene, view
from .history import find, fleet_of, opened, reporting

if TYPE_CHECKING:
    from ..._native import Session
    from ...control.nats_settings import ServerFlags
    from ...control.signals import Interruptions
    from ..output.live import View
    from .history import Past

REOPEN_SECS = 30.0
"""How long the log of a stack that ends is waited for."""
AGAIN_SECS = 0.2
"""How soon it is tried again."""


class Left(Exception):
    """The watcher has seen enough."""


class Gone(Exception):
    """The stack that ran it is gone; its log stays."""


class Onlooker(Follower):
    """A follower that touches nothing."""

    def __init__(
        self,
        session: Session,
        one: Past,
        screen: View,
        interruptions: Interruptions,
        verbose: bool,  # noqa: FBT001  (the flag of the command)
    ) -> None:
        """Take what the run can be seen with."""
        super().__init__(session, one.run, screen, interruptions, verbose)
        self._log = one.log

    def answer(self) -> None:
        """Leave when the user wants to, and when nothing will come any more."""
        if self.interruptions.any():
            raise Left
        if isinstance(self._log, Path) and not is_running(self._log):
            raise Gone

    def without_log(self, what: str) -> None:
        """Say it, and see whether the log comes back."""
        self.view.tell(what)


def watch(name: str, server: ServerFlags, *, strict: bool, verbose: bool = False) -> ExitCode:
    """Follow a run to its end and print its summary; the code is the run's."""
    with reporting() as (interruptions, outcome):
        place = fleet_of(server)
        one = find(name, interruptions, place)
        try:
            if not one.is_over:
                _follow(one, interruptions, verbose=verbose)
            text = _report(one, interruptions)
        except Left:
            say(f"left; run {one.run} goes on (loadpilot stop {one.run} ends it)")
            outcome.append(interruptions.first or ExitCode.INTERRUPTED)
            return outcome[-1]
        from ..._generated.report import Report
        from ..output.summary import summary

        report = Report.model_validate_json(text)
        write_product(summary(report, verbose=verbose))
        outcome.append(exit_code(report, None, strict=strict))
    return outcome[-1]


def _follow(one: Past, interruptions: Interruptions, *, verbose: bool) -> None:
    """See a run to its end, or to that of the stack that ran it."""
    try:
        with opened(one.log, interruptions) as session:
            say(f"run {one.run}, log {one.log if isinstance(one.log, Path) else one.log.place}")
            screen = view(Scene.of(json.loads(session.plan(one.run))))
            try:
                looking = Onlooker(session, one, screen, interruptions, verbose)
                looking.follow(session.watch(one.run), None)
            finally:
                screen.close()
    except Gone:
        pass
    except (StackFault, _native.Fault):
        # The stack ended between two questions, or the fleet's server is gone for good.
        if not isinstance(one.log, Path):
            raise


def _report(one: Past, interruptions: Interruptions) -> str:
    """Fold the log; that of a stack which is about to end is opened again."""
    give_up = monotonic() + REOPEN_SECS
    while True:
        try:
            with opened(one.log, interruptions) as session:
                return session.report(one.run)
        except (StackFault, _native.Fault):
            if not isinstance(one.log, Path) or monotonic() > give_up:
                raise
            sleep(AGAIN_SECS)
