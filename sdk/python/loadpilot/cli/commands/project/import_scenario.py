"""``loadpilot import KIND FILE``: writes a scenario from a file of another tool."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ....control.terminal import note, safe
from ....library.tables.extras import MissingPackage
from ....problem import Problem, Refused
from ....scenario_file.imports.prepare import prepare
from ....scenario_file.imports.python_source import python_source
from ....scenario_file.imports.source import FILE_BYTES_MAX, Source
from .new_file import write_new

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....control.exit_code import ExitCode
    from ....scenario_file.imports.imported_scenario import Imported

NOTES_MAX = 100
"""Maximum number of lines about parts that are not carried over."""
STDIN = "-"


def import_scenario(file: str, output: str | None, read: Callable[[Source], Imported]) -> ExitCode:
    """Write the scenario of a file; notes on parts not carried over go to standard error."""

    def text() -> str:
        source = _open(file)
        try:
            imported = read(source)
            return python_source(imported, prepare(imported, source).names)
        except MissingPackage as missing:
            raise Refused([Problem(source.name, str(missing))]) from None
        finally:  # also where nothing is left: the notes say why
            show_notes(source)

    return write_new(output, text)


def show_notes(source: Source) -> None:
    """Print the parts that are not carried over, a line each."""
    lines = list(source.lines())
    for line in lines[:NOTES_MAX]:
        note(f"note: {safe(line)}")
    if len(lines) > NOTES_MAX:
        note(f"note: {len(lines) - NOTES_MAX:,} more of these are not shown")


def _open(file: str) -> Source:
    """Read a file, or standard input; one byte more than the maximum shows that it is larger."""
    try:
        if file == STDIN:
            return Source("standard input", sys.stdin.buffer.read(FILE_BYTES_MAX + 1))
        path = Path(file)
        with path.open("rb") as opened:
            return Source(path.name, opened.read(FILE_BYTES_MAX + 1))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise Refused([Problem(file, str(why))]) from None
