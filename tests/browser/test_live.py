"""Starts, steers and stops a run in the browser; compares with what the oracle counted."""

from __future__ import annotations

import json
import os
import re
import signal
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from services.gateway.tests.gateways import opened
from tests.browser.reader import NARROW, TIMEOUT_MS, WIDE, reading
from tests.browser.scenes import steady
from tests.e2e.support.command import assert_ended
from tests.e2e.support.processes import descendants

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from services.gateway.tests.gateways import Gateways
    from tests.browser.conftest import RunMaker
    from tests.browser.reader import Reader
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle


NOTIFICATIONS = """
window.shown = [];
window.Notification = class {
    static permission = "default";
    static requestPermission() { return Promise.resolve("granted"); }
    constructor(title, options) { shown.push([title, options.body]); }
};
Object.defineProperty(document, "hidden", { get: () => true });
"""
"""Makes a page believe that it is in the background, and records the notifications that it
shows."""
REFUSED = "accepts no live view at the moment"


@pytest.mark.slow
@pytest.mark.timed  # its certificate has to be VALID
def test_a_run_from_the_first_click_to_its_report(
    reader: Reader, run_maker: RunMaker, oracle: Oracle
) -> None:
    """Broken if an action does not reach the target, or a figure differs from the oracle's."""
    page = reader.page
    page.add_init_script(NOTIFICATIONS)
    reader.open("/")
    reader.sees("No runs yet")
    page.get_by_role("link", name="Start", exact=True).click()
    page.get_by_label("Plan as JSON").fill(json.dumps(run_maker.plan(steady(rps=40, secs=300))))
    expect(page.get_by_text("valid", exact=True)).to_be_visible()
    reader.sees("12,000")
    reader.press("Start…")
    page.get_by_role("dialog").get_by_role("button", name="Start", exact=True).click()

    expect(page).to_have_url(re.compile(r"/runs/0[0-9a-z]{25}$"))
    run = page.url.rpartition("/")[2]
    assert oracle.wait_count(40, TIMEOUT_MS / 1000)
    expect(reader.verdict()).to_have_text("Passing so far")
    expect(reader.tile("started")).to_have_text(re.compile(r"^\d"))
    reader.take_screenshots("live")

    reader.press("Change rate")
    page.get_by_label("New rate").fill("90")
    page.get_by_role("dialog").get_by_role("button", name="Change the rate").click()
    reader.sees("rate 40 -> 90/s from second")
    notice = page.get_by_text("rate 40 -> 90/s from second").first.inner_text()
    second = float(re.findall(r"from second ([\d.]+)", notice)[0])
    # 50 calls a second up to then, and two seconds more: the new rate has reached the target.
    assert oracle.wait_count(int(50 * second) + 225, TIMEOUT_MS / 1000)
    reader.press("Pause")
    page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    reader.sees("paused at second")
    reader.press("Resume")
    page.get_by_role("dialog").get_by_role("button", name="Resume", exact=True).click()
    reader.sees("resumed at second")
    reader.press("Notify me")
    reader.press("Stop")
    page.get_by_role("dialog").get_by_role("button", name="Stop", exact=True).click()

    expect(reader.verdict()).to_have_text("Stopped")
    report = reader.fetch_json(f"/api/v1/runs/{run}")
    assert report["run"]["ending"] == "stopped"
    assert [title for title, _ in page.evaluate("shown")] == ["Steady: Stopped"]
    assert_page_is_saved(reader, report)
    expect(reader.tile("arrivals")).to_have_text(f"{report['arrivals']['started']:,}")
    assert len(oracle.requests()) == report["calls"]["attempted"]
    dropped = report["arrivals"]["dropped"]
    called_off = dropped["stopped"] + dropped["paused"]
    expect(reader.figure("called_off")).to_have_text(f"{called_off:,}")
    others = sum(dropped.values()) - called_off + report["arrivals"]["lost"]
    expect(reader.figure("dropped_or_lost")).to_have_text(f"{others:,}")
    assert_marked(reader)
    assert 90 in [tick["started"] for tick in report["series"]]
    page.get_by_role("link", name="Timeline").click()
    reader.sees("rate 40 -> 90 by")


def assert_marked(reader: Reader) -> None:
    """Asserts that the new rate, the pause and the stop stand below the verdict and in each
    chart."""
    changes = reader.page.get_by_label("Verdict").get_by_role("listitem")
    expect(changes).to_contain_text(["Rate changed from 40.0/s to 90.0/s", "Paused by", "Stopped"])
    load = reader.page.get_by_role("img", name=re.compile("^Load"))
    expect(load).to_have_attribute(
        "aria-label", re.compile(r"rate 90\.0/s at .*; paused at .* to .*; stopped at ")
    )
    reader.take_screenshots("steered")


def assert_page_is_saved(reader: Reader, report: dict[str, Any]) -> None:
    """Saves the report of the open run as a page. Asserts that the menu fits a phone."""
    page = reader.page
    page.get_by_text("Download", exact=True).click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Report as a page").click()
    assert saved.value.suggested_filename == f"{report['run']['id']}.html"
    assert report["digest"] in saved.value.path().read_text(encoding="utf-8")
    for width in (NARROW, WIDE):
        page.set_viewport_size({"width": width, "height": 900})
        assert reader.overflows() <= 0, f"{width} px"
    page.get_by_text("Download", exact=True).click()


def test_an_invalid_plan_cannot_be_started(
    reader: Reader, run_maker: RunMaker, oracle: Oracle
) -> None:
    """Broken if the page does not name the invalid field, or starts the plan."""
    page = reader.page
    plan = run_maker.plan(steady())
    plan["tasks"][0]["weight"] = 0
    reader.open("/start")
    page.get_by_label("Plan as JSON").fill("{")
    reader.sees("Invalid JSON")
    page.get_by_label("Plan as JSON").fill(json.dumps(plan))
    reader.sees("1 problem")
    reader.sees("weight")
    expect(page.get_by_role("button", name="Start…")).to_be_disabled()
    assert oracle.counts().received == 0
    reader.take_screenshots("start-problem")


@pytest.mark.slow
def test_an_unknown_run_shows_an_error(reader: Reader) -> None:
    """Broken if a dead link shows an empty page."""
    reader.open("/runs/01aaaaaaaaaaaaaaaaaaaaaaaa")
    expect(reader.page.get_by_role("alert")).to_contain_text("01aaaaaaaaaaaaaaaaaaaaaaaa")
    # The browser itself logs the response 404.
    reader.console_errors = [one for one in reader.console_errors if "404" not in one]


@pytest.mark.slow
def test_a_refused_live_view_is_asked_for_again(
    browser: Browser, fleet: Fleet, gateways: Gateways, run_maker: RunMaker
) -> None:
    """Broken if a page is never updated again once its live view was refused. 10 s."""
    fleet.coordinator()
    fleet.agent("agent-1")
    gateway = gateways.start(LIVE_VIEWS="1")
    run = gateway.tell("/runs", {"plan": run_maker.plan(steady(secs=60))}).json["run"]
    with reading(browser, f"http://127.0.0.1:{gateway.port}") as reader:
        with gateway.live(run) as holder:
            next(holder.events())
            reader.open(f"/runs/{run}")
            reader.sees(REFUSED)
        expect(reader.tile("started")).to_have_text(re.compile(r"^\d"))
        expect(reader.page.get_by_text(REFUSED)).to_have_count(0)
        assert gateway.tell(f"/runs/{run}/stop").status == HTTPStatus.OK
        expect(reader.verdict()).to_have_text("Stopped")
        # The browser itself logs each refusal.
        reader.console_errors = [one for one in reader.console_errors if "503" not in one]


@pytest.mark.slow
def test_a_killed_run_names_the_command_that_continues_it(
    browser: Browser, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if an open page shows a run as running once its processes are gone. 10 s."""
    with loadpilot.begin("ui", "--no-browser", "--port", "0") as pages:
        gateway, _, known = opened(pages)
        name, _, value = known["Cookie"].partition("=")
        with reading(browser, base := f"http://127.0.0.1:{gateway.port}") as reader:
            reader.page.context.add_cookies([{"name": name, "value": value, "url": base}])
            with loadpilot.start(steady(secs=300), oracle.url) as running:
                run = running.run_id()
                reader.open(f"/runs/{run}")
                expect(reader.page.locator(".name .badge")).to_have_text("running")
                expect(reader.page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
                reader.sees("panels below the cards as of")
                below = descendants(running.pid)
                for process in below:
                    os.kill(process.pid, signal.SIGKILL)
                running.kill()
                assert_ended(below, 10.0)
            reader.sees(f"loadpilot resume {run}")
            expect(reader.page.locator(".name .badge")).to_have_text("killed")
            expect(reader.page.locator(".verdict strong")).to_have_text("Killed")
            reader.sees("its log has no seal")
            reader.sees("Data until")
            expect(reader.figure("requests_total")).to_have_count(1)
            expect(reader.page.get_by_text("so far")).to_have_count(0)
            expect(reader.page.get_by_text("The grade follows")).to_have_count(0)
            expect(reader.page.get_by_role("button", name="Notify me")).to_have_count(0)
            expect(reader.page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
            reader.take_screenshots("killed")
            # A stored stop would end the run that is resumed.
            assert gateway.tell(f"/runs/{run}/stop", {}, known).status == 503
            reader.open("/")
            expect(reader.page.get_by_role("row").nth(1)).to_contain_text("killed")
        pages.signal(signal.SIGINT)
        assert pages.end(60).code == 0
