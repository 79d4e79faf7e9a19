"""``loadpilot sql``: one query over all runs of this directory or of a fleet."""

from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ....control.nats_settings import read_server
from ....control.run_list import OpenLogs, every_run
from ....control.signals import FirstEnds
from ....control.terminal import safe, write_product
from ....library.tables.csv_text import csv_lines
from ....library.tables.database import WrongQuery, ask
from ....problem import Problem, Refused, one_of
from ...configuration.sources import current
from ..history import UsageError, reporting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....control.exit_code import ExitCode
    from ....control.nats_settings import ServerFlags

FORMATS = ("table", "csv", "json")
NULL = "—"
"""Placeholder of an absent value in a table for people."""


def sql(query: str, form: str, flags: ServerFlags) -> ExitCode:
    """Run the query and print its rows."""
    with reporting(FirstEnds) as (interruptions, outcome), OpenLogs(interruptions) as logs:
        problems: list[Problem] = []
        if form not in FORMATS:
            problems.append(one_of("--format", FORMATS, form))
        server = read_server(flags, current().environ, problems)
        if problems:
            raise Refused(problems)
        past = [one for one in every_run(logs, server) if one.facts["asked"]]
        try:
            names, rows = ask(query, past, logs)
        except WrongQuery as wrong:
            raise UsageError(f"QUERY: {wrong}") from None
        if form == "csv":
            write_product("".join(csv_lines(names, rows)))
        elif form == "json":
            found = [dict(zip(names, row, strict=True)) for row in rows]
            write_product(json.dumps(found, default=_plain) + "\n")
        else:
            write_product("".join(f"{line}\n" for line in _table(names, rows)))
    return outcome[-1]


def _table(names: list[str], rows: list[tuple[Any, ...]]) -> Iterator[str]:
    """Write the rows in columns; numbers are at the right."""
    cells = [[safe(_shown(value)) for value in row] for row in rows]
    heads = [safe(name) for name in names]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    right = [
        all(isinstance(row[place], int | float | Decimal | None) for row in rows)
        for place in range(len(names))
    ]
    for line in (heads, *cells):
        yield "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, right, strict=True)
        ).rstrip()


def _shown(value: Any) -> str:
    if value is None:
        return NULL
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """Write a value that JSON does not have."""
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else str(value)
