"""The flags of ``loadpilot run``, read and checked together: all problems are reported at once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...compile.scenario.settings import Overrides
from ...compile.scenario.stages import USERS_MAX
from ...control.coordinator_address import Api
from ...control.nats_settings import Server
from ...inputs.units import parse_int
from ...local.baseline import BASELINE, NoBaseline, with_run
from ...problem import Problem, one_of, rule, without
from ..output import results
from ..sinks.outs import FLAG as OUT
from ..sinks.outs import METRICS, Out, StandardOutput, read_metrics, read_outs
from . import target
from .agent_flags import RequestedAgents, read_agents
from .breach_flags import FLAG as ABORT_ON_BREACH
from .breach_flags import read_aborts
from .fleet import Fleet, read_fleet
from .listen_flags import Listen, read_listen
from .run_flags import CALL_FORMS, DEBUG_REQUESTS_MAX, JSON, RESULTS, TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..commands.comparison.versus_flags import Sides
    from ..commands.search.search_flags import SearchOptions
    from .run_flags import CallForm, RunFlags

AGENTS_MAX = 256
"""Maximum number of agents of a local stack: each is a process."""
SHARE_PPM = 1_000_000
"""All calls, in millionths."""
SEED_MAX = 2**53 - 1
"""Largest seed: readers that know only doubles must read it exactly."""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags, read together."""

    file: Path
    target: target.Target
    scenario: str | None
    local_agents: int
    """Number of agents that are started for this run."""
    agents: RequestedAgents
    """All agents that the run requests, local ones included."""
    fleet: Fleet | None
    """Fleet of the agents; None for a stack that is started here."""
    listen: Listen | None
    """Address at which that stack is open to other machines."""
    overrides: Overrides
    files: results.ResultFiles
    outs: tuple[Out, ...]
    """Outputs that are written while the run goes on."""
    samples: Path | None
    save_baseline: bool
    append: bool
    """Whether the saved baseline keeps the runs that it has."""
    dry_run: bool
    as_json: bool
    """Whether a dry run prints the data beside the plan, too."""
    seed: int
    strict: bool
    aborts: Mapping[str, float]
    """Gates that stop the run when they fail, each with its delay in seconds after the start."""
    no_early_abort: bool
    verbose: bool
    """Whether opening, story and summary are printed in full."""
    quiet: bool
    """Whether only verdict and certificate are printed of the summary."""
    prints_report: bool
    """Whether the report is printed in place of the summary."""
    calls: CallForm | None = None
    """Form of the calls on standard output; None without them."""
    allow_target: tuple[str, ...] = ()
    """Targets that are open beside those that always are."""
    more_files: tuple[Path, ...] = ()
    """Files of further scenarios that run together with those of the first."""
    shares: Mapping[str, str] = field(default_factory=dict)
    """Shares of scenarios that run together, by name, unparsed."""
    sides: Sides | None = None
    """The two targets that are compared; None for a run alone."""
    search: SearchOptions | None = None
    """The search whose probes are run; None for a run alone."""
    probes: tuple[dict[str, Any], ...] = ()
    """Probes of that search that ended before."""

    @property
    def agents_flag(self) -> str:
        """The flag that sets the number of agents."""
        return "--agents" if self.local_agents == self.agents.want else "--external-agents"


def read(
    file: str | None,
    flags: RunFlags,
    environ: Mapping[str, str],
    more_files: Sequence[str | None] = (),
) -> tuple[Options | None, list[Problem]]:
    """Read the flags; returns no options when no scenario file was named, and all problems."""
    found = flags.found_target()
    problems = target.problems(found)
    fleet, listen, local_agents, agents = _agents(flags, environ, problems)
    seed = secrets.randbelow(SEED_MAX + 1)
    if flags.seed is not None:
        seed = parse_int("--seed", flags.seed, 0, SEED_MAX, problems)
    files = flags.results.read(problems, flags.samples)
    samples = Path(flags.samples) if flags.samples is not None else None
    aborts = read_aborts(flags.abort_on_breach, problems)
    outs = _outs(flags, problems)
    if fleet is not None and isinstance(fleet.server, Api):
        of_log = {
            "--samples": flags.samples,
            "--output": flags.output if flags.output in CALL_FORMS else None,
            ABORT_ON_BREACH: " ".join(aborts) or None,
            "--hold": " ".join(flags.hold) or None,
            OUT: " ".join(flags.out) or None,
            METRICS: flags.metrics,
        }
        problems += without(of_log, NEEDS_LOG)
    problems += _of_baseline(flags)
    sides = flags.sides(problems)
    search = flags.wanted_search(fleet, problems)
    if fleet is not None and fleet.detach:
        problems += _not_when_detached(flags)
    if flags.json and not flags.dry_run:
        problems.append(Problem("--json", "is for --dry-run; a run has --output json"))
    if flags.output not in RESULTS:
        problems.append(one_of("--output", RESULTS, flags.output))
    if flags.quiet and flags.verbose:
        problems.append(Problem("--quiet", "cannot be used with --verbose"))
    if not file:
        return None, [*problems, Problem("FILE", MISSING)]
    users = None
    if flags.users is not None:
        users = parse_int("--users", flags.users, 1, USERS_MAX, problems)
    overrides = Overrides(
        flags.rps,
        flags.duration,
        flags.warm_up,
        (*flags.threshold, *_shortfall(flags, problems)),
        flags.id_header,
        users,
        flags.max,
        flags.connections,
        _debug_requests(flags, problems),
        _samples_ppm(flags, problems),
        pairs_of("--env", flags.env, "BASE=/api", problems),
        pairs_of("--tag", flags.tag, "team=shop", problems),
        mode=flags.mode,
        ramp_up=flags.ramp_up,
        stages=flags.stages,
        user_stages=flags.user_stages,
        replay_curve=flags.replay_curve,
        replay_run=flags.replay_run,
        scale=flags.scale,
        baseline=flags.baseline,
        burst=flags.burst,
        period=flags.period,
        idle=flags.idle,
        logs=fleet.server if fleet is not None and isinstance(fleet.server, Server) else None,
        wait=flags.wait,
        session=flags.session,
        prepares_here=agents.want > local_agents,
        hold=flags.hold,
    )
    options = Options(
        Path(file),
        found,
        flags.scenario,
        local_agents,
        agents,
        fleet,
        listen,
        overrides,
        files,
        outs,
        samples,
        flags.save_baseline,
        flags.append,
        flags.dry_run,
        flags.json,
        seed,
        flags.strict,
        aborts,
        flags.no_early_abort,
        flags.verbose,
        flags.quiet,
        flags.output == JSON,
        CALL_FORMS.get(flags.output),
        tuple(flags.allow_target),
        tuple(Path(one) for one in more_files if one is not None),
        pairs_of("--share", flags.share, "Browse=70", problems),
        sides,
        search,
    )
    return options, problems


def _agents(
    flags: RunFlags, environ: Mapping[str, str], problems: list[Problem]
) -> tuple[Fleet | None, Listen | None, int, RequestedAgents]:
    """Read the fleet or the open stack, the number of local agents, and all agents."""
    fleet = read_fleet(flags.fleet, environ, problems)
    listen = read_listen(flags.listen, problems)
    if fleet is not None:
        if flags.agents is not None:
            what = "starts agents on this machine; for a fleet use --external-agents"
            problems.append(Problem("--agents", what))
        if listen is not None:
            what = "opens a stack of this machine, and the run is for a fleet; drop one"
            problems.append(Problem("--listen", what))
        return fleet, listen, 0, fleet.agents
    others = flags.fleet.agents
    # Without local agents at least one other has to join.
    least = 0 if listen is None or others.external_agents in {None, "0"} else 1
    local = parse_int("--agents", flags.agents or "1", 1 - least, AGENTS_MAX, problems)
    if listen is None:
        what = "needs agents that others start; add --nats-url URL, or --listen HOST:PORT"
        problems += without(others.written(), what)
        return None, None, local, RequestedAgents.local(local)
    if others.external_agents in {None, "0"}:
        what = "needs agents of other machines; add --external-agents INT"
        written = {flag: value for flag, value in others.written().items() if value != "0"}
        problems += without(written, what)
        return None, listen, local, RequestedAgents.local(local)
    return None, listen, local, read_agents(others, local, least, problems)


MISSING = (
    "no scenario file was named; write `loadpilot run scenario.py`, or see `loadpilot run --help`; "
    "at a terminal `loadpilot run` alone asks which one"
)
NEEDS_LOG = "needs the log itself: name the server with --nats-url instead of a coordinator"
SHARE = "must be the share of calls to write, above 0 and at most 1, such as 0.01"


def _outs(flags: RunFlags, problems: list[Problem]) -> tuple[Out, ...]:
    product = flags.output if flags.output != TEXT else None
    stdout = StandardOutput(flags.quiet, product)
    others = {**flags.results.written(), "--samples": flags.samples}
    outs = read_outs(flags.out, others, stdout, problems)
    return (*outs, *read_metrics(flags.metrics, problems))


def _of_baseline(flags: RunFlags) -> list[Problem]:
    if flags.save_baseline:
        problems = results.problems(BASELINE, "--save-baseline")
        try:
            with_run(BASELINE, {}, append=flags.append)
        except (OSError, NoBaseline) as error:
            problems.append(Problem("--append", str(error)))
        return problems
    if flags.append:
        return [Problem("--append", "needs a baseline to add to; add --save-baseline")]
    return []


def _not_when_detached(flags: RunFlags) -> list[Problem]:
    """Name the flags that need this command at the end of the run."""
    written = {**flags.results.written(), "--samples": flags.samples}
    problems = [
        Problem(flag, f"is written at the end, and --detach leaves; then: report RUN {flag} FILE")
        for flag, value in written.items()
        if value is not None
    ]
    if flags.out:
        what = "is written while a command follows the run, and --detach leaves; then: watch RUN"
        problems.append(Problem(OUT, f"{what} {OUT} KIND=URI"))
    if flags.metrics is not None:
        what = "is served by this command, and --detach leaves; then: watch RUN"
        problems.append(Problem(METRICS, f"{what} {METRICS} HOST:PORT"))
    if flags.output != TEXT:
        then = "report RUN --json" if flags.output == JSON else "dump RUN --what samples"
        what = f"is printed at the end, and --detach leaves; then: {then}"
        problems.append(Problem("--output", what))
    if flags.save_baseline:
        problems.append(Problem("--save-baseline", "is done at the end, and --detach leaves"))
    if flags.abort_on_breach:
        what = "is judged by this command, and --detach leaves; drop one"
        problems.append(Problem(ABORT_ON_BREACH, what))
    if flags.hold:
        what = "is done by this command, which changes the rate, and --detach leaves; drop one"
        problems.append(Problem("--hold", what))
    if flags.strict:
        what = "sets the exit code at the end, and --detach leaves; then: watch RUN --strict"
        problems.append(Problem("--strict", what))
    return problems


def _debug_requests(flags: RunFlags, problems: list[Problem]) -> int:
    """Read the number of arrivals whose exchanges are written out."""
    if flags.debug_requests is None:
        return 0
    return parse_int("--debug-requests", flags.debug_requests, 0, DEBUG_REQUESTS_MAX, problems)


def _samples_ppm(flags: RunFlags, problems: list[Problem]) -> int | None:
    """Read the share of calls that the log keeps one by one, in millionths; None for none."""
    has_calls = flags.samples is not None or flags.output in CALL_FORMS
    if flags.samples_share is None:
        return SHARE_PPM if has_calls else None
    if not has_calls:
        what = "needs a file to write to; add --samples FILE, or print calls with --output csv"
        problems.append(Problem("--samples-share", what))
    try:
        share_ppm = round(float(flags.samples_share) * SHARE_PPM)
    except (ValueError, OverflowError):
        share_ppm = 0
    if 1 <= share_ppm <= SHARE_PPM:
        return share_ppm
    problems.append(rule("--samples-share", SHARE, flags.samples_share))
    return None


def _shortfall(flags: RunFlags, problems: list[Problem]) -> list[str]:
    """Read the maximum share of planned arrivals that were not started, as a gate."""
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
    """Read NAME=VALUE, each name once. Invalid text is not quoted: it may be a secret."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            problems.append(Problem(place, f"must be NAME=VALUE such as {example}"))
        elif name in pairs:
            problems.append(Problem(place, f"has {name!r} twice; give each name once"))
        else:
            pairs[name] = value
    return pairs
