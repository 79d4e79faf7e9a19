"""Interfaces of a place that takes runs, a log or a coordinator over HTTP, and of a view of a run.

Types and timeouts only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from .. import _native
    from .._generated.report import ThresholdResult
    from .._generated.snapshot import Snapshot
    from .http_teardown_ledger import HttpLedger

ANSWER_TIMEOUT_SECS = 15.0
"""Timeout of a decision: longer than another coordinator needs to take over."""
LISTEN_SECS = 2.5
"""Duration of listening for agents: each sends a sign of life every second."""


class View(Protocol):
    """A display of a run under way."""

    interval_secs: float
    """Interval between the snapshots that it shows."""
    shows_gates: bool
    """Whether it shows how the gates stand."""

    def show(self, snapshot: Snapshot) -> None:
        """Show the run as of now."""

    def judge(self, gates: list[ThresholdResult]) -> None:
        """Take the gates as they stand."""

    def refresh(self) -> None:
        """Show that time passes; called several times a second."""

    def tell(self, text: str) -> None:
        """Show one line that stays."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class Watch(Protocol):
    """Timeline lines, snapshots and the end of one run, as they arrive."""

    def next(self, timeout_secs: float) -> str | None:
        """Wait for the next change, as JSON; None after the timeout. Raises Fault."""


class Session(Protocol):
    """A connection over which runs are requested, followed and steered."""

    judges: ClassVar[bool]
    """Whether a watch can judge gates."""

    def submit(
        self,
        request_json: str,
        secrets: dict[str, str],
        bodies: dict[str, bytes | Path],
        run: str | None,
    ) -> str:
        """Request a run and keep it alive until closed; returns its id. Raises Refused, Fault."""

    def watch(
        self, run: str, interval_secs: float = 1.0, *, gates: bool = False, hold: bool = False
    ) -> Watch:
        """Follow a run, with a snapshot every so many seconds; with ``gates`` they are judged.

        With ``hold`` this watch changes the rate of a run that holds gates: one command of a run
        does.
        """

    def stop(self, run: str, by: str, breach: tuple[str, float, float] | None = None) -> None:
        """Request a stop: calls in flight finish.

        ``breach`` is the key, the limit and the figure of the gate that is the reason.
        """

    def halt(self, run: str) -> None:
        """Abort: calls in flight are cancelled."""

    def report(self, run: str) -> str:
        """Read the report, as JSON."""

    def parts(self, run: str) -> str:
        """Read the parts of a run for a comparison, as JSON."""

    def read(self, run: str) -> _native.Reading | None:
        """Read and index the log of a run; None where only reports are known. Raises Fault."""

    def samples(self, run: str, path: Path) -> str:
        """Write every call to a file; returns how many, as JSON."""

    def read_samples(
        self, run: str, slice_json: str, form: Literal["table", "vegeta", "json"]
    ) -> _native.Samples:
        """Open every call of a slice; raises Fault where only reports are known."""

    def ledger(self, run: str, claimant: str) -> _native.Ledger | HttpLedger:
        """Open the teardown record of a run, for the command with this claimant id."""

    def close(self) -> None:
        """Close the connection; it no longer keeps a run alive."""
