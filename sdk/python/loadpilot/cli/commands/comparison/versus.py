"""``loadpilot versus``: two targets under the same load at the same time.

The run is one of ``loadpilot run`` whose arrivals come in pairs; the engine compares the targets
from its log.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ....control.exit_code import ExitCode
from ....control.terminal import coloured, wants_colour
from ...output.run_end import Case, Kind
from ...output.sections.versus import conclusion, versus_text
from ...output.summary import summary
from ...output.verdict import head
from ...plan_check import of_files
from ..run import Run, execute, product

if TYPE_CHECKING:
    from ...._generated.report import Report
    from ....control.protocols import Session
    from ...flags.run_flags import VersusFlags
    from ...output.run_end import RunEnd

COMPARED = "Comparison"
"""Name of the case of the comparison."""


def versus(file: str | None, flags: VersusFlags) -> ExitCode:
    """Run the scenario against both targets, and print the comparison."""
    with product(flags) as stdout:
        return execute((file,), flags, stdout, of_files)


class VersusRun(Run):
    """A run whose two targets are compared at its end."""

    compared: str | None = None
    """The comparison as JSON; None where the run has no log to read."""

    def ended(self, end: RunEnd, session: Session) -> RunEnd:
        """Compare the targets; a comparison that fails is a reason beside those of the run."""
        sides = self.options.sides
        report = end.report
        if sides is None or report is None or report["run"]["state"] != "sealed":
            return end
        reading = session.read(report["run"]["id"])
        if reading is None:
            return end
        self.compared = reading.versus(sides.threshold_pct)
        compared = json.loads(self.compared)
        case = _case(compared, fails=sides.fails)
        code = end.code
        if code is ExitCode.PASSED and case.kind is Kind.ERROR:
            code = ExitCode.INCOMPLETE
        elif code is ExitCode.PASSED and case.kind is Kind.FAILURE:
            code = ExitCode.GATE_FAILED
        return replace(end, code=code, whole=(*end.whole, case))

    def result(self, report_json: str, report: Report) -> str:
        """Write the comparison, after the judgement of the run itself."""
        if self.compared is None:
            return super().result(report_json, report)
        if self.options.prints_report:
            return f"{self.compared}\n"
        compared = json.loads(self.compared)
        if self.options.quiet:
            return head(report) + "".join(f"{line}\n" for line in conclusion(compared))
        first = summary(report, verbose=True) if self.options.verbose else head(report)
        text = versus_text(compared)
        return f"{first}\n{coloured(text) if wants_colour(self.stdout) else text}"


def _case(compared: dict[str, Any], *, fails: bool) -> Case:
    text = "\n".join(conclusion(compared))
    if compared["obstacles"]:
        return Case(COMPARED, Kind.ERROR, text)
    is_failed = fails and compared["is_worse"]
    return Case(COMPARED, Kind.FAILURE if is_failed else Kind.PASSED, text)
