"""Requests after a pause: on schedule, or in a burst."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.faults.support.loads import (
    LATENESS_MAX_S,
    Load,
    buckets,
    lateness_us,
)

if TYPE_CHECKING:
    from tests.faults.support.noise import NoiseMonitor
    from tests.oracle.oracle import Request

FAR_LATE_US = 200_000
"""What comes later than this was caught up with, or the machine was asleep."""


def now_us() -> int:
    return time.time_ns() // 1000


def assert_no_burst(
    after: list[Request], start_us: int, load: Load, noise_monitor: NoiseMonitor
) -> None:
    """What comes after a pause comes on schedule."""
    late = [one for one in after if lateness_us(one, start_us, load.rps) > FAR_LATE_US]
    most = LATENESS_MAX_S * load.rps
    assert len(late) <= most or noise_monitor.noisy, f"{len(late)} requests were caught up with"
    fullest = max(buckets(after).values(), default=0)
    # A tenth of a second at the rate, what may be late, and the same again.
    noise_monitor.judge(
        fullest <= 2 * (load.rps // 10 + most / load.agents),
        f"{fullest} requests came in a tenth of a second",
    )
