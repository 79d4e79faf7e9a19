"""Custom metrics of a scenario: counters, trends and rates that tasks and checks add to.

``metrics.counter("orders").add()`` counts, ``metrics.trend("cart_value").add(19.99)`` keeps a
distribution, ``metrics.rate("cache_hit").add(hit)`` a percentage. The report shows each of them,
for the run and per task, and a gate can limit it: ``thresholds={"orders.count": ">= 100"}``.

A value belongs to the arrival whose task or check added it: it is left out of the figures with the
arrival, during the warm-up or after a takeover of its shard. Elsewhere values are checked and then
discarded: in ``on_start`` and ``on_stop``, in threads of your own, while a module is imported, and
in your unit tests.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, ClassVar, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Counter", "Rate", "Trend", "counter", "rate", "trend"]

METRICS_MAX = 100
"""Maximum number of metrics of a scenario: a name must not hold a value such as an id."""
NAME_CHARS_MAX = 128
"""Maximum length of a name, in characters."""
AMOUNT_MAX = 1e9
"""Maximum amount that one call adds to a counter."""
VALUE_MAX = 1e15
"""Maximum absolute value of a trend."""

_by_name: dict[str, _Metric] = {}
"""The metrics of the running scenario, by name."""
_sink: Callable[[str, str, float], None] | None = None
"""Receiver of kind, name and value; None outside of a run."""


class _Metric:
    """A metric, identified by its name."""

    KIND: ClassVar[str]

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"metrics.{self.KIND}({self.name!r})"

    def _record(self, value: float) -> None:
        if _sink is not None:
            _sink(self.KIND, self.name, value)


class Counter(_Metric):
    """A sum of amounts."""

    KIND = "counter"
    __slots__ = ()

    def add(self, amount: float = 1) -> None:
        """Add an amount of 0 to 1,000,000,000, in steps of a millionth; raises ValueError.

        A gate on a counter without any value fails. Where a gate forbids an event, such as
        ``"lost.count": "<= 0"``, add 0 when the event does not occur.
        """
        number = _number(self, amount)
        if not 0 <= number <= AMOUNT_MAX:
            raise ValueError(f"{self}.add() takes an amount of 0 to 1e9, not {amount!r}")
        self._record(number)


class Trend(_Metric):
    """A distribution of values, each kept to four significant digits."""

    KIND = "trend"
    __slots__ = ()

    def add(self, value: float) -> None:
        """Add a value of at most 1e15 on either side of 0, in any unit; raises ValueError.

        A value closer to 0 than 1e-15 counts as 0.
        """
        number = _number(self, value)
        if abs(number) > VALUE_MAX:
            what = f"{self}.add() takes a value of at most 1e15 on either side of 0"
            raise ValueError(f"{what}, not {value!r}; use a larger unit")
        self._record(number)


class Rate(_Metric):
    """The percentage of values that are true."""

    KIND = "rate"
    __slots__ = ()

    def add(self, value: object) -> None:
        """Add a value; its truth is that of ``bool(value)``."""
        self._record(1.0 if value else 0.0)


M = TypeVar("M", bound=_Metric)


def counter(name: str) -> Counter:
    """Return the counter of that name; raises ValueError for an invalid name."""
    return _metric(Counter, name)


def trend(name: str) -> Trend:
    """Return the trend of that name; raises ValueError for an invalid name."""
    return _metric(Trend, name)


def rate(name: str) -> Rate:
    """Return the rate of that name; raises ValueError for an invalid name."""
    return _metric(Rate, name)


def is_name(name: str) -> bool:
    """Whether a metric may have this name; it has no point, which separates it from its figure."""
    return name.isascii() and name.isidentifier() and len(name) <= NAME_CHARS_MAX


def _metric(kind: type[M], name: str) -> M:
    if not isinstance(name, str):
        raise TypeError(f"metrics.{kind.KIND}() takes a name, not {type(name).__name__}")
    if len(name) > NAME_CHARS_MAX:
        shown = f"{name[:NAME_CHARS_MAX]}…"
        raise ValueError(f"the name of a metric has at most 128 characters: {shown!r}")
    if not is_name(name):
        near = "".join(c if c.isascii() and c.isalnum() else "_" for c in name).strip("_")
        near = f"_{near}" if near[:1].isdigit() else near or kind.KIND
        must = "letters, digits and _, not a digit first"
        raise ValueError(f"the name of a metric has {must}: {near!r} instead of {name!r}")
    return kind(name) if _sink is None else _shared(kind, name)


def _shared(kind: type[M], name: str) -> M:
    """Return the metric of the running scenario; ValueError if its name has another kind."""
    known = _by_name.get(name)
    if isinstance(known, kind):
        return known
    if known is not None:
        raise ValueError(f"metrics.{kind.KIND}({name!r}): {name} is a {known.KIND} already")
    if len(_by_name) >= METRICS_MAX:
        what = f"a scenario has at most {METRICS_MAX} metrics, and {name!r} would be one more"
        raise ValueError(f"{what}; a name must not hold a value, such as an id")
    made = kind(name)
    _by_name[name] = made
    return made


def _number(metric: _Metric, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or isinstance(value, str | bytes) or not isfinite(number):
        raise ValueError(f"{metric}.add() takes a number that is finite, not {value!r}")
    return number


def attach(measure: Callable[[str, str, float], None]) -> None:
    """Begin a scenario: forget the metrics of the last one and send values to ``measure``."""
    global _sink  # noqa: PLW0603  (an agent plays one scenario at a time)
    _by_name.clear()
    _sink = measure


def detach() -> None:
    """End the scenario: forget its metrics, and discard later values."""
    global _sink  # noqa: PLW0603  (an agent plays one scenario at a time)
    _by_name.clear()
    _sink = None
