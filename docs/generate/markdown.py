"""Markdown that generated pages are made of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; a cell becomes one line."""
    lines = [head, ["--"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def code(text: str) -> str:
    """Write text as code inside a line."""
    return f"`{text}`"


def fenced(text: str, language: str) -> str:
    """Write text as a block of code."""
    return f"```{language}\n{text.strip()}\n```"


def anchor(heading: str) -> str:
    """Return the anchor that a forge gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def escaped(text: str) -> str:
    """Escape a help text or comment; text in backticks stays code."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([<*])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
