"""How evenly requests arrive: their distance from the grid of a constant rate.

Few tools report when a request was due, so no due times are used. The n-th arrival at the target is
compared with offset + n / rate, where the offset is the median of (arrival - n / rate): it
minimizes the sum of distances, so each tool has the start that suits it best, and a few
requests that were late by far do not move it (a least-squares fit would let them). A constant delay
before the target's clock thus cancels out for every tool.

A tool whose rate is a little off drifts away from the grid; that is an error of its schedule and
counts. To separate drift from jitter, the same is computed for the grid of the rate that
the tool itself kept: the median of the slopes between requests that are half the run apart. The
input is arrivals only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from bench.measure.spread import quantile

LEAST_ARRIVALS = 20
"""Minimum number of arrivals for a fit."""


@dataclass(frozen=True)
class Distances:
    """|arrival - due| of all requests of a run, in µs."""

    p50_us: float
    p99_us: float
    max_us: float
    sorted_us: list[float]


@dataclass(frozen=True)
class Fit:
    """How a run kept to its grid."""

    planned: Distances
    """Against the grid of the planned rate."""
    own: Distances
    """Against the grid of the rate that was kept."""
    kept_rps: float
    """Requests between the first and the last, by the time between them."""


def fit(arrivals_us: list[int], rps: float) -> Fit | None:
    """Compare arrivals with a constant rate; nothing if there are too few."""
    n = len(arrivals_us)
    if n < LEAST_ARRIVALS:
        return None
    ordered = sorted(arrivals_us)
    half = n // 2
    slopes = (later - one for one, later in zip(ordered, ordered[half:], strict=False))
    own_gap_us = median(slopes) / half
    span_us = max(1, ordered[-1] - ordered[0])
    return Fit(
        _distances(ordered, 1e6 / rps), _distances(ordered, own_gap_us), (n - 1) * 1e6 / span_us
    )


def gaps_us(arrivals_us: list[int]) -> list[float]:
    """Sort the times from each arrival to the next."""
    ordered = sorted(arrivals_us)
    return sorted(float(later - one) for one, later in pairwise(ordered))


def _distances(ordered_us: list[int], gap_us: float) -> Distances:
    begin = ordered_us[0]  # keeps the figures small: a double holds µs since 1970 only just
    late = [at - begin - n * gap_us for n, at in enumerate(ordered_us)]
    offset = median(late)
    far = sorted(abs(one - offset) for one in late)
    return Distances(quantile(far, 0.5), quantile(far, 0.99), far[-1], far)
