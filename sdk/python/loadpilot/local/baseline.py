"""The baseline of a directory: the runs, in parts, that later runs are compared with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .folders import ROOT

if TYPE_CHECKING:
    from pathlib import Path

BASELINE = ROOT / "baseline.json"
"""The only file below ``.loadpilot`` that is meant to be committed."""
SCHEMA = "loadpilot.baseline/1"
RUNS_MAX = 20
"""Maximum number of runs in a baseline; the oldest leave first."""


class NoBaseline(Exception):
    """A file holds no baseline."""


def runs_of(path: Path) -> list[dict[str, Any]]:
    """Read the runs of a baseline; raises OSError, NoBaseline."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise NoBaseline(f"{path}: must be JSON ({error})") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise NoBaseline(f"{path}: must be a baseline that `run --save-baseline` wrote")
    return list(content["runs"])


def with_run(path: Path, parts: str, *, append: bool) -> str:
    """Write the content of a baseline with one more run, or with this one alone.

    Raises OSError, NoBaseline for a file that cannot be appended to.
    """
    before = runs_of(path) if append and path.exists() else []
    runs = [*before, json.loads(parts)][-RUNS_MAX:]
    return json.dumps({"schema": SCHEMA, "runs": runs}, separators=(",", ":")) + "\n"
