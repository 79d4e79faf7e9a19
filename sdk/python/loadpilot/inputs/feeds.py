"""Feeds: data of which each arrival takes a row, ``users = feed("users.csv")``.

The engine chooses the row of an arrival; this module reads the rows. ``feed()`` only records its
arguments: the compiler and the agent read the rows. Each arrival gets a copy of a dict row, so that
a change does not reach other arrivals.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import os
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FEED_BYTES_MAX = 64 * 1024 * 1024
"""Maximum size of a file of rows, in bytes: agents hold all of it in memory."""
SUFFIXES = (".csv", ".json", ".ndjson", ".jsonl")
ORDERS = ("file", "shuffled")
Source: TypeAlias = Union[str, os.PathLike[str], "Sequence[Any]"]
Rows: TypeAlias = list[Any]


class FeedError(Exception):
    """The rows of a feed cannot be read, or a row is taken where no arrival has one."""


class Feed:
    """Rows, of which each arrival takes one."""

    def __init__(
        self,
        source: object,
        folder: Path,
        place: str,
        *,
        cycle: object = False,
        unique: object = False,
        order: object = "file",
    ) -> None:
        """Take the arguments of ``feed()``, the folder of relative paths, and the line."""
        self.source = source
        self.folder = folder
        self.place = place
        self.cycle = cycle
        self.unique = unique
        self.order = order
        self.row_index: Callable[[], int] | None = None
        """Returns the row index of the current arrival or user; None outside a run."""

    def __repr__(self) -> str:
        shown = self.source if isinstance(self.source, str | os.PathLike) else "…"
        return f"feed({shown!r})"

    def __iter__(self) -> Feed:
        return self

    def __next__(self) -> Any:
        """Return the row of this arrival, or of this user in hooks; always the same row.

        Raises FeedError outside tasks and hooks, when the compiler did not see the use, or when all
        rows are used and they are unique.
        """
        if self.row_index is None:
            raise FeedError(f"{self!r}: {OUTSIDE_A_PART}")
        try:
            number = self.row_index()
        except IndexError:
            raise FeedError(ALL_USED) from None
        except LookupError:
            raise FeedError(f"{self!r}: {USE_NOT_SEEN}") from None
        row = self.rows[number]
        return dict(row) if isinstance(row, dict) else row

    @property
    def path(self) -> Path | None:
        """The file that holds the rows; None when they are written in code."""
        if isinstance(self.source, str | os.PathLike):
            return self.folder / self.source
        return None

    @cached_property
    def rows(self) -> Rows:
        """The rows, at least one; raises FeedError."""
        if self.order not in ORDERS:
            raise FeedError(f'{self!r}: order must be "file" or "shuffled" (got {self.order!r})')
        for name, value in (("cycle", self.cycle), ("unique", self.unique)):
            if not isinstance(value, bool):
                raise FeedError(f"{self!r}: {name} must be True or False (got {value!r})")
        if self.cycle and self.unique:
            raise FeedError(f"{self!r}: give cycle or unique, not both")
        path = self.path
        if path is not None:
            rows = self._read(path)
        elif isinstance(self.source, list | tuple):
            rows = list(self.source)
        else:
            kind = type(self.source).__name__
            raise FeedError(f"{self!r}: takes a file or a list of rows, not {kind}")
        if not rows:
            raise FeedError(f"{self!r}: has no rows")
        return rows

    def _read(self, path: Path) -> Rows:
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            must = f"the name must end in {', '.join(SUFFIXES)}, which says how to read it"
            raise FeedError(f"{self!r}: {must}")
        try:
            with path.open("rb") as file:
                content = file.read(FEED_BYTES_MAX + 1)
        except FileNotFoundError:
            raise FeedError(f"{self!r}: there is no file {path}") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise FeedError(f"{self!r}: {path} cannot be read: {why}") from None
        if len(content) > FEED_BYTES_MAX:
            limit = f"{FEED_BYTES_MAX // 1024 // 1024} MiB"
            raise FeedError(f"{self!r}: {path} is larger than {limit}")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise FeedError(
                f"{self!r}: line {line}: is not UTF-8; save the file as UTF-8"
            ) from None
        if not text.strip():
            raise FeedError(f"{self!r}: {path} is empty")
        try:
            return READERS[suffix](text)
        except ValueError as error:
            raise FeedError(f"{self!r}: {error}") from None


ALL_USED = "all rows of the feed are used, and they are unique"
OUTSIDE_A_PART = (
    "a row is taken inside a task, on_start or on_stop, by next(self.NAME) of a feed that is an "
    "attribute of the scenario's class and is named in its tasks"
)
USE_NOT_SEEN = (
    "this task takes a row, which could not be seen in its source before the run; write "
    "next(self.NAME) in the task itself, or in a method that it calls"
)


def _csv(text: str) -> Rows:
    """Read CSV (RFC 4180) whose first line names the columns."""
    import csv
    import io

    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    names: list[str] = []
    rows: Rows = []
    try:
        for fields in reader:
            if not fields:
                continue
            if not names:
                names = _column_names(fields)
                continue
            if len(fields) != len(names):
                raise ValueError(
                    f"line {reader.line_num}: has {len(fields)} fields, but the header has "
                    f"{len(names)}"
                )
            rows.append(dict(zip(names, fields, strict=True)))
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None
    return rows


def _column_names(fields: list[str]) -> list[str]:
    names = [field.strip() for field in fields]
    if not all(names):
        raise ValueError("line 1: the header must name every column (one has no name)")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"line 1: the header names {twice[0]!r} twice")
    return names


def _json(text: str) -> Rows:
    import json

    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: is not JSON: {error.msg}") from None
    if not isinstance(rows, list):
        kind = type(rows).__name__
        raise ValueError(f"must be a list of rows, not {kind}")  # noqa: TRY004  (a refusal)
    return rows


def _ndjson(text: str) -> Rows:
    """Read a JSON value from each line that is not blank."""
    import json

    rows: Rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise ValueError(f"line {number}: is not JSON: {error.msg}") from None
    return rows


READERS: dict[str, Callable[[str], Rows]] = {
    ".csv": _csv,
    ".json": _json,
    ".ndjson": _ndjson,
    ".jsonl": _ndjson,
}
"""The reader of a file, by its suffix."""


def feed(
    source: Source,
    *,
    cycle: bool = False,
    unique: bool = False,
    order: Literal["file", "shuffled"] = "file",
) -> Feed:
    """Define a feed, as an attribute of a scenario; each arrival takes one of its rows.

    ``users = feed("users.csv")``, and in a task ``row = next(self.users)``

    ``source``
        A list of rows, or a file beside the scenario: CSV in UTF-8 whose first line names the
        columns, a JSON list, or one JSON value per line (``.ndjson``, ``.jsonl``). A row of CSV is
        a dict of text to text.
    ``cycle``
        Whether rows are meant to be reused after the last one. They are reused in any case, but
        without ``cycle=True`` the certificate is then DEGRADED.
    ``unique``
        Whether no row may be taken twice, by all agents together and also when agents are lost. A
        run that takes more rows than there are does not start. When its rate is raised later, an
        arrival for which no row is left raises FeedError. Not for a closed loop.
    ``order``
        ``file``, or ``shuffled``: a permutation by the seed, a new one for each pass.
    """
    caller = sys._getframe(1)  # noqa: SLF001  (CPython's documented door)
    written_in = Path(caller.f_code.co_filename)
    place = f"{written_in}:{caller.f_lineno}"
    folder = written_in.parent.resolve()
    return Feed(source, folder, place, cycle=cycle, unique=unique, order=order)
