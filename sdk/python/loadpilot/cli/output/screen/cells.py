"""Text in the cells of a terminal: wide characters take two, combining ones none.

Pure functions. Text of users and targets must be escaped before it comes here.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import category, east_asian_width

from ....control.terminal import BOLD, DIM, GREEN, OFF, RED, YELLOW

if TYPE_CHECKING:
    from collections.abc import Iterable

MORE = "…"
"""The last cell of a text that was cut."""
SEPARATOR = " · "


class Tone(Enum):
    """The meaning of a text, shown as a colour."""

    PLAIN = ""
    STRONG = BOLD
    """A title."""
    QUIET = DIM
    """A label: it stays the same while figures change."""
    GOOD = GREEN
    """As it should be."""
    WARN = YELLOW
    """Unusual, and no failure of the target."""
    BAD = RED
    """Failed."""


Span = tuple[str, Tone]
Line = list[Span]


def plain(*texts: str) -> Line:
    """Make a line without tones."""
    return [("".join(texts), Tone.PLAIN)]


def text_of(line: Line) -> str:
    """Return the text of a line."""
    return "".join(text for text, _ in line)


def width(text: str) -> int:
    """Count the cells of a text."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def width_of(line: Line) -> int:
    """Count the cells of a line."""
    return sum(width(text) for text, _ in line)


def cut(text: str, cells: int) -> str:
    """Cut a text to at most so many cells, and mark that it was cut."""
    if width(text) <= cells:
        return text
    return _prefix(text, cells - width(MORE)) + MORE if cells > 0 else ""


def left(text: str, cells: int) -> str:
    """Cut or fill a text to exactly so many cells, from the left."""
    text = cut(text, cells)
    return text + " " * (cells - width(text))


def cut_line(line: Line, cells: int) -> Line:
    """Cut a line to at most so many cells, and mark that it was cut."""
    if width_of(line) <= cells:
        return line
    shown: Line = []
    room = cells - width(MORE)
    for text, tone in line:
        prefix = _prefix(text, room)
        shown.append((prefix, tone))
        room -= width(prefix)
        if prefix != text:
            break
    return [*shown, (MORE, Tone.PLAIN)]


def painted(line: Line, *, colour: bool) -> str:
    """Write a line with the escapes of its tones, or without any."""
    return "".join(_painted(span) for span in line) if colour else text_of(line)


def flow(label: Span, items: Iterable[Span], indent: int, cells: int) -> list[Line]:
    """Write items behind a label, on as many lines as they need."""
    text, tone = label
    lines: list[Line] = []
    for item in items:
        fits = lines and width_of(lines[-1]) + len(SEPARATOR) + width(item[0]) <= cells
        if fits:
            lines[-1] += [(SEPARATOR, Tone.QUIET), item]
        else:
            lines.append([(left("" if lines else text, indent), tone), item])
    return lines


def _prefix(text: str, cells: int) -> str:
    """Return the longest beginning of a text that takes at most so many cells."""
    for place, character in enumerate(text):
        cells -= _cells(character)
        if cells < 0:
            return text[:place]
    return text


@lru_cache(maxsize=1_024)
def _cells(character: str) -> int:
    if category(character) in {"Mn", "Me"}:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def _painted(span: Span) -> str:
    text, tone = span
    return f"{tone.value}{text}{OFF}" if tone.value else text
