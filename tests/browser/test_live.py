"""A run that is started, watched, steered and stopped in the browser; the oracle counts."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.browser.reader import PATIENCE_MS
from tests.browser.scenes import steady

if TYPE_CHECKING:
    from tests.browser.conftest import Past
    from tests.browser.reader import Reader
    from tests.oracle.oracle import Oracle


def test_a_run_from_the_first_click_to_its_report(
    reader: Reader, past: Past, oracle: Oracle
) -> None:
    """Broken if a wish of the reader does not reach the target, or what is shown is not counted."""
    page = reader.page
    reader.open("/")
    reader.sees("No run yet")
    page.get_by_role("link", name="Start", exact=True).click()
    page.get_by_label("Plan, as JSON").fill(json.dumps(past.plan(steady(rps=40, secs=300))))
    reader.sees("sound")
    reader.sees("12,000")
    reader.press("Start…")
    page.get_by_role("dialog").get_by_role("button", name="Start", exact=True).click()

    expect(page).to_have_url(re.compile(r"/runs/0[0-9a-z]{25}$"), timeout=PATIENCE_MS)
    run = page.url.rpartition("/")[2]
    assert oracle.wait_count(40, PATIENCE_MS / 1000)
    expect(reader.verdict()).to_have_text("PASSING", timeout=PATIENCE_MS)
    expect(reader.tile("started")).to_have_text(re.compile(r"^\d"), timeout=PATIENCE_MS)
    reader.shoot("live")

    reader.press("Change rate")
    page.get_by_label("New rate").fill("90")
    page.get_by_role("dialog").get_by_role("button", name="Change the rate").click()
    reader.sees("rate 40 -> 90/s from second")
    # Eight seconds at 50 calls a second, and then some: the new rate has come to the target.
    assert oracle.wait_count(800, PATIENCE_MS / 1000)
    reader.press("Pause")
    page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    reader.sees("paused at second")
    reader.press("Resume")
    page.get_by_role("dialog").get_by_role("button", name="Resume", exact=True).click()
    reader.sees("resumed at second")
    reader.press("Stop")
    page.get_by_role("dialog").get_by_role("button", name="Stop", exact=True).click()

    expect(reader.verdict()).to_have_text("STOPPED", timeout=PATIENCE_MS)
    report = reader.asks(f"/api/v1/runs/{run}")
    assert report["run"]["ending"] == "stopped"
    expect(reader.tile("arrivals")).to_have_text(f"{report['arrivals']['started']:,}")
    assert len(oracle.requests()) == report["calls"]["attempted"]
    assert 90 in [tick["started"] for tick in report["series"]]
    page.get_by_role("link", name="Story").click()
    reader.sees("rate 40 -> 90 by")


def test_a_plan_that_is_wrong_starts_nothing(reader: Reader, past: Past, oracle: Oracle) -> None:
    """Broken if a mistake is not named where it is made, or can be started."""
    page = reader.page
    plan = past.plan(steady())
    plan["tasks"][0]["weight"] = 0
    reader.open("/start")
    page.get_by_label("Plan, as JSON").fill("{")
    reader.sees("This is not JSON")
    page.get_by_label("Plan, as JSON").fill(json.dumps(plan))
    reader.sees("to mend")
    reader.sees("weight")
    expect(page.get_by_role("button", name="Start…")).to_be_disabled()
    assert oracle.counts().received == 0
    reader.shoot("start-problem")


def test_a_run_that_nobody_knows_is_said_to_be_so(reader: Reader) -> None:
    """Broken if a dead link shows an empty page."""
    reader.open("/runs/01aaaaaaaaaaaaaaaaaaaaaaaa")
    expect(reader.page.get_by_role("alert")).to_contain_text("01aaaaaaaaaaaaaaaaaaaaaaaa")
    # The browser itself notes an answer of 404 on the console; a script had no part in it.
    reader.complaints = [one for one in reader.complaints if "404" not in one]
