"""The flags of ``loadpilot run``, read and checked together: every mistake is named at once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...compile.scenario.connections import ConnectionFlags
from ...compile.scenario.settings import USERS_MAX, Overrides
from ...control.coordinator_address import Api
from ...problem import Problem, rule, without
from ..output import results
from . import target
from .agent_flags import Crew, read_crew
from .allow import allowed
from .fleet import Fleet, FleetFlags, read_fleet
from .listen_flags import Listen, ListenFlags, read_listen
from .parse_int import whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AGENTS_MAX = 256
"""Most agents of a local stack: each is a process."""
SHARE_PPM = 1_000_000
"""All calls, in millionths."""
SEED_MAX = 2**53 - 1
"""Largest seed: readers that know only doubles must read it exactly."""


DEBUG_REQUESTS_MAX = 100
"""Most arrivals whose exchanges are written out."""
DEBUG_VARIABLE = "LOADPILOT_DEBUG_REQUESTS"


@dataclass(frozen=True, slots=True)
class Flags:
    """What was written on the command line, unread."""

    file: str | None = None
    target: str | None = None
    scenario: str | None = None
    agents: str | None = None
    rps: str | None = None
    users: str | None = None
    max: bool = False
    duration: str | None = None
    mode: str | None = None
    ramp_up: str | None = None
    stages: str | None = None
    warm_up: str | None = None
    threshold: tuple[str, ...] = ()
    shortfall: str | None = None
    results_json: str | None = None
    samples: str | None = None
    samples_share: str | None = None
    dry_run: bool = False
    seed: str | None = None
    strict: bool = False
    no_early_abort: bool = False
    verbose: bool = False
    id_header: str | None = None
    debug_requests: str | None = None
    env: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    allow_target: tuple[str, ...] = ()
    connections: ConnectionFlags = field(default_factory=ConnectionFlags)
    fleet: FleetFlags = field(default_factory=FleetFlags)
    listen: ListenFlags = field(default_factory=ListenFlags)


@dataclass(frozen=True, slots=True)
class Options:
    """What the flags, the environment and ``.env`` mean together."""

    file: Path
    target: target.Target
    scenario: str | None
    here: int
    """How many agents are started for this run."""
    crew: Crew
    """All agents that it asks for, those beside them."""
    fleet: Fleet | None
    """Whose agents these are; None: those of a stack that is started here."""
    listen: Listen | None
    """Where that stack is opened to others."""
    overrides: Overrides
    results_json: Path | None
    samples: Path | None
    dry_run: bool
    seed: int
    strict: bool
    no_early_abort: bool
    verbose: bool
    """Opening, story and summary in full."""
    allow_target: tuple[str, ...] = ()
    """What is open beside what always is."""

    @property
    def agents_flag(self) -> str:
        """The flag that says how many agents."""
        return "--agents" if self.here == self.agents else "--external-agents"

    @property
    def agents(self) -> int:
        """How many agents share the load."""
        return self.crew.want


def read(
    flags: Flags, environ: Mapping[str, str], folder: Path
) -> tuple[Options | None, list[Problem]]:
    """Read the flags; no options when no scenario file was named, beside all problems."""
    found = target.resolve(flags.target, environ, folder)
    problems = target.problems(found)
    fleet, listen, here, crew = _agents(flags, environ, problems)
    seed = secrets.randbelow(SEED_MAX + 1)
    if flags.seed is not None:
        seed = whole("--seed", flags.seed, 0, SEED_MAX, problems)
    path = Path(flags.results_json) if flags.results_json is not None else None
    if path is not None:
        problems += results.problems(path)
    samples = Path(flags.samples) if flags.samples is not None else None
    if samples is not None:
        problems += results.problems(samples, "--samples")
        if fleet is not None and isinstance(fleet.server, Api):
            what = "needs the log itself: name the server with --nats-url instead of a coordinator"
            problems.append(Problem("--samples", what))
    if fleet is not None and fleet.detach:
        problems += _stays(flags)
    if not flags.file:
        return None, [*problems, Problem("FILE", MISSING)]
    users = None
    if flags.users is not None:
        users = whole("--users", flags.users, 1, USERS_MAX, problems)
    asked = flags.debug_requests or environ.get(DEBUG_VARIABLE)
    debug_requests = 0
    if asked is not None:
        place = "--debug-requests" if flags.debug_requests else DEBUG_VARIABLE
        debug_requests = whole(place, asked, 0, DEBUG_REQUESTS_MAX, problems)
    overrides = Overrides(
        flags.rps,
        flags.duration,
        flags.warm_up,
        (*flags.threshold, *_shortfall(flags, problems)),
        flags.id_header,
        users,
        flags.max,
        flags.connections,
        debug_requests,
        _share(flags, problems),
        pairs_of("--env", flags.env, "BASE=/api", problems),
        pairs_of("--tag", flags.tag, "team=shop", problems),
        mode=flags.mode,
        ramp_up=flags.ramp_up,
        stages=flags.stages,
        prepares_here=crew.want > here,
    )
    options = Options(
        Path(flags.file),
        found,
        flags.scenario,
        here,
        crew,
        fleet,
        listen,
        overrides,
        path,
        samples,
        flags.dry_run,
        seed,
        flags.strict,
        flags.no_early_abort,
        flags.verbose,
        allowed(flags.allow_target, environ),
    )
    return options, problems


def _agents(
    flags: Flags, environ: Mapping[str, str], problems: list[Problem]
) -> tuple[Fleet | None, Listen | None, int, Crew]:
    """Read whose agents share the load, and how many are started here."""
    fleet = read_fleet(flags.fleet, environ, problems)
    listen = read_listen(flags.listen, problems)
    if fleet is not None:
        if flags.agents is not None:
            what = "starts agents on this machine; how many of a fleet: --external-agents"
            problems.append(Problem("--agents", what))
        if listen is not None:
            what = "opens a stack of this machine, and the run is for a fleet; drop one"
            problems.append(Problem("--listen", what))
        return fleet, listen, 0, fleet.crew
    others = flags.fleet.crew
    # Without any here, somebody has to come.
    least = 0 if listen is None or others.external_agents in {None, "0"} else 1
    here = whole("--agents", flags.agents or "1", 1 - least, AGENTS_MAX, problems)
    if listen is None:
        what = "is for agents that others start; add --nats-url URL, or --listen HOST:PORT"
        problems += without(others.said(), what)
        return None, None, here, Crew.here(here)
    if others.external_agents in {None, "0"}:
        what = "is about agents of other machines; say how many: --external-agents N"
        told = {flag: value for flag, value in others.said().items() if value != "0"}
        problems += without(told, what)
        return None, listen, here, Crew.here(here)
    return None, listen, here, read_crew(others, here, least, problems)


MISSING = (
    "no scenario file was named; write `loadpilot run scenario.py`, or see `loadpilot run --help`"
)


SHARE = "must be the share of calls to write, above 0 and at most 1, such as 0.01"


def _stays(flags: Flags) -> list[Problem]:
    """Name the flags for which somebody has to stay until the end."""
    said = {"--results-json": flags.results_json, "--samples": flags.samples}
    instead = {"--results-json": "report RUN --json", "--samples": "report RUN --samples FILE"}
    return [
        Problem(place, f"is written at the end, and --detach does not stay; then: {instead[place]}")
        for place, value in said.items()
        if value is not None
    ] + ([Problem("--strict", "is for the exit code; then: watch RUN --strict")] * flags.strict)


def _share(flags: Flags, problems: list[Problem]) -> int | None:
    """Read which share of the calls is told one by one, in millionths; None for none of them."""
    if flags.samples_share is None:
        return SHARE_PPM if flags.samples is not None else None
    if flags.samples is None:
        problems.append(Problem("--samples-share", "says of which file? Add --samples FILE"))
    try:
        share_ppm = round(float(flags.samples_share) * SHARE_PPM)
    except (ValueError, OverflowError):
        share_ppm = 0
    if 1 <= share_ppm <= SHARE_PPM:
        return share_ppm
    problems.append(rule("--samples-share", SHARE, flags.samples_share))
    return None


def _shortfall(flags: Flags, problems: list[Problem]) -> list[str]:
    """Read the share of planned arrivals that may remain unstarted, as a gate."""
    if flags.shortfall is None:
        return []
    try:
        share = float(flags.shortfall)
    except (ValueError, OverflowError):
        share = -1.0
    if 0 <= share <= 100:
        return [f"shortfall={flags.shortfall}"]
    problems.append(rule("--shortfall", "must be a share in percent, 0 to 100", flags.shortfall))
    return []


def pairs_of(
    place: str, texts: Sequence[str], example: str, problems: list[Problem]
) -> dict[str, str]:
    """Read NAME=VALUE, each name once. What is wrong is not quoted: it may be a secret."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            problems.append(Problem(place, f"must be NAME=VALUE such as {example}"))
        elif name in pairs:
            problems.append(Problem(place, f"says {name!r} twice"))
        else:
            pairs[name] = value
    return pairs
