"""The commands that hand out the data of runs, and their flags: dump, sql, plot."""

# ruff: noqa: PLC0415  (imports wait until they are needed: start-up is a promise)
# ruff: noqa: TC001  (cyclopts reads annotations)

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from ..control.exit_code import ExitCode
from .commands.tables.dump_flags import DumpFlags
from .flags.declaration import OUTPUT, flag
from .flags.shared_flags import NO_SERVER, RunId, Server

AS_SERIES = DumpFlags()


def dump(
    run: Annotated[RunId, Parameter(show_default=True)] = "last",
    /,
    *,
    flags: Annotated[DumpFlags, Parameter(name="*")] = AS_SERIES,
) -> ExitCode:
    """Write the data of a run for other tools, to standard output or a file.

    Figures are the report's. An existing file is replaced as a whole or not at all.
    """
    from .commands.tables.dump import dump as execute

    return execute(run, flags)


def sql(
    query: Annotated[str, Parameter(help="SQL of DuckDB.")],
    /,
    *,
    format: Annotated[  # noqa: A002  (the name of the flag)
        str, flag(OUTPUT, "FORMAT", "table, csv or json.", default="table")
    ] = "table",
    server: Server = NO_SERVER,
) -> ExitCode:
    """Ask for anything about the runs of this directory or a fleet, in SQL.

    Tables: runs, tasks, thresholds, series (by task and tick) and samples; `DESCRIBE runs` lists
    the columns. histogram_quantile_us(response_histogram, 0.99) is the percentile of all intervals
    of a group. A query reads no file and changes nothing.
    """
    from .commands.tables.sql import sql as execute

    return execute(query, format, server)


def plot(
    run: Annotated[RunId, Parameter(show_default=True)] = "last",
    /,
    *,
    output: Annotated[
        str | None,
        flag(
            OUTPUT,
            "FILE",
            "Write to this .svg or .png file.",
            "--output",
            "-o",
            default="the run's id, .svg",
        ),
    ] = None,
    server: Server = NO_SERVER,
) -> ExitCode:
    """Draw the main charts of a run: rate, latency, errors, and the percentile curve.

    Of a run with several constant rates: latency by rate, too.

    For the id of a search: latency against load, a point for each probe.
    """
    from .commands.tables.plot import plot as execute

    return execute(run, output, server)
