"""The flags of the files that a run writes at its end, for each command that reports a run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ...problem import Problem, rule
from .declaration import GATES, flag
from .shared_flags import Metrics, Out, Strict  # noqa: TC001  (cyclopts evaluates annotations)

if TYPE_CHECKING:
    from ..output.results import ResultFiles

NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class ResultFlags:
    """The flags as they were written."""

    report: Annotated[
        str | None,
        flag(
            GATES,
            "FILE",
            "Write the report to this file as one HTML page, which needs no server.",
            "--report",
            "--html",
            "-r",
        ),
    ] = None
    results_json: Annotated[
        str | None, flag(GATES, "FILE", "Write the full report to this file.")
    ] = None
    junit: Annotated[
        str | None,
        flag(GATES, "FILE", "Write gates and certificate to this file, as JUnit XML."),
    ] = None
    markdown: Annotated[
        str | None, flag(GATES, "FILE", "Write a summary to this file, as Markdown.")
    ] = None

    def written(self) -> dict[str, str | None]:
        """The flags by name."""
        return {
            "--report": self.report,
            "--results-json": self.results_json,
            "--junit": self.junit,
            "--markdown": self.markdown,
        }

    def read(self, problems: list[Problem], samples: str | None = None) -> ResultFiles:
        """Check that each file can be written, before anything is started.

        ``samples`` is one more file of the command.
        """
        from ..output import results  # noqa: PLC0415  (start-up is a promise)

        if self.report is not None and NUMBER.fullmatch(self.report):
            # As Locust has it: -r is its rate.
            must = "must be a file such as report.html, not a number; --rps is the rate"
            problems.append(rule("--report", must, self.report))
        flags: dict[Path, str] = {}
        for name, text in {**self.written(), "--samples": samples}.items():
            if text is None:
                continue
            path = Path(text).absolute()
            problems += results.problems(Path(text), name)
            if path in flags:
                what = f"must be another file than that of {flags[path]}"
                problems.append(Problem(name, what))
            flags[path] = name
        return results.ResultFiles(
            _path(self.report), _path(self.results_json), _path(self.junit), _path(self.markdown)
        )


@dataclass(frozen=True, slots=True)
class FollowFlags:
    """The flags of a run that another command started and this one may follow to its end."""

    results: Annotated[ResultFlags, Parameter(name="*")] = field(default_factory=ResultFlags)
    strict: Annotated[
        Strict,
        Parameter(
            help="Exit with 3 when the certificate is DEGRADED, too, if the run is followed."
        ),
    ] = False
    out: Out = ()
    metrics: Metrics = None


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
