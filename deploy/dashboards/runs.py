"""The dashboard of all runs: their times, and a comparison of the runs of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grafana_foundation_sdk.models.dashboard import DynamicConfigValue

from .layout import RUN_START, dashboard, runs, scenarios
from .panels import FULL, GRADES, VERDICTS, Query, lines, rows
from .queries import (
    FAILED,
    FINISHED,
    RESPONSE,
    RUN,
    certificate,
    last,
    last_count,
    last_quantile,
    or_zero,
    quantile,
    rate,
    settled,
    share,
)

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders.dashboard import Dashboard
    from grafana_foundation_sdk.cog.builder import Builder
    from grafana_foundation_sdk.models.dashboard import Panel

BY = "run, scenario"
CALLS = "loadpilot_calls_total"
RUN_END = "loadpilot_run_end_timestamp_seconds"
LINK = (
    "/d/loadpilot-run?var-run=${__value.text}"
    "&from=${__data.fields.started.numeric}&to=${__data.fields.ended.numeric}"
)
"""The dashboard of a run, with its time."""


def all_runs() -> Dashboard:
    """Build it."""
    sections = {"Runs": [_table()], "Compare": _charts()}
    text = "Runs of the time range. Percentiles of the table are those of whole runs, corrected."
    variables = [scenarios(), runs()]
    return dashboard("loadpilot-runs", "Runs", text, sections, variables, since="now-24h")


def _table() -> Builder[Panel]:
    errors, finished = f"{RUN}, {FAILED}", f"{RUN}, {FINISHED}"
    started = f"{last(RUN_START, BY)} * 1000"
    planned = last_count("loadpilot_arrivals_planned_total", RUN, BY)
    ended = f"{last(RUN_END, BY)} * 1000"
    date = [DynamicConfigValue("unit", "dateTimeAsIso")]
    link = [DynamicConfigValue("links", [{"title": "Show the run", "url": LINK}])]
    return rows(
        "Runs",
        "A click on a run shows it.",
        {
            "started": started,
            "ended": f"{ended} or {started} * 0 + time() * 1000",
            "planned": planned,
            "started arrivals": last_count("loadpilot_arrivals_started_total", RUN, BY),
            "dropped": or_zero(last_count("loadpilot_arrivals_dropped_total", RUN, BY), planned),
            "calls": last_count(CALLS, RUN, BY),
            "error rate": share(last_count(CALLS, errors, BY), last_count(CALLS, finished, BY)),
            "p50": last_quantile(0.5, RESPONSE, RUN, BY),
            "p99": last_quantile(0.99, RESPONSE, RUN, BY),
        },
        states=[
            settled("loadpilot_run_phase", f"{BY}, phase", is_state=True),
            certificate(),
            settled("loadpilot_run_verdict", f"{BY}, verdict", is_state=True),
        ],
        width=FULL,
        properties={
            "run": link,
            "started": date,
            "ended": date,
            "error rate": [DynamicConfigValue("unit", "percentunit")],
            "p50": [DynamicConfigValue("unit", "s")],
            "p99": [DynamicConfigValue("unit", "s")],
            "certificate": _coloured(GRADES),
            "verdict": _coloured(VERDICTS),
        },
    )


def _coloured(palette: dict[str, str]) -> list[DynamicConfigValue]:
    options = {
        name: {"color": colour, "index": index}
        for index, (name, colour) in enumerate(palette.items())
    }
    return [
        DynamicConfigValue("mappings", [{"type": "value", "options": options}]),
        DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
    ]


def _charts() -> list[Builder[Panel]]:
    errors, finished = f"{RUN}, {FAILED}", f"{RUN}, {FINISHED}"
    return [
        lines(
            "Calls by run",
            "That ended.",
            "reqps",
            Query(rate(CALLS, RUN, BY), "{{scenario}} {{run}}"),
        ),
        lines(
            "p99 by run, corrected",
            "Of the shown interval.",
            "s",
            Query(quantile(0.99, RESPONSE, RUN, BY), "{{scenario}} {{run}}"),
        ),
        lines(
            "Error rate by run",
            "Of finished calls.",
            "percentunit",
            Query(
                share(rate(CALLS, errors, BY), rate(CALLS, finished, BY)), "{{scenario}} {{run}}"
            ),
        ),
        lines(
            "Arrivals by run",
            "That agents started.",
            "reqps",
            Query(rate("loadpilot_arrivals_started_total", RUN, BY), "{{scenario}} {{run}}"),
        ),
    ]
