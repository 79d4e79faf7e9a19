"""The commands that write scenarios from elsewhere: import with its kinds, and record."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from ..control.exit_code import ExitCode  # noqa: TC001  (cyclopts evaluates annotations)
from .flags.connection_flags import MACHINE_CERTIFICATES
from .flags.declaration import OUTPUT, flag
from .flags.target import DEFAULT

import_app = App(
    name="import",
    help="""Add the run in a file to this directory, or write a scenario from another tool's file.

`loadpilot import FILE.lprun` adds a run. `loadpilot import KIND FILE` writes a
scenario in Python, and says on standard error what it could not carry over.
FILE may be -, standard input.""",
    usage="Usage: loadpilot import FILE.lprun\n       loadpilot import KIND [OPTIONS] FILE",
)


def source_file(what: str) -> Parameter:
    """Declare the file that a kind reads; standard input begins with a hyphen."""
    return Parameter(name="FILE", allow_leading_hyphen=True, help=f"{what}; -: stdin.")


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
    file: Annotated[str, source_file("File with curl commands")],
    /,
    *,
    output: ScenarioOutput = None,
) -> ExitCode:
    """Write a scenario from curl commands, in their order.

    A file has one command or many, with quotes, continued lines and variables
    of a shell. Nothing is executed. Browsers have "Copy as cURL" (bash).
    """
    from ..scenario_file.imports.readers.curl.reader import read_curl
    from .commands.project.import_scenario import import_scenario as execute

    return execute(file, output, read_curl)


@import_app.command
def har(
    file: Annotated[str, source_file("HTTP archive")],
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


@import_app.command
def jmx(
    file: Annotated[str, source_file("Test plan of JMeter")],
    /,
    *,
    output: ScenarioOutput = None,
) -> ExitCode:
    """Write a scenario from a test plan of JMeter.

    A thread group is a user type of a closed loop. HTTP samplers, defaults,
    headers, timers, data sets, variables and simple assertions are carried over.
    """
    from ..scenario_file.imports.readers.jmx.reader import read_jmx
    from .commands.project.import_scenario import import_scenario as execute

    return execute(file, output, read_jmx)


@import_app.command
def k6(
    file: Annotated[str, source_file("Script or archive of k6")],
    /,
    *,
    output: ScenarioOutput = None,
) -> ExitCode:
    """Write a scenario from a script of k6, or an archive of `k6 archive`.

    Requests, checks, groups, sleeps, constants and options are carried over.
    Nothing is executed: what only a run would tell becomes a parameter.
    """
    from ..scenario_file.imports.readers.k6.reader import read_k6
    from .commands.project.import_scenario import import_scenario as execute

    return execute(file, output, read_k6)


@import_app.command
def openapi(
    file: Annotated[str, source_file("Description, JSON or YAML")],
    /,
    *,
    output: ScenarioOutput = None,
) -> ExitCode:
    """Write a scenario from an OpenAPI description, 3.0 or 3.1: a task per operation.

    Parameters and bodies have the examples of the description, or values that
    its schemas allow. Credentials become secret parameters.
    """
    from ..scenario_file.imports.readers.openapi.reader import read_openapi
    from .commands.project.import_scenario import import_scenario as execute

    return execute(file, output, read_openapi)


@import_app.command
def postman(
    file: Annotated[str, source_file("Collection, version 2.1")],
    /,
    *,
    output: ScenarioOutput = None,
) -> ExitCode:
    """Write a scenario from a Postman collection: a task per folder.

    Variables become parameters. Of test scripts, statuses and values that are
    kept from a response are carried over.
    """
    from ..scenario_file.imports.readers.postman.reader import read_postman
    from .commands.project.import_scenario import import_scenario as execute

    return execute(file, output, read_postman)


@import_app.command
def targets(
    file: Annotated[str, source_file("List of requests, as vegeta reads it")],
    /,
    *,
    output: ScenarioOutput = None,
) -> ExitCode:
    """Write a scenario from a targets file of vegeta: a task for each different request.

    Requests that are repeated have a higher weight. To send a list as it is,
    in its order, use `loadpilot attack --targets FILE`.
    """
    from pathlib import Path

    from ..scenario_file.imports.readers.targets import read_targets
    from .commands.project.import_scenario import import_scenario as execute

    folder = Path(file).parent  # of standard input: the working directory
    return execute(file, output, lambda source: read_targets(source, folder))


def record(
    *,
    target: Annotated[str, flag(OUTPUT, "URL", "Origin of the target.", default=DEFAULT)] = DEFAULT,
    listen: Annotated[
        str, flag(OUTPUT, "INT", "Port of this machine to listen on; 0: a free one.", default=9000)
    ] = "9000",
    cacert: Annotated[
        str | None,
        flag(
            OUTPUT,
            "FILE",
            "Certificates to trust for the target, PEM.",
            default=MACHINE_CERTIFICATES,
        ),
    ] = None,
    insecure: Annotated[
        bool, flag(OUTPUT, "", "Do not verify the certificate of an https target.")
    ] = False,
    output: ScenarioOutput = None,
    with_assets: Annotated[
        bool, flag(OUTPUT, "", "Keep requests of scripts, styles, fonts and images.")
    ] = False,
) -> ExitCode:
    """Record the requests of a browser or a program, and write them as a scenario.

    A reverse proxy listens on 127.0.0.1 and passes every request on to the
    target. Ctrl-C ends it and writes the scenario. Pages are told apart by
    pauses of a second.
    """
    from .commands.project.record import record as execute

    return execute(
        target, listen, output, cacert=cacert, insecure=insecure, with_assets=with_assets
    )
