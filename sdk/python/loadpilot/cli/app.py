"""The commands and their flags, as cyclopts reads them; ``commands`` has a module for each."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Group, Parameter

from ..control.exit_code import ExitCode  # noqa: TC001  (cyclopts evaluates annotations)
from .commands.attack.attack_command import attack
from .commands.comparison.comparison_commands import compare, versus
from .commands.project.admin.admin_commands import admin_app
from .commands.project.deploy_commands import deploy, teardown
from .commands.project.key_app import keys_app
from .commands.search.search_command import search
from .configuration.precedence import Configuration
from .flags.coordinator_flags import ApiFlags
from .flags.declaration import GATES, OUTPUT, flag
from .flags.result_flags import ResultFlags
from .flags.run_flags import RunFlags
from .flags.server_flags import ServerFlags
from .flags.shared_flags import (
    NO_SERVER,
    Agents,
    File,
    Json,
    MoreFiles,
    RunId,
    Scenario,
    Server,
    Verbose,
)
from .flags.verdict_flags import VerdictFlags
from .import_commands import import_app, record
from .live_commands import add_live_commands
from .project_commands import completion, doctor, init, model_app, version
from .table_commands import dump, plot, sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyclopts.argument import ArgumentCollection

HELP = """Load tests in Python at wire speed; every run is an immutable event log.

Exit codes:
  0    every gate passed, and the run can be trusted
  1    a gate failed
  2    wrong flags or scenario; nothing was started
  3    the run did not end, nothing answered, or its certificate is INVALID
  4    the machine, the local stack or the fleet failed
  130  interrupted by Ctrl-C; summary and results are still written
  143  interrupted by SIGTERM; summary and results are still written
"""


def options_of_run() -> Iterator[ArgumentCollection]:
    """Yield the arguments of the commands that take every option."""
    for command in RUNNING:
        yield app[command].assemble_argument_collection()


def shared_options(command: tuple[str, ...]) -> frozenset[str]:
    """Return the keys of the options that a command beside ``run`` takes from a configuration."""
    names = [one.name for flags in (ServerFlags, ApiFlags) for one in fields(flags)]
    return frozenset([*names, "strict", *(["agents"] if command == ("ui",) else [])])


RUNNING = ("run", "attack", "versus", "search")
"""Commands that take every option of a configuration; the first has the help of an option."""
RUN = Group("Run", sort_key=1)
PAST_RUNS = Group("Past runs", sort_key=2)
FLEETS = Group("Fleet", sort_key=4)
PROJECT = Group("Project", sort_key=5)


def build_text() -> str:
    """Write the text of ``--version``."""
    from ..local.build import build_text as text

    return text()


app = App(
    name="loadpilot",
    help=HELP,
    help_format="plaintext",
    version=build_text,
    version_flags=["--version"],
    default_parameter=Parameter(negative=(), show_default=False),
    result_action="return_value",
    exit_on_error=False,
    print_error=False,
    config=Configuration(options_of_run, shared_options, RUNNING),
)
RUNS_SHOWN = 20
"""Number of rows of `loadpilot runs` without a flag."""
app["--help"].group = app["--version"].group = PROJECT
DEFAULTS = RunFlags()
NO_FILES = ResultFlags()
AS_PLANNED = VerdictFlags()


@app.command(group=RUN, usage="Usage: loadpilot run [OPTIONS] [FILE...]")
def run(
    file: File = None,
    /,
    *more: MoreFiles,
    flags: Annotated[RunFlags, Parameter(name="*")] = DEFAULTS,
) -> ExitCode:
    """Run a scenario, or several together: show it live, then print its summary.

    Without FILE it asks at the terminal for a file of the folder scenarios, or of
    this directory without one, for one of its scenarios, and for the target.
    """
    from .commands.run import run as execute

    return execute(file, flags, more)


app.command(attack, group=RUN, usage="Usage: loadpilot attack [OPTIONS] [URL]")


app.command(
    versus, group=RUN, usage="Usage: loadpilot versus [OPTIONS] FILE --target-a URL --target-b URL"
)
app.command(search, group=RUN, usage="Usage: loadpilot search [OPTIONS] FILE --slo KEY=LIMIT")


@app.command(group=PROJECT, usage="Usage: loadpilot explain [OPTIONS] FILE")
def explain(
    file: File = None,
    /,
    *,
    scenario: Annotated[
        Scenario, Parameter(group=OUTPUT, help="Only this scenario of the file.")
    ] = None,
) -> ExitCode:
    """Print which scenarios of a file are compiled, which run in Python, and why."""
    from .commands.project.explain import explain as execute

    return execute(file, scenario)


@app.command(group=PAST_RUNS)
def report(
    run: Annotated[RunId, Parameter(show_default=True)] = "last",
    /,
    *,
    json: Json = False,
    verbose: Annotated[
        Verbose, Parameter(help="Print the summary in full, and examples of failed calls.")
    ] = False,
    samples: Annotated[
        str | None,
        flag(OUTPUT, "FILE", "Write the calls that `run --samples` kept to this CSV file."),
    ] = None,
    results: Annotated[ResultFlags, Parameter(name="*")] = NO_FILES,
    server: Server = NO_SERVER,
) -> ExitCode:
    """Print the summary of a past run again, from its log alone."""
    from .commands.history import report as execute

    return execute(
        run, as_json=json, samples=samples, server=server, flags=results, verbose=verbose
    )


@app.command(group=PAST_RUNS)
def replay(
    run: Annotated[RunId, Parameter(show_default=True)] = "last",
    /,
    *,
    speed: Annotated[
        str, flag(OUTPUT, "NUMBER", "Time of the run per time on the clock: 10, 0.5.", default="1")
    ] = "1",
    at: Annotated[
        str | None,
        flag(
            OUTPUT,
            "DURATION",
            "Instant of the run to begin at, such as 2m; without a terminal only the summary as "
            "of that instant is printed.",
        ),
    ] = None,
    verbose: Annotated[
        Verbose, Parameter(help="Print each step of the run, and the summary in full.")
    ] = False,
    server: Server = NO_SERVER,
) -> ExitCode:
    """Show the live view of a past run again, from its log alone; then print its summary.

    Ctrl-C ends it.
    """
    from .commands.replay import replay as execute

    return execute(run, speed=speed, at=at, server=server, verbose=verbose)


@app.command(group=PAST_RUNS)
def verify(
    run: RunId,
    /,
    *,
    json: Json = False,
    report: Annotated[
        str | None,
        flag(
            GATES,
            "FILE",
            "Also compare with this results file of the run (run --results-json): its digest must "
            "be that of the log.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        flag(GATES, "KEY", "Also check that this public key signed the run's file."),
    ] = None,
    server: Server = NO_SERVER,
) -> ExitCode:
    """Read the whole log of a run, without its index, and check every invariant.

    Exit code 0 if all hold, 3 if not.
    """
    from .commands.verify import verify as execute

    return execute(run, as_json=json, known=report, key=key, server=server)


app.command(
    compare, group=PAST_RUNS, usage="Usage: loadpilot compare [OPTIONS] CURRENT [BASELINE...]"
)


@app.command(group=PAST_RUNS, usage="Usage: loadpilot verdict [OPTIONS] [RUN...]")
def verdict(
    *run: Annotated[
        str,
        Parameter(
            help="Runs to judge: ids or their first characters, `last`, .lprun files. Default: "
            "`last`."
        ),
    ],
    flags: Annotated[VerdictFlags, Parameter(name="*")] = AS_PLANNED,
) -> ExitCode:
    """Judge past runs by other gates, or over a part of their time; nothing is stored.

    A line for each run: id, scenario, verdict and why. Exit code 1 when a run
    fails, 3 when one did not end or its figures cannot be trusted.
    """
    from .commands.verdict import verdict as execute

    return execute(list(run), flags)


@app.command(group=PAST_RUNS, usage="Usage: loadpilot note [OPTIONS] RUN [TEXT]")
def note(
    run: RunId,
    text: Annotated[
        str | None, Parameter(help="The note; without it the notes of the run are printed.")
    ] = None,
    /,
    *,
    baseline: Annotated[
        bool,
        flag(
            OUTPUT,
            "",
            "Mark the run as a baseline: `compare` takes the newest one of the scenario where no "
            "other is named or saved.",
        ),
    ] = False,
    no_baseline: Annotated[bool, flag(OUTPUT, "", "Remove that mark.")] = False,
    server: Server = NO_SERVER,
) -> ExitCode:
    """Add a note to a run that is over, or print its notes.

    Notes are stored in the run's log after its end: no report and no digest changes.
    """
    from .commands.annotations import note as execute

    return execute(run, text, baseline=baseline, no_baseline=no_baseline, server=server)


@app.command(group=PAST_RUNS)
def export(
    run: RunId,
    file: Annotated[str, Parameter(help="File to write; its name ends in .lprun.")],
    /,
    *,
    redact: Annotated[
        bool,
        flag(
            OUTPUT,
            "",
            "Leave out target, addresses, tags, parameters, request bodies, header values, source "
            "and the words of errors. Names of tasks, calls and agents stay.",
        ),
    ] = False,
    sign: Annotated[
        str | None,
        flag(OUTPUT, "FILE", "Sign the file with the nkey seed in this file."),
    ] = None,
    server: Server = NO_SERVER,
) -> ExitCode:
    """Write a run to one file, which report, verify, watch, import and ui read without a server.

    The file is a ZIP archive with a checksum. A run that is not over is refused.
    """
    from .commands.run_file import export as execute

    return execute(run, file, redact=redact, sign=sign, server=server)


for table_command in (dump, plot, sql):
    app.command(table_command, group=PAST_RUNS)

runs_app = App(
    name="runs",
    help="List the runs of this directory or of a fleet, or prune them.",
    group=PAST_RUNS,
)
app.command(runs_app)


@runs_app.default
def runs(
    *,
    tag: Annotated[
        list[str] | None,
        flag(OUTPUT, "NAME=VALUE", "Only runs that have this tag. Repeatable: all of them."),
    ] = None,
    last: Annotated[
        int, flag(OUTPUT, "INT", "Maximum number of runs, the newest.", default=RUNS_SHOWN)
    ] = RUNS_SHOWN,
    verbose: Annotated[
        Verbose, Parameter(help="Also print their targets, planned durations and logs.")
    ] = False,
    server: Server = NO_SERVER,
) -> ExitCode:
    """List the runs of this directory, or of a fleet, newest last.

    Each row has state, verdict, p99, requests per second and errors.
    """
    from .commands.history import runs as execute

    return execute(tag or [], last, server, verbose=verbose)


PRUNED = Group("Runs to delete", sort_key=1)


@runs_app.command(group=PAST_RUNS)
def prune(
    *run: Annotated[str, Parameter(help="Ids of the runs to delete, or their first characters.")],
    all: Annotated[bool, flag(PRUNED, "", "Delete every run that is over.")] = False,  # noqa: A002
    keep: Annotated[
        str | None, flag(PRUNED, "INT", "Delete all but this number of the newest runs.")
    ] = None,
    forget_teardowns: Annotated[
        bool, flag(PRUNED, "", "Also delete runs whose teardown is owed: it is then never played.")
    ] = False,
) -> ExitCode:
    """Delete runs from the logs of this directory."""
    from .commands.history import prune as execute

    return execute(list(run), everything=all, keep=keep, forget_teardowns=forget_teardowns)


add_live_commands(app)


@app.command(group=FLEETS)
def agents(*, json: Json = False, server: Server = NO_SERVER) -> ExitCode:
    """List the agents of a fleet, or of the stacks in this directory, with load and clock.

    Clock offsets are to the coordinator where a run has measured them, else
    approximate, to this machine.
    """
    from .commands.agents import agents as execute

    return execute(server, as_json=json)


@app.command(group=PROJECT)
def ui(
    *,
    port: Annotated[
        str | None, flag(OUTPUT, "INT", "Port to listen on.", default="8089, if taken any")
    ] = None,
    no_browser: Annotated[bool, flag(OUTPUT, "", "Only print the link.")] = False,
    agents: Agents = None,
) -> ExitCode:
    """Show the runs of this directory in a browser; start and steer runs there.

    Scenario files of its folder scenarios, or of the directory without one, can be started there.
    It listens on this machine only; its link opens one browser. Ctrl-C ends it and stops its runs.
    """
    from .commands.project.ui import ui as execute

    return execute(port=port, agents=agents, browser=not no_browser)


def native(name: str) -> App:
    """Add a command whose flags the native module reads and explains."""
    text = f"Run one {name} of a fleet; `loadpilot {name} --help` lists its flags."
    return app.command(App(name=name, help=text, group=FLEETS, help_flags=(), version_flags=()))


keys_app.group = FLEETS
app.command(keys_app)
agent_app, coordinator_app = native("agent"), native("coordinator")

Words = Annotated[str, Parameter(allow_leading_hyphen=True)]
"""Arguments of the native command."""


@agent_app.default
def agent(*words: Words) -> int:
    """Run an agent of a fleet until it is asked to leave."""
    from .._entry import agent as execute

    execute(words)


@coordinator_app.default
def coordinator(*words: Words) -> int:
    """Run a coordinator of a fleet until it is asked to end."""
    from .._entry import coordinator as execute

    return execute(words)


admin_app.group = FLEETS
import_app.group = PROJECT
model_app.group = PROJECT
app.command(admin_app)
app.command(deploy, group=FLEETS)
app.command(teardown, group=FLEETS)
app.command(import_app)
app.command(record, group=PROJECT)
app.command(init, group=PROJECT)
app.command(doctor, group=PROJECT)
app.command(model_app)
app.command(completion, group=PROJECT)
app.command(version, group=PROJECT)
