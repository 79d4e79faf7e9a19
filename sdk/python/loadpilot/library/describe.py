"""Writes ``_generated/run_keywords.py``, the types of the keywords of ``loadpilot.run``.

``python -m loadpilot.library.describe FILE``, a part of ``./dev gen``: type checkers and editors
read names and types from text, and the flags are declared once.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from .keywords import STAGES, Keyword, keywords

HEAD = '''"""Written by `./dev gen` from the flags of `loadpilot run`: never edit it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TypedDict


class RunKeywords(TypedDict, total=False):
    """Keywords of `loadpilot.run`; each is the flag of `loadpilot run` with the same name."""
'''
TYPES = {
    "": "bool",
    "1.1|2|auto": "str | float",
    "4|6": "int",
    "DURATION": "str | float",
    **dict.fromkeys(STAGES, "str | Sequence[tuple[str | float, str | float]]"),
    "FACTOR": "str | float",
    "FILE": "str | PathLike[str]",
    "INT": "int",
    "KEY=LIMIT": "Mapping[str, float | str | list[str]] | Sequence[str]",
    "NAME=VALUE": "Mapping[str, str | int | float] | Sequence[str]",
    "PERCENT": "float",
    "RATE": "str | float",
    "RUN|FILE": "str | PathLike[str]",
    "SHARE": "float",
    "always|never|SHARE": "str | float",
}
"""Types of values by the names that ``--help`` has for them; those of the others are text."""


def described() -> str:
    """Write the module."""
    return HEAD + "".join(map(_entry, keywords().values()))


def _entry(keyword: Keyword) -> str:
    kind = TYPES.get(keyword.metavar, "str")
    if keyword.is_repeatable and kind == "str":
        kind = "Sequence[str]"
    lines = textwrap.wrap(f"`{keyword.flag}`: {keyword.help}", 90)
    text = "\n    ".join(['"""', *lines, '"""'])
    return f"\n    {keyword.name}: {kind} | None\n    {text}\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(described(), encoding="utf-8")
