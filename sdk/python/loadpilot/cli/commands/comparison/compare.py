"""``loadpilot compare``: a run beside its baseline.

The engine judges; this command finds the runs and prints the result.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....control.exit_code import ExitCode
from ....control.run_list import OpenLogs, every_run, find_run, indexed, open_log
from ....control.signals import FirstEnds
from ....control.terminal import coloured, wants_colour, write_product
from ....inputs.units import Wrong, percent_of
from ....local.baseline import BASELINE, JSON_FILE, NoBaseline, compared, runs_of_file
from ...output.comparison import comparison_text
from ...output.explain import explanation_text
from ..history import UsageError, fleet_of, reporting
from ..search.max_rate import compare_max_rate

if TYPE_CHECKING:
    from ....control.nats_settings import Server, ServerFlags


def compare(
    current: str,
    baseline: list[str],
    *,
    threshold: str,
    explain: bool,
    max_rate: bool,
    as_json: bool,
    server: ServerFlags,
) -> ExitCode:
    """Compare a run with others, or with the baseline of this directory; or two searches."""
    with reporting(FirstEnds) as (interruptions, outcome), OpenLogs(interruptions) as logs:
        place = fleet_of(server)
        percent = _percent(threshold)
        if max_rate:
            if explain:
                raise UsageError("--explain: is for runs, and --max-rate compares searches")
            text, shown, code = compare_max_rate((current, baseline), logs, place, percent)
            write_product(f"{text}\n" if as_json else shown)
            outcome.append(code)
            return outcome[-1]
        ours = _runs(current, logs, place)
        if len(ours) != 1:
            raise UsageError(f"{current} holds {len(ours)} runs; the current one must be one")
        if not baseline:
            baseline = [str(BASELINE) if BASELINE.exists() else _marked(ours[0], logs, place)]
        theirs = [run for name in baseline for run in _runs(name, logs, place)]
        if explain:
            _check_calls([*ours, *theirs])
        is_stored = not current.endswith(JSON_FILE)
        comparison = compared(ours[0], theirs, percent, is_stored=is_stored)
        shown = comparison_text(comparison)
        if explain and not comparison["obstacles"]:
            shown += explanation_text(comparison)
        if not as_json and wants_colour(sys.stdout):
            shown = coloured(shown)
        text = json.dumps(comparison, ensure_ascii=False, separators=(",", ":"))
        write_product(f"{text}\n" if as_json else shown)
        if comparison["obstacles"]:
            outcome.append(ExitCode.INCOMPLETE)
        elif comparison["regressed"]:
            outcome.append(ExitCode.GATE_FAILED)
    return outcome[-1]


def _check_calls(runs: list[dict[str, Any]]) -> None:
    for parts in runs:
        if not parts.get("calls"):
            raise UsageError(
                f"--explain: of run {parts['run']} there are no calls here, since it is read from "
                "a results file or an older baseline, or made none; name its id or .lprun file"
            )


def _percent(threshold: str) -> float:
    try:
        return percent_of("--threshold", threshold)
    except Wrong as wrong:
        raise UsageError(str(wrong)) from None


def _marked(ours: dict[str, Any], logs: OpenLogs, server: Server | None) -> str:
    """Find the newest other run of the scenario that is marked as a baseline."""
    for other in reversed(every_run(logs, server)):
        is_of_scenario = other.facts["scenario"] == ours["scenario"]
        if other.facts["is_baseline"] and is_of_scenario and other.run != ours["run"]:
            return other.run
    raise UsageError(
        f"there is no baseline in {BASELINE}: name a run to compare with, save one with `loadpilot "
        "run --save-baseline`, or mark one with `loadpilot note RUN --baseline`"
    )


def _runs(name: str, logs: OpenLogs, server: Server | None) -> list[dict[str, Any]]:
    """Read the parts of a run, a run file, a results file or a baseline."""
    if name.endswith(JSON_FILE):
        try:
            return runs_of_file(Path(name))
        except NoBaseline as error:
            raise UsageError(str(error)) from None
    one = find_run(name, logs, server)
    with open_log(one.log, logs) as session:
        return [json.loads(indexed(session, one).parts())]
