"""The options of k6: load, scenarios and thresholds as settings of a scenario."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .....compile.scenario import k6_thresholds
from .....inputs.units import Wrong, duration_us
from .checks import TOTAL
from .shares import shared

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...source import Source

LIMIT = re.compile(r"\s*([a-z]+|p\([\d.]{1,10}\))\s*([<>]=?)\s*(\d[\d.]{0,20})\s*")
CHECKS_RATE = f"{TOTAL}.rate"
"""Key of the threshold of all checks."""
METRICS = frozenset({TOTAL, "http_req_duration", "http_req_failed"})
DEFAULT = "default"
UNSAID = frozenset(
    {"thresholds", "scenarios", "stages", "duration", "vus", "iterations", "startVUs"}
)
VUS_MAX = 1_000_000


class Options:
    """Reads the options of one script."""

    def __init__(self, options: dict[str, Any], source: Source, place: str) -> None:
        """Take the options as data, and their place in messages."""
        self._options = options
        self._source = source
        self._place = place

    def loads(self) -> list[tuple[str, str, dict[str, Any]]]:
        """List name, function and settings of each scenario."""
        options = self._options
        for name, value in options.items():
            if name not in UNSAID and value not in (None, [], {}):
                self._note(f"the option {name[:60]!r} is not carried over")
        scenarios = options.get("scenarios")
        found = []
        if isinstance(scenarios, dict) and scenarios:
            for name, one in scenarios.items():
                if isinstance(one, dict):
                    function = one.get("exec") if isinstance(one.get("exec"), str) else DEFAULT
                    found.append((str(name), str(function), self._scenario(str(name), one)))
        if not found:
            found = [("", DEFAULT, self._simple(options))]
        if len(found) > 1:
            found = shared(found, self._note)
        thresholds = self._thresholds(options.get("thresholds"))
        for _, _, settings in found if thresholds else ():
            settings["thresholds"] = dict(thresholds)
        if thresholds and len(found) > 1:
            self._note("thresholds of all scenarios together hold for each of them by itself")
        return found

    def _simple(self, options: dict[str, Any]) -> dict[str, Any]:
        """Read users and their stages or duration."""
        if isinstance(options.get("stages"), list) and options["stages"]:
            return self._user_stages(options)
        if options.get("iterations") is not None:
            self._note("a number of iterations is not carried over: set the duration")
        if options.get("vus") is None and options.get("duration") is None:
            return {}
        duration = self._duration(options.get("duration"), "1m")
        return {"users": self._count(options.get("vus"), 1), "duration": duration}

    def _scenario(self, name: str, one: dict[str, Any]) -> dict[str, Any]:
        """Read a scenario by its executor."""
        match one.get("executor"):
            case "constant-vus" | "per-vu-iterations" | "shared-iterations" as executor:
                if executor != "constant-vus":
                    self._note(f"scenario {name[:60]!r}: iterations are not carried over")
                length = one.get("duration") or one.get("maxDuration")
                duration = self._duration(length, "1m")
                users = self._count(one.get("vus"), 1)
                settings: dict[str, Any] = {"users": users, "duration": duration}
            case "ramping-vus":
                settings = self._user_stages(one)
            case "constant-arrival-rate":
                rate = self._rate(one.get("rate"), one)
                duration = self._duration(one.get("duration"), "1m")
                settings = {"rps": rate, "duration": duration, "mode": "constant"}
            case "ramping-arrival-rate":
                start = self._rate(one.get("startRate") or 0, one)
                stages = [("0s", start)] if one.get("startRate") else []
                for stage in one.get("stages") or []:
                    if isinstance(stage, dict):
                        length = self._duration(stage.get("duration"), "1m")
                        stages.append((length, self._rate(stage.get("target"), one)))
                settings = {"stages": stages} if stages else {}
            case executor:
                self._note(f"scenario {name[:60]!r}: no executor {str(executor)[:60]!r} here")
                settings = {}
        for more in ("startTime", "env", "tags", "gracefulStop"):
            if one.get(more) not in (None, {}, "0s"):
                self._note(f"scenario {name[:60]!r}: {more} is not carried over")
        return settings

    def _user_stages(self, options: dict[str, Any]) -> dict[str, Any]:
        stages: list[tuple[str, int]] = []
        start = options.get("startVUs", options.get("vus"))
        if start:
            stages.append(("0s", self._count(start, 1)))
        for stage in options.get("stages") or []:
            if isinstance(stage, dict):
                length = self._duration(stage.get("duration"), "1m")
                stages.append((length, self._count(stage.get("target"), 0)))
        return {"user_stages": stages} if stages else {}

    def _thresholds(self, given: Any) -> dict[str, list[str] | str]:
        """Keep the thresholds that mean the same here; checks are a rate of the scenario."""
        kept: dict[str, list[str] | str] = {}
        limited: set[str] = set()
        for name, limits in given.items() if isinstance(given, dict) else ():
            for one in limits if isinstance(limits, list) else [limits]:
                text = one.get("threshold") if isinstance(one, dict) else one
                found = LIMIT.fullmatch(text) if isinstance(text, str) else None
                why = f"the threshold {str(name)[:60]!r} is not carried over"
                if name not in METRICS or found is None:
                    self._note(why)
                    continue
                try:
                    key, limit = k6_thresholds.translated(
                        f"{name} {found[1]}", f"{found[2]}{found[3]}"
                    )
                except k6_thresholds.Ambiguous as ambiguous:
                    self._note(f"{why}: {ambiguous}")
                    continue
                if key in limited:
                    self._note(f"{why}: only the first limit of {key} is")
                    continue
                limited.add(key)
                if name == TOTAL:
                    kept[CHECKS_RATE] = limit
                else:
                    kept[name] = [*kept.get(name, ()), f"{found[1]}{found[2]}{found[3]}"]
                if isinstance(one, dict) and one.get("abortOnFail"):
                    self._note("abortOnFail is not carried over: use `--abort-on-breach`")
        return kept

    def _rate(self, value: Any, options: dict[str, Any]) -> int | str:
        """Read a rate per unit of time."""
        unit = options.get("timeUnit", "1s")
        count = self._count(value, 0)
        length = self._duration(unit, "1s")
        if length in {"1s", "1"}:
            return count
        return f"{count}/{length}"

    def _duration(self, value: Any, default: str) -> str:
        if value is None:
            return default
        return self._read(value, default, lambda text: duration_us("duration", text) >= 0)

    def _read(self, value: Any, default: str, is_valid: Callable[[str], bool]) -> str:
        try:
            if isinstance(value, str) and is_valid(value):
                return value
        except Wrong:
            pass
        self._note(f"the duration {str(value)[:60]!r} is not carried over")
        return default

    def _count(self, value: Any, default: int) -> int:
        is_count = isinstance(value, int) and not isinstance(value, bool)
        if is_count and 0 <= value <= VUS_MAX:
            return int(value)
        if value is not None:
            self._note(f"the number {str(value)[:60]!r} is not carried over")
        return default

    def _note(self, what: str) -> None:
        self._source.note(self._place, what)
