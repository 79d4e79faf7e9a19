"""What makes corrected latency differ from uncorrected, in words.

Must never speak of coordinated omission where the generator was late, nor where nothing waited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...control.figures import millis, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..._generated.report import Omission

DEFINED_AT = 99.0
"""The percentile of the CO factor itself."""


def told(omission: Omission | None) -> Iterator[str]:
    """Say where the two differ most, and by what, a line each; nothing of a log of before."""
    if omission is None:
        return
    if omission.percentile != DEFINED_AT:
        yield (
            f"largest at p{number(omission.percentile)}: {number(omission.factor)} "
            f"({millis(omission.response_us)} / {millis(omission.service_us)} ms)"
        )
    lag, queue = percent(omission.schedule_lag_pct), percent(omission.queue_pct)
    shares = f"schedule lag {lag}, queue for a slot {queue}; connecting is in both columns"
    match omission.origin.value:
        case "negligible":
            yield "less than 1 ms apart at each percentile: nothing is hidden"
        case "generator":
            yield f"from due to dispatch: {shares}"
            yield "the generator was late, not the target: no coordinated omission"
        case _:
            yield f"from due to dispatch: {shares}"
            yield "calls waited while the target was slow: coordinated omission"
