"""The flags of ``loadpilot run``, each declared once; :mod:`.options` reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from cyclopts import Parameter

from ...compile.scenario.settings import USERS_OF_MAX
from ..configuration.sources import current
from . import target as targets
from .connection_flags import ConnectionFlags
from .declaration import CONFIGURATION, GATES, LOAD, MOST_USED, OUTPUT, TARGET, flag
from .fleet import FleetFlags
from .listen_flags import ListenFlags
from .result_flags import ResultFlags
from .shared_flags import (  # cyclopts evaluates annotations
    Agents,  # noqa: TC001
    Metrics,  # noqa: TC001
    Out,  # noqa: TC001
    Scenario,  # noqa: TC001
    Strict,  # noqa: TC001
    Verbose,  # noqa: TC001
)

if TYPE_CHECKING:
    from ...problem import Problem
    from ..commands.comparison.versus_flags import Sides
    from ..commands.search.search_flags import SearchOptions
    from .fleet import Fleet

DEBUG_REQUESTS_MAX = 100
"""Maximum number of arrivals whose exchanges are written out."""
TEXT, JSON = "text", "json"
CallForm: TypeAlias = Literal["vegeta", "json"]
CALL_FORMS: dict[str, CallForm] = {"csv": "vegeta", "ndjson": "json"}
"""Forms of the calls on standard output, each with the native module's name of it."""
RESULTS = (TEXT, JSON, *CALL_FORMS)
"""Forms of the result on standard output."""
FIRST, SECOND = "--target-a", "--target-b"
HIDDEN = Parameter(parse=False)
"""Of flags that make no sense for two targets."""
SCENARIO_DEFAULT = "the scenario's"
"""The default of each flag that replaces a setting of the scenario."""


@dataclass(frozen=True, slots=True)
class RunFlags:
    """The flags as they were written on the command line or configured, unparsed."""

    target: Annotated[
        tuple[str, ...],
        flag(
            MOST_USED,
            "URL",
            "Target of the load, http://host[:port][/path]; paths of calls are below the path. "
            "Repeatable: arrivals take the targets in turn.",
            targets.FLAG,
            "-t",
            default=targets.DEFAULT,
        ),
    ] = ()
    rps: Annotated[
        str | None,
        flag(
            MOST_USED,
            "RATE",
            "Peak rate of arrivals: 50, 0.5, 50/s, 3000/m.",
            default=SCENARIO_DEFAULT,
        ),
    ] = None
    users: Annotated[
        str | None,
        flag(
            MOST_USED,
            "INT",
            "Number of users of a closed loop, instead of a rate: each starts its next task when "
            "its last one ended. Latency is then not counted from a schedule.",
        ),
    ] = None
    user_stages: Annotated[
        str | None,
        flag(
            LOAD,
            "DURATION:USERS,...",
            "Closed loop whose number of users follows stages, instead of users and duration: "
            "30s:200,2m:200,30s:0. Linear from the stage before, from 0 at first.",
        ),
    ] = None
    duration: Annotated[
        str | None,
        flag(
            MOST_USED,
            "DURATION",
            "Duration of the run, in mode ramp of its part after the ramp: 500ms, "
            "30s, 2m30s, 1h, or seconds. A longer ramp of the scenario is shortened to it.",
            default=SCENARIO_DEFAULT,
        ),
    ] = None
    threshold: Annotated[
        tuple[str, ...],
        flag(
            MOST_USED,
            "KEY=LIMIT",
            "Gate that fails the run, also TASK:KEY=LIMIT, such as p99_ms=500. Repeatable; "
            "replaces the scenario's gate of the same key. For a metric of the scenario write the "
            'side that passes: "orders.count>=100".',
        ),
    ] = ()

    scenario: Scenario = None
    share: Annotated[
        tuple[str, ...],
        flag(
            LOAD,
            "NAME=INT",
            "Share of a scenario that runs together with others, relative to theirs: Browse=70. "
            "Repeatable; 0 leaves the scenario out.",
            default=SCENARIO_DEFAULT,
        ),
    ] = ()
    max: Annotated[
        bool,
        flag(
            LOAD,
            "",
            "As fast as possible: a closed loop of --users, else of the scenario's users, else of "
            f"{USERS_OF_MAX}.",
        ),
    ] = False
    mode: Annotated[
        str | None,
        flag(
            LOAD,
            "MODE",
            "Shape of the rate: ramp, constant, step, spike, burst or sine.",
            default=SCENARIO_DEFAULT,
        ),
    ] = None
    ramp_up: Annotated[
        str | None,
        flag(
            LOAD,
            "DURATION",
            "Duration of the rise from 0 in mode ramp, at most that of the run.",
            default=SCENARIO_DEFAULT,
        ),
    ] = None
    baseline: Annotated[
        str | None,
        flag(
            LOAD,
            "RATE",
            "Lowest rate in mode burst, around the burst, and in mode sine, between the waves.",
            default=SCENARIO_DEFAULT,
        ),
    ] = None
    burst: Annotated[
        str | None,
        flag(
            LOAD,
            "DURATION",
            "Duration of the burst in mode burst, in the middle of the run.",
            default=SCENARIO_DEFAULT,
        ),
    ] = None
    period: Annotated[
        str | None,
        flag(LOAD, "DURATION", "Duration of a wave in mode sine.", default=SCENARIO_DEFAULT),
    ] = None
    idle: Annotated[
        str | None,
        flag(
            LOAD,
            "DURATION",
            "Duration of a first part without arrivals, before the load.",
            default=SCENARIO_DEFAULT,
        ),
    ] = None
    stages: Annotated[
        str | None,
        flag(
            LOAD,
            "DURATION:RATE,...",
            "Stages with the rate at the end of each, instead of rate, duration and mode: "
            "30s:50,1m:50.",
        ),
    ] = None
    replay_curve: Annotated[
        str | None,
        flag(
            LOAD,
            "FILE",
            "Recorded load to replay, instead of rate, duration and mode: a CSV file with second "
            "and count, an access log, or timestamps, one a line.",
        ),
    ] = None
    replay_run: Annotated[
        str | None,
        flag(
            LOAD,
            "RUN|FILE",
            "Past run to replay, or its .lprun file: the arrivals that it planned in each second.",
        ),
    ] = None
    scale: Annotated[
        str | None,
        flag(
            LOAD,
            "FACTOR",
            "Factor for the arrivals of a recorded load, such as 1.3.",
            default=SCENARIO_DEFAULT,
        ),
    ] = None
    wait: Annotated[
        str | None,
        flag(
            LOAD,
            "DURATION",
            "Pause of each user of a closed loop between two tasks: 1s; a random one, 1s,3s, "
            "exponential:median=8s (or mean=) or lognormal:median=8s,p99=45s; or 0.",
            default=SCENARIO_DEFAULT,
        ),
    ] = None
    session: Annotated[
        str | None,
        flag(
            LOAD,
            "DURATION",
            "How long each user of a closed loop stays before a new one takes its place: 12m; "
            "drawn as of --wait, lognormal:median=12m,p99=45m; or 0 for the whole run.",
            default=SCENARIO_DEFAULT,
        ),
    ] = None
    warm_up: Annotated[
        str | None,
        flag(
            LOAD,
            "DURATION",
            "Duration of the first part whose arrivals are left out of gates, rates and "
            "percentiles.",
            default=SCENARIO_DEFAULT,
        ),
    ] = None
    env: Annotated[
        tuple[str, ...],
        flag(
            LOAD,
            "NAME=VALUE",
            "Parameter that the scenario reads; goes before the environment. Repeatable. Not for "
            "secrets: other users can read command lines.",
            "--env",
            "-e",
        ),
    ] = ()
    seed: Annotated[
        str | None,
        flag(
            LOAD, "INT", "Seed of every random choice; each run prints its own.", default="random"
        ),
    ] = None
    no_early_abort: Annotated[
        bool,
        flag(
            LOAD,
            "",
            "Go on where every call fails to connect. Without it the run ends with exit code 3 "
            "when the calls of the first 5 s all fail to connect.",
        ),
    ] = False

    connections: Annotated[ConnectionFlags, Parameter(name="*")] = field(
        default_factory=ConnectionFlags
    )
    allow_target: Annotated[
        tuple[str, ...],
        flag(
            TARGET,
            "ADDRESS",
            "Open a target that agents refuse: a network such as 169.254.8.0/24, an address, a "
            "host name, or unix:/folder for the sockets below it. Repeatable. Refused are "
            "link-local and cloud metadata addresses, Unix sockets, and always the NATS server of "
            "the agent. Agents of a fleet have flags of their own.",
        ),
    ] = ()
    id_header: Annotated[
        str | None,
        flag(
            TARGET,
            "NAME",
            "Request header in which each call sends run/arrival/step. As traceparent it carries "
            "W3C Trace Context: services record a trace of each arrival, which the column "
            "trace_id of --samples names.",
        ),
    ] = None

    shortfall: Annotated[
        str | None,
        flag(
            GATES,
            "PERCENT",
            "Maximum share of planned arrivals that were not started; more fails the run. Same as "
            "--threshold shortfall=PERCENT.",
            default=5,
        ),
    ] = None
    hold: Annotated[
        tuple[str, ...],
        flag(
            GATES,
            "KEY=LIMIT",
            "Find and hold the highest rate at which this gate holds, from --rps on: p99_ms=200. "
            "The gate itself does not fail the run. Repeatable.",
        ),
    ] = ()
    abort_on_breach: Annotated[
        tuple[str, ...],
        flag(
            GATES,
            "KEY[,after=DURATION]",
            "Stop the run as soon as this gate fails, at the earliest so long after its start: "
            "p99_ms,after=30s. Such a run fails. Repeatable.",
        ),
    ] = ()
    strict: Strict = False
    results: Annotated[ResultFlags, Parameter(name="*")] = field(default_factory=ResultFlags)
    out: Out = ()
    metrics: Metrics = None
    samples: Annotated[
        str | None,
        flag(
            GATES,
            "FILE",
            "Write every call to this CSV file, one row each: about ten bytes a call in the log.",
        ),
    ] = None
    samples_share: Annotated[
        str | None,
        flag(
            GATES,
            "SHARE",
            "Share of the calls that --samples writes, such as 0.01, drawn from the seed.",
            default=1,
        ),
    ] = None
    save_baseline: Annotated[
        bool,
        flag(
            GATES,
            "",
            "Keep the figures of this run in .loadpilot/baseline.json, for `loadpilot compare`.",
        ),
    ] = False
    append: Annotated[
        bool,
        flag(
            GATES,
            "",
            "With --save-baseline: keep the runs that are there, so that `compare` knows how much "
            "runs differ by chance.",
        ),
    ] = False
    tag: Annotated[
        tuple[str, ...],
        flag(
            GATES,
            "NAME=VALUE",
            "Label of this run, such as team=shop. Repeatable; shown in report, summary and "
            "`loadpilot runs`.",
        ),
    ] = ()

    agents: Agents = None
    fleet: Annotated[FleetFlags, Parameter(name="*")] = field(default_factory=FleetFlags)
    listen: Annotated[ListenFlags, Parameter(name="*")] = field(default_factory=ListenFlags)

    profile: Annotated[
        str | None,
        flag(
            CONFIGURATION,
            "NAME",
            "Profile of the configuration: its table [profiles.NAME] goes before the rest.",
        ),
    ] = None
    config: Annotated[
        str | None,
        flag(
            CONFIGURATION,
            "FILE",
            "File with options, TOML. It goes before loadpilot.toml and [tool.loadpilot] of "
            "pyproject.toml, and after .env, the environment (--rps is LOADPILOT_RPS) and flags.",
        ),
    ] = None

    dry_run: Annotated[
        bool, flag(OUTPUT, "", "Check everything and print the plan; start nothing.")
    ] = False
    json: Annotated[
        bool,
        flag(
            OUTPUT,
            "",
            "With --dry-run: print the plan with its files and bodies, as `POST /runs` of a "
            "gateway takes it.",
        ),
    ] = False
    debug_requests: Annotated[
        str | None,
        flag(
            OUTPUT,
            "INT",
            "Number of first arrivals whose exchanges are printed below the summary, at most "
            f"{DEBUG_REQUESTS_MAX}: heads only, secrets masked.",
            default=0,
        ),
    ] = None
    output: Annotated[
        str,
        flag(
            OUTPUT,
            "text|json|csv|ndjson",
            "Result on standard output: the summary; or nothing else than the full report (json), "
            "or every call, as `dump --what samples` writes them (csv, ndjson).",
            default=TEXT,
        ),
    ] = TEXT
    quiet: Annotated[
        bool,
        flag(
            OUTPUT,
            "",
            "Print only errors and, at the end, verdict and certificate.",
            "--quiet",
            "-q",
        ),
    ] = False
    verbose: Verbose = False

    def found_target(self) -> targets.Target:
        """Return the targets that the flags name, else the default."""
        return targets.resolve(self.target, current().place(targets.FLAG))

    def sides(self, problems: list[Problem]) -> Sides | None:  # noqa: ARG002  (for `versus`)
        """Return the two targets that are compared; None for a run alone."""
        return None

    def wanted_search(
        self,
        fleet: Fleet | None,  # noqa: ARG002  (for `search`)
        problems: list[Problem],  # noqa: ARG002
    ) -> SearchOptions | None:
        """Return the search that the run is a probe of; None for a run alone."""
        return None


@dataclass(frozen=True, slots=True)
class VersusFlags(RunFlags):
    """The flags of ``loadpilot versus``: those of ``run``, with two targets in place of its own."""

    target_a: Annotated[
        str | None,
        flag(MOST_USED, "URL", "First target, http://host[:port][/path].", FIRST),
    ] = None
    target_b: Annotated[
        str | None,
        flag(MOST_USED, "URL", "Second target, which is compared with the first.", SECOND),
    ] = None
    name_a: Annotated[
        str, flag(MOST_USED, "NAME", "Name of the first target in all results.", default="A")
    ] = "A"
    name_b: Annotated[
        str, flag(MOST_USED, "NAME", "Name of the second target in all results.", default="B")
    ] = "B"
    fail_if_slower: Annotated[
        str | None,
        flag(
            GATES,
            "PERCENT",
            "Exit with 1 if a latency, the error rate or the rate of a closed loop is worse at "
            "the second target by more than this, and by more than chance. Without it the "
            "comparison is only printed, and differences up to 1 % count as none.",
        ),
    ] = None
    target: Annotated[tuple[str, ...], HIDDEN] = ()
    share: Annotated[tuple[str, ...], HIDDEN] = ()
    save_baseline: Annotated[bool, HIDDEN] = False
    append: Annotated[bool, HIDDEN] = False
    hold: Annotated[tuple[str, ...], HIDDEN] = ()

    def found_target(self) -> targets.Target:
        """Return the first target: the plan of one target is made first."""
        return targets.resolve([] if self.target_a is None else [self.target_a], FIRST)

    def sides(self, problems: list[Problem]) -> Sides:
        """Return the two targets; adds all problems."""
        from ..commands.comparison.versus_flags import read_sides  # noqa: PLC0415  (start-up)

        return read_sides(self, problems)
