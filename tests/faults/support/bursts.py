"""Whether requests after a pause come on schedule or in a burst."""

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
"""A request that is later than this was caught up with, or the machine stalled."""


def now_us() -> int:
    return time.time_ns() // 1000


def assert_no_burst(
    after: list[Request], start_us: int, load: Load, noise_monitor: NoiseMonitor
) -> None:
    """Asserts that requests after a pause come on schedule."""
    late = [one for one in after if lateness_us(one, start_us, load.rps) > FAR_LATE_US]
    most = LATENESS_MAX_S * load.rps
    assert len(late) <= most or noise_monitor.noisy, f"{len(late)} requests were caught up with"
    fullest = max(buckets(after).values(), default=0)
    # Twice the sum of a tenth of a second at the rate and of the arrivals that may be late.
    noise_monitor.judge(
        fullest <= 2 * (load.rps // 10 + most / load.agents),
        f"{fullest} requests came in a tenth of a second",
    )
