"""Metrics of a scenario's own: counters, trends and rates that tasks and checks add to.

``metrics.counter("orders").add()`` counts, ``metrics.trend("cart_value").add(19.99)`` keeps a
distribution, ``metrics.rate("cache_hit").add(hit)`` a percentage. Each shows in the report, for the
run and for each task, and can be a gate: ``thresholds={"orders.count": ">= 100"}``.

A value belongs to the arrival whose task or check added it, and shares its fate: it is left out
with the warm-up and with what others had taken over. Anywhere else values are checked and go
nowhere: in ``on_start`` and ``on_stop``, whose requests are not counted either, in threads of your
own, while a module is imported, in your unit tests.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, ClassVar, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Counter", "Rate", "Trend", "counter", "rate", "trend"]

METRICS_MAX = 100
"""Most metrics of a scenario: names are for people to read, not for values."""
NAME_CHARS_MAX = 128
"""Longest name."""
AMOUNT_MAX = 1e9
"""The greatest amount that is added to a counter at a time."""
VALUE_MAX = 1e15
"""The greatest value of a trend, and with a minus the least."""

_by_name: dict[str, _Metric] = {}
"""The metrics of the scenario that is played."""
_sink: Callable[[str, str, float], None] | None = None
"""Where values go; an agent that plays a scenario sets it."""


class _Metric:
    """A metric by its name."""

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
        """Add an amount of 0 to 1,000,000,000, kept to a millionth; raises ValueError.

        Add 0 where something could happen that a gate wants never to happen: a gate on a counter
        that nothing was ever added to fails.
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

        What is closer to 0 than 1e-15 counts as 0.
        """
        number = _number(self, value)
        if abs(number) > VALUE_MAX:
            what = f"{self}.add() takes a value of at most 1e15 on either side of 0"
            raise ValueError(f"{what}, not {value!r}; use a larger unit")
        self._record(number)


class Rate(_Metric):
    """A percentage: how many of the values were true."""

    KIND = "rate"
    __slots__ = ()

    def add(self, value: object) -> None:
        """Add a value that is true or false as ``if`` would see it."""
        self._record(1.0 if value else 0.0)


M = TypeVar("M", bound=_Metric)


def counter(name: str) -> Counter:
    """Get the counter of that name; raises ValueError for a name that cannot be one."""
    return _metric(Counter, name)


def trend(name: str) -> Trend:
    """Get the trend of that name; raises ValueError for a name that cannot be one."""
    return _metric(Trend, name)


def rate(name: str) -> Rate:
    """Get the rate of that name; raises ValueError for a name that cannot be one."""
    return _metric(Rate, name)


def is_name(name: str) -> bool:
    """Whether a metric may be called that; a point stands between it and its figure."""
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
    """Get the metric of a scenario that is played; each name is of one kind there."""
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
    """Begin a scenario: forget the metrics of the one before, and give values to ``measure``."""
    global _sink  # noqa: PLW0603  (an agent plays one scenario at a time)
    _by_name.clear()
    _sink = measure


def detach() -> None:
    """From now on nobody plays: values go nowhere."""
    global _sink  # noqa: PLW0603  (an agent plays one scenario at a time)
    _by_name.clear()
    _sink = None
