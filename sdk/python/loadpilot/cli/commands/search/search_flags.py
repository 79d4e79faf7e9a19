"""The flags of ``loadpilot search`` beside those of ``loadpilot run``, and the search they mean."""

# ruff: noqa: F401  (cyclopts evaluates the annotations of inherited fields here, too)

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from .... import _native
from ....compile.scenario.settings import USERS_OF_MAX
from ....control.coordinator_address import Api
from ....inputs.units import Wrong, duration_us, parse_int, percent_of, rate_urps
from ....problem import Problem, rule
from ...flags import target as targets
from ...flags.connection_flags import ConnectionFlags
from ...flags.declaration import (
    CONFIGURATION,
    GATES,
    LOAD,
    MOST_USED,
    OUTPUT,
    TARGET,
    flag,
)
from ...flags.fleet import FleetFlags
from ...flags.listen_flags import ListenFlags
from ...flags.result_flags import ResultFlags
from ...flags.run_flags import (
    CALL_FORMS,
    DEBUG_REQUESTS_MAX,
    HIDDEN,
    JSON,
    SCENARIO_DEFAULT,
    TEXT,
    RunFlags,
)
from ...flags.shared_flags import Agents, Metrics, Out, Scenario, Strict, Verbose

if TYPE_CHECKING:
    from ...flags.fleet import Fleet

START, LIMIT, PROBE, COOLDOWN = "20", "1000000", "15s", "10s"
PRECISION, CONFIRM = "2", "2"
LIMIT_MAX_URPS = 10_000_000_000_000
"""Highest rate of a plan, in millionths of an arrival per second."""
CONFIRM_MAX = 20
"""Maximum number of confirmations."""
PRECISION_MAX_PCT = 50.0
PPM_PER_PERCENT = 10_000
SLO_RULE = "must say when the target works, such as p95_ms=200"


@dataclass(frozen=True, slots=True)
class SearchResultFlags(ResultFlags):
    """The files of a search: those of a run that need no report of one run."""

    report: Annotated[str | None, HIDDEN] = None
    results_json: Annotated[str | None, HIDDEN] = None
    junit: Annotated[
        str | None,
        flag(GATES, "FILE", "Write result and probes to this file, as JUnit XML."),
    ] = None
    markdown: Annotated[
        str | None, flag(GATES, "FILE", "Write result and probes to this file, as Markdown.")
    ] = None


@dataclass(frozen=True, slots=True)
class SearchFlags(RunFlags):
    """The flags of ``loadpilot search``: those of ``run``, with a search in place of its load."""

    slo: Annotated[
        tuple[str, ...],
        flag(
            MOST_USED,
            "KEY=LIMIT",
            "When the target works, such as p95_ms=200: a gate like --threshold. Repeatable; "
            "needed unless the scenario has gates.",
        ),
    ] = ()
    start: Annotated[
        str, flag(MOST_USED, "RATE", "Rate of the first probe.", default=f"{START}/s")
    ] = START
    limit: Annotated[
        str, flag(MOST_USED, "RATE", "Highest rate that is probed.", default=f"{LIMIT}/s")
    ] = LIMIT
    probe: Annotated[
        str,
        flag(MOST_USED, "DURATION", "Duration of a probe, warm-up included.", default=PROBE),
    ] = PROBE
    cooldown: Annotated[
        str,
        flag(
            MOST_USED,
            "DURATION",
            "Pause after a probe that failed, for the target to recover.",
            default=COOLDOWN,
        ),
    ] = COOLDOWN
    precision: Annotated[
        str,
        flag(
            MOST_USED,
            "PERCENT",
            "Distance of the lowest rate that failed from the highest that passed, at which the "
            "search ends.",
            default=PRECISION,
        ),
    ] = PRECISION
    confirm: Annotated[
        str,
        flag(
            MOST_USED,
            "INT",
            "Number of further probes that the best rate has to pass; when one fails, the search "
            "goes on below it.",
            default=CONFIRM,
        ),
    ] = CONFIRM
    at_least: Annotated[
        str | None,
        flag(GATES, "RATE", "Exit with 1 if the maximum working rate is lower than this."),
    ] = None
    resume: Annotated[
        str | None,
        flag(
            MOST_USED,
            "ID",
            "Go on with this search, which was interrupted; the rest of the command is the same "
            "as before.",
        ),
    ] = None
    results: Annotated[SearchResultFlags, Parameter(name="*")] = field(
        default_factory=SearchResultFlags
    )
    output: Annotated[
        str,
        flag(
            OUTPUT,
            "text|json",
            "Result on standard output: a line for each probe and the maximum working rate; or "
            "nothing else than the search (json).",
            default=TEXT,
        ),
    ] = TEXT
    rps: Annotated[str | None, HIDDEN] = None
    users: Annotated[str | None, HIDDEN] = None
    user_stages: Annotated[str | None, HIDDEN] = None
    duration: Annotated[str | None, HIDDEN] = None
    max: Annotated[bool, HIDDEN] = False
    mode: Annotated[str | None, HIDDEN] = None
    ramp_up: Annotated[str | None, HIDDEN] = None
    baseline: Annotated[str | None, HIDDEN] = None
    burst: Annotated[str | None, HIDDEN] = None
    period: Annotated[str | None, HIDDEN] = None
    idle: Annotated[str | None, HIDDEN] = None
    stages: Annotated[str | None, HIDDEN] = None
    replay_curve: Annotated[str | None, HIDDEN] = None
    replay_run: Annotated[str | None, HIDDEN] = None
    scale: Annotated[str | None, HIDDEN] = None
    wait: Annotated[str | None, HIDDEN] = None
    warm_up: Annotated[
        str | None,
        flag(
            LOAD,
            "DURATION",
            "Duration of the first part of each probe whose arrivals are left out of gates and "
            "percentiles.",
            default=SCENARIO_DEFAULT,
        ),
    ] = None
    strict: Annotated[
        bool, flag(GATES, "", "Exit with 3 when the load generator was the limit.")
    ] = False
    hold: Annotated[tuple[str, ...], HIDDEN] = ()
    no_early_abort: Annotated[bool, HIDDEN] = False
    out: Annotated[tuple[str, ...], HIDDEN] = ()
    samples: Annotated[str | None, HIDDEN] = None
    samples_share: Annotated[str | None, HIDDEN] = None
    save_baseline: Annotated[bool, HIDDEN] = False
    append: Annotated[bool, HIDDEN] = False
    debug_requests: Annotated[str | None, HIDDEN] = None

    def wanted_search(self, fleet: Fleet | None, problems: list[Problem]) -> SearchOptions:
        """Return the search; adds all problems."""
        return read_search(self, fleet, problems)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Settings of the search."""

    settings: dict[str, int]
    """As the native module takes them: ``start_urps``, ``limit_urps``, ``precision_ppm`` and
    ``confirm``."""
    probe: str
    """Duration of a probe, as text."""
    cooldown_us: int
    at_least_urps: int | None
    slo: tuple[str, ...]
    resume: str | None
    """Name of the search that goes on; None for a new one."""
    id: str
    """Id of a new search."""


def read_search(flags: SearchFlags, fleet: Fleet | None, problems: list[Problem]) -> SearchOptions:
    """Read the flags of the search; adds all problems."""
    start = _rate("--start", flags.start, problems)
    limit = _rate("--limit", flags.limit, problems)
    if limit is not None and limit > LIMIT_MAX_URPS:
        must = f"must be at most {LIMIT_MAX_URPS // 10**6:,}/s, the highest rate of a plan"
        problems.append(rule("--limit", must, flags.limit))
    if start is not None and limit is not None and start > limit:
        must = f"must be at most --limit, {flags.limit}"
        problems.append(rule("--start", must, flags.start))
    _duration("--probe", flags.probe, 1, problems)
    settings = {
        "start_urps": start or 1,
        "limit_urps": limit or 1,
        "precision_ppm": _precision_ppm(flags.precision, problems),
        "confirm": parse_int("--confirm", flags.confirm, 0, CONFIRM_MAX, problems),
    }
    if flags.fleet.detach:
        what = "leaves, and this command decides about each probe; drop it"
        problems.append(Problem("--detach", what))
    if fleet is not None and isinstance(fleet.server, Api):
        what = "has no log of the probes; name the server with --nats-url"
        problems.append(Problem("--coordinator-url", what))
    if flags.output in CALL_FORMS:
        must = f"must be {TEXT} or {JSON}: a search is many runs"
        problems.append(rule("--output", must, flags.output))
    return SearchOptions(
        settings,
        flags.probe,
        _duration("--cooldown", flags.cooldown, 0, problems),
        None if flags.at_least is None else _rate("--at-least", flags.at_least, problems),
        flags.slo,
        flags.resume,
        _native.new_run_id(),
    )


def _rate(place: str, text: str, problems: list[Problem]) -> int | None:
    try:
        urps = rate_urps(place, text)
    except Wrong as wrong:
        problems.append(wrong.problem)
        return None
    if urps > 0:
        return urps
    problems.append(rule(place, "must be greater than 0", text))
    return None


def _duration(place: str, text: str, least_us: int, problems: list[Problem]) -> int:
    try:
        us = duration_us(place, text)
    except Wrong as wrong:
        problems.append(wrong.problem)
        return least_us
    if us < least_us:
        problems.append(rule(place, "must be longer than 0", text))
    return us


def _precision_ppm(text: str, problems: list[Problem]) -> int:
    try:
        percent = percent_of("--precision", text)
    except Wrong as wrong:
        problems.append(wrong.problem)
        return 1
    ppm = round(percent * PPM_PER_PERCENT)
    if 1 <= ppm <= PRECISION_MAX_PCT * PPM_PER_PERCENT:
        return ppm
    must = f"must be a percentage above 0 and at most {PRECISION_MAX_PCT:g}"
    problems.append(rule("--precision", must, text))
    return 1
