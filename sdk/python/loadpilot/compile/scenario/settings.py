"""Reads and checks the settings of a scenario and its flags: rate, durations, gates, tags.

A flag replaces the setting. Each problem names the flag or line of its value; all problems are
collected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...inputs.distribution import EXAMPLES, FLAG_EXAMPLES, Distribution, times_of_flag
from ...inputs.units import Wrong, duration_us, rate_urps
from ...problem import Problem, one_of, rule
from . import profile, replay, stages
from .connections import ConnectionFlags
from .mode import idle_first, pieces_of
from .stages import USERS_MAX
from .thresholds import Measurable, assigned, key_of, overriding, pairs_in, threshold

if TYPE_CHECKING:
    from ...control.nats_settings import Server
    from ...dsl import ScenarioSpec
    from ...request.headers import Secrets

MODES = ("ramp", "constant", "step", "spike", "burst", "sine", "stages")
ARRIVALS = ("uniform", "poisson")
USERS_OF_MAX = 64
"""Default number of users of ``--max``."""
ARRIVALS_PER_USER = 100
"""Arrivals per second for which a scenario in Python gets one user by default."""
POOL_MIN, POOL_MAX = 5, 100
"""Minimum and maximum of the default number of users of a scenario in Python."""
FLAG_SETTINGS = frozenset(
    {
        "rps",
        "users",
        "duration",
        "wait",
        "session",
        "warm_up",
        "mode",
        "ramp_up",
        "stages",
        "user_stages",
        "replay_curve",
        "replay_run",
        "scale",
        "baseline",
        "burst",
        "period",
        "idle",
    }
)
"""Settings with a flag of the same name."""
OFFERED = ("stages", *replay.SOURCES, "rps")
"""Settings that offer a rate."""
OPEN_LOOP_ONLY = {
    "rps": "it has no rate",
    "mode": "it has no shape",
    "ramp_up": "it has no shape",
    "steps": "it has no shape",
    "baseline": "it has no shape",
    "burst": "it has no shape",
    "period": "it has no shape",
    "idle": "it has no schedule",
    "stages": "it has no rate; say how long with duration=",
    "replay_curve": "it has no rate",
    "replay_run": "it has no rate",
    "scale": "it has no rate",
    "arrivals": "its users start the next task when the last one has ended",
    "max_in_flight": "its number of users is the maximum in flight",
}
"""Settings that a closed loop cannot have, with the reason."""
PAUSES = ("wait", "pacing")
"""Settings of the pause of a closed loop's user between two tasks."""
MAX_LATENESS_US = 500_000
"""Maximum lateness of the pacer, in µs; a later arrival is dropped, not sent late."""
TICK_US = 1_000_000
"""Length of the ticks of deltas and series, in µs."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """Values of flags; None for those not set."""

    rps: str | None = None
    duration: str | None = None
    warm_up: str | None = None
    thresholds: Sequence[str] = ()
    id_header: str | None = None
    users: int | None = None
    as_fast_as_possible: bool = False
    """``--max``: a closed loop without pauses; default :data:`USERS_OF_MAX` users."""
    connections: ConnectionFlags = field(default_factory=ConnectionFlags)
    debug_requests: int = 0
    """Number of arrivals whose exchanges are written out."""
    samples_ppm: int | None = None
    """Share of calls that are sampled, in millionths."""
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Parameters; they take precedence over the environment."""
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    mode: str | None = None
    ramp_up: str | None = None
    stages: str | None = None
    """``30s:50,1m:50``, as text."""
    user_stages: str | None = None
    """``30s:200,30s:0``, as text."""
    replay_curve: str | None = None
    replay_run: str | None = None
    scale: str | None = None
    baseline: str | None = None
    burst: str | None = None
    period: str | None = None
    idle: str | None = None
    logs: Server | None = None
    """Server of the past runs; None for those of this directory."""
    wait: str | None = None
    """``1s``, ``1s,3s``, ``exponential:median=1s`` or ``0``, as text."""
    session: str | None = None
    """As ``wait``."""
    prepares_here: bool = False
    """Whether the submitter prepares the users of a scenario in Python by default, because its
    agents are shared."""
    other_targets: Sequence[str] = ()
    """Targets that ``--target`` names after the first."""
    hold: Sequence[str] = ()
    """Gates that the run holds by its rate, ``p99_ms=200``, as text."""
    thresholds_flag: str = "--threshold"
    """Flag of the gates in ``thresholds``."""

    def loop_flag(self) -> str | None:
        """Return the flag that requests a closed loop; None if none is set."""
        if self.user_stages is not None:
            return "--user-stages"
        if self.users is not None:
            return "--users"
        return "--max" if self.as_fast_as_possible else None


@dataclass
class Settings:
    """Reads the settings of a scenario; collects the problems."""

    spec: ScenarioSpec
    overrides: Overrides
    at: str
    """File and line of the scenario."""
    problems: list[Problem] = field(default_factory=list)
    folder: Path = Path()
    """Folder of the scenario's file, where relative paths start."""
    ramp_cut_from_us: int | None = None
    """Duration of the ramp before it was cut to a shorter total duration; else None."""
    places: Mapping[str, str] = field(default_factory=dict)
    """File and line of settings that another scenario of a mix makes."""
    flagged_gates: frozenset[str] = frozenset()
    """Keys of the gates that come from flags."""

    def place(self, name: str) -> str:
        """Return the place of a setting: its flag, or the scenario's line."""
        if name in FLAG_SETTINGS and getattr(self.overrides, name) is not None:
            return f"--{name.replace('_', '-')}"
        return f"{self.places.get(name, self.at)}: {name}"

    def value(self, name: str) -> Any:
        """Return the value of a setting: that of its flag, else the scenario's or the default."""
        flag = getattr(self.overrides, name, None)
        return self.spec.get(name) if flag is None else flag

    def duration_us(self, name: str, *, least_us: int = 0) -> int:
        """Read a duration in µs; returns 1 for an invalid one and adds a problem."""
        return self.duration_of(self.place(name), self.value(name), least_us=least_us)

    def duration_of(self, place: str, value: object, *, least_us: int = 0) -> int:
        """Read the duration at ``place`` as :meth:`duration_us` does."""
        try:
            us = duration_us(place, value)
        except Wrong as wrong:
            self.problems.append(wrong.problem)
            return 1
        if us < least_us:
            self.problems.append(rule(place, "must be longer than 0", value))
            return 1
        return us

    def rate_urps(self) -> int:
        """Read the peak rate; returns 1 for an invalid one and adds a problem."""
        value, place = self.value("rps"), self.place("rps")
        try:
            urps = rate_urps(place, value)
        except Wrong as wrong:
            self.problems.append(wrong.problem)
            return 1
        if urps == 0:
            self.problems.append(rule(place, "must be greater than 0", value))
            return 1
        return urps

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Read one of a closed set; returns the first for an invalid one and adds a problem."""
        value = self.value(name)
        if not isinstance(value, str) or value not in choices:
            self.problems.append(one_of(self.place(name), choices, value))
            return choices[0]
        return value

    def whole(self, name: str, least: int, most: int) -> int:
        """Read a whole number; returns ``least`` for an invalid one and adds a problem."""
        value = self.value(name)
        sound = isinstance(value, int) and not isinstance(value, bool)
        if not sound or not least <= value <= most:
            must = f"must be a whole number from {least} to {most}"
            self.problems.append(rule(self.place(name), must, value))
            return least
        return int(value)

    def users(self) -> int | None:
        """Read the users of a closed loop; None when a rate is offered."""
        if self.overrides.users is None and (
            "users" not in self.spec.arguments or self.sets_pool()
        ):
            return USERS_OF_MAX if self.overrides.as_fast_as_possible else None
        return self.whole("users", 1, USERS_MAX)

    def rest(self, users: int | None) -> dict[str, Any] | None:
        """Read the pause of a closed loop's users between two tasks; None without one.

        Without ``users`` arrivals are due on schedule: a pause is refused.
        """
        if self.overrides.wait is not None:
            return self.flagged_wait(self.overrides.wait, users)
        arguments = self.spec.arguments
        if users is None:
            for name in PAUSES:
                if name in arguments:
                    what = (
                        "is for users= without a rate: arrivals come on schedule; "
                        "for think time inside a task, call self.wait()"
                    )
                    self.problems.append(rule(self.place(name), what, arguments[name]))
            return None
        if self.overrides.as_fast_as_possible:
            return None
        if "pacing" in arguments:
            if "wait" in arguments:
                what = "cannot be used with wait=: it says when a task begins; drop one of them"
                self.problems.append(rule(self.place("pacing"), what, arguments["pacing"]))
            return {"pacing": {"every_us": self.duration_us("pacing", least_us=1)}}
        return self.times("wait", arguments["wait"], "wait") if "wait" in arguments else None

    def flagged_wait(self, text: str, users: int | None) -> dict[str, Any] | None:
        """Read ``--wait``, which replaces the scenario's pause."""
        if users is None or self.overrides.as_fast_as_possible:
            why = "is for a closed loop: arrivals of a rate come on schedule; add --users"
            if users is not None:
                why = "cannot be used with --max: its users do not wait; drop one"
            self.problems.append(Problem(self.place("wait"), why))
            return None
        return self.flagged_times("wait", text, "wait")

    def flagged_times(self, name: str, text: str, uniform: str) -> dict[str, Any] | None:
        """Read the flag of a time of users; None for no such time, or after a problem."""
        try:
            value = times_of_flag(self.place(name), text)
        except Wrong as wrong:
            self.problems.append(wrong.problem)
            return None
        return None if value is None else self.times(name, value, uniform, FLAG_EXAMPLES)

    def times(
        self, name: str, value: object, uniform: str, examples: Mapping[str, str] = EXAMPLES
    ) -> dict[str, Any] | None:
        """Read a time of users: a duration, the shortest and the longest, or a distribution.

        The plan names a uniform distribution ``uniform``. None after a problem.
        """
        place = self.place(name)
        match value:
            case Distribution():
                try:
                    return value.in_plan(place, examples)
                except Wrong as wrong:
                    self.problems.append(wrong.problem)
                    return None
            case (least, most):
                from_us, to_us = self.duration_of(place, least), self.duration_of(place, most)
                if from_us > to_us:
                    self.problems.append(rule(place, "must not begin after its end", value))
            case _:
                from_us = to_us = self.duration_of(place, value, least_us=1)
        return {uniform: {"from_us": from_us, "to_us": to_us}}

    def sets_pool(self) -> bool:
        """Whether the scenario sets the number of users that serve its rate."""
        arguments = self.spec.arguments
        offered = not arguments.keys().isdisjoint(OFFERED)
        return "users" in arguments and offered and self.overrides.loop_flag() is None

    def pool(self, offered: Mapping[str, Any]) -> int:
        """Return the number of users that serve the rate of a scenario in Python."""
        if self.sets_pool():
            return self.whole("users", 1, USERS_MAX)
        users = round(profile.peak_urps(offered) / 1e6 / ARRIVALS_PER_USER)
        return min(max(users, POOL_MIN), POOL_MAX)

    def refuse_pool(self) -> None:
        """Add the problem that a compiled scenario needs no users to serve its rate."""
        other = next(name for name in OFFERED if name in self.spec.arguments)
        what = (
            f"cannot be used with {other}=: nothing in this scenario runs in Python, so that no "
            "user is needed to serve its rate; drop one of them"
        )
        self.problems.append(rule(self.place("users"), what, self.spec.arguments["users"]))

    def closed_loop(self, staged_us: int | None = None) -> dict[str, Any]:
        """Build the profile of a closed loop; settings of a schedule beside it are refused.

        A flag for a closed loop replaces the scenario's schedule instead. ``staged_us`` is the
        length of the stages of its users.
        """
        flag = self.overrides.loop_flag()
        own = "users=" if staged_us is None else "user_stages="
        shapes = ("mode", "ramp_up", "baseline", "burst", "period", "idle", "stages")
        for name in ("rps", *shapes, *replay.SOURCES, "scale"):
            if getattr(self.overrides, name) is not None:
                has_rate = name in ("rps", *replay.SOURCES, "scale")
                why = f"a closed loop has no {'rate' if has_rate else 'shape'}"
                what = f"cannot be used with {flag or own}: {why}; drop one"
                self.problems.append(Problem(self.place(name), what))
        if flag is None:
            for name in self.replaced():
                what = f"cannot be used with {own}: {OPEN_LOOP_ONLY[name]}; drop one of them"
                self.problems.append(rule(self.place(name), what, self.spec.arguments[name]))
        elif self.overrides.duration is None and staged_us is None:
            for name in ("stages", "user_stages", *replay.SOURCES):
                if name in self.spec.arguments:
                    is_staged = name not in replay.SOURCES
                    load = "the stages, which set" if is_staged else f"{name}=, which sets"
                    what = f"replaces {load} how long the run is; add --duration"
                    self.problems.append(Problem(flag, what))
        length_us = self.duration_us("duration", least_us=1) if staged_us is None else staged_us
        pieces = profile.closed(length_us)
        return {"shape": "closed", "pieces": pieces}

    def replaced(self) -> list[str]:
        """Return the scenario's settings that a closed loop cannot have.

        A closed loop has no schedule; with ``--max`` it has no pauses, either. A flag for stages
        replaces a constant number of users, and the other way round.
        """
        arguments = self.spec.arguments
        pauses = PAUSES if self.overrides.as_fast_as_possible else ()
        others: tuple[str, ...] = ()
        if self.overrides.loop_flag() is not None:
            is_staged = self.overrides.user_stages is not None
            others = ("users", "duration") if is_staged else ("user_stages",)
        names = (*OPEN_LOOP_ONLY, *pauses, *others)
        return [n for n in names if n in arguments and (n, arguments[n]) != ("arrivals", "uniform")]

    def own(self, replaced: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Write the settings that the scenario makes and no flag replaces, each with its line."""
        for name, value in self.spec.arguments.items():
            if name not in replaced and not self.place(name).startswith("--"):
                yield f"{name}={value!r}", self.places.get(name, self.at)

    def profile(self) -> dict[str, Any]:
        """Build the plan's profile."""
        recorded = replay.source(self)
        if recorded is not None:
            return replay.replayed(self, recorded)
        replay.refuse_scale(self)
        if self.overrides.stages is not None or "stages" in self.spec.arguments:
            return {"shape": "stages", "pieces": idle_first(self, stages.of_rate(self))}
        mode = self.choice("mode", MODES)
        if (
            self.overrides.hold
            and self.overrides.mode is None
            and "mode" not in self.spec.arguments
        ):
            mode = "constant"
        if mode == "stages":
            needed = "stages=[…]" if self.overrides.mode is None else "--stages"
            self.problems.append(Problem(self.place("mode"), f"needs {needed} to go with it"))
        return {"shape": mode, "pieces": idle_first(self, pieces_of(self, mode))}

    def ramp_up_us(self, steady_us: int) -> int:
        """Read the ramp of ramp mode, at most as long as the steady part.

        A shorter duration cuts the default ramp. It also cuts the scenario's ramp if the duration
        is a flag and the ramp is not: their author did not combine them.
        """
        us = self.duration_us("ramp_up")
        is_set = "ramp_up" in self.spec.arguments and self.overrides.duration is None
        if us > steady_us > 1 and self.overrides.ramp_up is None and not is_set:
            self.ramp_cut_from_us = us
            return steady_us
        if us > steady_us > 1:
            must = f"must not be longer than the duration, {self.value('duration')!r}"
            self.problems.append(rule(self.place("ramp_up"), must, self.value("ramp_up")))
            return 0
        return us

    def thresholds(self, gated: Measurable) -> list[dict[str, Any]]:
        """Read the gates of scenario and flags."""
        return self.with_flagged(self.own_thresholds(gated), gated)

    def with_flagged(
        self, own: Iterable[dict[str, Any]], gated: Measurable
    ) -> list[dict[str, Any]]:
        """Read the gates of flags; they replace those of the same key."""
        place = self.overrides.thresholds_flag
        pairs = assigned(place, self.overrides.thresholds, self.problems)
        flagged = self._built(place, pairs, gated)
        self.flagged_gates = frozenset(map(key_of, flagged))
        return overriding(own, flagged)

    def held_gates(self, gated: Measurable) -> list[dict[str, Any]]:
        """Read the gates that the run holds by its rate."""
        pairs = assigned("--hold", self.overrides.hold, self.problems)
        return self._built("--hold", pairs, gated)

    def own_thresholds(self, gated: Measurable) -> list[dict[str, Any]]:
        """Read the gates of the scenario."""
        value = self.spec.get("thresholds")
        if value is not None and not isinstance(value, Mapping):
            must = 'must be a dict such as {"p99_ms": 500}'
            self.problems.append(rule(self.place("thresholds"), must, value))
            value = None
        place = self.place("thresholds")
        own = self._built(place, pairs_in(value or {}), gated)
        keys = [key_of(one) for one in own]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        self.problems += [Problem(place, f"must have {key} once") for key in twice]
        return own

    def _built(
        self, place: str, pairs: Sequence[tuple[Any, Any]], gated: Measurable
    ) -> list[dict[str, Any]]:
        built = []
        for key, limit in pairs:
            one, problems = threshold(place, key, limit, gated)
            self.problems += problems
            if one is not None:
                built.append(one)
        return built

    def tags(self, secrets: Secrets) -> dict[str, str]:
        """Read the tags of scenario and flags, sorted; flags replace those of the same name."""
        value = self.spec.get("tags") or {}
        sound = isinstance(value, Mapping) and all(
            isinstance(text, str) for pair in value.items() for text in pair
        )
        if not sound:
            must = 'must be a dict of text to text such as {"team": "shop"}'
            self.problems.append(rule(self.place("tags"), must, value))
            value = {}
        tags = {**value, **self.overrides.tags}
        if secrets.found_in(tags):
            what = "hold the value of a secret; all users of the log see tags"
            self.problems.append(Problem(self.place("tags"), what))
        return dict(sorted(tags.items()))

    def may_compile(self) -> bool:
        """Read ``compile``; an invalid value counts as True and adds a problem."""
        value = self.spec.get("compile")
        if value is not None and not isinstance(value, bool):
            self.problems.append(
                rule(self.place("compile"), "compile must be True or False", value)
            )
        return value is not False

    def secret_headers(self) -> list[str]:
        """Read the names of further secret headers."""
        names = self.spec.arguments.get("secret_headers", [])
        sound = isinstance(names, list) and all(isinstance(name, str) for name in names)
        if not sound:
            must = 'must be a list of header names such as ["X-Session"]'
            self.problems.append(rule(self.place("secret_headers"), must, names))
            return []
        return list(names)
