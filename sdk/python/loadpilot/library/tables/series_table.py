"""The figures of a run over time as a table: a row for each bucket and group."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .csv_text import csv_lines
from .extras import extra

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from ... import _native
    from ..._generated.report import Report
    from .slice_query import SliceQuery

OUTCOMES = (
    *("ok", "http_4xx", "http_5xx", "check_failed", "connect", "tls", "timeout", "io"),
    *("local", "cancelled", "indeterminate"),
)
"""All outcomes, in the order in which they are shown."""
COUNTS = ("planned", "started", "dropped", "finished", "errors")
TIME = "time_us"
"""Column with the begin of a bucket, in µs since 1970."""


def series_columns(
    reading: _native.Reading,
    report: Report,
    query: SliceQuery,
    by: str | None = None,
    *,
    histograms: bool = False,
) -> dict[str, list[Any]]:
    """Compute the columns of a series; raises Refused.

    ``time_us`` is the begin of the bucket since 1970, ``from_us`` since the start of the run.
    ``response_p99_us`` is corrected, ``service_p99_us`` is not; None where no call finished.
    ``planned`` is None for groups that the plan does not know.
    """
    query = query.in_ticks_of(report)
    columns: dict[str, list[Any]] = {}
    for name in query.groups(report, by):
        text = query.text(by, name)
        part = _of_group(json.loads(reading.series(text)), report["run"]["start_at"])
        if by is not None:
            rows = len(part["from_us"])
            part = {**_head(part), by: [name] * rows, **part}
        if histograms:
            stored = json.loads(reading.histograms(text))
            part |= {f"{latency}_histogram": texts for latency, texts in stored.items()}
        for column, values in part.items():
            columns.setdefault(column, []).extend(values)
    return columns


def _head(part: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: part[name] for name in (TIME, "from_us")}


def _of_group(series: dict[str, Any], start_at: int | None) -> dict[str, list[Any]]:
    begins = series["from_us"]
    part: dict[str, list[Any]] = {
        TIME: [None if start_at is None else start_at + begin for begin in begins],
        "from_us": begins,
    }
    part |= {name: series[name] for name in COUNTS}
    part |= {name: series["outcomes"].get(name, [0] * len(begins)) for name in OUTCOMES}
    for latency in ("response", "service"):
        points = series[latency]
        names = sorted((name for name in points if name != "max"), key=_percent)
        part |= {f"{latency}_{name}_us": points[name] for name in [*names, "max"]}
    return part


def _percent(name: str) -> float:
    return float(name.removeprefix("p").replace("_", "."))


def rows(columns: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """List the rows of columns."""
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def series_lines(columns: dict[str, list[Any]], form: str) -> Iterator[str]:
    """Write each row as a line of ``ndjson``, or of ``csv`` below the names of the columns."""
    if form == "ndjson":
        return (json.dumps(row) + "\n" for row in rows(columns))
    return csv_lines(columns, zip(*columns.values(), strict=True))


def series_arrow(columns: dict[str, list[Any]]) -> pa.Table:
    """Make an Arrow table of the columns of a series; raises MissingPackage."""
    pa = extra("pyarrow", "a table of a series")
    arrays = {}
    for name, values in columns.items():
        if name == TIME:
            arrays["time"] = pa.array(values, pa.timestamp("us", tz="UTC"))
        elif name.endswith("_histogram") or any(isinstance(one, str) for one in values[:1]):
            arrays[name] = pa.array(values, pa.string())
        else:
            arrays[name] = pa.array(values, pa.int64())
    return pa.table(arrays)
