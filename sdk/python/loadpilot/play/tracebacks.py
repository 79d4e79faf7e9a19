"""Errors of a scenario in words: their kind, their message, and the user's own line.

Must never show a frame that is not the user's, nor a path of the agent's machine.
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
"""Lines of a traceback that are told: the innermost."""

_roots: list[str] = []
"""Folders whose files are a user's."""


def add_root(root: Path) -> None:
    """Take the files below ``root`` for a user's."""
    _roots.append(f"{root}/")


def remove_root(root: Path) -> None:
    """Take them for that no longer."""
    if f"{root}/" in _roots:
        _roots.remove(f"{root}/")


def told(error: BaseException) -> str:
    """Tell an error in one line: ``AssertionError: no cart (shop.py:23)``.

    An error without a message of its own, a bare ``assert`` for instance, shows its line. This may
    be called for every arrival of a run that fails, so it looks no further than it must.
    """
    places = _own(error)
    what = str(error)
    if not what and places:
        what = places[-1].line
    kind = type(error).__name__
    where = f" ({places[-1]})" if places else ""
    return f"{kind}: {what}{where}" if what else f"{kind}{where}"


def told_at_length(error: BaseException) -> str:
    """Tell an error with each of the user's own lines that led to it."""
    return "\n".join([told(error), *(f"    {place}: {place.line}" for place in _own(error))])


def trace(error: BaseException) -> str:
    """List the user's own lines that led to an error, the outermost first.

    ``shop.py:40 in buy``, each on a line of its own. What stands in them is left out: it may hold
    a secret.
    """
    return "\n".join(f"{place} in {place.function}" for place in _own(error)[-TRACE_LINES_MAX:])


@dataclass(frozen=True, slots=True)
class _Place:
    """A line of the user's."""

    path: str
    shown: str
    number: int
    function: str = ""

    @property
    def line(self) -> str:
        """What stands there."""
        return linecache.getline(self.path, self.number).strip()

    def __str__(self) -> str:
        return f"{self.shown}:{self.number}"


def places_below(frame: FrameType | None) -> list[_Place]:
    """List the user's own lines that lead to a frame, the innermost first."""
    places = []
    while frame is not None:
        place = _place(frame.f_code.co_filename, frame.f_lineno)
        places += [place] if place else []
        frame = frame.f_back
    return places


def _place(path: str, number: int, function: str = "") -> _Place | None:
    path = _whole(path)
    root = next((root for root in _roots if path.startswith(root)), None)
    return None if root is None else _Place(path, path.removeprefix(root), number, function)


def _own(error: BaseException) -> list[_Place]:
    """List the user's own lines that led to an error. What is installed is not the user's, even
    when it lies below the scenario.
    """  # noqa: D205
    places = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        place = _place(code.co_filename, trace.tb_lineno, code.co_name)
        if place is not None:
            places.append(place)
        trace = trace.tb_next
    return places


def _whole(path: str) -> str:
    """Write the path of a file in full; nothing for what is no file of a user's."""
    if path.startswith((PACKAGE, "<")) or any(f"/{one}/" in path for one in INSTALLED):
        return ""
    return os.path.abspath(path)  # noqa: PTH100  (a string, and for each error of a run)
