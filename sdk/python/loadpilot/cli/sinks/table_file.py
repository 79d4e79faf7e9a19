"""Rows of a run in a file or on standard output, each once all arrivals of its tick have ended.

At the end a file holds the rows of ``loadpilot dump``. A file that exists stays until then and is
replaced as a whole; a new one grows under its own name. A device, a pipe and standard output cannot
be corrected: rows that changed after they were written are counted as missed.
"""

from __future__ import annotations

import io
import os
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from ...control.figures import plural
from ...library.tables.series_table import series_lines
from ..output import results
from .outs import FLAG, FORMATS
from .worker import Worker

if TYPE_CHECKING:
    from pathlib import Path

    from .live_run import LiveRun
    from .outs import Out

CHANGED = "rows changed after they were written"
UNREAD = "the end of the run could not be read"
SLOW = "it took too long to write"


class Rows:
    """A file that rows are appended to. Used by one thread."""

    def __init__(self, path: Path | None, stdout: TextIO) -> None:
        """Open nothing yet."""
        self._path = path
        self.is_correctable = False
        if path is not None and (file := results.file_behind(path)) is not None:
            self._path = file
            self.is_correctable = True
        self._stdout = stdout
        self._file: io.RawIOBase | None = None
        self._draft: Path | None = None
        """Where the rows are until the end, next to a file that exists."""
        self._bytes = 0
        self._written: dict[int, int] = {}
        """Hash of each row that was written, by its number."""
        self.why: str | None = None
        """The error, if any."""
        self.missed = 0

    def append(self, head: str, first: int, lines: list[str]) -> None:
        """Write rows, the first of which has this number; the head comes before all."""
        if self.why is not None:
            return
        try:
            if self._file is None:
                self._file = self._open()
                self._write(head)
            self._write("".join(lines))
        except OSError as error:
            self.why = error.strerror or str(error)
            self._end(self._bytes)
            return
        self._written |= {first + n: hash(line) for n, line in enumerate(lines)}

    def finish(self, head: str, lines: list[str]) -> None:
        """Make the file hold exactly these rows, or count those that it misses."""
        last = max(self._written, default=-1)
        is_prefix = self._right(lines) == len(self._written) == last + 1
        if is_prefix or not self.is_correctable:
            self.append(head, last + 1, lines[last + 1 :])
        if self.is_correctable and (self.why is not None or not is_prefix):
            self._rewrite(head, lines)
        elif self._draft is not None and self._path is not None:
            self._replace(self._draft, self._path)
        self.missed = len(lines) - self._right(lines)
        if self.missed and self.why is None:
            self.why = CHANGED if len(self._written) == len(lines) else SLOW
        self._end()

    def _right(self, lines: list[str]) -> int:
        """Count the rows that the file has."""
        return sum(self._written.get(n) == hash(line) for n, line in enumerate(lines))

    def abandon(self, why: str) -> None:
        """Leave the file as it is; one that existed before the run stays."""
        self.why = self.why or why
        self._end()

    def _open(self) -> io.RawIOBase:
        path = self._path
        if path is None:
            return io.FileIO(os.dup(self._stdout.fileno()), "wb")
        if not self.is_correctable:
            return io.FileIO(path, "wb")
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            self._draft = results.draft_of(path)
            return io.FileIO(self._draft, "wb")
        return io.FileIO(path, "xb")

    def _write(self, text: str) -> None:
        content = left = _encoded(text)
        while left and self._file is not None:
            left = left[self._file.write(left) or 0 :]
        self._bytes += len(content)

    def _rewrite(self, head: str, lines: list[str]) -> None:
        assert self._path is not None  # noqa: S101  (standard output cannot be corrected)
        had_draft = self._draft is not None
        try:
            with results.draft(self._path) as draft:
                draft.write_bytes(_encoded("".join([head, *lines])))
        except OSError as error:
            self.why = error.strerror or str(error)
            self._written = {} if had_draft else self._written
            return
        self.why, self._draft = None, None
        self._written = {n: hash(line) for n, line in enumerate(lines)}

    def _replace(self, draft: Path, path: Path) -> None:
        try:
            draft.replace(path)
            self._draft = None
        except OSError as error:
            self.why, self._written = error.strerror or str(error), {}

    def _end(self, bytes_kept: int | None = None) -> None:
        """Close the file; a row that was written in part is cut off."""
        if self._file is not None:
            with suppress(OSError):
                if bytes_kept is not None and self.is_correctable:
                    self._file.truncate(bytes_kept)
            with suppress(OSError):
                self._file.close()
        if self._draft is not None:
            with suppress(OSError):
                self._draft.unlink(missing_ok=True)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


class TableFile:
    """The sink of ``json`` and ``csv``."""

    flag = FLAG

    def __init__(self, out: Out, stdout: TextIO) -> None:
        """Start its thread."""
        self.label = out.label
        self._format = FORMATS[out.kind]
        self._rows = Rows(out.path, stdout)
        self._worker = Worker(f"out {out.kind}")
        self._offered = 0
        """Number of ticks whose rows were handed to the thread."""
        self._total = 0
        self._is_done = False

    def take(self, live_run: LiveRun) -> None:
        """Write the rows of ticks that are complete since the last call."""
        ticks = live_run.settled_us // live_run.tick_us if live_run.has_started else 0
        if ticks <= self._offered:
            return
        first, tick_us = self._offered, live_run.tick_us
        head, lines = self._lines(live_run, first * tick_us, ticks * tick_us)
        self._worker.offer(lambda: self._rows.append(head, first, lines))
        self._offered = ticks

    def finish(self, live_run: LiveRun | None) -> None:
        """Write the rest, or leave it where the end of the log cannot be read."""
        if live_run is None:
            self._worker.end(lambda: self._rows.abandon(UNREAD))
            return
        head, lines = self._lines(live_run, 0, None)
        self._total = len(lines)
        self._worker.end(lambda: self._rows.finish(head, lines))

    def wait(self, deadline: float) -> None:
        """Wait until all is written."""
        self._is_done = self._worker.wait(deadline)

    def trouble(self) -> str | None:
        """Return what was wrong and how much is missing; None when all is written."""
        why, missed = self._rows.why, self._rows.missed
        if not self._is_done:
            why, missed = why or SLOW, self._total
        if why is None:
            return None
        if not self._total:
            return f"{why}; it may lack rows"
        return f"{why}; it misses {missed:,} of {plural(self._total, 'row')}"

    def summary(self) -> str:
        """Return how much was written."""
        return plural(self._total, "row")

    def _lines(self, live_run: LiveRun, from_us: int, to_us: int | None) -> tuple[str, list[str]]:
        """Write the rows of a part of the run, and the text before all rows."""
        lines = list(series_lines(live_run.columns(from_us, to_us), self._format))
        return (lines[0], lines[1:]) if self._format == "csv" else ("", lines)
