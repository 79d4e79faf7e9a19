"""Draws: the values made from those of the engine, as the docs describe them."""

from __future__ import annotations

import uuid
from itertools import cycle
from typing import TYPE_CHECKING

import pytest

from loadpilot import now, rand
from loadpilot.inputs import random

if TYPE_CHECKING:
    from collections.abc import Iterator

LOW, MIDDLE, HIGH = 0, 1 << 63, (1 << 64) - 1


@pytest.fixture(autouse=True)
def _played(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the engine's values the lowest, the middle and the highest in turn, at one instant."""
    values = cycle((LOW, MIDDLE, HIGH))
    monkeypatch.setattr(random, "_value", lambda: next(values))
    monkeypatch.setattr(random, "_due_us", lambda: 1_790_000_000_250_001)
    return


def test_values_are_spread_over_the_whole_range() -> None:
    """Broken if a bound of a range can never be drawn, or lies outside."""
    assert [rand.int(-5, 5) for _ in range(3)] == [-5, 0, 5]
    assert [rand.float() for _ in range(3)] == [0.0, 0.5, 1 - 2.0**-53]
    assert [rand.choice("abcd") for _ in range(3)] == ["a", "c", "d"]
    assert rand.text(6) == "as9as9"
    assert rand.int(0, HIGH) == LOW
    assert uuid.UUID(rand.uuid()).version == 4


def test_now_is_the_instant_at_which_the_arrival_is_due() -> None:
    """Broken if a time is cut, or has no zone."""
    assert now().isoformat() == "2026-09-21T14:13:20.250001+00:00"


def test_what_cannot_be_drawn_is_an_error() -> None:
    """Broken if a range with exchanged bounds draws a value."""
    with pytest.raises(ValueError, match="the first must not be above the second"):
        rand.int(2, 1)
    with pytest.raises(ValueError, match="at most 2"):
        rand.int(0, HIGH + 1)
    with pytest.raises(TypeError, match="two whole numbers"):
        rand.int(0.5, 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one"):
        rand.choice([])
