"""What a scenario and its flags say, read and checked: rate, times, gates.

Flags win over the scenario. Every value is judged at the place where it was said, so that a
message names the flag or the line; all problems are collected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...problem import Problem, rule
from ...units import Wrong, duration_us, rate_urps
from . import profile
from .connections import ConnectionFlags
from .thresholds import Measurable, assignment, overriding, threshold

if TYPE_CHECKING:
    from ...dsl import ScenarioSpec
    from ...request.headers import Secrets
    from .profile import Pieces

MODES = ("ramp", "constant", "step", "spike", "stages")
ARRIVALS = ("uniform", "poisson")
STEPS_MAX = 10_000
"""Most windows of a step profile: the plan holds one piece for each."""
USERS_MAX = 1_000_000
"""Most users of a closed loop."""
USERS_OF_MAX = 64
"""The users of ``--max`` when nobody says how many."""
ARRIVALS_A_USER = 100
"""So many arrivals a second make one user of a scenario in Python …"""
POOL_LEAST, POOL_MOST = 5, 100
"""… but there are this many at least, and at most, unless the scenario says."""
FLAGGED = frozenset({"rps", "users", "duration", "warm_up", "mode", "ramp_up", "stages"})
"""Settings that a flag of the same name replaces."""
OF_A_SCHEDULE = {
    "rps": "it has no rate",
    "mode": "it has no shape",
    "ramp_up": "it has no shape",
    "steps": "it has no shape",
    "stages": "it has no rate; say how long with duration=",
    "arrivals": "its users come when they were answered",
    "max_in_flight": "as many are in flight as it has users",
}
"""What a closed loop cannot have, and why."""
RESTS = ("wait", "pacing")
"""What users of a closed loop do between two tasks."""
MAX_LATENESS_US = 500_000
"""An arrival that the pacer reaches later than this is dropped, not sent late."""
TICK_US = 1_000_000
"""The grain of deltas and series."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """What flags say; None where they say nothing."""

    rps: str | None = None
    duration: str | None = None
    warm_up: str | None = None
    thresholds: Sequence[str] = ()
    id_header: str | None = None
    users: int | None = None
    as_fast_as_possible: bool = False
    """``--max``: a closed loop, of as many users as somebody says or :data:`USERS_OF_MAX`."""
    connections: ConnectionFlags = field(default_factory=ConnectionFlags)
    debug_requests: int = 0
    """The exchanges of so many arrivals are written out."""
    samples_ppm: int | None = None
    """The share of calls that are told one by one, in millionths."""
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Parameters; they go before the environment."""
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    mode: str | None = None
    ramp_up: str | None = None
    stages: str | None = None
    """``30s:50,1m:50``, unread."""
    prepares_here: bool = False
    """The users of a scenario in Python are prepared on this side unless it says otherwise: the
    agents are not this user's alone."""

    def loop_flag(self) -> str | None:
        """Name the flag that asks for a closed loop, if one does."""
        if self.users is not None:
            return "--users"
        return "--max" if self.as_fast_as_possible else None


@dataclass
class Settings:
    """A scenario's settings while they are read."""

    spec: ScenarioSpec
    overrides: Overrides
    at: str
    """File and line of the scenario."""
    problems: list[Problem] = field(default_factory=list)
    ramp_cut_from_us: int | None = None
    """The ramp that holds by default, where the duration that a flag gave is shorter."""

    def place(self, name: str) -> str:
        """Name the place where a setting was said: its flag, or its line in the file."""
        if name in FLAGGED and getattr(self.overrides, name) is not None:
            return f"--{name.replace('_', '-')}"
        return f"{self.at}: {name}"

    def value(self, name: str) -> Any:
        """Look up what was said about ``name``, flags first."""
        flag = getattr(self.overrides, name, None)
        return self.spec.get(name) if flag is None else flag

    def duration_us(self, name: str, *, least_us: int = 0) -> int:
        """Read a duration in µs; 1 stands for what is wrong, beside its problem."""
        return self.duration_of(self.place(name), self.value(name), least_us=least_us)

    def duration_of(self, place: str, value: object, *, least_us: int = 0) -> int:
        """Read what was said at ``place`` as :meth:`duration_us` does."""
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
        """Read the peak rate; 1 stands for what is wrong, beside its problem."""
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
        """Read one of a closed set; the first stands for what is wrong, beside its problem."""
        value = self.value(name)
        if not isinstance(value, str) or value not in choices:
            must = f"must be one of {', '.join(choices)}"
            self.problems.append(rule(self.place(name), must, value))
            return choices[0]
        return value

    def whole(self, name: str, least: int, most: int) -> int:
        """Read a whole number; ``least`` stands for what is wrong, beside its problem."""
        value = self.value(name)
        sound = isinstance(value, int) and not isinstance(value, bool)
        if not sound or not least <= value <= most:
            must = f"must be a whole number from {least} to {most}"
            self.problems.append(rule(self.place(name), must, value))
            return least
        return int(value)

    def users(self) -> int | None:
        """Read the users of a closed loop; None when a rate is offered."""
        if self.overrides.users is None and ("users" not in self.spec.said or self.says_pool()):
            return USERS_OF_MAX if self.overrides.as_fast_as_possible else None
        return self.whole("users", 1, USERS_MAX)

    def rest(self, users: int | None) -> dict[str, Any] | None:
        """Read what users of a closed loop do between two tasks; None when it is nothing.

        Without ``users`` arrivals are due on schedule, and nobody may rest.
        """
        said = self.spec.said
        if users is None:
            for name in RESTS:
                if name in said:
                    what = (
                        "is for users= without a rate: arrivals on schedule wait for nobody; "
                        "to think inside a task, self.wait()"
                    )
                    self.problems.append(rule(self.place(name), what, said[name]))
            return None
        if self.overrides.as_fast_as_possible:
            return None
        if "pacing" in said:
            if "wait" in said:
                what = "cannot be used with wait=: it says when a task begins; drop one of them"
                self.problems.append(rule(self.place("pacing"), what, said["pacing"]))
            return {"pacing": {"every_us": self.duration_us("pacing", least_us=1)}}
        if "wait" not in said:
            return None
        place, wait = self.place("wait"), said["wait"]
        match wait:
            case (least, most):
                from_us, to_us = self.duration_of(place, least), self.duration_of(place, most)
                if from_us > to_us:
                    self.problems.append(rule(place, "must not begin after its end", wait))
            case _:
                from_us = to_us = self.duration_of(place, wait, least_us=1)
        return {"wait": {"from_us": from_us, "to_us": to_us}}

    def says_pool(self) -> bool:
        """Whether the scenario says how many users serve its rate."""
        said = self.spec.said
        flagged = self.overrides.users is not None or self.overrides.as_fast_as_possible
        return "users" in said and ("rps" in said or "stages" in said) and not flagged

    def pool(self, profile: Mapping[str, Any]) -> int:
        """Read how many users serve the rate of a scenario in Python."""
        if self.says_pool():
            return self.whole("users", 1, USERS_MAX)
        peak_urps: int = max(max(piece["from"], piece["to"]) for piece in profile["pieces"])
        users = round(peak_urps / 1e6 / ARRIVALS_A_USER)
        return min(max(users, POOL_LEAST), POOL_MOST)

    def refuse_pool(self) -> None:
        """Say that a compiled scenario has no users to serve its rate."""
        other = "stages" if "stages" in self.spec.said else "rps"
        what = (
            f"cannot be used with {other}=: nothing in this scenario runs in Python, so that no "
            "user is needed to serve its rate; drop one of them"
        )
        self.problems.append(rule(self.place("users"), what, self.spec.said["users"]))

    def closed_loop(self) -> dict[str, Any]:
        """Build the profile of a closed loop; what says a schedule beside it is refused.

        A flag is different: it replaces all that the scenario says of a schedule.
        """
        flag = self.overrides.loop_flag()
        for name in ("rps", "mode", "ramp_up", "stages"):
            if getattr(self.overrides, name) is not None:
                why = "a closed loop has no rate" if name == "rps" else "a closed loop has no shape"
                what = f"cannot be used with {flag or 'users='}: {why}; drop one"
                self.problems.append(Problem(self.place(name), what))
        if flag is None:
            for name in self.replaced():
                what = f"cannot be used with users=: {OF_A_SCHEDULE[name]}; drop one of them"
                self.problems.append(rule(self.place(name), what, self.spec.said[name]))
        elif "stages" in self.spec.said and self.overrides.duration is None:
            what = "replaces the stages, which said how long the run is; add --duration"
            self.problems.append(Problem(flag, what))
        pieces = profile.closed(self.duration_us("duration", least_us=1))
        return {"shape": "closed", "pieces": pieces}

    def replaced(self) -> list[str]:
        """Name what the scenario says that does not go with what it is to be.

        A closed loop has no schedule, and nobody rests who is as fast as possible.
        """
        said = self.spec.said
        rests = RESTS if self.overrides.as_fast_as_possible else ()
        names = (*OF_A_SCHEDULE, *rests)
        return [n for n in names if n in said and (n, said[n]) != ("arrivals", "uniform")]

    def profile(self) -> dict[str, Any]:
        """Build the plan's profile."""
        if self.overrides.stages is not None:
            return {"shape": "stages", "pieces": self.flagged_stages(self.overrides.stages)}
        if "stages" in self.spec.said:
            return {"shape": "stages", "pieces": self.stages()}
        mode = self.choice("mode", MODES)
        if mode == "stages":
            needed = "stages=[…]" if self.overrides.mode is None else "--stages"
            self.problems.append(Problem(self.place("mode"), f"needs {needed} to go with it"))
        urps, us = self.rate_urps(), self.duration_us("duration", least_us=1)
        match mode:
            case "ramp":
                pieces = profile.ramp(self.ramp_up_us(us), us, urps)
            case "step":
                pieces = profile.step(us, urps, self.whole("steps", 1, STEPS_MAX))
            case "spike":
                pieces = profile.spike(us, urps)
            case _:
                pieces = profile.constant(us, urps)
        return {"shape": mode, "pieces": pieces}

    def ramp_up_us(self, steady_us: int) -> int:
        """Read the ramp of ramp mode, at most as long as the steady part.

        The default ramp gives way to a shorter duration, and so does that of the scenario where
        only the duration is a flag: these two were not said together.
        """
        us = self.duration_us("ramp_up")
        is_said = "ramp_up" in self.spec.said and self.overrides.duration is None
        if us > steady_us > 1 and self.overrides.ramp_up is None and not is_said:
            self.ramp_cut_from_us = us
            return steady_us
        if us > steady_us > 1:
            must = f"must not be longer than the duration, {self.value('duration')!r}"
            self.problems.append(rule(self.place("ramp_up"), must, self.value("ramp_up")))
            return 0
        return us

    def stages(self) -> Pieces:
        """Read the stages; flags and settings that they replace are refused, not ignored."""
        place = self.place("stages")
        self.refuse_beside_stages("the scenario has stages")
        for name in ("rps", "duration"):
            if getattr(self.overrides, name) is None and name in self.spec.said:
                self.problems.append(Problem(place, f"stages say it all; drop {name}="))
        if self.spec.said.get("mode", "stages") != "stages":
            self.problems.append(Problem(place, "stages say it all; drop mode="))
        stages = self.spec.get("stages")
        if not isinstance(stages, list | tuple) or not stages:
            must = 'must be a list such as [("1m", 3000), ("10s", 90000)]'
            self.problems.append(rule(place, must, stages))
            return profile.constant(1, 1)
        pieces = profile.stages([self.stage(k, one) for k, one in enumerate(stages, 1)])
        if not pieces:
            self.problems.append(rule(place, "must hold a stage longer than 0", stages))
        return pieces

    def flagged_stages(self, text: str) -> Pieces:
        """Read ``--stages``, which replaces whatever the scenario says of its schedule."""
        self.refuse_beside_stages("--stages says it all")
        place = self.place("stages")
        pairs = [tuple(one.strip().split(":", 1)) for one in text.split(",")]
        if any(len(pair) != 2 for pair in pairs):
            must = "must be DURATION:RATE pairs such as 30s:50,1m:50"
            self.problems.append(rule(place, must, text))
            return profile.constant(1, 1)
        pieces = profile.stages([self.stage(k, pair) for k, pair in enumerate(pairs, 1)])
        if not pieces:
            self.problems.append(rule(place, "must hold a stage longer than 0", text))
        return pieces

    def refuse_beside_stages(self, why: str) -> None:
        """Refuse the flags that stages replace."""
        mode = None if self.overrides.mode == "stages" else self.overrides.mode
        flags = {
            "rps": self.overrides.rps,
            "duration": self.overrides.duration,
            "mode": mode,
            "ramp_up": self.overrides.ramp_up,
        }
        for name, flag in flags.items():
            if flag is not None:
                self.problems.append(Problem(self.place(name), f"cannot be used: {why}"))

    def stage(self, number: int, stage: object) -> tuple[int, int]:
        """Read one stage as (length in µs, target)."""
        place = f"{self.place('stages')} {number}"
        match stage:
            case (duration, target):
                pass
            case Mapping() if set(stage) == {"duration", "target"}:
                duration, target = stage["duration"], stage["target"]
            case _:
                must = 'must be a pair such as ("1m", 3000), or {"duration": …, "target": …}'
                self.problems.append(rule(place, must, stage))
                return 1, 1
        us, urps = 1, 1
        try:
            us = duration_us(place, duration)
        except Wrong as wrong:
            self.problems.append(wrong.problem)
        try:
            urps = rate_urps(place, target)
        except Wrong as wrong:
            self.problems.append(wrong.problem)
        return us, urps

    def thresholds(self, gated: Measurable) -> list[dict[str, Any]]:
        """Read the gates of scenario and flags."""
        said = self.spec.get("thresholds")
        if said is not None and not isinstance(said, Mapping):
            must = 'must be a dict such as {"p99_ms": 500}'
            self.problems.append(rule(self.place("thresholds"), must, said))
            said = None
        flagged: list[tuple[str, str]] = []
        for text in self.overrides.thresholds:
            pair = assignment(text)
            if pair is None:
                must = "must be key=value such as p99_ms=500, or orders.count>=100"
                self.problems.append(rule("--threshold", must, text))
            else:
                flagged.append(pair)
        own = self._built(self.place("thresholds"), list((said or {}).items()), gated)
        flags = self._built("--threshold", flagged, gated)
        return overriding(own, flags)

    def _built(
        self, place: str, pairs: Sequence[tuple[Any, Any]], gated: Measurable
    ) -> list[tuple[str, dict[str, Any]]]:
        built = []
        for key, limit in pairs:
            one, problems = threshold(place, key, limit, gated)
            self.problems += problems
            if one is not None:
                built.append((key, one))
        return built

    def tags(self, secrets: Secrets) -> dict[str, str]:
        """Read the tags of scenario and flags, sorted; flags replace those of the same name."""
        said = self.spec.get("tags") or {}
        sound = isinstance(said, Mapping) and all(
            isinstance(text, str) for pair in said.items() for text in pair
        )
        if not sound:
            must = 'must be a dict of text to text such as {"team": "shop"}'
            self.problems.append(rule(self.place("tags"), must, said))
            said = {}
        tags = {**said, **self.overrides.tags}
        if secrets.found_in(tags):
            what = "hold the value of a secret; tags are shown to everybody"
            self.problems.append(Problem(self.place("tags"), what))
        return dict(sorted(tags.items()))

    def may_compile(self) -> bool:
        """Read whether tasks may become code; raises nothing for what is wrong."""
        said = self.spec.get("compile")
        if said is not None and not isinstance(said, bool):
            self.problems.append(rule(self.place("compile"), "compile must be True or False", said))
        return said is not False

    def secret_headers(self) -> list[str]:
        """Read the names of further secret headers."""
        names = self.spec.get("secret_headers") or ()
        sound = not isinstance(names, str) and all(isinstance(name, str) for name in names)
        if not sound:
            must = 'must be a list of header names such as ["X-Session"]'
            self.problems.append(rule(self.place("secret_headers"), must, names))
            return []
        return list(names)
