"""A fleet in which a test can kill and restart each process, the nats-server included.

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
"""Timeouts of a coordinator, shortened so that a lost agent is detected within seconds."""
SHORT_AGENT = ("--heartbeat", "300ms", "--fence", "2500ms")
"""Timeouts of its agents."""


class BreakableFleet(Fleet):
    """A fleet whose nats-server can be killed, and whose agents have a state directory of the
    test."""

    def agent(
        self, name: str, *flags: str, program: Path | None = None, url: str | None = None
    ) -> Running:
        """Starts an agent with a state directory of its own."""
        place = ("--state-dir", str(self.state(name)))
        return super().agent(name, *place, *flags, program=program, url=url)

    def state(self, name: str) -> Path:
        """The state directory of an agent."""
        return self.folder / f"state-{name}"

    def kill_server(self) -> None:
        """Kills the nats-server."""
        self.server.kill()
        self.server.end()

    def messages(self, run: str) -> list[Any]:
        """The messages of a run in the log."""
        return of_run(of_server(self.url, self.token), run)

    def evidence(self, finished: Finished, oracle: Oracle) -> Evidence:
        """Report, log and target's requests of a run that has ended."""
        run = finished.run
        return Evidence(run, oracle.requests(), self.messages(run), finished.report)

    def assert_adds_up(
        self, finished: Finished, oracle: Oracle, planned: int, **how: Any
    ) -> dict[str, Any]:
        """Compares the report of a run with target and log; returns the report."""
        assert oracle.broken() == [], "the target received a broken request"
        found = check(self.evidence(finished, oracle), planned=planned, **how)
        assert found == [], "\n".join(found)
        return finished.report


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Freezes a process for the length of the block, by SIGSTOP."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def kill(pid: int) -> None:
    """Kills a process by SIGKILL."""
    os.kill(pid, signal.SIGKILL)
