"""Keys alone lead through all pages of a run, start one and stop it. About 25 s on two cores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.browser.reader import TIMEOUT_MS
from tests.browser.scenes import steady

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from tests.browser.conftest import RunMaker
    from tests.browser.reader import Reader
    from tests.oracle.oracle import Oracle

STOPS_MAX = 120
FOCUSED = """() => {
    const one = document.activeElement;
    const seen = one.getClientRects().length > 0;
    const label = one.labels?.[0]?.textContent;
    const name = one.getAttribute("aria-label") || label || one.textContent.trim();
    return [one.tagName.toLowerCase(), name, seen];
}"""


def tab_to(page: Page, tag: str, name: str) -> None:
    """Presses Tab until an element of this tag and name has the focus."""
    stops = []
    for _ in range(STOPS_MAX):
        page.keyboard.press("Tab")
        found, text, seen = page.evaluate(FOCUSED)
        if found == tag and re.search(name, text):
            assert seen, f"{name} has the focus and is not visible"
            return
        stops.append(f"{found} {text[:30]}")
    raise AssertionError(f"Tab does not reach {tag} {name}: {stops}")


def press(page: Page, tag: str, name: str) -> None:
    """Goes to an element with Tab, and presses Enter."""
    tab_to(page, tag, name)
    page.keyboard.press("Enter")


@pytest.mark.slow
def test_keys_lead_from_the_list_to_the_start_of_a_run_and_its_stop(
    reader: Reader, run_maker: RunMaker, oracle: Oracle
) -> None:
    """Broken if a user without a pointer cannot reach or operate a part of the pages."""
    oracle.delay(30.0, path="/browse")
    run = run_maker.run(steady(rps=20, secs=30, p95=10), "--duration", "4s")["run"]["id"]
    page = reader.page
    reader.open("/")
    expect(page.get_by_role("row").filter(has_text=run)).to_be_visible()
    press(page, "a", "^Steady")
    expect(page).to_have_url(re.compile(rf"/runs/{run}$"))
    expect(page.get_by_role("table").filter(has_text="p95_ms")).to_be_visible()

    first_failed = page.locator(".thresholds button.link")
    expect(first_failed).to_be_visible()
    press(page, "button", f"^{re.escape(first_failed.inner_text())}$")
    expect(page).to_have_url(re.compile("as_of="))
    for tab in ("Latency", "Tasks", "Timeline", "What if"):
        press(page, "a", f"^{tab}$")
        expect(page.get_by_role("link", name=tab, exact=True)).to_have_attribute(
            "aria-current", "page"
        )
    expect(reader.verdict()).to_be_visible()
    tab_to(page, "input", "Limit of p95_ms")
    limits = page.get_by_role("slider", name="Limit of p95_ms")
    while page.evaluate("document.activeElement.type") != "range":
        tab_to(page, "input", "Limit of p95_ms")
    expect(limits).to_be_focused()
    page.keyboard.press("End")
    expect(page).to_have_url(re.compile("limit=p95_ms"))

    before = oracle.counts().received
    press(page, "a", "^Run again$")
    expect(page.get_by_role("button", name=re.compile("^Start"))).to_be_enabled()
    # The run goes on until keys have stopped it, also on a slow machine.
    tab_to(page, "input", "^Duration")
    page.keyboard.type("60s")
    expect(page.locator(".outlook")).to_contain_text("1,200 arrivals")
    press(page, "button", "^Start")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name=re.compile("^Start"))).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    press(page, "button", "^Start$")
    expect(page).to_have_url(re.compile(rf"/runs/(?!{run})0[0-9a-z]{{25}}$"))
    assert oracle.wait_count(before + 20, TIMEOUT_MS / 1000)
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    press(page, "button", "^Stop$")
    expect(page.get_by_role("dialog")).to_be_visible()
    press(page, "button", "^Stop$")
    expect(page.get_by_role("link", name="Run again")).to_be_visible()
    started = page.url.rpartition("/")[2]
    assert reader.fetch_json(f"/api/v1/runs/{started}")["run"]["ending"] == "stopped"
