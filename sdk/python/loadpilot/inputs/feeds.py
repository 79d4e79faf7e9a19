"""Feeds: data of which each arrival takes a row, ``users = feed("users.csv")``.

The engine chooses the row of an arrival; this module reads the rows. ``feed()`` only records its
arguments: the compiler and the agent read the rows. Each arrival gets a copy of the dicts and lists
of its row, so that a change does not reach other arrivals.

Rows of CSV and of JSON lines are checked and read by the native module. Those of a large file stay
there: each is read when an arrival takes it.
"""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union, overload

from .. import _native

if TYPE_CHECKING:
    from collections.abc import Callable

FEED_BYTES_MAX = 64 * 1024 * 1024
"""Maximum size of rows that agents hold in memory, in bytes: those of a JSON list."""
HELD_BYTES_MAX = 256 * 1024
"""Maximum size of a file of CSV or JSON lines whose rows are held in memory, in bytes."""
STORED_BYTES_MAX = 64 * 1024 * 1024
"""Maximum size of a file of rows that the object store brings to the agents, in bytes."""
FORMS: dict[str, Literal["csv", "json_lines"]] = {
    ".csv": "csv",
    ".ndjson": "json_lines",
    ".jsonl": "json_lines",
}
"""Form of a file that can be read a row at a time, by its suffix."""
SUFFIXES = (".csv", ".json", ".ndjson", ".jsonl")
ORDERS = ("file", "shuffled")
WHEN_USED_UP = ("cycle", "error", "stop")
"""Choices for an arrival that needs a row after the last."""
Source: TypeAlias = Union[str, os.PathLike[str], "Sequence[Any]"]


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
        when_used_up: object = None,
    ) -> None:
        """Take the arguments of ``feed()``, the folder of relative paths, and the line."""
        self.source = source
        self.folder = folder
        self.place = place
        self.cycle = cycle
        self.unique = unique
        self.order = order
        self.when_used_up = when_used_up
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
        return row if isinstance(self.rows, FileRows) else _copied(row)

    @property
    def cycles(self) -> bool:
        """Whether rows are meant to be reused."""
        return self.cycle is True or self.when_used_up == "cycle"

    @property
    def stops(self) -> bool:
        """Whether the run ends where a row after the last would be taken."""
        return self.when_used_up == "stop"

    @property
    def is_unique(self) -> bool:
        """Whether no row may be taken twice."""
        return self.unique is True or self.when_used_up in ("error", "stop")

    @property
    def path(self) -> Path | None:
        """The file that holds the rows; None when they are written in code."""
        if isinstance(self.source, str | os.PathLike):
            return self.folder / self.source
        return None

    @cached_property
    def rows(self) -> Sequence[Any]:
        """The rows, at least one: a list, or FileRows for a large file; raises FeedError."""
        self._check()
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

    def _check(self) -> None:
        """Check the other arguments; raises FeedError."""
        if self.order not in ORDERS:
            raise FeedError(f'{self!r}: order must be "file" or "shuffled" (got {self.order!r})')
        for name, value in (("cycle", self.cycle), ("unique", self.unique)):
            if not isinstance(value, bool):
                raise FeedError(f"{self!r}: {name} must be True or False (got {value!r})")
        if self.cycle and self.unique:
            raise FeedError(f"{self!r}: give cycle or unique, not both")
        if self.when_used_up not in (None, *WHEN_USED_UP):
            rule = 'must be "cycle", "error" or "stop"'
            raise FeedError(f"{self!r}: when_used_up {rule} (got {self.when_used_up!r})")
        for name in ("cycle", "unique"):
            if getattr(self, name) and self.when_used_up is not None:
                what = f"when_used_up={self.when_used_up!r} says it already"
                raise FeedError(f"{self!r}: give {name} or when_used_up, not both; {what}")

    def _read(self, path: Path) -> Sequence[Any]:
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            must = f"the name must end in {', '.join(SUFFIXES)}, which says how to read it"
            raise FeedError(f"{self!r}: {must}")
        try:
            if suffix not in FORMS:
                return _json(path)
            rows = FileRows(_native.RowFile(path, FORMS[suffix]))
            return rows if rows.file.bytes > HELD_BYTES_MAX else list(rows)
        except FileNotFoundError:
            raise FeedError(f"{self!r}: there is no file {path}") from None
        except OSError as error:
            why = getattr(error, "strerror", None) or error
            raise FeedError(f"{self!r}: {path} cannot be read: {why}") from None
        except ValueError as error:
            raise FeedError(f"{self!r}: {error}") from None
        except RecursionError:
            raise FeedError(f"{self!r}: {path} has a row that is nested too deep") from None


def file_rows(feed: Feed) -> FileRows | None:
    """Return the rows of a feed that stay in their file; raises FeedError."""
    return feed.rows if isinstance(feed.rows, FileRows) else None


class FileRows(Sequence[Any]):
    """The rows of a file, each read when it is taken."""

    def __init__(self, file: _native.RowFile) -> None:
        """Take a checked file."""
        self.file = file

    def __len__(self) -> int:
        return len(self.file)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        """Read a row; raises FeedError when the file was changed since it was checked."""
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        number = place + len(self) if place < 0 else place
        if not 0 <= number < len(self):
            raise IndexError(place)
        try:
            row = self.file.row(number)
        except OSError as error:
            raise FeedError(str(error)) from None
        if isinstance(row, str):
            import json

            return json.loads(row)
        return row


ALL_USED = "all rows of the feed are used, and they are unique"
OUTSIDE_A_PART = (
    "a row is taken inside a task, on_start or on_stop, by next(self.NAME) of a feed that is an "
    "attribute of the scenario's class and is named in its tasks"
)
USE_NOT_SEEN = (
    "this task takes a row, which could not be seen in its source before the run; write "
    "next(self.NAME) in the task itself, or in a method that it calls"
)


class AbsentRows(Sequence[Any]):
    """The rows of a file that is not here."""

    def __init__(self, rows: int) -> None:
        """Take their number."""
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        """Raise FeedError."""
        raise FeedError("the file of rows is not kept for a teardown by another command")


def _copied(row: Any) -> Any:
    """Copy the dicts and lists of a row, which may be nested."""
    if type(row) is dict:
        return {key: _copied(value) for key, value in row.items()}
    return [_copied(value) for value in row] if type(row) is list else row


def _json(path: Path) -> list[Any]:
    """Read a JSON list; raises OSError, and ValueError that names line and column."""
    import json
    from codecs import BOM_UTF8

    with path.open("rb") as file:
        content = file.read(FEED_BYTES_MAX + 1)
    if len(content) > FEED_BYTES_MAX:
        limit = f"{FEED_BYTES_MAX // 1024 // 1024} MiB"
        advice = "write a JSON value on each line of a .jsonl file, which agents read row by row"
        raise ValueError(f"{path} is larger than {limit}; {advice}")
    content = content.removeprefix(BOM_UTF8)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        before = content[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        at = f"line {line}, column {column}"
        raise ValueError(f"{at}: is not UTF-8; save the file as UTF-8") from None
    if not text.strip():
        raise ValueError(f"{path} is empty")
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"{at}: is not JSON: {error.msg}") from None
    if not isinstance(rows, list):
        kind = type(rows).__name__
        raise ValueError(f"must be a list of rows, not {kind}")  # noqa: TRY004  (a refusal)
    return rows


def feed(
    source: Source,
    *,
    cycle: bool = False,
    unique: bool = False,
    order: Literal["file", "shuffled"] = "file",
    when_used_up: Literal["cycle", "error", "stop"] | None = None,
) -> Feed:
    """Define a feed, as an attribute of a scenario; each arrival takes one of its rows.

    ``users = feed("users.csv")``, and in a task ``row = next(self.users)``

    ``source``
        A list of rows, or a file beside the scenario: CSV in UTF-8 whose first line names the
        columns, a JSON list, or one JSON value per line (``.ndjson``, ``.jsonl``). A row of CSV is
        a dict of text to text. A file of CSV or JSON lines may have any number of rows: agents read
        those that their arrivals take. Agents of a fleet need ``--feeds`` for one above 64 MiB.
    ``when_used_up``
        What happens when an arrival needs a row after the last. ``cycle``: the first row is next.
        ``error``: no row is taken twice, by all agents together and also when agents are lost; a
        run that takes more rows than there are does not start, and when its rate is raised later,
        an arrival for which no row is left raises FeedError. ``stop``: no row is taken twice, and
        the run ends where an arrival would have no row. Neither ``error`` nor ``stop`` in a closed
        loop. Without it rows are reused, and the certificate is then DEGRADED.
    ``cycle``
        ``cycle=True`` is ``when_used_up="cycle"``.
    ``unique``
        ``unique=True`` is ``when_used_up="error"``.
    ``order``
        ``file``, or ``shuffled``: a permutation by the seed, a new one for each pass.
    """
    caller = sys._getframe(1)  # noqa: SLF001  (CPython's documented door)
    written_in = Path(caller.f_code.co_filename)
    place = f"{written_in}:{caller.f_lineno}"
    folder = written_in.parent.resolve()
    return Feed(
        source,
        folder,
        place,
        cycle=cycle,
        unique=unique,
        order=order,
        when_used_up=when_used_up,
    )
