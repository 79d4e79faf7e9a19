"""Rows as CSV (RFC 4180) that no spreadsheet takes for formulas."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a formula begins, or what spreadsheets skip before it (OWASP, "CSV injection")."""


def inert_cell(value: Any) -> Any:
    """Put an apostrophe before text that looks like a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def csv_lines(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Write the names and each row as a line."""
    text = io.StringIO()
    writer = csv.writer(text)
    for row in (names, *rows):
        writer.writerow([inert_cell(value) for value in row])
        yield text.getvalue()
        text.seek(0)
        text.truncate()
