"""``loadpilot verify``: read the log of a run again and check each invariant.

The engine checks; this command prints the result. A log that could not be read to its end must
never look sound.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...control.exit_code import ExitCode
from ...control.terminal import safe, write_product
from .history import UsageError, find_run, fleet_of, open_log, reporting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...control.nats_settings import ServerFlags


def verify(run: str, *, as_json: bool, known: str | None, server: ServerFlags) -> ExitCode:
    """Check every invariant of one run's log, and compare with a results file if one is named."""
    with reporting() as (interruptions, outcome):
        place = fleet_of(server)
        results = _results(known)
        one = find_run(run, interruptions, place)
        with open_log(one.log, interruptions) as session:
            try:
                text = session.verify(one.run, results)
            except ValueError as error:
                raise UsageError(
                    f"--report: must be a results file of a run: {known}: {error}"
                ) from None
        verification = json.loads(text)
        lines = [text] if as_json else lines_of(verification)
        write_product("".join(f"{line}\n" for line in lines))
        if not verification["holds"]:
            outcome.append(ExitCode.INCOMPLETE)
    return outcome[-1]


def _results(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--report: must be a results file of a run: {path}: {error}") from None


def lines_of(verification: dict[str, Any]) -> Iterator[str]:
    """Write a line for each invariant, with its violations below it."""
    events, deltas, late = (verification[key] for key in ("events", "deltas", "late_deltas"))
    after = f", {late} of them after the seal" if late else ""
    yield f"run {safe(verification['run'])}, {safe(verification['state'])}"
    yield f"read {events} events and {deltas} deltas{after}"
    yield f"digest {safe(verification['digest'])}"
    yield ""
    for finding in verification["invariants"]:
        mark = "ok      " if finding["holds"] else "VIOLATED"
        yield f"{mark}  {finding['invariant']:<12}{finding['rule']}"
        for one in finding["evidence"]:
            where = f"{one['subject']} at {one['seq']}" if one["seq"] else one["subject"]
            yield f"{'':<24}{safe(where)}: {safe(one['what'])}"
        if finding["more"]:
            yield f"{'':<24}and {finding['more']} more"
    broken = sum(not finding["holds"] for finding in verification["invariants"])
    total = len(verification["invariants"])
    yield ""
    yield f"{total - broken} of {total} invariants hold"
