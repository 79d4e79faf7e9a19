"""A recorded load as the profile of a run: ``replay_curve=`` and ``--replay-curve``.

The native module reads the file and builds the profile; here are the settings around it.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import _native
from ...problem import Problem, rule
from . import profile

if TYPE_CHECKING:
    from .settings import Settings

SOURCES = ("replay_curve",)
"""Settings that name a recorded load."""
REPLACED = ("rps", "duration", "mode", "ramp_up", "stages")
"""Settings that a recorded load replaces."""
MILLION = 1_000_000
SCALE_MAX = 1_000_000
SCALE_RULE = "must be a factor such as 1.3: above 0, with at most six decimals"


def source(settings: Settings) -> str | None:
    """Return the setting that names the recorded load of this run; None without any."""
    if settings.overrides.stages is not None:
        return None
    flagged = [name for name in SOURCES if getattr(settings.overrides, name) is not None]
    return next(iter([*flagged, *_own(settings)]), None)


def _own(settings: Settings) -> list[str]:
    return [name for name in SOURCES if name in settings.spec.arguments]


def replayed(settings: Settings, name: str) -> dict[str, Any]:
    """Build the profile of the recorded load that the setting ``name`` says."""
    _refuse_beside(settings, name)
    scale_ppm = _scale_ppm(settings)
    counts = _curve(settings, name)
    if not counts:
        return {"shape": "constant", "pieces": profile.constant(1, 1)}
    built: dict[str, Any] = json.loads(_native.replay_profile(counts, scale_ppm))
    return built


def refuse_scale(settings: Settings) -> None:
    """Refuse a scale without a recorded load."""
    is_flag = settings.overrides.scale is not None
    if is_flag or ("scale" in settings.spec.arguments and not _own(settings)):
        what = "needs a recorded load: add replay_curve=, or --replay-curve FILE"
        settings.problems.append(Problem(settings.place("scale"), what))


def _curve(settings: Settings, name: str) -> list[int]:
    """Read the arrivals of each second of a file; empty, and a problem, when it cannot be read."""
    value, place = settings.value(name), settings.place(name)
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        must = "must be the path of a file with second and count, or of timestamps"
        settings.problems.append(rule(place, must, value))
        return []
    is_flag = getattr(settings.overrides, name) is not None
    path = Path(value) if is_flag else settings.folder / value
    if not path.is_file():
        what = "is a directory; name a file" if path.is_dir() else "there is no such file"
        settings.problems.append(rule(place, what, str(path)))
        return []
    try:
        return _native.read_curve(str(path))
    except _native.Refused as refused:
        settings.problems += [
            rule(one["field"], one["rule"], one["value"]) for one in json.loads(refused.problems)
        ]
    except (_native.Fault, UnicodeError) as error:
        settings.problems.append(Problem(place, f"{path} cannot be read: {error}"))
    return []


def _scale_ppm(settings: Settings) -> int:
    """Read the scale in millionths; 1 when there is none, or an invalid one."""
    value = settings.value("scale")
    if value is None:
        return MILLION
    scaled = Decimal(0)
    if not isinstance(value, bool) and isinstance(value, str | int | float):
        try:
            scaled = Decimal(str(value).strip()) * MILLION
        except InvalidOperation:
            scaled = Decimal(0)
    is_valid = scaled.is_finite() and 1 <= scaled <= SCALE_MAX * MILLION
    if not is_valid or scaled != int(scaled):
        settings.problems.append(rule(settings.place("scale"), SCALE_RULE, value))
        return MILLION
    return int(scaled)


def _refuse_beside(settings: Settings, name: str) -> None:
    """Refuse what a recorded load replaces."""
    flag = getattr(settings.overrides, name)
    why = f"cannot be used with {settings.place(name) if flag is not None else f'{name}='}"
    for other in REPLACED:
        if getattr(settings.overrides, other, None) is not None:
            what = f"{why}: it says rate and duration; use --scale"
            settings.problems.append(Problem(settings.place(other), what))
        elif flag is None and other in settings.spec.arguments:
            what = f"{why}: it says rate and duration; drop one, or use scale="
            settings.problems.append(Problem(settings.place(other), what))
