"""The commands and their flags, as cyclopts reads them; what they do is elsewhere."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from ..compile.scenario.connections import ConnectionFlags
from ..control.exit_code import ExitCode
from .commands.steering import HERE, NOBODY, FleetServer, OverHttp, Verbose, register
from .flags.agent_flags import CrewFlags
from .flags.fleet import FleetFlags
from .flags.listen_flags import ListenFlags
from .flags.options import Flags

HELP = """Load tests in Python at wire speed; every run is an immutable event log.

Exit codes:

0 every gate passed, and the run can be trusted

1 a gate failed

2 wrong flags or scenario; nothing was started

3 the run did not come to its end, nothing answered, or its certificate is INVALID

4 the machine, the local stack or the fleet failed

130, 143 interrupted by Ctrl-C, SIGTERM; summary and results are still written
"""

app = App(
    name="loadpilot",
    help=HELP,
    help_format="plaintext",
    version_flags=["--version"],
    default_parameter=Parameter(negative=()),
    result_action="return_value",
    exit_on_error=False,
    print_error=False,
)
runs_app = App(name="runs", help="List the runs of this directory, or prune them.")
app.command(runs_app)
register(app)

Guests = Annotated[ListenFlags, Parameter(name="*")]
ALONE = ListenFlags()


@app.command
def run(  # noqa: PLR0913  (one parameter per flag)
    file: str | None = None,
    /,
    *,
    target: Annotated[str | None, Parameter(name=["--target", "-t"])] = None,
    scenario: Annotated[str | None, Parameter(name=["--scenario", "-s"])] = None,
    agents: Annotated[str | None, Parameter(name=["--agents", "-a"])] = None,
    rps: str | None = None,
    users: str | None = None,
    max: bool = False,  # noqa: A002
    duration: str | None = None,
    mode: str | None = None,
    ramp_up: str | None = None,
    stages: str | None = None,
    warm_up: str | None = None,
    threshold: list[str] | None = None,
    shortfall: str | None = None,
    results_json: str | None = None,
    samples: str | None = None,
    samples_share: str | None = None,
    dry_run: bool = False,
    seed: str | None = None,
    strict: bool = False,
    no_early_abort: bool = False,
    verbose: Verbose = False,
    id_header: str | None = None,
    debug_requests: str | None = None,
    env: Annotated[list[str] | None, Parameter(name=["--env", "-e"])] = None,
    tag: list[str] | None = None,
    http: str | None = None,
    connections: str | None = None,
    open_first: str | None = None,
    reuse: str | None = None,
    connect_to: str | None = None,
    allow_target: list[str] | None = None,
    source: list[str] | None = None,
    ip: str | None = None,
    insecure: bool = False,
    cacert: str | None = None,
    cert: str | None = None,
    key: str | None = None,
    server: FleetServer = HERE,
    api: OverHttp = NOBODY,
    guests: Guests = ALONE,
    external_agents: str | None = None,
    min_agents: str | None = None,
    wait_agents: str | None = None,
    need: list[str] | None = None,
    detach: bool = False,
) -> ExitCode:
    """Run a scenario and print its summary.

    Parameters
    ----------
    file
        The scenario file.
    target
        Where the load goes, http://host[:port][/path]; paths of calls are below the path. Else
        LOADPILOT_TARGET, else the line LOADPILOT_TARGET= in .env, else http://localhost:8000.
    scenario
        Which scenario of the file, when it defines several.
    agents
        How many agent processes share the load on this machine; 1 if nothing is said.
    rps
        Peak rate instead of the scenario's: 50, 0.5, 50/s, 3000/m.
    users
        Closed loop instead of a rate: that many users, each of which starts its next task when its
        last one ended. Its latency is not counted from a schedule.
    max
        As fast as possible: a closed loop of --users, of the scenario's users, or of 64.
    duration
        Duration instead of the scenario's: 500ms, 30s, 2m30s, 1h, or seconds. A ramp of the
        scenario that is longer is shortened to it.
    mode
        Mode instead of the scenario's: ramp, constant, step or spike.
    ramp_up
        Length of the rise from 0 in mode ramp, at most the duration.
    stages
        Stages instead of the scenario's rate, duration and mode, as DURATION:RATE at its end:
        30s:50,1m:50.
    warm_up
        Leave arrivals due in the first part out of gates, rates and percentiles.
    threshold
        A gate, key=limit or task:key=limit, such as p99_ms=500; repeatable; replaces the
        scenario's gate of the same key. Of a metric of your own with the side that passes:
        "orders.count>=100".
    shortfall
        Fail when more than this share of the planned arrivals, in percent, was not started;
        the same as --threshold shortfall=PCT. Without it more than 5 fails.
    results_json
        Write the full report to this file.
    samples
        Write every call to this CSV file, one row each: some ten bytes a call in the log.
    samples_share
        Only that share of the calls, such as 0.01, drawn from the seed.
    dry_run
        Check everything and print the plan; start nothing.
    seed
        Fix every random choice; printed with each run.
    strict
        Exit with 3 when the certificate is DEGRADED too.
    no_early_abort
        Go on where every call fails to connect; else the run ends early, with exit code 3, when
        that is so for the first 5 s of calls.
    verbose
        Say everything: how the scenario is executed, each step of the run, the full summary.
    id_header
        Send run/arrival/step in a request header of this name.
    debug_requests
        Write out the exchanges of the first so many arrivals, at most 100, below the summary: heads
        only, secrets masked. Else LOADPILOT_DEBUG_REQUESTS.
    env
        A parameter that the scenario asks for, NAME=VALUE; repeatable; goes before the environment.
        Never for secrets: others see command lines.
    tag
        What to tell this run from others by, NAME=VALUE such as team=shop; repeatable; shown in
        report, summary and `loadpilot runs`.
    http
        1.1 (the default), 2, or auto: what an https target chooses.
    connections
        Most connections that each agent has open at a time; arrivals that find none free wait in
        the queue. An idle one of HTTP/1.1 that nothing has needed for a minute is closed.
    open_first
        Connections that each agent opens, TLS included, before the run starts; so many stay open
        however idle.
    reuse
        Which calls may use an open connection: always (the default), never, or a share such as 0.3.
    connect_to
        Connect to host:port or unix:/path instead; Host and TLS keep the name of the target.
    allow_target
        Open what agents refuse otherwise: a network such as 169.254.8.0/24, an address, a host
        name, or unix:/folder for the sockets below it; repeatable. Else LOADPILOT_ALLOW_TARGET.
        Closed are link-local and cloud metadata addresses, Unix sockets, and the agent's own NATS
        server, which stays closed. The agents of a fleet have flags of their own.
    source
        An address of this machine to connect from, with ports to use if need be, as in
        10.0.0.5:20000-30000 or [fd00::1]:20000-30000; repeatable, taken in turn.
    ip
        4 or 6: connect to addresses of this family only.
    insecure
        Do not verify the certificate of an https target; the report says so.
    cacert
        Trust the certificates of this PEM file instead of those of this machine.
    cert
        The client certificate to show, a PEM file; with --key.
    key
        Its private key, a PEM file; it never enters plan, log or report.
    external_agents
        How many agents that others start share the load: those of a fleet, 1 if nothing is said; or
        those that join by --listen, none if nothing is said.
    min_agents
        Start with this many when the wait is over; else all of them must come.
    wait_agents
        How long to wait for them: 60s if nothing is said.
    need
        Only agents that have this label, KEY=VALUE such as zone=eu; repeatable: all of them.
    detach
        Ask a fleet for the run, print its id and leave; then `loadpilot watch`. Nobody owns it: it
        goes on when you are gone.
    """
    from .commands.run import run as execute

    return execute(
        Flags(
            file=file,
            target=target,
            scenario=scenario,
            agents=agents,
            rps=rps,
            users=users,
            max=max,
            duration=duration,
            mode=mode,
            ramp_up=ramp_up,
            stages=stages,
            warm_up=warm_up,
            threshold=tuple(threshold or ()),
            shortfall=shortfall,
            results_json=results_json,
            samples=samples,
            samples_share=samples_share,
            dry_run=dry_run,
            seed=seed,
            strict=strict,
            no_early_abort=no_early_abort,
            verbose=verbose,
            id_header=id_header,
            debug_requests=debug_requests,
            env=tuple(env or ()),
            tag=tuple(tag or ()),
            allow_target=tuple(allow_target or ()),
            connections=ConnectionFlags(
                http=http,
                max=connections,
                open_first=open_first,
                reuse=reuse,
                connect_to=connect_to,
                sources=tuple(source or ()),
                ip=ip,
                insecure=insecure,
                cacert=cacert,
                cert=cert,
                key=key,
            ),
            fleet=FleetFlags(
                server=server,
                api=api,
                crew=CrewFlags(external_agents, min_agents, wait_agents, tuple(need or ())),
                detach=detach,
            ),
            listen=guests,
        )
    )


@app.command
def explain(
    file: str | None = None,
    /,
    *,
    scenario: Annotated[str | None, Parameter(name=["--scenario", "-s"])] = None,
) -> ExitCode:
    """Say which scenarios of a file are compiled, which run in Python, and why.

    Parameters
    ----------
    file
        The scenario file.
    scenario
        Only this scenario of the file.
    """
    from .commands.explain import explain as execute

    return execute(file, scenario)


@app.command
def report(
    run: str = "last",
    /,
    *,
    json: bool = False,
    verbose: Verbose = False,
    samples: str | None = None,
    server: FleetServer = HERE,
) -> ExitCode:
    """Print the summary of a past run again, from its log alone.

    Parameters
    ----------
    run
        Its id, or the beginning of it; `last`, which is the default, is the newest.
    verbose
        Print the summary in full.
    json
        Print the full report as JSON instead.
    samples
        Write the calls of a run that kept them (run --samples) to this CSV file.
    """
    from .commands.history import report as execute

    return execute(run, as_json=json, samples=samples, server=server, verbose=verbose)


@app.command
def verify(
    run: str,
    /,
    *,
    json: bool = False,
    report: str | None = None,
    server: FleetServer = HERE,
) -> ExitCode:
    """Read the log of a run again and check every invariant: exit code 0 if all hold, 3 if not.

    Parameters
    ----------
    run
        Its id, or the beginning of it; `last` is the newest.
    json
        Print what was found as JSON instead.
    report
        Also compare with this results file of the run (run --results-json): its digest must be
        that of the log.
    """
    from .commands.verify import verify as execute

    return execute(run, as_json=json, known=report, server=server)


@runs_app.default
def runs(
    *,
    tag: list[str] | None = None,
    last: int = 20,
    verbose: Verbose = False,
    server: FleetServer = HERE,
) -> ExitCode:
    """List the runs of this directory, or of a fleet, newest last.

    Each with how it ended, its verdict, and its p99, requests per second and errors.

    Parameters
    ----------
    tag
        Only runs that have this tag, NAME=VALUE; repeatable: all of them.
    last
        At most this many of the newest.
    verbose
        Also their targets, planned durations and logs.
    """
    from .commands.history import runs as execute

    return execute(tag or [], last, server, verbose=verbose)


@runs_app.command
def prune(
    *run: str,
    all: bool = False,  # noqa: A002
    keep: str | None = None,
    forget_teardowns: bool = False,
) -> ExitCode:
    """Delete runs from the logs of this directory.

    Parameters
    ----------
    run
        The ids to delete, or the beginnings of them.
    all
        Delete every run that is over.
    keep
        Delete all but this many of the newest.
    forget_teardowns
        Delete runs whose teardown is owed, too: then nobody plays it.
    """
    from .commands.history import prune as execute

    return execute(list(run), everything=all, keep=keep, forget_teardowns=forget_teardowns)


agent_app = App(
    name="agent",
    help="Be an agent of a fleet until told to leave; `loadpilot agent --help` lists its flags.",
    help_flags=(),
    version_flags=(),
)
coordinator_app = App(
    name="coordinator",
    help="Be a coordinator of a fleet; `loadpilot coordinator --help` lists its flags.",
    help_flags=(),
    version_flags=(),
)
app.command(agent_app)
app.command(coordinator_app)

Words = Annotated[str, Parameter(allow_leading_hyphen=True)]
"""Words of another program's command line."""


@agent_app.default
def agent(*words: Words) -> int:
    """Be an agent of a fleet until told to leave."""
    from .._entry import agent as execute

    execute(words)


@coordinator_app.default
def coordinator(*words: Words) -> int:
    """Be a coordinator of a fleet until told to end."""
    from .._entry import coordinator as execute

    return execute(words)


@app.command
def version() -> ExitCode:
    """Print the installed version."""
    from .. import __version__

    print(__version__)
    return ExitCode.PASSED
