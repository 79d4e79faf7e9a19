"""The commands about runs that go on: watching and steering them."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from ..control.exit_code import ExitCode  # noqa: TC001  (cyclopts evaluates annotations)
from .flags.coordinator_flags import ApiFlags
from .flags.declaration import GATES, OUTPUT, flag
from .flags.result_flags import FollowFlags
from .flags.shared_flags import NO_SERVER, Metrics, Out, RunId, Server, Strict, Verbose

if TYPE_CHECKING:
    from collections.abc import Callable

    from cyclopts import App

LIVE_RUNS = Group("Live runs", sort_key=3)
NO_COORDINATOR = ApiFlags()
AS_IT_IS = FollowFlags()


def add_live_commands(app: App) -> None:
    """Add the commands, in the order of the help."""
    commands: list[Callable[..., ExitCode]] = [watch, rate, pause, resume, stop, halt]
    for place, command in enumerate(commands, 1):
        app.command(command, group=LIVE_RUNS, sort_key=place)


def watch(
    run: RunId,
    /,
    *,
    strict: Strict = False,
    out: Out = (),
    metrics: Metrics = None,
    verbose: Annotated[
        Verbose, Parameter(help="Print each step of the run, and the summary in full.")
    ] = False,
    server: Server = NO_SERVER,
) -> ExitCode:
    """Follow a run: its story so far, the live view, then its summary and exit code.

    Ctrl-C leaves the run as it is.
    """
    from .commands.watch import watch as execute

    return execute(run, server, strict=strict, verbose=verbose, outs=out, metrics=metrics)


def rate(
    run: RunId,
    rate: Annotated[str, Parameter(help="Arrivals per second: 2000, 0.5, 50/s, 3000/m.")],
    /,
    *,
    server: Server = NO_SERVER,
) -> ExitCode:
    """Change the rate of a run; the rest of it is constant at that rate, its end stays.

    It takes effect about three seconds later, at a whole second, on all agents at once.
    """
    from .commands.steer import rate as execute

    return execute(run, rate, server)


def pause(run: RunId, /, *, server: Server = NO_SERVER) -> ExitCode:
    """Pause a run: arrivals are dropped and counted as paused; its time goes on."""
    from .commands.steer import pause as execute

    return execute(run, server)


def resume(
    run: RunId,
    /,
    *,
    follow: Annotated[FollowFlags, Parameter(name="*")] = AS_IT_IS,
    teardown: Annotated[
        bool,
        flag(
            GATES,
            "",
            "Only play the teardown that the run owes; leave a run alone that is not over.",
        ),
    ] = False,
    trust: Annotated[
        str | None,
        flag(
            GATES,
            "HASH",
            "Execute the files of the teardown if they have this hash, though you did not submit "
            "them from this machine. The refusal without it shows hash, author and files.",
        ),
    ] = None,
    server: Server = NO_SERVER,
    api: Annotated[ApiFlags, Parameter(name="*")] = NO_COORDINATOR,
) -> ExitCode:
    """Resume a paused run, or one whose command or stack is gone.

    Nothing is caught up: arrivals that were due meanwhile stay dropped, or are
    reported as not offered. A run whose command is gone is followed to its end;
    the next `loadpilot run` in this directory ends such a run instead. Files and
    outputs are written for a run that is followed, and have all of it. The
    teardown that a run owes is played here at its end; for a run that is over,
    at once. Over HTTP only teardowns can be played, and RUN must be the full id.
    """
    from .commands.resume import resume as execute

    return execute(
        run,
        flags=follow,
        server=server,
        api=api,
        teardown=teardown,
        trust=trust,
    )


def stop(run: RunId, /, *, server: Server = NO_SERVER) -> ExitCode:
    """Stop a run: nothing more is started, calls in flight end; the report names the author."""
    from .commands.steer import stop as execute

    return execute(run, server)


def halt(
    run: RunId,
    /,
    *,
    yes: Annotated[bool, flag(OUTPUT, "", "Do not ask for confirmation.")] = False,
    server: Server = NO_SERVER,
) -> ExitCode:
    """Throw the kill switch of a run: every agent cuts off calls in flight, coordinator or not."""
    from .commands.steer import halt as execute

    return execute(run, server, yes=yes)
