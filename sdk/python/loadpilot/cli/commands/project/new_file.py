"""Writes the product of a command to a new file, or to standard output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ....control.exit_code import ExitCode
from ....control.terminal import note, safe, say, write_product
from ....problem import Problem, Refused
from ...output.refusal import refuse
from ...output.results import draft, problems

if TYPE_CHECKING:
    from collections.abc import Callable

NOTHING = "nothing was written"


def write_new(output: str | None, text: Callable[[], str]) -> ExitCode:
    """Make a text and write it; an existing file is not changed."""
    try:
        if output is None:
            write_product(text())
            return ExitCode.PASSED
        path = Path(output)
        found = problems(path, "--output")
        if path.exists() and not found:
            found = [Problem("--output", f"{output} is there already; name a new file")]
        if found:
            return refuse(found, NOTHING)
        written = text()
    except Refused as refused:
        return refuse(refused.problems, NOTHING)
    try:
        with draft(path) as file:
            file.write_text(written, encoding="utf-8")
    except OSError as error:
        say(f"error: --output: {safe(output)} could not be written: {error.strerror}")
        return ExitCode.INFRASTRUCTURE
    note(f"wrote {safe(output)}")
    return ExitCode.PASSED
