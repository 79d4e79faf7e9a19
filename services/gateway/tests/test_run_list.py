"""The list of runs shows how each ended and whether its figures count, in any order and by
pages."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from services.gateway.tests.gateways import Gateway, Gateways, cli_report

from loadpilot.control.outcome import RunOutcome
from loadpilot_gateway.runs import outcomes as kept
from loadpilot_gateway.runs.run_list import Order, Sort, Sorting

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.support.command import Loadpilot, Running
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

SCENE = """
from loadpilot import VUser, scenario, task
@scenario(rps={rps}, duration="{secs}s", mode="constant", thresholds={gates})
class {name}(VUser):
    @task
    def look(self, client):
        client.get("/")
"""
READ_S = 60.0
VALID_RUNS_MAX = 5
"""Maximum number of runs until one is VALID: a busy machine may delay the arrivals of several."""
FROZEN_S = 1.5
"""Long enough for the generator to drop arrivals as late, too short to lose the agent."""


def scene(name: str, rps: int, secs: int = 1, gates: str = "{}") -> str:
    return SCENE.format(name=name, rps=rps, secs=secs, gates=gates)


def frozen(fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle, agent: Running) -> None:
    """Runs with an agent that freezes for a while: the figures describe the generator."""
    before = oracle.counts().received
    shop = scene("Shop", 50, 4)
    with fleet.start(loadpilot, shop, oracle.url, "--external-agents", "1") as running:
        assert oracle.wait_count(before + 20, 60)
        agent.signal(signal.SIGSTOP)
        time.sleep(FROZEN_S)  # the length of the freeze is the fault itself
        agent.signal(signal.SIGCONT)
        running.end()


@pytest.fixture
def listed(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> tuple[Gateway, list[dict[str, Any]]]:
    """A gateway, and the reports of its runs from the command line, oldest first."""
    fleet.coordinator()
    agent = fleet.agent("a-1")
    external = ("--external-agents", "1")
    fleet.run(loadpilot, scene("Shop", 20), oracle.url, *external, "--tag", "branch=main")
    fleet.run(loadpilot, scene("Shop", 30, gates='{"p99_ms": 0.001}'), oracle.url, *external)
    frozen(fleet, loadpilot, oracle, agent)
    oracle.status(503, fraction=0.5)
    fleet.run(loadpilot, scene("Shop", 60), oracle.url, *external)
    for _ in range(VALID_RUNS_MAX):
        other = fleet.run(loadpilot, scene("Other", 25), oracle.url, *external)
        if other.report["certificate"]["grade"] == "VALID":
            break
    gateway = gateways.start()
    until = time.monotonic() + READ_S
    while (page := gateway.api("/runs?sort=p99").json)["unread"] and time.monotonic() < until:
        pass
    assert (page["unread"], page["unreadable"]) == (0, 0)
    runs = sorted(row["run"] for row in page["runs"])
    return gateway, [json.loads(cli_report(loadpilot, fleet, run)) for run in runs]


def expected_verdict(report: dict[str, Any]) -> str:
    """How a run ended, computed from its report alone."""
    if not report["verdict"]["passed"]:
        return "FAIL"
    if report["certificate"]["grade"] == "INVALID":
        return "VOID"
    return "STOPPED" if report["run"]["ending"] == "stopped" else "PASS"


FIGURES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "created": lambda report: report["run"]["id"],
    "p99": lambda report: report["latency"]["response"]["p99_us"],
    "rate": lambda report: report["requests_total"] / (report["rates"]["measured_us"] / 1e6),
    "failed": lambda report: report["error_rate_pct"],
}


@pytest.mark.slow
def test_a_list_says_what_the_reports_say(
    listed: tuple[Gateway, list[dict[str, Any]]],
) -> None:
    """Broken if a row shows a pass for a run whose figures do not count, if a filter or a page
    omits a run, or if a trend has another run's figure."""
    gateway, reports = listed
    verdicts = {report["run"]["id"]: expected_verdict(report) for report in reports}
    grades = {report["certificate"]["grade"] for report in reports}
    assert {"PASS", "FAIL"} <= set(verdicts.values())
    assert {"VALID", "INVALID"} <= grades
    rows = {row["run"]: row for row in gateway.api("/runs").json["runs"]}
    for at, report in enumerate(reports):
        row = rows[report["run"]["id"]]
        past = [one for one in reports[: at + 1] if one["scenario"] == report["scenario"]]
        assert row["outcome"]["verdict"] == verdicts[row["run"]]
        assert row["outcome"]["quality"] == report["certificate"]["grade"]
        assert row["outcome"]["p99_us"] == FIGURES["p99"](report)
        assert row["outcome"]["requests_per_sec"] == pytest.approx(FIGURES["rate"](report))
        assert row["outcome"]["error_rate_pct"] == FIGURES["failed"](report)
        assert row["outcome"]["errors_total"] == report["errors_total"]
        assert row["tags"] == ({"branch": "main"} if at == 0 else {})
        assert (row["outcome"]["quality_reason"] is None) == (row["outcome"]["quality"] == "VALID")
        assert row["trend"] == [
            {
                "p99_us": FIGURES["p99"](one),
                "verdict": verdicts[one["run"]["id"]],
                "quality": one["certificate"]["grade"],
            }
            for one in past
        ]
    for sort, figure in FIGURES.items():
        for order in ("asc", "desc"):
            newest_first = sorted(reports, key=lambda one: one["run"]["id"], reverse=True)
            wanted = sorted(newest_first, key=figure, reverse=order == "desc")
            assert pages(gateway, f"sort={sort}&order={order}") == [
                one["run"]["id"] for one in wanted
            ], (sort, order)
    for name, value, accepts in (
        ("verdict", "PASS", lambda row: row["outcome"]["verdict"] == "PASS"),
        ("verdict", "FAIL", lambda row: row["outcome"]["verdict"] == "FAIL"),
        ("quality", "INVALID", lambda row: row["outcome"]["quality"] == "INVALID"),
        ("tag", "branch:main", lambda row: row["tags"] == {"branch": "main"}),
        ("q", "other", lambda row: row["scenario"] == "Other"),
    ):
        found = pages(gateway, f"{name}={value}")
        assert found == sorted((run for run, row in rows.items() if accepts(row)), reverse=True)
        assert found, (name, value)
    mixed = gateway.api(f"/runs?sort=p99&cursor={reports[0]['run']['id']}")
    assert (mixed.status, mixed.json["problems"][0]["field"]) == (422, "query.cursor")


def pages(gateway: Gateway, query: str) -> list[str]:
    """The runs of all pages, two on each page."""
    found: list[str] = []
    cursor = ""
    while True:
        page = gateway.api(f"/runs?limit=2&{query}{cursor}").json
        found += [row["run"] for row in page["runs"]]
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


BY_HAND: dict[tuple[Sort, Order], str] = {
    ("created", "desc"): "fedcba",
    ("created", "asc"): "abcdef",
    ("p99", "desc"): "beadfc",
    ("p99", "asc"): "deabfc",
    ("rate", "desc"): "eadcfb",
    ("rate", "asc"): "dcaefb",
}
"""The order of six runs, written by hand: equal figures newest first, absent ones last."""


@pytest.mark.parametrize("size", [1, 2, 6])
def test_orders_by_hand_and_by_pages(size: int) -> None:
    """Broken if runs with equal or absent figures are on no page, or on two."""
    p99 = {"a": 20, "b": 40, "c": None, "d": 10, "e": 20}
    rate = {"a": 50.0, "b": None, "c": 0.1, "d": 0.1, "e": 1e21}
    # The last run has no outcome yet.
    outcomes = {
        run: RunOutcome("PASS", p99[run], rate[run], 0, 0.0, "VALID", None) for run in "abcde"
    }
    runs: list[Any] = [{"run": run} for run in "abcdef"]
    for (sort, order), wanted in BY_HAND.items():
        sorting = Sorting(sort, order)
        found, cursor = "", None
        while rest := sorting.apply(runs, outcomes, cursor):
            page = rest[:size]
            found += "".join(one["run"] for one in page)
            cursor = sorting.cursor(page[-1], outcomes)
        assert found == wanted, (sort, order)


REPORT: dict[str, Any] = {
    "verdict": {"passed": True},
    "certificate": {"grade": "VALID", "findings": []},
    "latency": {},
    "rates": {"measured_us": 1_000_000},
    "run": {},
    "requests_total": 5,
    "errors_total": 0,
}
"""The part of a report that an outcome has."""


def test_a_list_of_more_runs_than_stay_in_memory_is_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if a list sorted by a figure is never complete above that number of runs, or reads
    runs for ever."""
    monkeypatch.setattr(kept, "OUTCOMES_MAX", 3)
    folded: list[str] = []

    async def report(run: str) -> str:
        folded.append(run)
        return json.dumps(REPORT)

    async def lists() -> list[int]:
        outcomes = kept.Outcomes(report)
        runs: list[Any] = [{"run": run, "ending": "completed"} for run in "abcdefgh"]
        return [len(await outcomes.of(wanted)) for wanted in (runs, runs[:1], runs)]

    assert asyncio.run(lists()) == [8, 1, 8]
    assert sorted(folded) == list("abcdefgh")
