"""``loadpilot replay``: the live view of a past run again, from its log alone.

At each instant of the run the view shows the report as of that instant. Must never write to the
log.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from ...control.figures import clock, seconds
from ...control.follow import Follower
from ...control.run_list import OpenLogs, find_run, open_log, place_of
from ...control.terminal import say, write_product
from ...inputs.units import Wrong, duration_us
from ...problem import Problem, Refused, rule
from ..output.live import PlanInfo, view
from .history import UsageError, fleet_of, reporting

if TYPE_CHECKING:
    from ..._native import Session, Watch
    from ...control.exit_code import ExitCode
    from ...control.nats_settings import ServerFlags
    from ...control.protocols import View
    from ...control.signals import Interruptions

SPEED_MAX = 1_000.0
"""Maximum speed: each second of a run is drawn, and a view draws four times a second."""
SPEED_RULE = f"must be a number above 0 and at most {SPEED_MAX:g}, such as 10 or 0.5"


class Replayer(Follower):
    """A follower of a stored run."""

    def __init__(
        self,
        session: Session,
        run: str,
        screen: View,
        interruptions: Interruptions,
        verbose: bool,  # noqa: FBT001  (the flag of the command)
    ) -> None:
        """Replay the run in ``session``."""
        super().__init__(session, run, screen, interruptions, verbose)
        self._log = session
        self.speed = 1.0
        self.from_us = 0

    def watch(self) -> Watch:
        """Begin at ``from_us``, at ``speed``."""
        screen = self.view
        return self._log.replay(
            self.run, self.speed, self.from_us, screen.interval_secs, gates=screen.shows_gates
        )

    def cut_off(self) -> None:
        """Leave the run alone: it is over."""

    def answer(self) -> None:
        """Raise KeyboardInterrupt on the first interruption: nothing has to be stopped."""
        if self.interruptions.any():
            raise KeyboardInterrupt


def replay(
    name: str, *, speed: str, at: str | None, server: ServerFlags, verbose: bool = False
) -> ExitCode:
    """Show a run again and print its summary; without a terminal ``at`` prints that instant."""
    with reporting() as (interruptions, outcome), OpenLogs(interruptions) as logs:
        problems: list[Problem] = []
        times = _speed(speed, problems)
        from_us = _instant(at, problems)
        place = fleet_of(server)
        if problems:
            raise Refused(problems)
        one = find_run(name, logs, place)
        if not one.is_over:
            raise UsageError(f"run {one.run} goes on; see it: loadpilot watch {one.run}")
        with open_log(one.log, logs) as session:
            text = session.report(one.run)
            run = json.loads(text)["run"]
            if run["start_at"] is None:
                raise UsageError(f"run {one.run} never started; there is nothing to replay")
            stopped_us = run["stopped_at_us"]
            end_us = run["profile_us"] if stopped_us is None else stopped_us
            if from_us > end_us:
                must = f"must be at most {seconds(end_us)}, the end of the run"
                raise Refused([rule("--at", must, at)])
            if at is not None and not sys.stderr.isatty():
                say(f"run {one.run} as of {clock(from_us / 1e6)}")
                text = session.read(one.run).report(from_us)
            else:
                say(f"run {one.run}, log {place_of(one.log)}")
                screen = view(PlanInfo.of(json.loads(session.plan(one.run))), speed=times)
                replayer = Replayer(session, one.run, screen, interruptions, verbose)
                replayer.speed, replayer.from_us = times, from_us
                try:
                    replayer.follow(None)
                finally:
                    screen.close()
        from ..output.summary import summary

        write_product(summary(json.loads(text), verbose=verbose))
    return outcome[-1]


def _speed(text: str, problems: list[Problem]) -> float:
    """Read the speed."""
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed <= SPEED_MAX:
        problems.append(rule("--speed", SPEED_RULE, text))
    return speed


def _instant(text: str | None, problems: list[Problem]) -> int:
    """Read an instant of the run, in µs after its start."""
    try:
        return 0 if text is None else duration_us("--at", text)
    except Wrong as wrong:
        problems.append(wrong.problem)
        return 0
