"""Comparison of runs: figures of their reports, and differences from the first run.

Must never fold: each figure is taken from a report.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from .._generated.report import ArrivalCounts, Certificate, Ladder, Rates, RunFacts, Verdict
from ..limits import COMPARED_MAX
from .dependencies import RUN, Here, IfNoneMatch, etag_of, matches, says_no, tagged_response

router = APIRouter(tags=["runs"])
LADDERS = ("response", "service", "response_ok", "response_failed")
STEPS = ("p50_us", "p90_us", "p95_us", "p99_us", "p99_9_us", "max_us", "mean_us")
PLAIN = ("requests_total", "errors_total", "error_rate_pct")
OF_RATES = ("achieved_rps", "planned_rps", "shortfall_pct")


class Ladders(BaseModel):
    """Response and service times; null where nothing was measured."""

    response: Ladder | None
    service: Ladder | None
    response_ok: Ladder | None
    response_failed: Ladder | None
    co_factor: float | None


class Compared(BaseModel):
    """One of the compared runs."""

    run: str
    scenario: str
    target: str
    facts: RunFacts
    latency: Ladders
    verdict: Verdict
    certificate: Certificate
    arrivals: ArrivalCounts
    rates: Rates
    requests_total: int
    errors_total: int
    error_rate_pct: float | None


class Difference(BaseModel):
    """One figure of one run, and that of the first run."""

    run: str
    figure: str = Field(examples=["response.p99_us"])
    first: float | None
    value: float | None
    percent: float | None = Field(description="Null where the first value is absent or 0.")


class Comparison(BaseModel):
    """Runs side by side."""

    runs: list[Compared]
    differences: list[Difference]


Named = Annotated[str, Field(pattern=RUN)]


@router.get("/compare", response_model=Comparison, responses=says_no(HTTPStatus.NOT_FOUND))
async def compare(
    here: Here,
    run: Annotated[list[Named], Query(min_length=2, max_length=COMPARED_MAX)],
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Compare runs; differences are from the first."""
    texts = [await here.of_reading(one, lambda reading: reading.report()) for one in run]
    etag = etag_of("".join(texts))
    if matches(etag, if_none_match):
        return tagged_response(etag, None)
    reports = [json.loads(text) for text in texts]
    first, *others = reports
    differences = [found for other in others for found in against(first, other)]
    compared = [beside(report) for report in reports]
    return tagged_response(etag, json.dumps({"runs": compared, "differences": differences}))


def beside(report: dict[str, Any]) -> dict[str, Any]:
    """Take the compared parts out of a report."""
    latency = report["latency"]
    return {
        "run": report["run"]["id"],
        "scenario": report["scenario"],
        "target": report["target_url"],
        "facts": report["run"],
        "latency": {key: latency.get(key) for key in (*LADDERS, "co_factor")},
        **{key: report[key] for key in ("verdict", "certificate", "arrivals", "rates")},
        **{key: report.get(key) for key in PLAIN},
    }


def against(first: dict[str, Any], other: dict[str, Any]) -> list[dict[str, Any]]:
    """List the differences between the figures of a report and those of the first."""
    ours, theirs = figures(first), figures(other)
    return [
        {
            "run": other["run"]["id"],
            "figure": name,
            "first": ours[name],
            "value": theirs.get(name),
            "percent": percent(ours[name], theirs.get(name)),
        }
        for name in ours
    ]


def figures(report: dict[str, Any]) -> dict[str, float | None]:
    """List the compared figures of a report, by name; those of tasks by the name of the task."""
    latency = report["latency"]
    found: dict[str, float | None] = {}
    for kind in ("response", "service"):
        ladder = latency.get(kind) or {}
        found |= {f"{kind}.{step}": ladder.get(step) for step in STEPS}
    found["co_factor"] = latency.get("co_factor")
    found |= {f"rates.{name}": report["rates"][name] for name in OF_RATES}
    found |= {name: report.get(name) for name in PLAIN}
    for task in report["tasks"]:
        ladder = task.get("response") or {}
        found |= {f"tasks.{task['name']}.response.{step}": ladder.get(step) for step in STEPS}
        found[f"tasks.{task['name']}.errors"] = task["errors"]
    return found


def percent(first: float | None, value: float | None) -> float | None:
    """The difference in percent of the first value; None where that is absent or 0."""
    if first is None or value is None:
        return None
    if first == value:
        return 0.0
    return (value - first) / first * 100 if first else None
