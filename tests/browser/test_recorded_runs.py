"""Every figure of the pages is the one of the report, of the whole run and as of each second.

About 60 s on two cores: twelve recorded runs, served by one `loadpilot ui`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from tests.browser.figures import expected_text, find
from tests.browser.reader import NARROW, TIMEOUT_MS, WIDE, Reader, reading
from tests.browser.record import FOLDER, KINDS
from tests.e2e.support.command import Loadpilot
from tests.e2e.support.files import unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

TABS = ("", "/latency", "/tasks", "/agents")
STEPPED = ("stalling", "rate_changed")
"""Kinds of which every second is compared. Of the others a few seconds are."""
FIGURES_MIN = {"": 12, "/latency": 8, "/tasks": 8, "/agents": 4}
"""Minimum number of figures of a page, so that an empty one does not pass."""
COLLECT = """() => [...document.querySelectorAll("main [data-figure]")].map(
    one => [one.dataset.figure, one.textContent.trim()])"""
GO = """address => {
    history.pushState(null, "", address);
    dispatchEvent(new PopStateEvent("popstate"));
}"""
CUT = """() => [...document.querySelectorAll(".scroll")]
    .filter(one => one.scrollWidth > one.clientWidth)
    .map(one => `${one.getAttribute("aria-label")}: ${one.scrollWidth - one.clientWidth} px`)"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The recorded runs in one tab."""

    reader: Reader
    runs: dict[str, str]
    """Id of the run of each kind."""


@pytest.fixture(scope="module")
def recorded(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    loadpilot = Loadpilot(tmp_path_factory.mktemp("recorded"))
    for number, kind in enumerate(KINDS, 1):
        unpack(FOLDER / f"{kind}.tar.gz", loadpilot.log / f"log-{number}")
    with loadpilot.begin("ui", "--no-browser", "--port", "0", "--agents", "1") as running:
        link = running.until("LoadPilot at ").split()[-1]
        with reading(browser, link.partition("/#")[0]) as reader:
            reader.page.goto(link)
            reader.sees("Chat")
            listed = reader.fetch_json("/api/v1/runs")["runs"]
            number_of = {one["log"]: one["run"] for one in listed}
            runs = {kind: number_of[f"log-{n}"] for n, kind in enumerate(KINDS, 1)}
            yield Recorded(reader, runs)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_pages_show_the_figures_of_the_report(recorded: Recorded, kind: str) -> None:
    """Broken if a figure of a page is not that of the report, as a whole or as of a second."""
    run, reader = recorded.runs[kind], recorded.reader
    report = reader.fetch_json(f"/api/v1/runs/{run}")
    reader.open(f"/runs/{run}")
    for tab in TABS:
        go(reader, f"/runs/{run}{tab}")
        assert_figures(reader, report, minimum(tab, report))
        assert_fits(reader)
        reader.take_screenshots(f"{kind}{tab.replace('/', '-')}")
    end_us = report["run"]["stopped_at_us"] or report["run"]["profile_us"]
    ticks = range(1, end_us // report["run"]["tick_us"] + 1)
    for tick in ticks if kind in STEPPED else ticks[:: max(1, len(ticks) // 3)]:
        us = tick * report["run"]["tick_us"]
        then = reader.fetch_json(f"/api/v1/runs/{run}?as_of_us={us}")
        for tab in ("", "/tasks") if kind in STEPPED else ("",):
            go(reader, f"/runs/{run}{tab}?as_of={us}")
            assert_figures(reader, then, 4)
    assert not reader.console_errors


def test_a_chosen_task_leaves_no_figure_of_the_whole_run(recorded: Recorded) -> None:
    """Broken if a panel of the whole run stands beside a table of the chosen task."""
    run, reader = recorded.runs["stalling"], recorded.reader
    [task, *_] = reader.fetch_json(f"/api/v1/runs/{run}")["tasks"]
    reader.open(f"/runs/{run}/latency")
    reader.sees("Percentile curve")
    go(reader, f"/runs/{run}/latency?task={task['name']}")
    reader.sees("of the selected part")
    for title in ("Percentile curve", "Coordinated omission", "Load levels", "Held rate"):
        expect(reader.page.get_by_role("heading", name=title)).to_have_count(0)


def test_a_target_that_was_never_reached_has_no_latency(recorded: Recorded) -> None:
    """Broken if failed connects are shown as latency: a percentile curve, a CO factor."""
    run, reader = recorded.runs["target_down"], recorded.reader
    for tab in ("", "/latency"):
        reader.open(f"/runs/{run}{tab}")
        reader.sees("Not measured: no request reached a server")
        for title in ("Percentile curve", "Coordinated omission"):
            expect(reader.page.get_by_role("heading", name=title)).to_have_count(0)
        expect(reader.page.get_by_text("CO factor")).to_have_count(0)


def test_back_leads_to_the_same_place_of_the_list(recorded: Recorded) -> None:
    """Broken if a reader of a long list has to scroll again after each run."""
    reader = recorded.reader
    reader.page.set_viewport_size({"width": WIDE, "height": 300})
    reader.open("/")
    last = reader.page.locator("tbody a[href*='/runs/']").last
    expect(last).not_to_be_in_viewport()
    last.click()
    expect(reader.verdict()).to_be_visible()
    reader.page.go_back()
    expect(last).to_be_in_viewport()
    reader.page.set_viewport_size({"width": WIDE, "height": 900})


def assert_fits(reader: Reader) -> None:
    """Asserts that nothing is wider than the window, and that a wide window cuts no table."""
    assert reader.page.evaluate(CUT) == [], f"{reader.page.url}, {WIDE} px"
    for width in (NARROW, WIDE):
        reader.page.set_viewport_size({"width": width, "height": 900})
        assert reader.overflows() <= 0, f"{reader.page.url}, {width} px"


def go(reader: Reader, address: str) -> None:
    """Goes to another address of the pages without loading them again."""
    reader.page.evaluate(GO, address)


def minimum(tab: str, report: dict[str, Any]) -> int:
    """Number of figures that a page must have."""
    reached = report["calls"]["attempted"] - report["latency"].get("unconnected", 0)
    return FIGURES_MIN[tab] if reached else 1


def assert_figures(reader: Reader, report: dict[str, Any], least: int) -> None:
    """Waits until all figures of the page are those of the report."""
    deadline = TIMEOUT_MS // 4
    wrong: list[str] = []
    for _ in range(deadline // 50):
        shown = reader.page.evaluate(COLLECT)
        wrong = [
            f"{path}: {text!r}, not {want!r} of {find(report, path)!r}"
            for path, text in shown
            if text != (want := expected_text(report, path))
        ]
        if not wrong and len(shown) >= least:
            return
        reader.page.wait_for_timeout(50)
    assert not wrong, f"{reader.page.url}: {len(shown)} figures\n" + "\n".join(wrong)
    raise AssertionError(f"{reader.page.url}: only {len(shown)} figures, not {least}")
