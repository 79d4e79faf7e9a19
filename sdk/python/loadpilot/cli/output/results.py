"""The files that a run writes on request: its report, byte for byte, and its calls."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...control.figures import count
from ...control.terminal import say
from ...problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ...control.protocols import Session


def problems(path: Path, flag: str = "--results-json") -> list[Problem]:
    """Check before the run that the file can be written."""
    if path.is_dir():
        return [Problem(flag, f"must be a file, and {path} is a directory")]
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        return [Problem(flag, f"{folder} is not a directory")]
    if not os.access(folder, os.W_OK):
        return [Problem(flag, f"{folder} cannot be written to")]
    return []


def write_report(path: Path | None, report_json: str) -> bool:
    """Write the whole report or nothing, if there is a path; False when that failed."""
    if path is None:
        return True
    try:
        with draft(path) as file:
            file.write_text(report_json + "\n", encoding="utf-8")
    except OSError as error:
        say(f"error: --results-json: {path} could not be written: {error.strerror}")
        return False
    say(f"results {path}")
    return True


def write_samples(path: Path, session: Session, run: str) -> str:
    """Write all calls of a run or nothing; returns a line about the file.

    Raises OSError, Refused when the log of the run has no calls, Fault.
    """
    with draft(path) as file:
        counts = json.loads(session.samples(run, file))
    text = f"samples {path}: {count(counts['rows'])} calls"
    if counts["dropped"]:
        text += f"; {count(counts['dropped'])} more found no room in the log"
    if counts["unreadable"]:
        text += f"; those of {count(counts['unreadable'])} deltas cannot be read"
    return text


@contextmanager
def draft(path: Path) -> Iterator[Path]:
    """Open a file that replaces ``path`` at the end of the block, unless it raises."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield file
        file.replace(path)
    finally:
        file.unlink(missing_ok=True)
