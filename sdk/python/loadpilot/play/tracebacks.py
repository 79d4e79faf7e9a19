"""Errors of a scenario as text: kind, message, and the lines of the user's own code.

Frames outside of the user's files, and paths of the agent's machine, are left out.
"""

from __future__ import annotations

import linecache
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..scenario_file.bundle import INSTALLED
from ..scenario_file.load import PACKAGE

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

TRACE_LINES_MAX = 12
"""Maximum number of lines of a traceback; the innermost are kept."""

_roots: list[str] = []
"""Folders of the user's files."""


def add_root(root: Path) -> None:
    """Treat the files below ``root`` as the user's."""
    _roots.append(f"{root}/")


def remove_root(root: Path) -> None:
    """Undo :func:`add_root`."""
    if f"{root}/" in _roots:
        _roots.remove(f"{root}/")


def describe(error: BaseException) -> str:
    """Describe an error in one line: ``AssertionError: no cart (shop.py:23)``.

    An error without a message, such as a bare ``assert``, shows its source line. Fast, because a
    run may call it for every arrival.
    """
    places = _user_places(error)
    what = str(error)
    if not what and places:
        what = places[-1].line
    kind = type(error).__name__
    where = f" ({places[-1]})" if places else ""
    return f"{kind}: {what}{where}" if what else f"{kind}{where}"


def describe_with_lines(error: BaseException) -> str:
    """Describe an error with all of the user's lines that led to it."""
    lines = (f"    {place}: {place.line}" for place in _user_places(error))
    return "\n".join([describe(error), *lines])


def trace(error: BaseException) -> str:
    """Return the places of the user's code that led to an error, the outermost first.

    ``shop.py:40 in buy``, one per line. The source lines are left out: they may hold a secret.
    """
    places = _user_places(error)[-TRACE_LINES_MAX:]
    return "\n".join(f"{place} in {place.function}" for place in places)


@dataclass(frozen=True, slots=True)
class _Place:
    """A line of the user's code."""

    path: str
    shown: str
    number: int
    function: str = ""

    @property
    def line(self) -> str:
        """The text of the line."""
        return linecache.getline(self.path, self.number).strip()

    def __str__(self) -> str:
        return f"{self.shown}:{self.number}"


def places_below(frame: FrameType | None) -> list[_Place]:
    """Return the places of the user's code that lead to a frame, the innermost first."""
    places = []
    while frame is not None:
        place = _place(frame.f_code.co_filename, frame.f_lineno)
        places += [place] if place else []
        frame = frame.f_back
    return places


def _place(path: str, number: int, function: str = "") -> _Place | None:
    path = _user_path(path)
    root = next((root for root in _roots if path.startswith(root)), None)
    return None if root is None else _Place(path, path.removeprefix(root), number, function)


def is_user_code(path: str) -> bool:
    """Whether a file is one of the user's."""
    return _place(path, 0) is not None


def _user_places(error: BaseException) -> list[_Place]:
    """Return the places of the user's code that led to an error, the outermost first."""
    places = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        place = _place(code.co_filename, trace.tb_lineno, code.co_name)
        if place is not None:
            places.append(place)
        trace = trace.tb_next
    return places


def _user_path(path: str) -> str:
    """Return an absolute path; empty for this package, no file, or an installed package.

    Installed packages are not the user's, even below the folder of the scenario.
    """
    if path.startswith((PACKAGE, "<")) or any(f"/{one}/" in path for one in INSTALLED):
        return ""
    return os.path.abspath(path)  # noqa: PTH100  (a string, and for each error of a run)
