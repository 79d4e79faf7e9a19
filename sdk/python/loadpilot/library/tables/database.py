"""The tables of all runs as an in-memory database of DuckDB, for one query.

A table is made only when its name is a word of the query. Queries reach no file, no network and no
setting: the database is locked before the query is run.
"""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from ... import _native
from ...control.run_list import indexed, read_all
from .extras import extra
from .run_table import (
    run_row,
    runs_schema,
    task_rows,
    tasks_schema,
    threshold_rows,
    thresholds_schema,
)
from .sample_table import sample_batches, sample_schema
from .series_table import OUTCOMES, series_arrow, series_columns
from .slice_query import SliceQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb
    import pyarrow as pa

    from ...control.run_list import OpenLogs, PastRun

WHAT = "loadpilot sql"
QUANTILE = "histogram_quantile_us"
"""Aggregate of the histograms of a series: ``histogram_quantile_us(response_histogram, 0.99)``."""
POINTS = ("p50", "p95", "p99", "max")
"""Points of the latencies of a series."""
LOCKED = (
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET autoload_known_extensions = false",
    "SET autoinstall_known_extensions = false",
    "SET lock_configuration = true",
)
"""Settings of the database, the lock last."""


class WrongQuery(Exception):
    """DuckDB refuses the query; the text is DuckDB's."""


def ask(query: str, past: list[PastRun], logs: OpenLogs) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run one query over runs; returns names of columns and rows.

    Raises WrongQuery, MissingPackage, Refused, Fault.
    """
    engine = extra("duckdb", WHAT)
    extra("pyarrow", WHAT)
    database = engine.connect(":memory:")
    try:
        _add_quantile(database, engine)
        words = set(re.findall(r"\w+", query.lower()))
        for name in TABLES.keys() & words:
            database.register(name, TABLES[name](past, logs))
        for setting in LOCKED:
            database.execute(setting)
        found = database.execute(query)
        if found is None:  # no statement
            raise WrongQuery("is empty; write one such as SELECT * FROM runs")
        names = [column[0] for column in found.description or []]
        return names, found.fetchall()
    except engine.Error as error:
        text = str(error).partition("\n\nLINE")[0]
        raise WrongQuery(" ".join(text.split())) from None
    finally:
        database.close()


def _add_quantile(database: duckdb.DuckDBPyConnection, engine: Any) -> None:
    def quantile(stored: list[str], share: float) -> int | None:
        return _native.percentile_of([text for text in stored if text], share * 100)

    texts = engine.list_type(engine.sqltypes.VARCHAR)
    inner = f"_{QUANTILE}"
    database.create_function(inner, quantile, [texts, "DOUBLE"], "BIGINT")
    database.execute(f"CREATE MACRO {QUANTILE}(h, share) AS {inner}(list(h), share::DOUBLE)")


def _with_reports(
    schema: Callable[[], pa.Schema],
    rows: Callable[[dict[str, Any], Any], list[dict[str, Any]]],
) -> Callable[[list[PastRun], OpenLogs], pa.Table]:
    """Make a table from the reports of all runs."""

    def read(session: _native.Session, one: PastRun) -> list[dict[str, Any]]:
        return rows(one.facts, json.loads(indexed(session, one).report_without_series()))

    def table(past: list[PastRun], logs: OpenLogs) -> pa.Table:
        found = read_all(past, logs, read)
        return extra("pyarrow", WHAT).Table.from_pylist([*chain(*found)], schema=schema())

    return table


def _series(past: list[PastRun], logs: OpenLogs) -> pa.Table:
    """Make the series of all runs by task, an interval for each tick, with their histograms."""

    def read(session: _native.Session, one: PastRun) -> pa.Table:
        reading = indexed(session, one)
        report = json.loads(reading.report())
        columns = series_columns(reading, report, SliceQuery(), "task", histograms=True)
        rows = len(next(iter(columns.values()), []))
        return series_arrow({"run": [one.run] * rows, **columns})

    tables = [table for table in read_all(past, logs, read) if table.num_rows]
    return extra("pyarrow", WHAT).concat_tables(tables) if tables else _no_series()


def _no_series() -> pa.Table:
    points = [f"{latency}_{name}_us" for latency in ("response", "service") for name in POINTS]
    figures = ("from_us", "planned", "started", "dropped", "finished", "errors", *OUTCOMES, *points)
    texts = ("run", "task", "response_histogram", "service_histogram")
    return series_arrow({"time_us": [], **{name: [] for name in (*figures, *texts)}})


def _samples(past: list[PastRun], logs: OpenLogs) -> pa.Table:
    """Make the sampled calls of all runs that kept some."""
    arrow = extra("pyarrow", WHAT)

    def read(session: _native.Session, one: PastRun) -> pa.Table | None:
        try:
            samples = session.read_samples(one.run)
        except _native.Refused:
            return None
        return named(one.run, [sample_schema().empty_table(), *sample_batches(samples)])

    def named(run: str, batches: list[pa.Table]) -> pa.Table:
        table = arrow.concat_tables(batches).unify_dictionaries()
        return table.add_column(0, "run", arrow.array([run] * table.num_rows, arrow.string()))

    found = [table for table in read_all(past, logs, read) if table is not None]
    return arrow.concat_tables([named("", [sample_schema().empty_table()]), *found])


TABLES: dict[str, Callable[[list[PastRun], OpenLogs], pa.Table]] = {
    "runs": _with_reports(runs_schema, lambda facts, report: [run_row(facts, report)]),
    "tasks": _with_reports(tasks_schema, task_rows),
    "thresholds": _with_reports(thresholds_schema, threshold_rows),
    "series": _series,
    "samples": _samples,
}
"""The tables, and how each is made."""
