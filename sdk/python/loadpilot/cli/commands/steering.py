"""The commands that act on a run that runs, or look at it, as cyclopts reads them."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ...control.exit_code import ExitCode  # noqa: TC001  (cyclopts evaluates annotations)
from ...control.nats_settings import ServerFlags
from ..flags.coordinator_flags import ApiFlags

if TYPE_CHECKING:
    from cyclopts import App


FleetServer = Annotated[ServerFlags, Parameter(name="*")]
"""The flags that name a fleet's server, the same for every command that takes one."""
HERE = ServerFlags()
"""No fleet: this directory and this machine."""
Verbose = Annotated[bool, Parameter(name=["--verbose", "-v"])]
"""Whether to say everything."""
OverHttp = Annotated[ApiFlags, Parameter(name="*")]
"""The flags that name a coordinator over HTTP."""
NOBODY = ApiFlags()
"""No coordinator is named."""


def register(app: App) -> None:
    """Add these commands to the command line."""
    for command in (stop, rate, pause, resume, halt, watch, agents, ui):
        app.command(command)


def stop(run: str, /, *, server: FleetServer = HERE) -> ExitCode:
    """Stop a run: nothing is started any more, what is in flight ends; the report says by whom.

    Parameters
    ----------
    run
        Its id, or the beginning of it; `last` is the newest.
    """
    from .steer import stop as execute

    return execute(run, server)


def rate(run: str, rate: str, /, *, server: FleetServer = HERE) -> ExitCode:
    """Change the rate of a run; the rest of it is constant at that rate, its end stays.

    It takes effect about three seconds later, at a whole second, on all agents at once.

    Parameters
    ----------
    run
        Its id, or the beginning of it; `last` is the newest.
    rate
        Arrivals per second: 2000, 0.5, 50/s, 3000/m.
    """
    from .steer import rate as execute

    return execute(run, rate, server)


def pause(run: str, /, *, server: FleetServer = HERE) -> ExitCode:
    """Pause a run: what is due is dropped and counted as paused; its time goes on.

    Parameters
    ----------
    run
        Its id, or the beginning of it; `last` is the newest.
    """
    from .steer import pause as execute

    return execute(run, server)


def resume(
    run: str,
    /,
    *,
    results_json: str | None = None,
    strict: bool = False,
    teardown: bool = False,
    trust: str | None = None,
    server: FleetServer = HERE,
    api: OverHttp = NOBODY,
) -> ExitCode:
    """Let a paused run go on, or go on with a run whose command or stack is gone.

    Nothing is caught up: what was due meanwhile stays dropped, or was offered by nobody and is
    reported so. A run whose command is gone is followed to its end; any other command in this
    directory ends such a run instead. A teardown that the run owes is played here at its end; of a
    run that is over, at once. A coordinator over HTTP lets teardowns be played, and nothing else.

    Parameters
    ----------
    run
        Its id, or the beginning of it; `last` is the newest. Over HTTP the whole id.
    results_json
        Write the full report to this file, of a run that is followed.
    strict
        Exit with 3 when the certificate is DEGRADED too, of a run that is followed.
    teardown
        Only play the teardown that it owes; nothing is done with a run that is not over.
    trust
        Execute the files of its teardown if they have this hash, though you did not submit them
        from this machine. What is refused without it shows hash, author and files.
    """
    from .resume import resume as execute

    return execute(
        run,
        results_json=results_json,
        strict=strict,
        server=server,
        api=api,
        teardown=teardown,
        trust=trust,
    )


def halt(run: str, /, *, yes: bool = False, server: FleetServer = HERE) -> ExitCode:
    """Throw the kill switch of a run: every agent cuts off what is in flight, coordinator or not.

    Parameters
    ----------
    run
        Its id, or the beginning of it; `last` is the newest.
    yes
        Do not ask whether that is meant.
    """
    from .steer import halt as execute

    return execute(run, server, yes=yes)


def watch(
    run: str,
    /,
    *,
    strict: bool = False,
    verbose: Verbose = False,
    server: FleetServer = HERE,
) -> ExitCode:
    """Attach to a run: its story so far, the live view, and in the end its summary and exit code.

    Ctrl-C leaves the run as it is.

    Parameters
    ----------
    run
        Its id, or the beginning of it; `last` is the newest.
    strict
        Exit with 3 when the certificate is DEGRADED too.
    verbose
        Say each step of the run, and print the summary in full.
    """
    from .watch import watch as execute

    return execute(run, server, strict=strict, verbose=verbose)


def agents(*, json: bool = False, server: FleetServer = HERE) -> ExitCode:
    """List the agents of a fleet, or of what runs in this directory: who, where, load, clock.

    Clocks are against the coordinator's as a run has measured them, else about, against this
    machine's.

    Parameters
    ----------
    json
        Print them as JSON instead.
    """
    from .agents import agents as execute

    return execute(server, as_json=json)


def ui(
    *,
    port: str | None = None,
    no_browser: bool = False,
    agents: Annotated[str | None, Parameter(name=["--agents", "-a"])] = None,
) -> ExitCode:
    """Show the runs of this directory in a browser, and start and steer runs there.

    It listens on this machine only; the link that it prints opens one browser. Ctrl-C ends it, and
    stops what it runs.

    Parameters
    ----------
    port
        Where it listens: 8089, or any if that is taken.
    no_browser
        Only print the link.
    agents
        How many agent processes share the load of runs that are started there; 1 if nothing is
        said.
    """
    from .ui import ui as execute

    return execute(port=port, agents=agents, browser=not no_browser)
