"""Following a run to its end, while the user may stop or abort it.

Every wait here is short, so that an interruption or a dead stack is noticed at once; nothing here
decides anything about the run.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import json
import re
from enum import StrEnum
from time import monotonic
from typing import TYPE_CHECKING

from ..local.stack import LocalStack, LogUnavailable, relay_events

if TYPE_CHECKING:
    from .protocols import Session, View, Watch
    from .signals import Interruptions

WATCH_SECS = 0.2
"""How soon an interruption is noticed."""
HALT_SECS = 1.5
"""How long a stop may wait for a coordinator before agents are stopped without one."""
ABORT_SECS = 5.0
"""How long an aborted run may take to be sealed before it is reported as it stands."""
BY = "the command line (Ctrl-C)"


ROUTINE = re.compile(
    r"run of .+ requested on \d+ agents?|run created: .*|generation \d+: .*|start scheduled"
    r"|run sealed|\S+: (?:offers .+|ready, clock .+|started|finished: .+)"
)
"""Lines of a story that every run has."""
NEW_MAP = re.compile(r"generation \d+ from tick \d+: .* \((?P<why>.+)\)")
"""A line that says which agents hold which shards from now on, and why that changes."""


def told(line: str) -> str | None:
    """Choose what of a story's line is of interest to users who do not ask for each step."""
    if ROUTINE.fullmatch(line):
        return None
    changed = NEW_MAP.fullmatch(line)
    return changed["why"] if changed is not None else line


class Followed(StrEnum):
    """How following ended."""

    OVER = "over"
    """The run is sealed or refused."""
    CUT = "cut"
    """The user did not want to wait for the end of an aborted run."""


class Follower:
    """One run under observation."""

    def __init__(
        self,
        session: Session,
        run: str,
        view: View,
        interruptions: Interruptions,
        verbose: bool = False,  # noqa: FBT001, FBT002  (the flag of the command)
    ) -> None:
        """Take what the run can be seen and ended with; ``verbose`` tells each step of it."""
        self.session = session
        self.run = run
        self.view = view
        self.interruptions = interruptions
        self.verbose = verbose
        self._answered = 0
        self._told_unreached = False
        self._halt_by: float | None = None
        self._abort_by: float | None = None

    def follow(self, watch: Watch, stack: LocalStack | None) -> Followed:
        """Follow to the end; raises StackFault when the stack, if it has one, dies.

        Raises LogUnavailable when nothing of the run is stored any more; its load is then stopped.
        """
        # A tenth of a second of processor time: before there is load, which may share the core.
        from .._generated import snapshot as _  # noqa: F401

        while True:
            if stack is not None:
                self._hear(stack)
            self.answer()
            if self._halt_by is not None and monotonic() > self._halt_by:
                self._halt("no coordinator answers: agents stop without one")
            if self._abort_by is not None and monotonic() > self._abort_by:
                return Followed.CUT
            change = watch.next(WATCH_SECS)
            if change is not None and self._is_over(json.loads(change)):
                return Followed.OVER

    def _is_over(self, change: dict[str, object]) -> bool:
        """Show one change; true when it says that the run is over."""
        if "sealed" in change:
            return True
        if "story" in change:
            story = change["story"]
            text = story.get("text") if isinstance(story, dict) else story
            first, *more = str(text).split("\n")
            shown = first if self.verbose else told(first)
            if shown is not None:
                self.view.tell(f"· {shown}")
            for line in more:
                self.view.tell(line)
            return False
        if "unstored" in change:
            self.without_log(f"log unavailable: {change['unstored']}")
            return False
        from .._generated.snapshot import Snapshot

        snapshot = Snapshot.model_validate(change["snapshot"])
        if snapshot.state.value == "refused":
            return True
        if snapshot.state.value == "stopping":
            self._halt_by = None
        failing = snapshot.failing
        if failing is not None and failing.unreached and not self._told_unreached:
            self._told_unreached = True
            self.view.tell(f"no call has reached the target: {failing.why}")
        self.view.show(snapshot)
        return False

    def answer(self) -> None:
        """Pass interruptions on: the first stops the run, the second aborts it."""
        while self._answered < self.interruptions.count:
            self._answered += 1
            if self._answered == 1:
                self.view.tell("stopping: what is in flight finishes; again to abort")
                self.session.stop(self.run, BY)
                self._halt_by = monotonic() + HALT_SECS
            else:
                self._halt("aborting; again to leave at once")

    def without_log(self, what: str) -> None:
        """End a load of which nothing is stored; raises LogUnavailable."""
        self.session.halt(self.run)
        raise LogUnavailable(what)

    def _halt(self, why: str) -> None:
        """Throw the kill switch: what is in flight ends too."""
        self.view.tell(why)
        self.session.halt(self.run)
        self._halt_by = None
        self._abort_by = monotonic() + ABORT_SECS

    def _hear(self, stack: LocalStack) -> None:
        relay_events(stack, self.view.tell)
