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


Parts = dict[str, Any]
"""A run cut into parts, as in ``proto/schema/run-parts.json``."""


class NoBaseline(Exception):
    """A file holds no baseline."""


def runs_in(text: str, path: Path) -> list[Parts]:
    """Read the runs of a baseline from the text of a file; raises NoBaseline."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise NoBaseline(f"{path}: must be JSON ({error})") from None
    match content:
        case {"schema": str(schema), "runs": list(runs)} if schema == SCHEMA:
            return runs
    raise NoBaseline(f"{path}: must be a baseline that `run --save-baseline` wrote")


def with_run(path: Path, parts: Parts, *, append: bool) -> list[Parts]:
    """List the runs of a baseline with one more, or this one alone.

    Raises OSError, NoBaseline for a file that cannot be appended to.
    """
    before = []
    if append and path.exists():
        before = runs_in(path.read_text(encoding="utf-8"), path)
    return [*before, parts][-RUNS_MAX:]


def text_of(runs: list[Parts]) -> str:
    """Write the text of a baseline."""
    return json.dumps({"schema": SCHEMA, "runs": runs}, separators=(",", ":")) + "\n"


def unfit(parts: Parts) -> str | None:
    """Return why a run must not become a baseline; None when it may."""
    if parts["ending"] != "completed":
        return "the run did not complete"
    if parts["grade"] == "INVALID":
        return "its certificate is INVALID"
    return None if parts["has_reached"] else "no call reached a server"
