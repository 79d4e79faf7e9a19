"""Sessions of a log: the requests of one client until it was silent for a while.

Times of a log are whole seconds. The times between requests are counted by second; two requests in
one second are half a second apart.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from math import erf, exp, inf, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

P99 = NormalDist().inv_cdf(0.99)
"""Standard deviations from the median of a normal distribution to its 99th percentile."""
SAME_SECOND_S = 0.5
"""Time between two requests of one second."""


@dataclass(slots=True)
class Times:
    """Times in seconds, counted."""

    counts: Counter[int] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """Number of times."""
        return self.counts.total()

    def quantile(self, share: float) -> float:
        """Return the least time that at least this share of all does not exceed."""
        sought, seen = share * self.total, 0
        for second in sorted(self.counts):
            seen += self.counts[second]
            if seen >= sought:
                return second or SAME_SECOND_S
        return SAME_SECOND_S

    def distance(self, cdf: Callable[[float], float]) -> float:
        """Return the greatest difference to a distribution, at the ends of the seconds."""
        seen, greatest = 0, 0.0
        for second in sorted(self.counts):
            seen += self.counts[second]
            # A difference of whole seconds of up to n is one of less than n + 1 seconds.
            greatest = max(greatest, abs(seen / self.total - cdf(second + 0.5)))
        return greatest


@dataclass(frozen=True, slots=True)
class Fit:
    """A distribution of times."""

    name: str
    median_s: float
    p99_s: float
    distance: float
    """Kolmogorov-Smirnov distance to the times of the log, 0 to 1."""

    @property
    def mean_s(self) -> float:
        """The mean in seconds."""
        if self.name == "exponential":
            return self.median_s / log(2)
        sigma = log(self.p99_s / self.median_s) / P99
        return self.median_s * exp(sigma * sigma / 2)

    def text(self) -> str:
        """Write it as the value of `--wait` or `--session`."""
        if self.name == "exponential":
            return f"exponential:median={_seconds(self.median_s)}"
        return f"lognormal:median={_seconds(self.median_s)},p99={_seconds(self.p99_s)}"


def fit(times: Times) -> Fit:
    """Return the exponential or lognormal distribution that is nearer to the times."""
    median, p99 = times.quantile(0.5), times.quantile(0.99)
    found = [Fit("exponential", median, median * log(100) / log(2), 0.0)]
    if p99 > median:
        found.append(Fit("lognormal", median, p99, 0.0))
    judged = [Fit(one.name, one.median_s, one.p99_s, times.distance(_cdf(one))) for one in found]
    return min(judged, key=lambda one: one.distance)


def _cdf(one: Fit) -> Callable[[float], float]:
    if one.name == "exponential":
        return lambda time: 1 - 0.5 ** (time / one.median_s)
    sigma = log(one.p99_s / one.median_s) / P99
    return lambda time: (1 + erf(log(time / one.median_s) / sigma / sqrt(2))) / 2


def _seconds(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".") + "s" if value < 10 else f"{value:.0f}s"


class Sessions:
    """The sessions of a log whose requests come roughly in the order of time."""

    def __init__(self, timeout_s: int) -> None:
        """Take the silence in seconds after which a client begins a new session."""
        self.timeout_s = timeout_s
        self.count = 0
        """Number of sessions."""
        self.gaps = Times()
        """Times between the requests of a session."""
        self.lengths = Times()
        """Times from the first to the last request of a session with several."""
        self.first = inf
        self.last = -inf
        self.requests = 0
        # First and last second of the sessions that go on, the one silent longest first.
        self._open: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def add(self, client: str, second: int) -> None:
        """Count a request of a client."""
        self.requests += 1
        self.first, self.last = min(self.first, second), max(self.last, second)
        begun = self._open.pop(client, None)
        if begun is not None and second - begun[1] > self.timeout_s:
            self._end(begun)
            begun = None
        if begun is None:
            self.count += 1
            self._open[client] = (second, second)
        else:
            self.gaps.counts[max(0, second - begun[1])] += 1
            self._open[client] = (begun[0], max(begun[1], second))
        while self._open:
            longest = next(iter(self._open.values()))
            if second - longest[1] <= self.timeout_s:
                break
            self._open.popitem(last=False)
            self._end(longest)

    def end(self) -> None:
        """End the sessions that go on."""
        for begun in self._open.values():
            self._end(begun)
        self._open.clear()

    @property
    def span_s(self) -> float:
        """Time from the first to the last request, a second at least."""
        return max(1.0, self.last - self.first)

    def _end(self, begun: tuple[int, int]) -> None:
        if begun[1] > begun[0]:
            self.lengths.counts[begun[1] - begun[0]] += 1
