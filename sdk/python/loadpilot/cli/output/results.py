"""The files that a run writes on request: report as JSON and HTML, JUnit, Markdown, calls."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO, TextIO

from ... import _native
from ...control.figures import count
from ...control.terminal import note, safe_lines, say
from ...problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...control.protocols import Session
    from ..flags.run_flags import CallForm
    from .run_end import RunEnd

LABELS = {
    "--report": "report",
    "--results-json": "results",
    "--junit": "JUnit",
    "--markdown": "Markdown",
}
"""Labels of the lines about written files."""
READER_SECS = 10.0
"""Timeout of a pipe for the process that reads it, in seconds."""


def problems(path: Path, flag: str) -> list[Problem]:
    """Check before the run that the file can be written."""
    if path.is_dir():
        return [Problem(flag, f"must be a file, and {path} is a directory")]
    file = file_behind(path)
    if file is None:
        is_open = os.access(path, os.W_OK)
        return [] if is_open else [Problem(flag, f"{path} cannot be written to")]
    folder = file.parent
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

    page: Path | None = None
    report: Path | None = None
    junit: Path | None = None
    markdown: Path | None = None

    def publish(self, end: RunEnd, reported: Reported | None) -> RunEnd:
        """Write the files, and tell GitHub where this command is a step of a workflow."""
        from .github import announce

        end = self.write(end, reported)
        announce(end, os.environ)
        return end

    def write(self, end: RunEnd, reported: Reported | None) -> RunEnd:
        """Write each file whole or not at all; returns the end with the files that are missing.

        JUnit comes last: it names the others that are missing. Without a report those of an
        earlier run are deleted, so that none is taken for that of this run.
        """
        if reported is None:
            for path, flag in ((self.report, "--results-json"), (self.page, "--report")):
                end = _deleted(path, flag, end)
        if reported is not None and self.report is not None:
            end = _written(self.report, "--results-json", lambda: reported.json + "\n", end)
        if reported is not None and self.page is not None:
            end = _written(self.page, "--report", reported.page, end)
        if self.markdown is not None:
            from .markdown import markdown

            end = _written(self.markdown, "--markdown", lambda: markdown(end), end)
        if self.junit is not None:
            from .junit import junit

            end = _written(self.junit, "--junit", lambda: junit(end), end)
        return end


@dataclass(frozen=True, slots=True)
class Reported:
    """The report of a run and the session that has its log, which a page is made of."""

    json: str
    session: Session
    run: str

    def page(self) -> str:
        """Make the page of the report; raises Fault."""
        from time import time_ns

        from ...control.report_page import report_page
        from .summary import summary

        text = summary(json.loads(self.json))
        return report_page(self.json, self.session.read(self.run), text, time_ns() // 1000)


def _written(path: Path, flag: str, make: Callable[[], str], end: RunEnd) -> RunEnd:
    """Write one file; returns the end, with the file if that failed."""
    try:
        text = make()
        with draft(path) as file:
            file.write_text(text, encoding="utf-8")
    except (OSError, _native.Fault, _native.Refused) as error:
        why = error.strerror if isinstance(error, OSError) else safe_lines(str(error))
        say(f"error: {flag}: {path} could not be written: {why}")
        return end.lacking(flag)
    note(f"{LABELS[flag]} {path}")
    return end


def _deleted(path: Path | None, flag: str, end: RunEnd) -> RunEnd:
    """Delete a file that this run has not; returns the end, with the file if that failed."""
    file = None if path is None else file_behind(path)
    if file is None or not file.exists():
        return end
    try:
        file.unlink()
    except OSError as error:
        say(f"error: {flag}: {path} of an earlier run could not be deleted: {error.strerror}")
        return end.lacking(flag)
    note(f"deleted {path} of an earlier run: this one has no report")
    return end


def write_samples(path: Path, session: Session, run: str) -> str:
    """Write all calls of a run or nothing; returns a line about the file.

    Raises OSError, Refused when the log of the run has no calls, Fault.
    """
    with draft(path) as file:
        counts = json.loads(session.samples(run, file))
    return f"samples {path}: {count(counts['rows'])} calls{_left_out(counts)}"


def write_calls(stream: TextIO, session: Session, run: str, form: CallForm) -> str:
    """Write all calls of a run to a stream; returns a line about them.

    Raises OSError, Refused when the log of the run has no calls, Fault.
    """
    samples = session.read_samples(run, "{}", form)
    for piece in iter(samples.text, None):
        shown = safe_lines(piece) if stream.isatty() else piece
        stream.buffer.write(shown.encode("utf-8", "backslashreplace"))
    stream.buffer.flush()
    counts = json.loads(samples.read())
    return f"calls on standard output: {count(counts['rows'])}{_left_out(counts)}"


def _left_out(counts: dict[str, int]) -> str:
    """Name the calls that are not among the rows, for the end of a line."""
    text = ""
    if counts["dropped"]:
        text += f"; {count(counts['dropped'])} more found no room in the log"
    if counts["unreadable"]:
        text += f"; those of {count(counts['unreadable'])} deltas cannot be read"
    return text


@contextmanager
def draft(path: Path) -> Iterator[Path]:
    """Open a file that replaces ``path`` at the end of the block, unless it raises.

    A link stays a link. A device or a pipe stays, too, and gets the content.
    """
    replaced = file_behind(path)
    if replaced is None:
        with TemporaryDirectory() as folder:
            yield (file := Path(folder, "draft"))
            with file.open("rb") as content, _device(path) as device:
                shutil.copyfileobj(content, device)
        return
    replaced.parent.mkdir(parents=True, exist_ok=True)
    file = draft_of(replaced)
    try:
        yield file
        file.replace(replaced)
    finally:
        file.unlink(missing_ok=True)


def _device(path: Path) -> BinaryIO:
    """Open a device or a pipe. Raises OSError for a pipe that gets no reader in time."""
    ends = time.monotonic() + READER_SECS
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() >= ends:
                what = f"no process read the pipe within {READER_SECS:g} s"
                raise OSError(errno.ENXIO, what) from None
            time.sleep(0.05)
        else:
            os.set_blocking(handle, True)
            return os.fdopen(handle, "wb")


def file_behind(path: Path) -> Path | None:
    """Follow links to the file that is written; None for a device or a pipe."""
    if path.exists() and not path.is_file():
        return None
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def draft_of(path: Path) -> Path:
    """Name the file next to ``path`` in which this process writes it."""
    return path.with_name(f".{path.name}.{os.getpid()}")
