"""The files that a run leaves on request: the report exactly as it was folded, every call."""

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
    """Say why a file could not be written there, before anything starts."""
    if path.is_dir():
        return [Problem(flag, f"{path} is a directory; name a file")]
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        return [Problem(flag, f"{folder} is not a directory")]
    if not os.access(folder, os.W_OK):
        return [Problem(flag, f"{folder} cannot be written to")]
    return []


def keep(path: Path | None, report_json: str) -> bool:
    """Write the report as a whole or not at all, if that was asked for; False when it failed."""
    if path is None:
        return True
    try:
        with _draft(path) as draft:
            draft.write_text(report_json + "\n", encoding="utf-8")
    except OSError as error:
        say(f"error: --results-json: {path} could not be written: {error.strerror}")
        return False
    say(f"results {path}")
    return True


def write_samples(path: Path, session: Session, run: str) -> str:
    """Write the calls of a run as a whole or not at all, and say what is in the file.

    Raises OSError, Refused when its plan asked for none, Fault.
    """
    with _draft(path) as draft:
        written = json.loads(session.samples(run, draft))
    said = f"samples {path}: {count(written['rows'])} calls"
    if written["dropped"]:
        said += f"; {count(written['dropped'])} more found no room in the log"
    if written["unreadable"]:
        said += f"; those of {count(written['unreadable'])} deltas cannot be read"
    return said


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """Lend a file that takes the place of ``path`` when nothing goes wrong."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
