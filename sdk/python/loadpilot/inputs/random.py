"""Seeded random values and the time for scenarios: ``rand.int(1, 6)``, ``now()``.

A value depends on the run's seed, the number of the arrival and the number of values that this
arrival has drawn before: it is the same on every agent, and in every run with that seed. The module
``play`` attaches the source of the values, and no other source is used.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence
    from datetime import datetime

T = TypeVar("T")

BITS = 64
"""Number of bits of a drawn value."""
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
"""Characters of :meth:`Rand.text`."""
OUTSIDE_A_PART = (
    "works inside on_start, a task, a check or on_stop only, while a run plays them: elsewhere "
    "there is no arrival to draw for"
)


class Rand:
    """Random values of the current arrival; in hooks, of the user.

    Each call takes one 64-bit value of the engine; :meth:`uuid` takes two, :meth:`text` one per
    letter.
    """

    def int(self, least: builtins.int, most: builtins.int) -> builtins.int:
        """Draw a whole number from ``least`` to ``most``, both included."""
        for bound in (least, most):
            if not isinstance(bound, builtins.int):
                raise TypeError(f"rand.int() takes two whole numbers, not {bound!r}")
        if least > most:
            raise ValueError(f"rand.int({least}, {most}): the first must not be above the second")
        span = most - least + 1
        if span > 1 << BITS:
            raise ValueError(f"rand.int({least}, {most}): at most 2**64 numbers can be drawn from")
        return least + (_value() * span >> BITS)

    def float(self) -> builtins.float:
        """Draw a number of at least 0 and below 1, in steps of 2**-53."""
        return (_value() >> 11) * 2.0**-53

    def choice(self, options: Sequence[T]) -> T:
        """Draw one of ``options``, each with the same chance."""
        if not options:
            raise ValueError("rand.choice() needs at least one to choose from")
        return options[_value() * len(options) >> BITS]

    def uuid(self) -> str:
        """Draw a UUID of version 4 (RFC 9562), as text."""
        from uuid import UUID  # noqa: PLC0415  (start-up is a promise)

        return str(UUID(int=_value() << BITS | _value(), version=4))

    def text(self, length: builtins.int) -> str:
        """Draw a text of ``length`` lower-case letters and digits."""
        return "".join([self.choice(LETTERS) for _ in range(length)])


rand = Rand()
"""The only instance: the arrival holds the state."""


def now() -> datetime:
    """Return the due time of the arrival, in UTC: the same for every call in one arrival.

    It is the start of the run by the coordinator's clock plus the arrival's due time. In a closed
    loop an iteration is due when it begins. In ``on_start`` and ``on_stop`` it is the time at
    which the hook began, by the agent's own clock.
    """
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415  (start-up is a promise)

    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=_due_us())


def _no_value() -> int:
    raise RuntimeError(f"rand {OUTSIDE_A_PART}")


def _no_due_us() -> int:
    raise RuntimeError(f"now() {OUTSIDE_A_PART}")


class CompletedRest:
    """Awaitable of a sleep that is over."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()


def _no_rest(_: float) -> CompletedRest:
    return CompletedRest()


_value: Callable[[], int] = _no_value
_due_us: Callable[[], int] = _no_due_us
_rest: Callable[[float], Awaitable[None]] = _no_rest


def attach(
    value: Callable[[], int],
    due_us: Callable[[], int],
    rest_for: Callable[[float], Awaitable[None]],
) -> None:
    """Set the sources of 64-bit values and due times (µs since 1970), and the sleep function."""
    global _value, _due_us, _rest
    _value, _due_us, _rest = value, due_us, rest_for


def rest(least: float, most: float) -> Awaitable[None]:
    """Let the current user sleep for a time drawn between two, in s; to be awaited."""
    return _rest(least if least == most else least + rand.float() * (most - least))


def detach() -> None:
    """Remove the sources: drawing raises RuntimeError from now on."""
    attach(_no_value, _no_due_us, _no_rest)
