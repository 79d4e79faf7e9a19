"""``loadpilot plot``: the main charts of a run as a picture."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....control.run_list import (
    OpenLogs,
    UnknownRun,
    find_run,
    indexed,
    open_log,
)
from ....control.signals import FirstEnds
from ....control.terminal import note
from ....library.tables.charts import draw
from ....library.tables.extras import extra
from ....problem import Problem, Refused
from ...output import results
from ..history import fleet_of, reporting
from ..search.load_chart import draw_search
from ..search.search_list import find_search

if TYPE_CHECKING:
    from ....control.exit_code import ExitCode
    from ....control.nats_settings import Server, ServerFlags

FORMATS = (".svg", ".png")


def plot(name: str, output: str | None, server: ServerFlags) -> ExitCode:
    """Draw the charts of one run into a file."""
    with reporting(FirstEnds) as (interruptions, outcome), OpenLogs(interruptions) as logs:
        place = fleet_of(server)
        path = None if output is None else Path(output)
        problems = [] if path is None else results.problems(path, "--output")
        if path is not None and path.suffix not in FORMATS:
            problems.append(Problem("--output", f"must end in .svg or .png (got {output!r})"))
        if problems:
            raise Refused(problems)
        extra("matplotlib", "loadpilot plot")
        try:
            one = find_run(name, logs, place)
        except UnknownRun:
            search = _search(name, logs, place)
            if search is None:
                raise
            path = path or Path(f"{search['id']}.svg")
            with results.draft(path) as draft:
                draw_search(search, draft, path.suffix.removeprefix("."))
            note(f"chart of search {search['id']} in {path}")
            return outcome[-1]
        path = path or Path(f"{one.run}.svg")
        with open_log(one.log, logs) as session, results.draft(path) as draft:
            draw(indexed(session, one), draft, path.suffix.removeprefix("."))
        note(f"charts of run {one.run} in {path}")
    return outcome[-1]


def _search(name: str, logs: OpenLogs, server: Server | None) -> dict[str, Any] | None:
    """Judge the search of this name; None where there is none."""
    with suppress(UnknownRun):
        return find_search(name, logs, server).judged(logs)
    return None
