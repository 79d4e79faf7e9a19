"""The flags of ``loadpilot dump``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...flags.declaration import GATES, OUTPUT, flag
from ...flags.shared_flags import NO_SERVER, Server


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpFlags:
    """Content, form and part of the run, as they are typed."""

    what: Annotated[
        str | None,
        flag(
            OUTPUT,
            "WHAT",
            "series: figures by time; samples: calls that `run --samples` kept; histograms: "
            "latencies by time; percentiles: latencies of all the time; metrics: what a Prometheus "
            "that scraped the run would have.",
            default="series, or what only the format can hold",
        ),
    ] = None
    format: Annotated[
        str | None,
        flag(
            OUTPUT,
            "FORMAT",
            "csv, ndjson or parquet of series and samples, hlog of histograms, text of "
            "percentiles, openmetrics of metrics. Samples as csv have vegeta's columns.",
            default="as the name of the file says, or csv",
        ),
    ] = None
    output: Annotated[str | None, flag(OUTPUT, "FILE", "Write to this file.", "--output", "-o")] = (
        None
    )
    by: Annotated[
        str | None, flag(OUTPUT, "NAME", "Split series by task, call, agent or outcome.")
    ] = None
    every: Annotated[
        str | None,
        flag(OUTPUT, "DURATION", "Length of an interval.", default="a tick of the run, 1s"),
    ] = None
    percentiles: Annotated[
        str | None,
        flag(OUTPUT, "PERCENT,...", "Percentiles of series.", default="50,95,99"),
    ] = None
    uncorrected: Annotated[
        bool,
        flag(OUTPUT, "", "Histograms and percentiles of service times, not of response times."),
    ] = False
    from_: Annotated[
        str | None,
        flag(GATES, "DURATION", "Only calls that were due from here on, after start.", "--from"),
    ] = None
    to: Annotated[str | None, flag(GATES, "DURATION", "Only calls that were due before.")] = None
    task: Annotated[tuple[str, ...], flag(GATES, "NAME", "Only this task. Repeatable.")] = ()
    server: Server = NO_SERVER
