"""The results file: the report exactly as it was folded, announced with its path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..compile.problem import Problem

if TYPE_CHECKING:
    from pathlib import Path


def problems(path: Path) -> list[Problem]:
    """Say why a results file could not be written there, before anything starts."""
    if path.is_dir():
        return [Problem("--results-json", f"{path} is a directory; name a file")]
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        return [Problem("--results-json", f"{folder} is not a directory")]
    if not os.access(folder, os.W_OK):
        return [Problem("--results-json", f"{folder} cannot be written to")]
    return []


def write(path: Path, report_json: str) -> None:
    """Write the report as a whole or not at all; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(report_json + "\n", encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
