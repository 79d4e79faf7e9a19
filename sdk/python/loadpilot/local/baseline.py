"""The baseline of a directory: the runs, in parts, that later runs are compared with.

Results files and baselines are read here, and runs are compared.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .. import _native
from .folders import ROOT

if TYPE_CHECKING:
    from pathlib import Path

BASELINE = ROOT / "baseline.json"
"""The only file below ``.loadpilot`` that is meant to be committed."""
SCHEMA = "loadpilot.baseline/1"
JSON_FILE = ".json"
"""Suffix of results files and baselines."""
RUNS_MAX = 20
"""Maximum number of runs in a baseline; the oldest leave first."""


Parts = dict[str, Any]
"""A run cut into parts, as in ``proto/schema/run-parts.json``."""


class NoBaseline(ValueError):
    """A file holds no baseline."""


def compared(
    ours: Parts, theirs: list[Parts], threshold_pct: float, *, is_stored: bool
) -> dict[str, Any]:
    """Compare. No figure of a stored run in its own baseline is judged: all are equal.

    Results files of one run are compared, because they may be copies that were changed.
    """
    found = _native.compare(json.dumps(ours), json.dumps(theirs), threshold_pct)
    comparison: dict[str, Any] = json.loads(found)
    if is_stored and ours["run"] in comparison["baseline"]:
        what = f"run {ours['run']} is in its own baseline; name another run"
        comparison["obstacles"].append(what)
        comparison["regressed"] = False
        for figure in comparison["figures"]:
            figure["change"] = "unjudged"
    return comparison


def runs_of_file(path: Path) -> list[Parts]:
    """Read the runs of a results file or a baseline; raises NoBaseline."""
    try:
        text = _text(path)
    except OSError as error:
        raise NoBaseline(f"{path}: {error.strerror}") from None
    if SCHEMA in text:
        return runs_in(text, path)
    try:
        return [json.loads(_native.parts_of_report(text))]
    except _native.Refused:
        must = "must be a results file (`run --results-json`) or a baseline of this version"
        raise NoBaseline(f"{path}: {must}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise NoBaseline(f"{path}: must be JSON in UTF-8") from None


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
        before = runs_in(_text(path), path)
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
