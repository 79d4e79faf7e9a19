"""The files that a run writes on request: its report, byte for byte, JUnit, Markdown, its calls."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...control.figures import count
from ...control.terminal import note, say
from ...problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ...control.protocols import Session
    from .run_end import RunEnd

LABELS = {"--results-json": "results", "--junit": "JUnit", "--markdown": "Markdown"}
"""Labels of the lines about written files."""


def problems(path: Path, flag: str) -> list[Problem]:
    """Check before the run that the file can be written."""
    if path.is_dir():
        return [Problem(flag, f"must be a file, and {path} is a directory")]
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        return [Problem(flag, f"{folder} is not a directory")]
    if not os.access(folder, os.W_OK):
        return [Problem(flag, f"{folder} cannot be written to")]
    return []


@dataclass(frozen=True, slots=True)
class ResultFiles:
    """The files of a run for people and programs; None for one that is not wanted."""

    report: Path | None = None
    junit: Path | None = None
    markdown: Path | None = None

    def publish(self, end: RunEnd, report_json: str | None) -> RunEnd:
        """Write the files, and tell GitHub where this command is a step of a workflow."""
        from .github import announce

        end = self.write(end, report_json)
        announce(end, os.environ)
        return end

    def write(self, end: RunEnd, report_json: str | None) -> RunEnd:
        """Write each file whole or not at all; returns the end with the files that are missing.

        JUnit comes last: it names the others that are missing. There is no report file without a
        report.
        """
        if self.report is not None and report_json is not None:
            end = _written(self.report, "--results-json", report_json + "\n", end)
        if self.markdown is not None:
            from .markdown import markdown

            end = _written(self.markdown, "--markdown", markdown(end), end)
        if self.junit is not None:
            from .junit import junit

            end = _written(self.junit, "--junit", junit(end), end)
        return end


def _written(path: Path, flag: str, text: str, end: RunEnd) -> RunEnd:
    """Write one file; returns the end, with the file if that failed."""
    try:
        with draft(path) as file:
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        say(f"error: {flag}: {path} could not be written: {error.strerror}")
        return end.lacking(flag)
    note(f"{LABELS[flag]} {path}")
    return end


def write_samples(path: Path, session: Session, run: str) -> str:
    """Write all calls of a run or nothing; returns a line about the file.

    Raises OSError, Refused when the log of the run has no calls, Fault.
    """
    with draft(path) as file:
        counts = json.loads(session.samples(run, file))
    text = f"samples {path}: {count(counts['rows'])} calls"
    if counts["dropped"]:
        text += f"; {count(counts['dropped'])} more found no room in the log"
    if counts["unreadable"]:
        text += f"; those of {count(counts['unreadable'])} deltas cannot be read"
    return text


@contextmanager
def draft(path: Path) -> Iterator[Path]:
    """Open a file that replaces ``path`` at the end of the block, unless it raises."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield file
        file.replace(path)
    finally:
        file.unlink(missing_ok=True)
