"""A fleet of which every part can be taken away and given back.

Like `tests/e2e/support/fleet.py`, with a nats-server that dies and comes back at the same address
with the same store. Must never signal a process that it did not start.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.e2e.support.fleet import Fleet
from tests.faults.support.checker import Evidence, check
from tests.faults.support.stored_log import of_run, of_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Finished, Running
    from tests.oracle.oracle import Oracle

SHORT_COORDINATOR = (
    *("--lost-after", "4s", "--fence-after", "2500ms"),
    *("--takeover-room", "1s", "--behind-after", "1s"),
)
"""The constants of a coordinator, shortened so that a loss takes seconds."""
SHORT_AGENT = ("--heartbeat", "300ms", "--fence", "2500ms")
"""Those of its agents."""


class BreakableFleet(Fleet):
    """A fleet that is hurt."""

    def agent(
        self, name: str, *flags: str, program: Path | None = None, url: str | None = None
    ) -> Running:
        """An agent that keeps what must outlive it."""
        place = ("--state-dir", str(self.state(name)))
        return super().agent(name, *place, *flags, program=program, url=url)

    def state(self, name: str) -> Path:
        """Where an agent keeps what must outlive it."""
        return self.folder / f"state-{name}"

    def kill_server(self) -> None:
        """Takes the log away, without a word."""
        self.server.kill()
        self.server.end()

    def messages(self, run: str) -> list[Any]:
        """What the log holds of a run."""
        return of_run(of_server(self.url, self.token), run)

    def evidence(self, finished: Finished, oracle: Oracle) -> Evidence:
        """Everything about a run that has ended."""
        run = finished.run
        return Evidence(run, oracle.requests(), self.messages(run), finished.report)

    def assert_adds_up(
        self, finished: Finished, oracle: Oracle, planned: int, **how: Any
    ) -> dict[str, Any]:
        """Holds the report of a run against target and log; gives it back."""
        assert oracle.broken() == [], "what was received was no request"
        found = check(self.evidence(finished, oracle), planned=planned, **how)
        assert found == [], "\n".join(found)
        return finished.report


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """A process that stands still and does not know it."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def kill(pid: int) -> None:
    """Ends a process without asking."""
    os.kill(pid, signal.SIGKILL)
