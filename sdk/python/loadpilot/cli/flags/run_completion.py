"""Runs that a shell completes: names of files, so that a keypress starts no server."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

RUNS_MAX = 50
"""Maximum number of offered runs, the newest."""
NEWEST = "last"


def known_runs(_context: CompletionContext) -> list[str]:
    """List `last`, and the runs of this directory that were read or imported, the newest first.

    Ids sort by creation.
    """
    from ...local.folders import CACHE, INDEXED, ROOT, run_files  # noqa: PLC0415  (start-up)

    read = {path.name.removesuffix(INDEXED) for path in (ROOT / CACHE).glob(f"*/*{INDEXED}")}
    imported = {path.stem for path in run_files(ROOT)}
    return [NEWEST, *sorted(read | imported, reverse=True)[:RUNS_MAX]]
