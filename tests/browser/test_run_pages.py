"""The pages of one run: each figure is that of the report, in users' words, with its marks."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from services.gateway.tests.gateways import LATENESS_US_MAX
from tests.browser.reader import reading
from tests.browser.scenes import CLOSED, MEASURED, STEPS, steady
from tests.e2e.load.test_streams import SCENE as CHAT
from tests.e2e.load.test_streams import Sent, model
from tests.e2e.support.command import SEED
from tests.e2e.support.files import unpack
from tests.e2e.support.http_calls import JSON
from tests.tidy.tracked import ROOT

from loadpilot.control.report_page import report_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page
    from services.gateway.tests.gateways import Gateway
    from tests.browser.conftest import RunMaker
    from tests.browser.reader import Reader
    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

FAILING = """
from loadpilot import VUser, scenario, task

@scenario(rps=40, duration="2s", mode="constant")
class Failing(VUser):
    @task
    def buy(self, client):
        {get}("/buy", headers={{"Authorization": "Bearer s3cret"}})

    @task
    def browse(self, client):
        client.get("/browse")
"""
BODY = '{"status":503}'
"""Body of the target's refusals."""
STORED = ROOT / "tests" / "e2e" / "results" / "stored_logs"
KILLED = "01m87svkpa9smyp7gpd3s68zv1"
"""Run of the stored log `killed_agent`: agent-2 was killed in its seventh second."""


@pytest.fixture
def stored(browser: Browser, loadpilot: Loadpilot) -> Iterator[Reader]:
    """A tab at the pages of two stored logs: of a killed agent, and of an undisturbed run."""
    for number, log in enumerate(("killed_agent", "open_loop"), 1):
        unpack(STORED / f"{log}.tar.gz", loadpilot.log / f"log-{number}")
    with loadpilot.begin("ui", "--no-browser", "--port", "0") as running:
        link = running.until("LoadPilot at ").split()[-1]
        with reading(browser, link.partition("/#")[0]) as reader:
            reader.page.goto(link)
            reader.sees("Shop")
            yield reader


def open_run(reader: Reader, path: str) -> None:
    """Opens a page, and waits until all its requests have been answered."""
    reader.open(path)
    reader.page.wait_for_load_state("networkidle")


def chart_descriptions(reader: Reader) -> list[str]:
    """What charts over time say to screen readers."""
    images = reader.page.get_by_role("img").all()
    found = [image.get_attribute("aria-label") or "" for image in images]
    return [text for text in found if not text.startswith("Percentile curves")]


@pytest.mark.slow
def test_metrics_checks_and_task_errors_are_those_of_the_report(
    reader: Reader, run_maker: RunMaker, oracle: Oracle
) -> None:
    """Broken if what a scenario measures is missing in the pages, or an error counts twice."""
    oracle.status(503, path="/orders", fraction=0.25)
    oracle.status(500, path="/browse", fraction=0.5)
    report = run_maker.run(MEASURED)
    run = report["run"]["id"]
    # The warm-up is the first 40 arrivals. A task that raises after a failed request is one error.
    numbered = [(int((one.id or "").split("/")[1]), one) for one in oracle.requests()]
    refused = [one for n, one in numbered if n >= 40 and one.status == 503]
    unchecked = [one for n, one in numbered if n >= 40 and one.status == 500]
    orders = [one for n, one in numbered if n >= 40 and one.route == "/orders"]
    browsed = [one for n, one in numbered if n >= 40 and one.route == "/browse"]
    assert refused
    assert unchecked

    open_run(reader, f"/runs/{run}")
    failed = len(refused) + len(unchecked)
    expect(reader.figure("errors_total")).to_have_text(str(failed))
    reader.sees(f"{len(refused)} tasks raised an error")
    expect(reader.figure("warm_up.arrivals")).to_have_text("40")
    reader.take_screenshots("measured")

    open_run(reader, f"/runs/{run}/metrics")
    count = len(orders) + 2 * len(browsed)
    expect(reader.figure("metrics.counters.orders.count")).to_have_text(str(count))
    expect(reader.figure("metrics.trends.cart.p95")).to_have_text("12.5")
    expect(reader.figure("metrics.rates.hit.trues")).to_have_text(str(len(orders) - len(refused)))
    expect(reader.figure("checks.failed")).to_have_text(str(len(unchecked)))
    expect(reader.figure("tasks.0.metrics.counters.orders.count")).to_have_text(str(len(orders)))
    for name in ("orders", "cart", "hit"):
        chart = reader.page.get_by_role("img", name=re.compile(f"^{name} over time"))
        expect(chart).to_be_visible()
    reader.take_screenshots("metrics")

    open_run(reader, f"/runs/{run}/tasks")
    expect(reader.figure("tasks.0.errors")).to_have_text(str(len(refused)))
    expect(reader.figure("tasks.1.errors")).to_have_text(str(len(unchecked)))
    reader.take_screenshots("measured-tasks")


@pytest.mark.slow
def test_streams_are_shown(reader: Reader, run_maker: RunMaker) -> None:
    """Broken if tokens, the first token or the gaps are missing in the pages."""
    sent = Sent()
    with model(sent) as url:
        report = run_maker.fleet.run(
            run_maker.loadpilot, CHAT, url, "--external-agents", "1"
        ).report
    open_run(reader, f"/runs/{report['run']['id']}/metrics")
    tokens = len(sent.first) + len(sent.gaps)
    expect(reader.figure("streams.tokens")).to_have_text(f"{tokens:,}")
    gap_ms = report["streams"]["token_gap"]["p50_us"] / 1e3
    expect(reader.figure("streams.token_gap.p50_us")).to_have_text(f"{gap_ms:.1f} ms")
    reader.sees("Time to the first token")
    reader.take_screenshots("streams")


@pytest.mark.slow
@pytest.mark.parametrize("body", ["client.get", "answer = client.get"], ids=["planned", "composed"])
def test_examples_of_failed_requests_are_what_the_target_saw(
    reader: Reader, run_maker: RunMaker, body: str
) -> None:
    """Broken if an example is of another request, shows a secret, or if every failure has an
    example. 8 s."""
    run_maker.oracle.status(503, path="/buy", fraction=0.5)
    report = run_maker.run(FAILING.format(get=body))
    run = report["run"]["id"]
    refused = {seen.id for seen in run_maker.oracle.requests() if seen.status == 503}
    assert len(refused) > 10
    open_run(reader, f"/runs/{run}/tasks")
    found = reader.fetch_json(f"/api/v1/runs/{run}/errors")["examples"]
    assert [(one["task"], one["exchange"]["outcome"]) for one in found] == [("buy", "http_5xx")] * 3
    for one in found:
        lines = one["exchange"]["request"]
        assert lines[0] == "GET /buy HTTP/1.1"
        assert "Authorization: ***" in lines
        [sent] = [line for line in lines if line.startswith("x-request-id: ")]
        assert sent.partition(": ")[2] in refused
        assert one["exchange"]["answer"][0].startswith("HTTP/1.1 503 ")
        assert one["exchange"]["body"] == BODY
    assert "s3cret" not in json.dumps(found)
    panel = reader.page.get_by_role("region", name="Examples of failed requests")
    expect(panel.locator("details")).to_have_count(3)
    expect(panel).to_contain_text("< HTTP/1.1 503")
    reader.take_screenshots(f"failure-examples-{len(body)}")


def assert_levels(page: Page, curve: dict[str, Any]) -> None:
    """Asserts that the panel has the levels and the knee of the report."""
    levels = curve["levels"]
    panel = page.get_by_role("region", name="Load levels")
    if curve["knee"] is None:
        expect(panel).to_contain_text("No knee: ")
    else:
        held, broke = (levels[curve["knee"][side]]["rate_rps"] for side in ("held", "broke"))
        sentence = f"The target held {held:.1f}/s, and not {broke:.1f}/s."
        expect(panel).to_contain_text(sentence)
    rows = panel.locator("tbody tr")
    expect(rows).to_have_count(3)
    for row, level in zip(rows.all(), levels, strict=True):
        cells = row.locator("th, td").all_text_contents()
        assert cells[:2] == [f"{level[rate]:.1f}/s" for rate in ("rate_rps", "achieved_rps")]
        assert (cells[-1] == "held") == (level["exceeded"] == [])


@pytest.mark.slow
def test_load_levels_are_those_of_the_report(
    reader: Reader, run_maker: RunMaker, tmp_path: Path
) -> None:
    """Broken if a level is missing or has the figures of another, or the knee is elsewhere, in the
    pages or in a report file. 9 s."""
    run_maker.oracle.delay(100.0)
    run_maker.oracle.freeze(after_first_ms=4600, for_ms=1200)
    report = run_maker.run(STEPS)
    curve = report["load_curve"]
    assert [level["planned"] for level in curve["levels"]] == [40, 80, 120]
    open_run(reader, f"/runs/{report['run']['id']}/latency")
    assert_levels(reader.page, curve)
    reader.take_screenshots("levels")
    path = tmp_path / "report.html"
    path.write_text(report_page(json.dumps(report), None, "", 1), encoding="utf-8")
    reader.page.goto(f"file://{path}")
    assert_levels(reader.page, curve)


@pytest.mark.slow
def test_a_closed_loop_has_no_plan(reader: Reader, run_maker: RunMaker, oracle: Oracle) -> None:
    """Broken if a page claims a planned load or a shortfall of a run that has no schedule."""
    report = run_maker.run(CLOSED)
    run = report["run"]["id"]
    open_run(reader, f"/runs/{run}")
    sent = len(oracle.requests())
    expect(reader.figure("arrivals.started")).to_have_text([str(sent)] * 2)
    reader.sees("closed loop, 4 users, each begins every 0.2 s")
    reader.take_screenshots("closed")
    for path in ("", "/latency", "/tasks"):
        open_run(reader, f"/runs/{run}{path}")
        text = reader.page.locator("main").inner_text().lower()
        assert "shortfall" not in text
        assert "service time" not in text
        assert re.findall(r".{0,20}\bplanned\b", text) == []
        assert not any("planned" in one for one in chart_descriptions(reader))


@pytest.mark.slow
def test_a_killed_agent_is_marked_everywhere(stored: Reader) -> None:
    """Broken if a page shows figures of an INVALID run without saying so, or hides the kill."""
    reader = stored
    for path in ("", "/latency", "/tasks", "/agents"):
        open_run(reader, f"/runs/{KILLED}{path}")
        notice = reader.page.get_by_text("Measurement quality INVALID: do not use these figures.")
        expect(notice).to_be_visible()
        charts = chart_descriptions(reader)
        assert len(charts) >= 2
        assert all("agent-2 lost at 0:06 to 0:08" in one for one in charts), (path, charts)
    open_run(reader, f"/runs/{KILLED}")
    expect(reader.verdict()).to_have_text("Failed")
    lost = "Load generator agent-2 lost (its process ended, a new one took over)"
    expect(reader.page.get_by_label("Verdict")).to_contain_text(lost)
    tile = reader.tile("achieved rate")
    muted = "getComputedStyle(document.querySelector('.tile dt')).color"
    assert tile.evaluate("node => getComputedStyle(node).color") == reader.page.evaluate(muted)
    reader.take_screenshots("killed")


def test_an_invalid_run_is_not_compared(stored: Reader) -> None:
    """Broken if a difference from an INVALID run is shown as better or worse."""
    reader = stored
    listed = reader.fetch_json("/api/v1/runs")["runs"]
    (other,) = [one["run"] for one in listed if one["run"] != KILLED]
    for pair in ((KILLED, other), (other, KILLED)):
        open_run(reader, "/compare?" + "&".join(f"run={run}" for run in pair))
        differences = reader.page.locator(".compared td small[title*=INVALID]")
        expect(differences.first).to_be_visible()
        assert reader.page.locator(".compared small.good, .compared small.bad").count() == 0
        assert reader.page.locator(".compared td.invalid").count() > 5
        reader.sees("do not use: Part of the data is missing")
    reader.take_screenshots("compare-invalid")


@pytest.mark.slow
def test_a_zoom_narrows_every_figure(
    reader: Reader, run_maker: RunMaker, oracle: Oracle, gateway: Gateway
) -> None:
    """Broken if tiles, thresholds or tables show the whole run where charts show a part."""
    oracle.status(503, path="/buy", fraction=0.5)
    plan = run_maker.plan(steady(rps=40, secs=6, p95=20_000)) | {"max_lateness_us": LATENESS_US_MAX}
    run = gateway.tell("/runs", {"plan": plan, "seed": int(SEED)}, JSON).json["run"]
    assert gateway.see_end(run)[-1].kind == "sealed"
    arrivals = {(one.id or "").split("/")[1] for one in oracle.requests()}
    assert len(arrivals) == 240
    open_run(reader, f"/runs/{run}?from=2000000&to=4000000")
    part: dict[str, Any] = reader.fetch_json(f"/api/v1/runs/{run}?from_us=2000000&to_us=4000000")
    reader.sees("Verdict and figures of 0:02 to 0:04 of the run")
    expect(reader.figure("rates.planned_rps")).to_have_text("40.0/s")
    expect(reader.figure("arrivals.started")).to_have_text(["80", "80"])
    failed = [
        one
        for one in oracle.requests()
        if one.status == 503 and 80 <= int((one.id or "").split("/")[1]) < 160
    ]
    expect(reader.figure("errors_total")).to_have_text(str(len(failed)))
    assert part["errors_total"] == len(failed)
    total = part["latency"]["response"]["count"]
    expect(reader.figure("latency.response.count")).to_have_text(str(total))
    reader.take_screenshots("zoomed")
    open_run(reader, f"/runs/{run}/tasks?from=2000000&to=4000000")
    expect(reader.figure("tasks.0.finished")).to_have_text(str(part["tasks"][0]["finished"]))
    reader.page.get_by_role("button", name="Remove filter 0:02 to 0:04 of the run").click()
    expect(reader.figure("tasks.0.finished")).to_have_text("180")
