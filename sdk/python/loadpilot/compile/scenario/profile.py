"""The offered rate over time, as linear pieces.

Pure arithmetic on integers: µs, and millionths of an arrival per second. If a duration does not
divide evenly, later windows get the remainder, so that the pieces always add up.
"""

from __future__ import annotations

import json
from itertools import pairwise
from math import cos, tau
from typing import TYPE_CHECKING, Any, TypeAlias

from ... import _native

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Pieces: TypeAlias = list[dict[str, int]]
"""Linear pieces as the plan holds them: ``duration_us``, ``from`` and ``to``."""


LINES_PER_WAVE = 32
"""Number of lines of a sine wave: none is further from it than half a percent of its height."""


def piece(duration_us: int, start_urps: int, end_urps: int) -> dict[str, int]:
    """Build one linear piece."""
    return {"duration_us": duration_us, "from": start_urps, "to": end_urps}


def ramp(ramp_up_us: int, steady_us: int, urps: int) -> Pieces:
    """Build a rise from 0 and a constant part; the length is the sum of both."""
    rise = [piece(ramp_up_us, 0, urps)] if ramp_up_us else []
    return [*rise, piece(steady_us, urps, urps)]


def constant(duration_us: int, urps: int) -> Pieces:
    """Build a constant rate."""
    return [piece(duration_us, urps, urps)]


def closed(duration_us: int) -> Pieces:
    """Build the profile of a closed loop, which has a length and no rate."""
    return [piece(duration_us, 0, 0)]


def step(duration_us: int, urps: int, steps: int) -> Pieces:
    """Build equal windows; window k of ``steps`` has the rate urps·k/steps."""
    rates = [urps * k // steps for k in range(1, steps + 1)]
    return _windows(duration_us, rates)


def spike(duration_us: int, urps: int) -> Pieces:
    """Build thirds of 20 %, 100 % and 20 % of the rate."""
    return _windows(duration_us, [urps // 5, urps, urps // 5])


def burst(duration_us: int, burst_us: int, baseline_urps: int, urps: int) -> Pieces:
    """Build a baseline, a burst in the middle, and the baseline again."""
    before_us = (duration_us - burst_us) // 2
    after_us = duration_us - burst_us - before_us
    lengths = [(before_us, baseline_urps), (burst_us, urps), (after_us, baseline_urps)]
    return [piece(us, rate, rate) for us, rate in lengths if us]


def sine(duration_us: int, period_us: int, baseline_urps: int, urps: int) -> Pieces:
    """Build waves that begin at the baseline, of :data:`LINES_PER_WAVE` lines each."""
    count = -(-duration_us * LINES_PER_WAVE // period_us)
    edges = [min(period_us * k // LINES_PER_WAVE, duration_us) for k in range(count + 1)]
    half = (urps - baseline_urps) / 2

    def rate(us: int) -> int:
        return baseline_urps + round(half * (1 - cos(tau * us / period_us)))

    return [piece(end - us, rate(us), rate(end)) for us, end in pairwise(edges) if end > us]


def stages(targets: Sequence[tuple[int, int]]) -> Pieces:
    """Join (length, target) stages linearly, from 0; a stage of length 0 jumps to its target."""
    pieces: Pieces = []
    before = 0
    for duration_us, urps in targets:
        if duration_us:
            pieces.append(piece(duration_us, before, urps))
        before = urps
    return pieces


def _windows(duration_us: int, rates: list[int]) -> Pieces:
    edges = [duration_us * k // len(rates) for k in range(len(rates) + 1)]
    lengths = [end - begin for begin, end in pairwise(edges)]
    return [piece(us, rate, rate) for us, rate in zip(lengths, rates, strict=True) if us]


def peak_urps(profile: Mapping[str, Any]) -> int:
    """Return the peak of a profile; its pieces may be the values of a curve."""
    if "curve" in profile:
        return _native.profile_peak(json.dumps(profile))
    pieces: Pieces = profile["pieces"]
    return max(max(one["from"], one["to"]) for one in pieces)


def duration_us(profile: Mapping[str, Any]) -> int:
    """Return the length of a profile in µs."""
    if "curve" in profile:
        length_us: int = profile["curve"]["duration_us"]
        return length_us
    pieces: Pieces = profile["pieces"]
    return sum(one["duration_us"] for one in pieces)
