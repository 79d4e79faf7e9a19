"""The list of runs by keyboard: how each ended, its order, and the trend of its scenario."""

from __future__ import annotations

import os
import re
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from tests.browser.reader import NARROW, TIMEOUT_MS, WIDE
from tests.browser.scenes import steady
from tests.browser.test_finished_runs import serious_violations

if TYPE_CHECKING:
    from tests.browser.conftest import RunMaker
    from tests.browser.reader import Reader
    from tests.e2e.support.fleet import Fleet

WORDS = {"PASS": "Passed", "FAIL": "Failed", "VOID": "Invalid", "STOPPED": "Stopped"}
FROZEN_S = 1.5
"""Long enough for the generator to drop arrivals as late, too short to lose the agent."""
GREENS = """
row => {
    const probe = document.createElement("i");
    probe.className = "badge good";
    document.body.append(probe);
    const good = getComputedStyle(probe).color;
    probe.remove();
    return [...row.querySelectorAll("*:not(circle:not(.invalid))")].filter(
        one => [getComputedStyle(one).color, getComputedStyle(one).fill].includes(good)).length
}
"""
"""Counts the elements of a row in the colour for good results, without the dots of other runs."""


def ids(reader: Reader) -> list[str]:
    """The runs of the table, from the top."""
    found: list[str] = reader.page.locator("tbody .id").all_text_contents()
    return found


def order_by(rows: list[dict[str, Any]], figure: str, direction: str = "descending") -> list[str]:
    """The runs in the order of a figure of their outcomes; equal ones with the newest first."""
    newest_first = sorted(rows, key=lambda row: row["run"], reverse=True)
    by_figure = sorted(
        newest_first, key=lambda row: row["outcome"][figure], reverse=direction == "descending"
    )
    return [row["run"] for row in by_figure]


@pytest.mark.slow
def test_the_list_is_filtered_and_sorted_by_keyboard(
    reader: Reader, run_maker: RunMaker, axe: str
) -> None:
    """Broken if an order is not that of the figures, is lost by a reload, or needs a mouse; or the
    trend has other figures than the runs."""
    run_maker.run(steady(rps=40, secs=2), "--tag", "branch=main")
    run_maker.oracle.status(503, path="/buy", fraction=0.3)
    run_maker.run(steady(rps=80, secs=2))
    run_maker.oracle.delay(20.0, path="/browse")
    run_maker.run(steady(rps=20, secs=2, p95=1))
    page = reader.page
    reader.open("/")
    expect(page.locator("tbody .result .badge:not(.plain)")).to_have_count(3)
    rows = reader.fetch_json("/api/v1/runs")["runs"]
    shown = page.locator("tbody .result .badge").all_text_contents()
    assert shown == [WORDS[row["outcome"]["verdict"]] for row in rows]
    p99 = page.get_by_role("button", name="p99", exact=True)
    p99.focus()
    for direction in ("descending", "ascending"):
        page.keyboard.press("Enter")
        head = page.get_by_role("columnheader", name="p99", exact=True)
        expect(head).to_have_attribute("aria-sort", direction)
        wanted = order_by(rows, "p99_us", direction)
        expect(page.locator("tbody .id")).to_have_text(wanted)
    page.reload()
    expect(page.locator("tbody .id")).to_have_text(wanted)
    assert "sort=p99&order=asc" in page.url
    page.get_by_role("button", name="failed requests").press("Space")
    expect(page.locator("tbody .id").first).to_have_text(order_by(rows, "error_rate_pct")[0])
    trend = page.get_by_role("row").filter(has_text=rows[0]["run"]).get_by_role("img")
    label = trend.get_attribute("aria-label") or ""
    figures = re.findall(r"([\d.]+) (µs|ms|s)", label.partition(": ")[2])
    assert label.startswith("p99 of the last 3 runs: ")
    micros = [float(number) * {"µs": 1, "ms": 1e3, "s": 1e6}[unit] for number, unit in figures]
    for shown_us, row in zip(micros, reversed(rows), strict=True):
        assert abs(shown_us - row["outcome"]["p99_us"]) <= row["outcome"]["p99_us"] * 0.01
    verdict = page.get_by_label("Verdict")
    verdict.focus()
    page.keyboard.type("Fail")
    failed = [row["run"] for row in rows if row["outcome"]["verdict"] == "FAIL"]
    expect(page.locator("tbody .id")).to_have_count(len(failed))
    assert sorted(ids(reader)) == sorted(failed)
    assert "verdict=FAIL" in page.url
    reader.open("/?q=no-such-run")
    reader.sees("No runs match the filter")
    reader.open("/")
    expect(page.locator("tbody .id")).to_have_count(3)
    reader.take_screenshots("list")
    for width in (WIDE, NARROW):
        page.set_viewport_size({"width": width, "height": 900})
        assert reader.overflows() <= 0
        assert not serious_violations(reader, axe)


@pytest.mark.slow
def test_an_invalid_run_is_never_green(reader: Reader, run_maker: RunMaker, fleet: Fleet) -> None:
    """Broken if figures of an INVALID run look like those of any other run."""
    run_maker.run(steady(rps=40, secs=2))
    agent = fleet.pids[-1]
    flags = ("--external-agents", "1")
    before = run_maker.oracle.counts().received
    with fleet.start(run_maker.loadpilot, steady(secs=5), run_maker.oracle.url, *flags) as running:
        assert run_maker.oracle.wait_count(before + 40, TIMEOUT_MS / 1000)
        os.kill(agent, signal.SIGSTOP)
        time.sleep(FROZEN_S)  # the length of the freeze is the injected fault
        os.kill(agent, signal.SIGCONT)
        running.end()
    reader.open("/")
    row = reader.page.locator("tbody tr").first
    expect(row.locator(".quality")).to_contain_text("INVALID")
    figures = row.locator("td.void")
    expect(figures).to_have_count(3)
    assert (figures.first.get_attribute("title") or "").startswith("Do not use: ")
    trend = reader.fetch_json("/api/v1/runs")["runs"][0]["trend"]
    qualities = [point["quality"] for point in trend]
    assert qualities[-1] == "INVALID"
    expect(row.locator("circle.invalid")).to_have_count(qualities.count("INVALID"))
    line = row.locator("polyline").get_attribute("points") or ""
    assert len(line.split()) == len(qualities) - qualities.count("INVALID")
    for theme in ("dark", "light"):
        reader.page.emulate_media(color_scheme=theme)
        assert row.evaluate(GREENS) == 0
    reader.take_screenshots("list-invalid")
