"""The commands and their flags, as cyclopts reads them; what they do is elsewhere."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from .exit_code import ExitCode
from .options import Flags

HELP = """Load tests in Python at wire speed; every run is an immutable event log.

Exit codes:

0 every gate passed, and the run can be trusted

1 a gate failed

2 wrong flags or scenario; nothing was started

3 the run did not come to its end, or its certificate is INVALID

4 the machine or the local stack failed

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


@app.command
def run(  # noqa: PLR0913  (one parameter per flag)
    file: str | None = None,
    /,
    *,
    target: Annotated[str | None, Parameter(name=["--target", "-t"])] = None,
    scenario: Annotated[str | None, Parameter(name=["--scenario", "-s"])] = None,
    agents: Annotated[str, Parameter(name=["--agents", "-a"])] = "1",
    rps: str | None = None,
    users: str | None = None,
    max: bool = False,  # noqa: A002
    duration: str | None = None,
    warm_up: str | None = None,
    threshold: list[str] | None = None,
    results_json: str | None = None,
    dry_run: bool = False,
    seed: str | None = None,
    strict: bool = False,
    id_header: str | None = None,
) -> ExitCode:
    """Run a scenario and print its summary.

    Parameters
    ----------
    file
        The scenario file.
    target
        Where the load goes, http://host[:port]. Else LOADPILOT_TARGET, else the line
        LOADPILOT_TARGET= in .env, else http://localhost:8000.
    scenario
        Which scenario of the file, when it defines several.
    agents
        How many agent processes share the load on this machine.
    rps
        Peak rate instead of the scenario's: 50, 0.5, 50/s, 3000/m.
    users
        Closed loop instead of a rate: that many users, each of which starts its next task when its
        last one ended. Its latency is not counted from a schedule.
    max
        As fast as possible: a closed loop of --users, of the scenario's users, or of 64.
    duration
        Duration instead of the scenario's: 500ms, 30s, 2m30s, 1h, or seconds.
    warm_up
        Leave arrivals due in the first part out of gates, rates and percentiles.
    threshold
        A gate, key=limit or task:key=limit, such as p99_ms=500; repeatable; replaces the
        scenario's gate of the same key.
    results_json
        Write the full report to this file.
    dry_run
        Check everything and print the plan; start nothing.
    seed
        Fix every random choice; printed with each run.
    strict
        Exit with 3 when the certificate is DEGRADED too.
    id_header
        Send run/arrival/step in a request header of this name.
    """
    from .run import run as execute

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
            warm_up=warm_up,
            threshold=tuple(threshold or ()),
            results_json=results_json,
            dry_run=dry_run,
            seed=seed,
            strict=strict,
            id_header=id_header,
        )
    )


@app.command
def report(run: str, /, *, json: bool = False) -> ExitCode:
    """Print the summary of a past run again, from its log alone.

    Parameters
    ----------
    run
        Its id, or the beginning of it; `last` is the newest.
    json
        Print the full report as JSON instead.
    """
    from .history import report as execute

    return execute(run, as_json=json)


@runs_app.default
def runs() -> ExitCode:
    """List the runs of this directory, newest last."""
    from .history import runs as execute

    return execute()


@runs_app.command
def prune(*run: str, all: bool = False, keep: str | None = None) -> ExitCode:  # noqa: A002
    """Delete runs from the logs of this directory.

    Parameters
    ----------
    run
        The ids to delete, or the beginnings of them.
    all
        Delete every run that is over.
    keep
        Delete all but this many of the newest.
    """
    from .history import prune as execute

    return execute(list(run), everything=all, keep=keep)


@app.command
def version() -> ExitCode:
    """Print the installed version."""
    from .. import __version__

    print(__version__)
    return ExitCode.PASSED
