"""What a terminal shows of a program that draws the whole screen: a small emulator.

It knows positions, text and erasing, and skips every other escape: colours, modes, questions to the
terminal. Must never import the product.
"""

from __future__ import annotations

import re

ESCAPE = re.compile(
    r"\x1b(?:\[(?P<numbers>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|[\]PX^_].*?(?:\x07|\x1b\\)"
    r"|[ -/]*[0-OQ-WYZ`-~])"
)
"""Controls with numbers, texts for the terminal, and the short ones."""


class CellScreen:
    """Rows of a fixed number of cells, and a cursor."""

    def __init__(self, columns: int, rows: int) -> None:
        self.resize(columns, rows)

    def resize(self, columns: int, rows: int) -> None:
        """Changes the size; the program draws again."""
        self.columns, self.height = columns, rows
        self._cells = [[" "] * columns for _ in range(rows)]
        self._row = self._column = 0

    @property
    def text(self) -> list[str]:
        """The rows on the screen."""
        return ["".join(row).rstrip() for row in self._cells]

    def feed(self, text: str) -> None:
        """Takes the output of a program, whole escapes only."""
        place = 0
        while place < len(text):
            found = ESCAPE.match(text, place)
            if found is not None:
                self._obey(found["numbers"] or "", found["final"])
                place = found.end()
            else:
                self._take(text[place])
                place += 1

    def _take(self, character: str) -> None:
        match character:
            case "\r":
                self._column = 0
            case "\n":
                self._row += 1
                if self._row == self.height:
                    self._cells = [*self._cells[1:], [" "] * self.columns]
                    self._row -= 1
            case _ if character.isprintable():
                if self._column == self.columns:
                    self._column = 0
                    self._take("\n")
                self._cells[self._row][self._column] = character
                self._column += 1

    def _obey(self, numbers: str, final: str | None) -> None:
        match final, numbers:
            case "H", _:
                row, _, column = numbers.partition(";")
                self._row = min(self.height, int(row or 1)) - 1
                self._column = min(self.columns, int(column or 1)) - 1
            case "J", "2":
                self.resize(self.columns, self.height)
            case "K", "" | "0":
                rest = self.columns - self._column
                self._cells[self._row][self._column :] = [" "] * rest
            case _:
                pass
