"""``loadpilot note``: notes about a run that is over, and its mark as a baseline."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...control.identity import author
from ...control.run_list import OpenLogs, open_log, past_run
from ...control.terminal import safe, safe_lines, say, write_product
from ...local.folders import RUN_FILE
from .history import UsageError, fleet_of, reporting

if TYPE_CHECKING:
    from ...control.exit_code import ExitCode
    from ...control.nats_settings import ServerFlags


def note(
    name: str, text: str | None, *, baseline: bool, no_baseline: bool, server: ServerFlags
) -> ExitCode:
    """Add a note to a run or change its mark; without either print the notes and the mark."""
    with reporting() as (interruptions, outcome), OpenLogs(interruptions) as logs:
        if baseline and no_baseline:
            raise UsageError("--baseline: cannot be used with --no-baseline")
        mark = True if baseline else False if no_baseline else None
        one = past_run(name, logs, fleet_of(server))
        changes = text is not None or mark is not None
        if changes and isinstance(one.log, Path) and one.log.suffix == RUN_FILE:
            raise UsageError(
                f"{one.log}: the file of a run is not changed; add the note where the run was "
                "stored, and export it again"
            )
        with open_log(one.log, logs) as session:
            if changes:
                annotations = session.annotate(one.run, author(), text, mark)
            else:
                annotations = session.annotations(one.run)
        found = json.loads(annotations)
        if found["notes"] or found["baseline"]:
            write_product(annotations_text(found))
        else:
            say(f"run {one.run} has no notes")
    return outcome[-1]


def annotations_text(annotations: dict[str, Any]) -> str:
    """Write the mark and the notes, a line each; further lines of a note are indented."""
    mark = annotations["baseline"]
    lines = [f"{_instant(mark['at'])}  {safe(mark['by'])}: baseline\n"] if mark else []
    for one in annotations["notes"]:
        text = safe_lines(one["text"]).replace("\n", "\n  ")
        lines.append(f"{_instant(one['at'])}  {safe(one['by'])}: {text}\n")
    return "".join(lines)


def _instant(at_us: int) -> str:
    return datetime.fromtimestamp(at_us // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M UTC")
