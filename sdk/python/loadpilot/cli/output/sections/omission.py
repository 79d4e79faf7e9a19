"""Text on why corrected latency differs from uncorrected.

Must never name coordinated omission where the generator was late, nor where nothing waited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....control.figures import millis, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...._generated.report import Omission

DEFINED_AT = 99.0
"""Percentile of the CO factor."""


def omission_lines(omission: Omission | None) -> Iterator[str]:
    """Write where the two differ most and why, a line each; nothing for a log without it."""
    if omission is None:
        return
    if omission["percentile"] != DEFINED_AT:
        yield (
            f"largest at p{number(omission['percentile'])}: {number(omission['factor'])} "
            f"({millis(omission['response_us'])} / {millis(omission['service_us'])} ms)"
        )
    lag, queue = percent(omission["schedule_lag_pct"]), percent(omission["queue_pct"])
    shares = f"schedule lag {lag}, queue for a slot {queue}; connecting is in both columns"
    match omission["origin"]:
        case "negligible":
            yield "less than 1 ms apart at each percentile: nothing is hidden"
        case "generator":
            yield f"from due to dispatch: {shares}"
            yield "the generator was late, not the target: no coordinated omission"
        case _:
            yield f"from due to dispatch: {shares}"
            yield "calls waited while the target was slow: coordinated omission"
