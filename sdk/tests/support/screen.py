"""What a terminal shows of the bytes that a program writes: a small emulator.

It knows what the live view may use, and fails on everything else. Lines that wrapped are joined and
wrapped anew when the width changes, as most terminals do. Must never import the product.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from unicodedata import category, east_asian_width

ESCAPE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


@dataclass(slots=True)
class Cell:
    """One cell: its character, empty in the second half of a wide one, and its style."""

    text: str = " "
    style: str = ""


@dataclass(slots=True)
class Row:
    """One row of cells."""

    cells: list[Cell] = field(default_factory=list)
    is_continued: bool = False
    """Whether the line goes on in the next row: it reached the right edge."""

    @property
    def text(self) -> str:
        return "".join(cell.text for cell in self.cells).rstrip()


class Screen:
    """Rows that scroll, a cursor, and the modes that were set."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.height = columns, rows
        self.wraps = True
        self.cursor_is_visible = True
        self.styles: set[str] = set()
        """Every style that was ever set."""
        self.overflows = 0
        """Characters that did not fit into a row that does not wrap."""
        self._style = ""
        self._rows = [Row()]
        self._row = self._column = 0

    @property
    def text(self) -> list[str]:
        """All rows, including those that have left the screen; a wrapped line is one."""
        lines, part = [], ""
        for row in self._rows:
            part += "".join(cell.text for cell in row.cells)
            if not row.is_continued:
                lines.append(part.rstrip())
                part = ""
        return lines

    @property
    def shown(self) -> list[Row]:
        """The rows on the screen."""
        return self._rows[self._top :]

    @property
    def _top(self) -> int:
        return max(0, len(self._rows) - self.height)

    def feed(self, text: str) -> None:
        """Takes the output of a program, whole escapes only."""
        place = 0
        while place < len(text):
            if text[place] == "\x1b":
                found = ESCAPE.match(text, place)
                assert found is not None, (
                    f"an escape of no known form: {text[place : place + 12]!r}"
                )
                self._obey(*found.groups())
                place = found.end()
            else:
                self._take(text[place])
                place += 1

    def resize(self, columns: int, rows: int) -> None:
        """Changes the size; the cursor stays at its character."""
        lines: list[list[Cell]] = [[]]
        at = (0, 0)
        for number, row in enumerate(self._rows):
            if number == self._row:
                at = (len(lines) - 1, len(lines[-1]) + self._column)
            lines[-1] += row.cells
            if not row.is_continued:
                lines.append([])
        lines.pop()
        self.columns, self.height = columns, rows
        self._rows = []
        for number, line in enumerate(lines):
            last = len(line)
            while last and line[last - 1].text == " ":
                last -= 1
            offset = at[1] if number == at[0] else 0
            pieces = max(1, -(-last // columns), offset // columns + 1)
            if number == at[0]:
                self._row, self._column = len(self._rows) + offset // columns, offset % columns
            for piece in range(pieces):
                cells = line[piece * columns : (piece + 1) * columns]
                self._rows.append(Row(cells, is_continued=piece < pieces - 1))

    def _take(self, character: str) -> None:
        match character:
            case "\r":
                self._column = 0
            case "\n":
                self._rows[self._row].is_continued = False
                self._row += 1
                if self._row == len(self._rows):
                    self._rows.append(Row())
            case _:
                assert character.isprintable(), f"a control character: {character!r}"
                self._put(character)

    def _put(self, character: str) -> None:
        cells = 2 if east_asian_width(character) in "WF" else 1
        if category(character) in {"Mn", "Me"}:
            return
        if self._column + cells > self.columns:
            if self.wraps:
                self._rows[self._row].is_continued = True
                self._row += 1
                self._column = 0
                if self._row == len(self._rows):
                    self._rows.append(Row())
            else:
                self.overflows += 1
                self._column = self.columns - cells
        row = self._rows[self._row].cells
        row += [Cell() for _ in range(self._column + cells - len(row))]
        row[self._column] = Cell(character, self._style)
        if cells == 2:
            row[self._column + 1] = Cell("", self._style)
        self._column += cells

    def _obey(self, private: str, numbers: str, final: str) -> None:
        match private, numbers, final:
            case "", _, "A":
                self._row = max(self._top, self._row - int(numbers or 1))
            case "", "" | "0", "K":
                self._erase_right()
            case "", "" | "0", "J":
                self._erase_right()
                del self._rows[self._row + 1 :]
            case "", _, "m":
                self._style = "" if numbers in {"", "0"} else numbers
                self.styles |= {self._style} - {""}
            case "?", "7", "h" | "l":
                self.wraps = final == "h"
            case "?", "25", "h" | "l":
                self.cursor_is_visible = final == "h"
            case _:
                raise AssertionError(
                    f"an escape that the live view has no use for: {numbers}{final}"
                )

    def _erase_right(self) -> None:
        row = self._rows[self._row]
        del row.cells[self._column :]
        row.is_continued = False
