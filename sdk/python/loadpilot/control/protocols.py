"""What a run needs of whoever takes it: a log that is open here, or a coordinator over HTTP.

Must never do anything: these are the shapes that both have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from .. import _native
    from .http_teardown_ledger import HttpLedger


class Watch(Protocol):
    """A run as it goes on."""

    def next(self, timeout_secs: float) -> str | None:
        """Wait for what happens next, as JSON; None when nothing did in time. Raises Fault."""


class Session(Protocol):
    """Where a run is asked for."""

    def submit(
        self,
        request_json: str,
        secrets: dict[str, str],
        bodies: dict[str, bytes],
        run: str | None,
    ) -> str:
        """Ask for a run and keep it alive until closed; returns its id. Raises Refused, Fault."""

    def watch(self, run: str) -> Watch:
        """Follow a run."""

    def stop(self, run: str, by: str) -> None:
        """Ask for a stop: what is in flight finishes."""

    def halt(self, run: str) -> None:
        """Abort: what is in flight is cancelled."""

    def report(self, run: str) -> str:
        """Read the report, as JSON."""

    def samples(self, run: str, path: Path) -> str:
        """Write every call to a file; returns how many, as JSON."""

    def ledger(self, run: str, claimant: str) -> _native.Ledger | HttpLedger:
        """Open what a run owes, for a command of this name."""

    def close(self) -> None:
        """Let go of it."""
