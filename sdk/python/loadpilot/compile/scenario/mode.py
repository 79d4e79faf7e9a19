"""The pieces of a mode: reads its settings, and builds the rate over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...inputs.units import Wrong, rate_urps
from ...problem import Problem, rule
from . import profile

if TYPE_CHECKING:
    from .profile import Pieces
    from .settings import Settings

STEPS_MAX = 10_000
"""Maximum number of windows of a step profile: the plan holds one piece for each."""
WAVES_MAX = 300
"""Maximum number of waves of a sine profile, for the same reason."""
BASELINE = 5
"""A burst's baseline is this part of the rate by default: that of a spike."""
THIRD = 3
"""A burst is this part of the duration by default."""
OF_MODES = {
    "ramp_up": ("ramp",),
    "baseline": ("burst", "sine"),
    "burst": ("burst",),
    "period": ("sine",),
    "steps": ("step",),
}
"""Settings that only some modes have."""


def pieces_of(settings: Settings, mode: str) -> Pieces:
    """Build the pieces of a mode."""
    urps, us = settings.rate_urps(), settings.duration_us("duration", least_us=1)
    for name, modes in OF_MODES.items():
        if mode not in modes and _is_set(settings, name):
            what = f"is for mode {' and '.join(modes)}, and the mode is {mode}; drop one"
            settings.problems.append(Problem(settings.place(name), what))
    match mode:
        case "ramp":
            return profile.ramp(settings.ramp_up_us(us), us, urps)
        case "step":
            return profile.step(us, urps, settings.whole("steps", 1, STEPS_MAX))
        case "spike":
            return profile.spike(us, urps)
        case "burst":
            burst_us = _length_us(settings, "burst", us // THIRD, us)
            return profile.burst(us, burst_us, _baseline(settings, urps, urps // BASELINE), urps)
        case "sine":
            period_us = _length_us(settings, "period", us, None)
            if us > period_us * WAVES_MAX:
                must = f"must be long enough for at most {WAVES_MAX} waves"
                place = settings.place("period")
                settings.problems.append(rule(place, must, settings.value("period")))
                period_us = us
            return profile.sine(us, period_us, _baseline(settings, urps, 0), urps)
        case _:
            return profile.constant(us, urps)


def _is_set(settings: Settings, name: str) -> bool:
    """Whether a setting of other modes is a mistake: a flag, or beside the scenario's own mode.

    A flag for the mode replaces the scenario's settings of its own mode. ``ramp_up`` of a scenario
    may stand beside any mode.
    """
    flags = settings.overrides
    if getattr(flags, name, None) is not None:
        return True
    return flags.mode is None and name != "ramp_up" and name in settings.spec.arguments


def idle_first(settings: Settings, pieces: Pieces) -> Pieces:
    """Put the idle time, if there is one, before the pieces."""
    if settings.value("idle") is None:
        return pieces
    idle_us = settings.duration_us("idle")
    return [profile.piece(idle_us, 0, 0), *pieces] if idle_us else pieces


def _length_us(settings: Settings, name: str, default_us: int, below_us: int | None) -> int:
    """Read a part of the duration in µs; an invalid one adds a problem."""
    value, problems = settings.value(name), len(settings.problems)
    us = max(1, default_us) if value is None else settings.duration_us(name, least_us=1)
    if len(settings.problems) > problems:
        return max(1, default_us)
    if below_us is not None and us > below_us:
        must = f"must not be longer than the duration, {settings.value('duration')!r}"
        settings.problems.append(rule(settings.place(name), must, value))
        return below_us
    return us


def _baseline(settings: Settings, peak_urps: int, default_urps: int) -> int:
    """Read the lowest rate; an invalid one adds a problem."""
    value, place = settings.value("baseline"), settings.place("baseline")
    if value is None:
        return default_urps
    try:
        urps = rate_urps(place, value)
    except Wrong as wrong:
        settings.problems.append(wrong.problem)
        return 0
    if urps > peak_urps > 1:
        must = f"must not be above the rate, {settings.value('rps')!r}"
        settings.problems.append(rule(place, must, value))
        return 0
    return urps
