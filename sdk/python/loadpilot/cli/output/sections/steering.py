"""Text of the changes of the rate of a run, and of the rate that it held."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ....control.figures import number
from ....control.terminal import safe
from ..verdict import labelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...._generated.report import HeldRate, HoldWindow, Report

BY_HOLD = "--hold"
"""Author of the changes that hold gates."""


def steered(report: Report, *, verbose: bool) -> Iterator[str]:
    """Write how the run was steered: its load is then not the planned one."""
    run = report["run"]
    held = run.get("held")
    if held is not None:
        # Its steps say more than the changes of the rate that followed.
        yield from _held(held, verbose=verbose)
    by_users = [one for one in run.get("steered", []) if one["by"] != BY_HOLD]
    for place, one in enumerate(by_users):
        at = datetime.fromtimestamp(one["at"] // 1_000_000, UTC).strftime("%H:%M:%S UTC")
        second = f"second {number(round(one['from_us'] / 1e6, 1))}"
        change = one["change"]
        if change["type"] == "rate":
            was, rate = number(change["was"] / 1e6), number(change["rate"] / 1e6)
            words = f"rate {was} -> {rate}/s from {second} on"
        else:
            words = f"{change['type']} at {second}"
        yield labelled("" if place else "steered", f"{at} {words}, by {safe(one['by'])}")
    if run.get("steered"):
        yield labelled("", "the figures below are of the run as it was steered, not of its plan")


def _held(held: HeldRate, *, verbose: bool) -> Iterator[str]:
    """Write the highest rate at which the gates hold, and the steps to it."""
    gates = " and ".join(map(safe, held["gates"]))
    rps, failed = held["rps"], held["failed_rps"]
    if rps is None:
        text = f"no rate was found at which {gates} holds"
    else:
        more = "a longer run may find a higher one"
        if failed is not None:
            more = f"{number(failed)}/s is too much"
        text = f"{number(rps)}/s, the highest rate at which {gates} held; {more}"
    yield labelled("held", text)
    if verbose:
        for step in held["steps"]:
            yield labelled("", _step(step))


def _step(step: HoldWindow) -> str:
    actual = step["actual"]
    figure = "nothing to measure" if actual is None else number(round(actual, 1))
    outcome = "passed" if step["passed"] else "failed"
    second = number(round(step["to_us"] / 1e6, 1))
    rate = number(step["rate"] / 1e6)
    return f"second {second}: {rate}/s {outcome}, {safe(step['key'])} {figure}"
