"""The result of a run for a Python program: verdict, gates, report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..control import outcome
from ..control.exit_code import ExitCode
from ..errors import GateFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._generated.report import Report, ThresholdResult
    from .tables.run import Run


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class RunResult:
    """A run that is over.

    ``report`` is the full report, as ``loadpilot report RUN --json`` prints it.
    """

    report: Report
    exit_code: ExitCode
    """The exit code of the command: 0 passed, 1 a gate failed, 3 not complete or not trusted."""
    _open: Callable[[], Run]
    """Opens its log, once."""

    def __repr__(self) -> str:
        name = self.report["scenario"]
        return f"<RunResult {name}: {self.verdict}, {self.certificate}, run {self.run_id}>"

    @property
    def run_id(self) -> str:
        """The id of the run, for ``loadpilot report`` and the other commands."""
        return self.report["run"]["id"]

    @property
    def run(self) -> Run:
        """The run as :func:`loadpilot.open` opens it, for its series, calls and comparisons.

        The first use reads and indexes the log, which is found where it was when the run ended.
        Raises LookupError for a run whose log was deleted or that went through a coordinator's
        HTTP interface, RuntimeError when the log cannot be reached.
        """
        return self._open()

    @property
    def passed(self) -> bool:
        """Whether the run is complete and trusted, and every gate passed."""
        return self.exit_code is ExitCode.PASSED

    @property
    def verdict(self) -> outcome.Verdict:
        """``PASS``, ``FAIL``, ``VOID`` (an INVALID run proves nothing) or ``STOPPED``."""
        return outcome.verdict(self.report)

    @property
    def certificate(self) -> Literal["VALID", "DEGRADED", "INVALID"]:
        """Whether the figures can be trusted; the findings are in the report."""
        return self.report["certificate"]["grade"]

    @property
    def gates(self) -> list[ThresholdResult]:
        """The gates with measured value, limit and whether they passed."""
        return self.report["verdict"]["thresholds"]

    def summary(self, *, verbose: bool = False) -> str:
        """Write the summary that ``loadpilot report`` prints; ``verbose`` writes it in full."""
        from ..cli.output.summary import summary  # noqa: PLC0415  (few programs print it)

        return summary(self.report, verbose=verbose)

    def raise_for_gates(self) -> None:
        """Raise :class:`loadpilot.errors.GateFailed` unless the run passed.

        The message has verdict, certificate with its findings, and a line for each gate.
        """
        if not self.passed:
            raise GateFailed(self._judgement(), self)

    def _judgement(self) -> str:
        from ..cli.output.verdict import gate_lines, head_lines  # noqa: PLC0415  (as above)

        report = self.report
        title = f"{report['scenario']} did not pass (run {self.run_id})"
        return "\n".join([title, *head_lines(report), *gate_lines(report)])
