"""Clocks of this machine: what times arrivals, and whether NTP disciplines the time of day."""

from __future__ import annotations

import ctypes
from itertools import pairwise
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING

from .finding import ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .finding import Finding

SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
READINGS = 2_000
READING_NS_MAX = 2_000
"""Maximum of the median time of a reading, in ns: two for each arrival must not matter."""
TIMEX_BYTES = 512
"""More than the size of the kernel's struct timex."""
UNSYNCHRONISED = 5
"""TIME_ERROR: the result of adjtimex for a clock that nothing disciplines."""


def clocks() -> Iterator[Finding]:
    """Check the monotonic clock and the time of day."""
    yield _monotonic()
    yield _time_of_day()


def _monotonic() -> Finding:
    readings = [perf_counter_ns() for _ in range(READINGS)]
    steps = sorted(later - one for one, later in pairwise(readings))
    median = steps[len(steps) // 2]
    try:
        source = SOURCE.read_text(encoding="ascii").strip()
    except OSError:
        source = "unknown source"
    what = f"{source}, read in {median} ns"
    if steps[0] < 0 or median > READING_NS_MAX:
        goes = "it goes backwards" if steps[0] < 0 else "arrivals are timed with it"
        mend = f"choose another source: echo tsc > {SOURCE}, or another virtual machine"
        return warning("monotonic clock", f"{what}: {goes}", mend)
    return ok("monotonic clock", what)


def _time_of_day() -> Finding:
    """Query the kernel, without changing anything: the first field of the struct is 0."""
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.create_string_buffer(TIMEX_BYTES))
    except (OSError, AttributeError):
        state = -1
    if state == UNSYNCHRONISED:
        what = "not synchronised by NTP: the times in reports may be wrong, no figure depends on it"
        return warning("time of day", what, "timedatectl set-ntp true")
    return ok("time of day", "synchronised by NTP" if state >= 0 else "the system does not tell")
