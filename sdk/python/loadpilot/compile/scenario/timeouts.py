"""The time-outs of a scenario: that of a call as a whole, and those of its phases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...dsl import DEFAULTS
from ...problem import one_of

if TYPE_CHECKING:
    from .settings import Settings

PARTS = {"connect": "connect_us", "first_byte": "first_byte_us"}
"""Phases of a call with a time-out of their own, and its field in the plan."""


def time_outs(settings: Settings) -> tuple[int, dict[str, int]]:
    """Read the time-out of a call and those of its phases, in µs."""
    value, place = settings.value("timeout"), settings.place("timeout")
    if not isinstance(value, Mapping):
        return settings.duration_of(place, value, least_us=1), {}
    for name in value:
        if name not in ("total", *PARTS):
            settings.problems.append(one_of(place, ("total", *PARTS), name))
    total = value.get("total", DEFAULTS["timeout"])
    parts = {
        field: settings.duration_of(f"{place} {name}", value[name], least_us=1)
        for name, field in PARTS.items()
        if name in value
    }
    return settings.duration_of(f"{place} total", total, least_us=1), parts
