"""Median of a few values with a confidence interval.

The interval is the one of order statistics: whatever the distribution, the true median lies below
the k-th smallest of n independent values with probability P(Binomial(n, 1/2) < k). Nothing is drawn
at random, so the same rounds give the same interval. No value is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from statistics import median
from typing import TypeVar

CONFIDENCE = 0.95
N = TypeVar("N", int, float)


@dataclass(frozen=True)
class Spread:
    """The median of some rounds and an interval around it."""

    median: float
    low: float
    high: float
    rounds: int
    covers: float
    """Probability that the interval holds the true median; below 0.95 when rounds are few."""


def of(values: list[float]) -> Spread:
    """Compute it; with fewer than six values the interval is their whole range."""
    ordered = sorted(values)
    n = len(ordered)
    rank = max((k for k in range(1, n // 2 + 1) if _covers(n, k) >= CONFIDENCE), default=1)
    return Spread(median(ordered), ordered[rank - 1], ordered[n - rank], n, _covers(n, rank))


def _covers(n: int, rank: int) -> float:
    """Probability that the median lies from the rank-th smallest to the rank-th greatest."""
    return 1 - 2 * sum(comb(n, i) for i in range(rank)) / float(2**n)


def quantile(ordered: list[N], share: float) -> N:
    """Nearest-rank quantile: the smallest value that at least `share` of all do not exceed."""
    rank = max(1, -(-int(share * 10_000) * len(ordered) // 10_000))
    return ordered[rank - 1]
