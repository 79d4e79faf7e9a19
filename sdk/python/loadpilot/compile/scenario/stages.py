"""Stages of a load: ``stages=``, ``user_stages=`` and their flags, joined to linear pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...inputs.units import Wrong, duration_us, rate_urps
from ...problem import Problem, rule
from . import profile

if TYPE_CHECKING:
    from collections.abc import Callable

    from .profile import Pieces
    from .settings import Settings

USERS_MAX = 1_000_000
"""Maximum number of users of a closed loop."""


def users(place: str, value: object) -> int:
    """Read a number of active users; raises :class:`Wrong`."""
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 20:
        text = int(text)
    if isinstance(text, bool) or not isinstance(text, int) or not 0 <= text <= USERS_MAX:
        raise Wrong(rule(place, f"must be a whole number of users from 0 to {USERS_MAX}", value))
    return text


@dataclass(frozen=True, slots=True)
class Kind:
    """The quantity that stages move from target to target: rate or users."""

    setting: str
    target: Callable[[str, object], int]
    """Reads a target at a place; raises :class:`Wrong`."""
    list_rule: str
    flag_rule: str
    stage_rule: str
    replaced: tuple[str, ...]
    """Other settings for the same load, which are refused beside the stages of a scenario."""
    flags: tuple[str, ...]
    """Flags for the same load, which are refused beside stages."""


RATE = Kind(
    "stages",
    rate_urps,
    'must be a list such as [("1m", 3000), ("10s", 90000)]',
    "must be DURATION:RATE pairs such as 30s:50,1m:50",
    'must be a pair such as ("1m", 3000), or {"duration": …, "target": …}',
    ("rps", "duration", "steps", "baseline", "burst", "period"),
    ("rps", "duration", "mode", "ramp_up", "baseline", "burst", "period"),
)
USERS = Kind(
    "user_stages",
    users,
    'must be a list such as [("30s", 200), ("2m", 200)]',
    "must be DURATION:USERS pairs such as 30s:200,2m:200",
    'must be a pair such as ("30s", 200), or {"duration": …, "target": …}',
    ("users", "duration"),
    ("users", "duration"),
)


def of_rate(settings: Settings) -> Pieces:
    """Read the stages of the rate; the flag has precedence, and one of both is set."""
    flag = settings.overrides.stages
    if flag is None and settings.spec.arguments.get("mode", "stages") != "stages":
        what = "stages say it all; drop mode="
        settings.problems.append(Problem(settings.place("stages"), what))
    return _read(settings, RATE, flag)


def of_users(settings: Settings) -> Pieces | None:
    """Read the stages of the users of a closed loop; None without any."""
    flags = settings.overrides
    if flags.user_stages is None:
        if "user_stages" not in settings.spec.arguments or flags.loop_flag() is not None:
            return None
    elif flags.as_fast_as_possible:
        problem = Problem("--max", "cannot be used: --user-stages says it all")
        settings.problems.append(problem)
    pieces = _read(settings, USERS, flags.user_stages)
    if most(pieces) == 0:
        what = "must let a user begin: no stage has users"
        place = settings.place("user_stages")
        settings.problems.append(rule(place, what, settings.value("user_stages")))
    return pieces


def most(pieces: Pieces) -> int:
    """Return the highest target."""
    return max(max(one["from"], one["to"]) for one in pieces)


def length_us(pieces: Pieces) -> int:
    """Return the length of all stages in µs."""
    return sum(one["duration_us"] for one in pieces)


def _read(settings: Settings, kind: Kind, flag: str | None) -> Pieces:
    """Read the flag, or without one the setting; settings that they replace are refused."""
    place = settings.place(kind.setting)
    why = f"--{kind.setting.replace('_', '-')} says it all"
    _refuse_flags(settings, kind, f"the scenario has {kind.setting}" if flag is None else why)
    if flag is not None:
        pairs = [tuple(one.strip().split(":", 1)) for one in flag.split(",")]
        if any(len(pair) != 2 for pair in pairs):
            settings.problems.append(rule(place, kind.flag_rule, flag))
            return profile.constant(1, 1)
        return _joined(settings, kind, pairs, flag)
    for name in kind.replaced:
        if getattr(settings.overrides, name, None) is None and name in settings.spec.arguments:
            what = f"{kind.setting} say it all; drop {name}="
            settings.problems.append(Problem(place, what))
    stages = settings.spec.get(kind.setting)
    if not isinstance(stages, list | tuple) or not stages:
        settings.problems.append(rule(place, kind.list_rule, stages))
        return profile.constant(1, 1)
    return _joined(settings, kind, stages, stages)


def _joined(settings: Settings, kind: Kind, stages: Sequence[object], value: object) -> Pieces:
    """Join stages to pieces, at least one; a problem quotes ``value``."""
    read = [_stage(settings, kind, number, one) for number, one in enumerate(stages, 1)]
    pieces = profile.stages(read)
    if pieces:
        return pieces
    what = "must hold a stage longer than 0"
    settings.problems.append(rule(settings.place(kind.setting), what, value))
    return profile.constant(1, 1)


def _refuse_flags(settings: Settings, kind: Kind, why: str) -> None:
    """Refuse the flags that stages replace."""
    for name in kind.flags:
        value = getattr(settings.overrides, name)
        if value is not None and (name, value) != ("mode", "stages"):
            settings.problems.append(Problem(settings.place(name), f"cannot be used: {why}"))


def _stage(settings: Settings, kind: Kind, number: int, stage: object) -> tuple[int, int]:
    """Read one stage as (length in µs, target)."""
    place = f"{settings.place(kind.setting)} {number}"
    match stage:
        case (duration, target):
            pass
        case Mapping() if set(stage) == {"duration", "target"}:
            duration, target = stage["duration"], stage["target"]
        case _:
            settings.problems.append(rule(place, kind.stage_rule, stage))
            return 1, 1
    us, reached = 1, 1
    try:
        us = duration_us(place, duration)
    except Wrong as wrong:
        settings.problems.append(wrong.problem)
    try:
        reached = kind.target(place, target)
    except Wrong as wrong:
        settings.problems.append(wrong.problem)
    return us, reached
