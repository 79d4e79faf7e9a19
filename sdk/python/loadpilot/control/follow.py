"""Following a run to its end, while the user may stop or abort it.

Waits are short, so that an interruption or the end of a stack is seen at once. Must never decide
anything about the run.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from enum import StrEnum
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .. import _native
from ..local.stack import LocalStack, LogUnavailable, relay_events

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._generated.report import ThresholdResult
    from .._generated.snapshot import Snapshot
    from .protocols import Session, View, Watch
    from .signals import Interruptions

WATCH_SECS = 0.2
"""Maximum delay until an interruption is handled."""
HALT_SECS = 1.5
"""Timeout for a coordinator to answer a stop; then agents are halted without one."""
ABORT_SECS = 5.0
"""Timeout for an aborted run to be sealed; then it is reported as it is."""
BY = "the command line (Ctrl-C)"
BY_BREACH = "--abort-on-breach"
NO_ABORTS: Mapping[str, float] = MappingProxyType({})


ROUTINE = re.compile(
    r"run of .+ requested on \d+ agents?|run created: .*|generation \d+: .*|start scheduled"
    r"|run sealed|\S+: (?:offers .+|ready, clock .+|started|finished: .+)"
)
"""Lines of a story that every normal run has."""
NEW_MAP = re.compile(r"generation \d+ from tick \d+: .* \((?P<why>.+)\)")
"""A line with the agents of the shards from a tick on, and the reason of the change."""


def shortened(line: str) -> str | None:
    """Shorten a story's line for users without ``--verbose``; None hides it."""
    if ROUTINE.fullmatch(line):
        return None
    changed = NEW_MAP.fullmatch(line)
    return changed["why"] if changed is not None else line


class Followed(StrEnum):
    """How following ended."""

    OVER = "over"
    """The run is sealed or refused."""
    CUT = "cut"
    """The run was aborted, and was not sealed within ABORT_SECS."""


class Follower:
    """Follows one run."""

    def __init__(
        self,
        session: Session,
        run: str,
        view: View,
        interruptions: Interruptions,
        verbose: bool = False,  # noqa: FBT001, FBT002  (the flag of the command)
        aborts: Mapping[str, float] = NO_ABORTS,
        *,
        holds: bool = False,
    ) -> None:
        """Take the session, the view and the interruptions; ``verbose`` shows each step.

        ``aborts`` has the gates that stop the run when they fail, each with the seconds after the
        start before which it does not. ``holds`` is whether this command changes the rate, to
        hold the gates of the plan.
        """
        self.session = session
        self.run = run
        self.view = view
        self.interruptions = interruptions
        self.verbose = verbose
        self._aborts = aborts
        self._holds = holds
        self._is_stopping = False
        self._elapsed_secs = 0.0
        self._answered = 0
        self._unreached_shown = False
        self._halt_by: float | None = None
        self._abort_by: float | None = None

    def follow(self, stack: LocalStack | None) -> Followed:
        """Follow to the end; raises StackFault when the stack, if there is one, dies.

        Raises LogUnavailable after halting the run, when the log stores nothing of it any more,
        and Fault after halting it, when the log cannot be read any more.
        """
        try:
            return self._follow(stack)
        except _native.Fault:
            self.cut_off()
            raise

    def _follow(self, stack: LocalStack | None) -> Followed:
        view = self.view
        watch = self.watch()
        while True:
            if stack is not None:
                self._relay_events(stack)
            self.answer()
            if self._abort_by is not None and monotonic() > self._abort_by:
                return Followed.CUT
            change = watch.next(WATCH_SECS)
            if change is not None:
                if self._is_over(json.loads(change)):
                    return Followed.OVER
            # Checked only when no change waits: the coordinator's answer may be among the changes.
            elif self._halt_by is not None and monotonic() > self._halt_by:
                self._halt("no coordinator answers: agents stop without one")
            view.refresh()

    def watch(self) -> Watch:
        """Begin to follow, with the figures that the view shows."""
        view = self.view
        gates = view.shows_gates or bool(self._aborts)
        interval_secs, hold = view.interval_secs, self._holds
        return self.session.watch(self.run, interval_secs, gates=gates, hold=hold)

    def _is_over(self, change: dict[str, Any]) -> bool:
        """Show one change; True when the run is over."""
        match change:
            case {"sealed": _}:
                return True
            case {"snapshot": snapshot}:
                return self._show_snapshot(snapshot)
            case {"story": story}:
                self._show_story(story)
            case {"gates": gates}:
                self.view.judge(gates)
                self._stop_on_breach(gates)
            case {"unstored": why}:
                self.without_log(f"log unavailable: {why}")
            case {"connection": what}:
                self.view.tell(what)
            case _:
                pass  # A newer coordinator may send more.
        return False

    def _show_story(self, story: dict[str, Any] | str) -> None:
        """Show a line of the timeline, or hide it if every normal run has it."""
        text = story.get("text") if isinstance(story, dict) else story
        first, *more = str(text).split("\n")
        shown = first if self.verbose else shortened(first)
        if shown is not None:
            self.view.tell(f"· {shown}")
        for line in more:
            self.view.tell(line)

    def _show_snapshot(self, snapshot: Snapshot) -> bool:
        """Show the run as of now; True when it was refused."""
        self._elapsed_secs = snapshot["elapsed_secs"]
        if snapshot["state"] == "refused":
            return True
        if snapshot["state"] == "stopping":
            self._halt_by = None
        failing = snapshot.get("failing")
        if failing is not None and failing["unreached"] and not self._unreached_shown:
            self._unreached_shown = True
            self.view.tell(f"no call has reached the target: {failing['why']}")
        self.view.show(snapshot)
        return False

    def _stop_on_breach(self, gates: list[ThresholdResult]) -> None:
        """Stop the run, once, if a gate failed that may stop it."""
        for gate in gates:
            delay_secs, actual = self._aborts.get(gate["key"]), gate["actual"]
            # Without a figure there is nothing to judge yet.
            if delay_secs is None or actual is None or gate["passed"]:
                continue
            if self._elapsed_secs < delay_secs or self._is_stopping:
                continue
            self._is_stopping = True
            key, limit = gate["key"], gate["limit"]
            self.view.tell(f"stopping: {key} is {actual:.1f}, and its limit is {limit:g}")
            self.session.stop(self.run, BY_BREACH, (key, limit, actual))
            self._halt_by = monotonic() + HALT_SECS

    def answer(self) -> None:
        """Handle interruptions: the first stops the run, the second aborts it."""
        while self._answered < self.interruptions.count:
            self._answered += 1
            if self._answered == 1:
                self._is_stopping = True
                self.view.tell("stopping: what is in flight finishes; again to abort")
                self.session.stop(self.run, BY)
                self._halt_by = monotonic() + HALT_SECS
            else:
                self._halt("aborting; again to leave at once")

    def without_log(self, what: str) -> None:
        """Halt the run, of which the log stores nothing; raises LogUnavailable."""
        self.session.halt(self.run)
        raise LogUnavailable(what)

    def cut_off(self) -> None:
        """Halt the run, which this command cannot follow and no stop in the log can reach."""
        with suppress(_native.Fault):  # The server is gone: agents without one stop by themselves.
            self.session.halt(self.run)
            self.view.tell("the run cannot be followed: the kill switch is thrown, agents stop")

    def _halt(self, why: str) -> None:
        """Throw the kill switch: calls in flight are cancelled."""
        self.view.tell(why)
        self.session.halt(self.run)
        self._halt_by = None
        self._abort_by = monotonic() + ABORT_SECS

    def _relay_events(self, stack: LocalStack) -> None:
        relay_events(stack, self.view.tell)
