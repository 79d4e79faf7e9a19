"""What a scenario draws: ``rand.int(1, 6)``, ``now()``.

Fixed by the run's seed, by which arrival it is, and by how many values that arrival drew before:
the same on whatever agent, and in every run with that seed. Where the values come from is said by
whoever plays the scenario. Must never draw from anything else.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence
    from datetime import datetime

T = TypeVar("T")

BITS = 64
"""Bits of a value that is drawn."""
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
"""What :meth:`Rand.text` is made of."""
OUTSIDE_A_PART = (
    "works inside on_start, a task, a check or on_stop only, while a run plays them: elsewhere "
    "there is no arrival to draw for"
)


class Rand:
    """Draws for the arrival that a task is done for; in hooks, for the user.

    One draw is one 64-bit value of the engine, but for :meth:`uuid` (two) and :meth:`text` (one a
    letter).
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
        """Draw a text of so many small letters and digits."""
        return "".join([self.choice(LETTERS) for _ in range(length)])


rand = Rand()
"""The one there is: its state is the arrival's."""


def now() -> datetime:
    """Tell when the arrival is due, in UTC: the same for every call in one arrival.

    By the coordinator's clock: the start of the run plus the arrival's due time. In a closed loop
    an iteration is due when it begins. In ``on_start`` and ``on_stop`` it is the time at which
    these began, by the agent's own clock.
    """
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415  (start-up is a promise)

    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=_due_us())


def _no_value() -> int:
    raise RuntimeError(f"rand {OUTSIDE_A_PART}")


def _no_due_us() -> int:
    raise RuntimeError(f"now() {OUTSIDE_A_PART}")


class CompletedRest:
    """What is to be awaited of a rest that is over."""

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
    """From now on values and due times (µs since 1970) come from there, and users rest so."""
    global _value, _due_us, _rest
    _value, _due_us, _rest = value, due_us, rest_for


def rest(least: float, most: float) -> Awaitable[None]:
    """Let the user that runs rest for a time in s that is drawn between two; to be awaited."""
    return _rest(least if least == most else least + rand.float() * (most - least))


def detach() -> None:
    """From now on nobody plays: whoever draws is told so."""
    attach(_no_value, _no_due_us, _no_rest)
