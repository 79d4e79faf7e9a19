"""The start form by keyboard: past runs and scenario files, and one message for one mistake."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from services.gateway.tests.gateways import LINK
from tests.browser.reader import NARROW, WIDE, reading
from tests.browser.scenes import CLOSED, steady
from tests.browser.test_finished_runs import serious_violations
from tests.browser.test_keyboard import press, tab_to

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from tests.browser.conftest import RunMaker
    from tests.browser.reader import Reader
    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

BROKEN = """
from loadpilot import VUser, scenario, task
@scenario(rps=40)
class Broken(VUser):
    @task
    def look(self, client)
        client.get("/")
"""

HOOKED = """
from loadpilot import VUser, scenario, setup, task
@scenario(rps=40)
class Hooked(VUser):
    @setup
    def prepare(self, client):
        client.post("/reset")
    @task
    def look(self, client):
        client.get("/")
"""


def confirm(page: Page) -> str:
    """Starts the run of the form by keyboard; returns its id."""
    press(page, "button", "^Start…")
    expect(page.get_by_role("dialog")).to_be_visible()
    press(page, "button", "^Start$")
    expect(page).to_have_url(re.compile(r"/runs/0[0-9a-z]{25}$"))
    return page.url.rpartition("/")[2]


def choose(page: Page, tag: str, name: str, text: str) -> None:
    """Goes to a field with Tab, and types."""
    tab_to(page, tag, name)
    page.keyboard.type(text)


@pytest.mark.long
@pytest.mark.timed  # its certificate has to be VALID
def test_keys_start_a_past_run_again_at_half_the_rate(reader: Reader, run_maker: RunMaker) -> None:
    """Broken if the run has another plan than what was typed, or the form needs a mouse."""
    run = run_maker.run(steady(rps=40, secs=3))["run"]["id"]
    plan = reader_plan(reader, run)
    page = reader.page
    reader.open("/start")
    outlook = page.locator(".outlook")
    expect(page.locator("optgroup")).to_have_count(1)
    choose(page, "select", "^Scenario", "Steady")
    expect(outlook).to_contain_text("120 arrivals in 3 s, peak 40/s")
    press(page, "button", "^Half")
    expect(outlook).to_contain_text("60 arrivals in 3 s, peak 20/s, 1 load generator")
    expect(page.get_by_label("Rate at the peak")).to_have_value("20/s")
    choose(page, "input", "^Duration", "2s")
    choose(page, "input", "^Limit of threshold 1", "15000")
    press(page, "button", "^Add a threshold")
    choose(page, "select", "^Metric of threshold 2", "failed requests")
    choose(page, "select", "^Part of threshold 2", "task browse")
    choose(page, "input", "^Limit of threshold 2", "2.5")
    expect(outlook).to_contain_text("40 arrivals in 2 s, peak 20/s")
    reader.take_screenshots("start-again")
    before = run_maker.oracle.counts().received
    again = confirm(page)
    expect(reader.verdict()).to_have_text("Passed")
    piece = {"duration_us": 2_000_000, "from": 20_000_000, "to": 20_000_000}
    added = {"metric": "error_rate", "task": "browse", "limit": 2.5, "operator": "<="}
    assert reader_plan(reader, again) == plan | {
        "profile": plan["profile"] | {"pieces": [piece]},
        "thresholds": [plan["thresholds"][0] | {"limit": 15_000, "operator": "<="}, added],
    }
    report = reader.fetch_json(f"/api/v1/runs/{again}")
    assert report["arrivals"]["planned"] == 40
    assert run_maker.oracle.counts().received - before == report["calls"]["attempted"]


def reader_plan(reader: Reader, run: str) -> dict[str, Any]:
    """The stored plan of a run."""
    reader.open("/")
    plan: dict[str, Any] = reader.fetch_json(f"/api/v1/runs/{run}/plan")["plan"]
    return plan


@pytest.mark.slow
def test_one_mistake_has_one_message_and_starts_nothing(
    reader: Reader, run_maker: RunMaker, axe: str
) -> None:
    """Broken if a mistake has no message, two messages, or can be started."""
    run = run_maker.run(steady(rps=40, secs=1))["run"]["id"]
    page = reader.page
    reader.open(f"/start?from={run}")
    start = page.get_by_role("button", name="Start…")
    expect(start).to_be_enabled()
    for label, text, rule in (
        ("Rate at the peak", "fast", "must be a rate such as 50"),
        ("Duration", "5 minutes", "must be a duration such as 500ms"),
        ("Target", "localhost", "must be http://host"),
        ("Load generators", "many", "must be a whole number from 1"),
        ("Limit of threshold 1", "low", "must be a number"),
    ):
        field = page.get_by_label(label, exact=True)
        before = field.input_value()
        field.fill(text)
        expect(page.locator(".mistake")).to_have_count(1)
        expect(page.locator(".mistake")).to_contain_text(rule)
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(start).to_be_disabled()
        if label in {"Rate at the peak", "Limit of threshold 1"}:
            reader.take_screenshots(f"start-mistake-{label[:4].lower()}")
            assert not serious_violations(reader, axe)
        field.fill(before)
        expect(page.locator(".mistake")).to_have_count(0)
    assert len(reader.fetch_json("/api/v1/runs")["runs"]) == 1


@pytest.mark.slow
def test_a_plan_is_edited_as_json(reader: Reader, run_maker: RunMaker, axe: str) -> None:
    """Broken if the form and the JSON show different plans, or its units are wrong."""
    run = run_maker.run(steady(rps=40, secs=2))["run"]["id"]
    page = reader.page
    reader.open(f"/start?from={run}")
    text = page.get_by_label("Plan as JSON")
    # The form appears with the plan, and moves the elements below it.
    expect(text).to_have_value(re.compile('"scenario": "Steady"'))
    page.get_by_role("heading", name="Advanced").click()
    plan = json.loads(text.input_value())
    page.get_by_label("with units").check()
    reader.sees("= 40/s")
    reader.take_screenshots("start-units")
    for width in (WIDE, NARROW):
        page.set_viewport_size({"width": width, "height": 900})
        assert reader.overflows() <= 0
        assert not serious_violations(reader, axe)
    page.get_by_label("with units").uncheck()
    plan["profile"]["pieces"][0] |= {"from": 30_000_000, "to": 30_000_000}
    text.fill(json.dumps(plan))
    expect(page.get_by_label("Rate at the peak")).to_have_value("30/s")
    text.fill(json.dumps(plan)[:-1])
    expect(page.locator(".mistake")).to_have_count(1)
    expect(page.locator(".mistake")).to_contain_text("Invalid JSON")
    reader.sees("1 problem")
    expect(page.get_by_role("button", name="Start…")).to_be_disabled()


@pytest.mark.slow
@pytest.mark.timed  # its certificate has to be VALID
@pytest.mark.timeout(300)
def test_a_scenario_file_is_started_in_the_browser(
    browser: Browser, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if keys cannot start a file of the folder, its plan is another than the command's, or
    a mistake in a file has no line."""
    files = loadpilot.folder / "scenarios"
    files.mkdir()
    file = files / "steady.py"
    file.write_text(steady(rps=30, secs=2), encoding="utf-8")
    for name, text in (("broken", BROKEN), ("hooked", HOOKED), ("closed", CLOSED)):
        (files / f"{name}.py").write_text(text, encoding="utf-8")
    with loadpilot.begin("ui", "--no-browser", "--port", "0") as running:
        found = LINK.search(running.until("LoadPilot at"))
        assert found is not None
        base, link = f"http://127.0.0.1:{found[1]}", found[0]
        with reading(browser, base) as reader:
            page = reader.page
            page.goto(link)
            page.get_by_role("link", name="Start", exact=True).click()
            scenario = page.get_by_role("combobox", name="Scenario")
            scenario.select_option(label="scenarios/broken.py · cannot be parsed")
            reader.sees("scenarios/broken.py:6")
            reader.sees("SyntaxError: expected ':'")
            reader.take_screenshots("start-broken")
            # The browser itself logs the refusal.
            reader.console_errors = [one for one in reader.console_errors if "422" not in one]
            scenario.select_option(label="Hooked · scenarios/hooked.py")
            reader.sees("loadpilot run scenarios/hooked.py --scenario Hooked --target http://")
            expect(page.get_by_role("button", name="Start…")).to_be_disabled()
            reader.take_screenshots("start-hooked")
            scenario.select_option(label="Closed · scenarios/closed.py")
            expect(page.get_by_label("Users")).to_have_value("4")
            page.get_by_role("button", name="Double").press("Enter")
            expect(page.locator(".outlook")).to_contain_text("8 users for 4 s")
            reader.take_screenshots("start-closed")
            page.reload()
            expect(page.locator("optgroup option")).to_have_count(4)
            choose(page, "select", "^Scenario", "Steady")
            expect(page.get_by_label("Target", exact=True)).to_be_visible()
            choose(page, "input", "^Target", oracle.url)
            choose(page, "input", "^Rate at the peak", "15")
            expect(page.locator(".outlook")).to_contain_text("30 arrivals in 2 s, peak 15/s")
            assert "file=scenarios" in page.url
            reader.take_screenshots("start-file")
            run = confirm(page)
            expect(reader.verdict()).to_have_text("Passed")
            started = reader.fetch_json(f"/api/v1/runs/{run}/plan")["plan"]
            flags = ("--target", oracle.url, "--rps", "15", "--dry-run")
            assert started == json.loads(loadpilot.call("run", str(file), *flags).stdout)
            received = reader.fetch_json(f"/api/v1/runs/{run}")["calls"]["attempted"]
            assert oracle.counts().received == received
