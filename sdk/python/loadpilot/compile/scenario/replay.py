"""A recorded load as the profile of a run: ``replay_curve=``, ``replay_run=`` and their flags.

The native module reads files and logs and builds the profile; here are the settings around it.
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
    from ...control.run_list import OpenLogs, PastRun
    from .settings import Settings

SOURCES = ("replay_curve", "replay_run")
"""Settings that name a recorded load."""
REPLACED = (
    "rps",
    "duration",
    "mode",
    "ramp_up",
    "baseline",
    "burst",
    "period",
    "idle",
    "stages",
)
"""Settings that a recorded load replaces."""
MILLION = 1_000_000
SECOND_US = 1_000_000
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
    """Build the profile of the recorded load that the setting ``name`` names."""
    _refuse_beside(settings, name)
    scale_ppm = _scale_ppm(settings)
    counts = _past(settings, name) if name == "replay_run" else _curve(settings, name)
    if not counts:
        return {"shape": "constant", "pieces": profile.constant(1, 1)}
    built: dict[str, Any] = json.loads(_native.replay_profile(counts, scale_ppm))
    return built


def refuse_scale(settings: Settings) -> None:
    """Refuse a scale without a recorded load."""
    is_flag = settings.overrides.scale is not None
    if is_flag or ("scale" in settings.spec.arguments and not _own(settings)):
        what = "needs a recorded load: add --replay-curve FILE or --replay-run RUN"
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


def _past(settings: Settings, name: str) -> list[int]:
    """Read the planned arrivals of each second of a past run; empty, and a problem, without any."""
    # The logs are opened for this setting only.
    from ...control.run_list import OpenLogs, UnknownRun, find_run, is_file  # noqa: PLC0415
    from ...control.signals import Interruptions  # noqa: PLC0415
    from ...local.stack import StackFault  # noqa: PLC0415

    value, place = settings.value(name), settings.place(name)
    if not isinstance(value, str | Path) or not str(value):
        must = "must be a run, as `loadpilot runs` lists it, or the file of one"
        settings.problems.append(rule(place, must, value))
        return []
    run = str(value)
    if is_file(run) and getattr(settings.overrides, name) is None:
        run = str(settings.folder.absolute() / run)
    try:
        with OpenLogs(Interruptions()) as logs:
            return _planned(find_run(run, logs, settings.overrides.logs), logs)
    except (UnknownRun, _native.Refused, _native.Fault, StackFault, OSError) as error:
        settings.problems.append(Problem(place, str(error)))
        return []


def _planned(one: PastRun, logs: OpenLogs) -> list[int]:
    """Read the planned arrivals of each second of a run; raises UnknownRun for one without any."""
    from ...control.run_list import UnknownRun, indexed, open_log  # noqa: PLC0415

    if not one.is_over:
        raise UnknownRun(f"run {one.run} goes on; it can be replayed when it is over")
    with open_log(one.log, logs) as session:
        if "users" in json.loads(session.plan(one.run)):
            raise UnknownRun(f"run {one.run} planned no arrivals: it was a closed loop")
        series = json.loads(indexed(session, one).series(json.dumps({"bucket_us": SECOND_US})))
    planned = [count for count in series["planned"] if count is not None]
    if not planned:
        raise UnknownRun(f"run {one.run} planned no arrivals: it never began")
    return [count * MILLION for count in planned]


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
    """Refuse settings that a recorded load replaces, and a second recorded load."""
    flag = getattr(settings.overrides, name)
    why = f"cannot be used with {settings.place(name) if flag is not None else f'{name}='}"
    for other in SOURCES:
        own = settings.spec.arguments.get(other)
        beside = own if flag is None else getattr(settings.overrides, other)
        if other != name and beside is not None:
            settings.problems.append(Problem(settings.place(other), f"{why}; drop one"))
    for other in REPLACED:
        if getattr(settings.overrides, other, None) is not None:
            what = f"{why}: it says rate and duration; use --scale"
            settings.problems.append(Problem(settings.place(other), what))
        elif flag is None and other in settings.spec.arguments:
            what = f"{why}: it says rate and duration; drop one, or use scale="
            settings.problems.append(Problem(settings.place(other), what))
