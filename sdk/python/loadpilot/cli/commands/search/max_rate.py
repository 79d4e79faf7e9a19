"""``loadpilot compare --max-rate``: the maximum working rate of a search beside an earlier one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .... import _native
from ....control.exit_code import ExitCode
from ....control.terminal import safe
from ..history import UsageError
from .search_list import find_search, past_searches
from .search_text import rps

if TYPE_CHECKING:
    from ....control.nats_settings import Server
    from ....control.run_list import OpenLogs

JSON_FILE = ".json"
"""Suffix of the result of a search."""
MAX_BASELINES = 1


def compare_max_rate(
    names: tuple[str, list[str]], logs: OpenLogs, server: Server | None, threshold_pct: float
) -> tuple[str, str, ExitCode]:
    """Compare two searches; returns the JSON, the text and the exit code. Raises UsageError."""
    current, baseline = names
    if len(baseline) > MAX_BASELINES:
        what = f"--max-rate: compares with one search, and {len(baseline)} were named"
        raise UsageError(what)
    ours = _read(current, logs, server)
    theirs = _read(baseline[0], logs, server) if baseline else _before(ours, logs, server)
    text = _native.compare_max_rates(json.dumps(ours), json.dumps(theirs), threshold_pct)
    compared = json.loads(text)
    code = ExitCode.PASSED
    if compared["obstacles"]:
        code = ExitCode.INCOMPLETE
    elif compared["regressed"]:
        code = ExitCode.GATE_FAILED
    return text, max_rate_text(compared), code


def max_rate_text(compared: dict[str, Any]) -> str:
    """Write a comparison; its last line is the judgement."""
    lines = [
        f"{label:<10}{_interval(compared[label])}  {safe(compared[label]['id'])}"
        for label in ("baseline", "current")
    ]
    lines += [f"{label}: {safe(text)}" for label, text in _notes(compared)]
    change = compared["change_pct"]
    if compared["obstacles"]:
        lines.append("not judged")
    elif compared["regressed"]:
        lines.append(f"✗ lower by {-change:.1f} %, threshold {compared['threshold_pct']:g} %")
    else:
        shown = "" if change is None else f" ({change:+.1f} %)"
        why = ", the intervals overlap" if compared["overlaps"] and change else ""
        lines.append(f"✓ not lower beyond the threshold and chance{shown}{why}")
    return "".join(f"{line}\n" for line in lines)


def _notes(compared: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        *(("obstacle", text) for text in compared["obstacles"]),
        *(("note", text) for text in compared["remarks"]),
    ]


def _interval(side: dict[str, Any]) -> str:
    maximum, upper = side["rate_rps"], side["upper_rps"]
    if maximum is None:
        return f"{'not known':>14}"
    most = "no rate failed" if upper is None else f"{rps(upper)} failed"
    return f"{rps(maximum):>14}, {most}"


def _read(name: str, logs: OpenLogs, server: Server | None) -> dict[str, Any]:
    if not name.endswith(JSON_FILE):
        return find_search(name, logs, server).judged(logs)
    try:
        found = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}") from None
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("schema") != "loadpilot.search/1":
        must = "must be the result of a search (`loadpilot search --output json`)"
        raise UsageError(f"{name}: {must}")
    return found


def _before(ours: dict[str, Any], logs: OpenLogs, server: Server | None) -> dict[str, Any]:
    """Find the newest other search of the scenario that has a result."""
    for past in reversed(past_searches(logs, server)):
        if past.id != ours["id"] and past.runs[0].facts["scenario"] == ours["scenario"]:
            found = past.judged(logs)
            if found["next"] is None:
                return found
    raise UsageError(
        f"there is no other search of {ours['scenario']} with a result here: name one, or the file "
        "of `loadpilot search --output json`"
    )
