"""The commands that bring tests from other tools: import with its kinds."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from ..control.exit_code import ExitCode  # noqa: TC001  (cyclopts evaluates annotations)
from .flags.declaration import OUTPUT, flag

import_app = App(
    name="import",
    help="""Add the run in a file to this directory, or write a scenario from another tool's file.

`loadpilot import FILE.lprun` adds a run. `loadpilot import KIND FILE` writes a
scenario in Python, and says on standard error what it could not carry over.
FILE may be -, standard input.""",
    usage="Usage: loadpilot import FILE.lprun\n       loadpilot import KIND [OPTIONS] FILE",
)

ScenarioOutput = Annotated[
    str | None,
    flag(OUTPUT, "FILE", "New file to write, in place of standard output.", "--output", "-o"),
]


@import_app.default
def import_(
    file: Annotated[str, Parameter(help="File of `loadpilot export`.")],
    /,
) -> ExitCode:
    """Add the run in a file to the runs of this directory."""
    from .commands.run_file import import_file as execute

    return execute(file)


@import_app.command
def curl(
    file: Annotated[str, Parameter(name="FILE", help="File with curl commands; -: stdin.")],
    /,
    *,
    output: ScenarioOutput = None,
) -> ExitCode:
    """Write a scenario from curl commands, in their order.

    A file has one command or many, with quotes, continued lines and variables
    of a shell. Nothing is executed. Browsers have "Copy as cURL" (bash).
    """
    from ..scenario_file.imports.readers.curl import read_curl
    from .commands.project.import_scenario import import_scenario as execute

    return execute(file, output, read_curl)


@import_app.command
def har(
    file: Annotated[str, Parameter(name="FILE", help="HTTP archive; -: stdin.")],
    /,
    *,
    output: ScenarioOutput = None,
    with_assets: Annotated[
        bool, flag(OUTPUT, "", "Keep requests of scripts, styles, fonts and images.")
    ] = False,
) -> ExitCode:
    """Write a scenario from what a browser recorded, an HTTP archive (HAR).

    Each page is a step, with the think time of the recording between two
    pages. Headers that browsers add by themselves are left out.
    """
    from ..scenario_file.imports.readers.har import read_har
    from .commands.project.import_scenario import import_scenario as execute

    return execute(file, output, lambda source: read_har(source, with_assets=with_assets))
