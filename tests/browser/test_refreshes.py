"""Requests of an open page: they are small and rare, and a failure is reported once.

About 100 s on two cores; the long case adds 80 s.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from tests.browser.reader import NARROW, TIMEOUT_MS, WIDE
from tests.browser.scenes import SHOP, steady
from tests.e2e.support.http_calls import JSON

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page
    from services.gateway.tests.gateways import Gateway, Gateways
    from tests.browser.conftest import RunMaker
    from tests.browser.reader import Reader
    from tests.oracle.oracle import Oracle

REFRESH_BYTES_MAX = 15_000
TICK_US = 100_000
PER_SECOND_MAX = 5
REFRESH_SECS = 2.2
"""Interval between two refreshes. A refresh that waits longer for its responses may be larger."""
NOTE_MOVES = """() => {
  // The page reads the clock, and then its address gets the position, before it is drawn and asks
  // for the report. A busy machine may pause the page in between.
  const now = performance.now.bind(performance);
  let readAt = 0;
  performance.now = () => (readAt = now());
  const replace = history.replaceState.bind(history);
  window.movedAt = [];
  history.replaceState = (...address) => {
    window.movedAt.push(readAt);
    replace(...address);
  };
}"""
"""Records the times, in ms of the page's own clock, at which the page moves to the position of a
slider."""


class Traffic:
    """Bytes on the wire of a page, by refresh: from one request for the report to the next."""

    def __init__(self, page: Page, run: str) -> None:
        self.refreshes: list[dict[str, int]] = []
        """Bytes by path."""
        self.begins: list[float] = []
        """Times in seconds at which the refreshes begin."""
        self._run = run
        self._paths: dict[str, str] = {}
        self._session = page.context.new_cdp_session(page)
        self._session.on("Network.requestWillBeSent", self._on_request)
        self._session.on("Network.responseReceived", self._on_response)
        self._session.on("Network.dataReceived", self._on_data)
        self._session.send("Network.enable")

    def end(self) -> None:
        """Ends the count."""
        self._session.detach()

    def _on_request(self, event: dict[str, Any]) -> None:
        path = event["request"]["url"].partition("/api/v1")[2]
        self._paths[event["requestId"]] = path
        if path == f"/runs/{self._run}?ticks=false":
            self.refreshes.append({})
            self.begins.append(event["timestamp"])

    def _on_response(self, event: dict[str, Any]) -> None:
        self._add(event, event["response"]["encodedDataLength"])

    def _on_data(self, event: dict[str, Any]) -> None:
        self._add(event, event["encodedDataLength"])

    def _add(self, event: dict[str, Any], count: int) -> None:
        if self.refreshes:
            path = self._paths.get(event["requestId"], "").partition("?")[0].rpartition("/")[2]
            found = self.refreshes[-1]
            found[path] = found.get(path, 0) + count


@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.parametrize("ticks", [150, 650], ids=["150 ticks", "650 ticks"])
def test_a_refresh_of_a_live_page_is_small_however_long_the_run(
    gateway: Gateway, reader: Reader, run_maker: RunMaker, oracle: Oracle, ticks: int
) -> None:
    """Broken if a page requests data again that it has."""
    run_maker.fleet.agent("agent-2")
    plan = run_maker.plan(SHOP)
    plan["tick_us"] = TICK_US
    # The run must not end while its pages are open.
    plan["profile"]["pieces"][0]["duration_us"] = ticks * TICK_US + 300_000_000
    started = gateway.tell("/runs", {"plan": plan, "agents": {"want": 2, "min": 2}}, JSON)
    assert started.status == 202, started.body
    run = started.json["run"]
    arrivals = 20 * ticks * TICK_US // 1_000_000
    assert oracle.wait_count(arrivals, TIMEOUT_MS / 1000 + ticks)
    for tab in ("", "/latency", "/tasks"):
        traffic = Traffic(reader.page, run)
        reader.open(f"/runs/{run}{tab}")
        expect(reader.page.locator("[data-figure]").nth(8)).to_be_visible()
        while len(traffic.refreshes) < 5:
            reader.page.wait_for_timeout(200)
        # The first entry is the page itself, and the last refresh is under way.
        spans = [b - a for a, b in itertools.pairwise(traffic.begins)]
        for refresh, secs in list(zip(traffic.refreshes, spans, strict=False))[1:]:
            most = REFRESH_BYTES_MAX * max(1, secs / REFRESH_SECS)
            assert sum(refresh.values()) <= most, (refresh, secs)
        print(f"{ticks} ticks, {tab or 'overview'}: {traffic.refreshes[:-1]}")
        traffic.end()
    report = gateway.api(f"/runs/{run}").json
    assert len(report["series"]) >= ticks
    assert gateway.tell(f"/runs/{run}/stop").status == 200


@pytest.mark.slow
def test_buttons_stay_where_they_are_and_a_lost_gateway_is_said_once(
    gateway: Gateway, gateways: Gateways, reader: Reader, run_maker: RunMaker, oracle: Oracle
) -> None:
    """Broken if a text that appears moves the buttons under a click, or if one cause has two
    messages."""
    run = gateway.tell("/runs", {"plan": run_maker.plan(steady(rps=20, secs=300))}, JSON).json[
        "run"
    ]
    page = reader.page
    reader.open(f"/runs/{run}")
    assert oracle.wait_count(20, TIMEOUT_MS / 1000)
    expect(page.locator(".steering").get_by_role("button")).to_have_count(4)
    # The text comes with the report of the first arrivals, and moves the elements beside it.
    expect(page.get_by_text("Download", exact=True)).to_be_visible()
    before = {width: places(page, width) for width in (NARROW, WIDE)}
    reader.press("Pause")
    page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    reader.sees("paused at second")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert {width: places(page, width) for width in (NARROW, WIDE)} == before
    for width in (NARROW, WIDE):
        page.set_viewport_size({"width": width, "height": 900})
        assert reader.overflows() <= 0
    reader.take_screenshots("steered")

    reader.press("Change rate")
    page.get_by_label("New rate").fill("fast")
    page.get_by_role("dialog").get_by_role("button", name="Change the rate").click()
    expect(alerts(page)).to_have_count(1)
    reader.take_screenshots("refused-rate")
    page.keyboard.press("Escape")
    expect(alerts(page)).to_have_text([])

    reader.open(f"/runs/{run}/latency?from=5000000&to=1000000")
    expect(alerts(page)).to_have_count(1)
    reader.sees("must be below to_us")
    reader.open(f"/runs/{run}/latency")
    expect(page.locator(".verdict, .panel").first).to_be_visible()
    # The run goes on: a page asks no more once a run is over.
    gateways.processes[-1].kill()
    reader.sees("The gateway does not answer")
    page.wait_for_timeout(3_000)
    expect(alerts(page)).to_have_count(1)
    reader.take_screenshots("gateway-gone")
    ours = ("net::ERR_", "422")
    reader.console_errors = [
        one for one in reader.console_errors if not any(text in one for text in ours)
    ]


@pytest.mark.slow
def test_a_dragged_slider_asks_five_times_a_second_and_ends_at_its_last_position(
    reader: Reader, run_maker: RunMaker
) -> None:
    """Broken if a drag floods the gateway, if the response of an earlier position stays, or if keys
    have no effect."""
    run = run_maker.run(steady(secs=12))["run"]["id"]
    page = reader.page
    reader.open(f"/runs/{run}")
    slider = page.get_by_label("Show the run as of")
    expect(slider).to_be_visible()
    page.wait_for_load_state("networkidle")
    asked: list[tuple[float, str]] = []
    session = page.context.new_cdp_session(page)
    session.on(
        "Network.requestWillBeSent",
        lambda event: asked.append((event["timestamp"], event["request"]["url"])),
    )
    session.send("Network.enable")
    page.evaluate(NOTE_MOVES)
    box = slider.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] - 8, y)
    page.mouse.down()
    # Another second with every step, so that the slider never rests.
    for second in 4 * (*range(11, 0, -1), *range(2, 11)):
        page.mouse.move(box["x"] + 8 + (box["width"] - 16) * second / 12, y)
        page.wait_for_timeout(30)
    assert_rare(list(asked), page.evaluate("window.movedAt"))
    page.mouse.up()
    shows(reader, run, slider)
    slider.focus()
    for key, us in (
        ("Home", 0),
        ("ArrowRight", 1_000_000),
        ("End", None),
        ("ArrowLeft", 11_000_000),
    ):
        slider.press(key)
        assert_at(reader, run, us)
    before = position(slider)
    slider.press("PageDown")
    assert position(slider) < before
    slider.press("PageUp")
    assert position(slider) >= before


def assert_rare(asked: list[tuple[float, str]], moved_at: list[float]) -> None:
    """Asserts that the page moves at most five times a second, requests the report at most once per
    move, and sends at most five requests a second in all, and three more at rest."""
    spans = [b - a for a, b in itertools.pairwise(moved_at)]
    # A timer of a browser may fire a few milliseconds early.
    assert min(spans) >= 1e3 / PER_SECOND_MAX - 10, spans
    reports = [url for _, url in asked if "as_of_us" in url and "ticks" in url]
    assert 2 * PER_SECOND_MAX < len(reports) <= len(moved_at), (reports, moved_at)
    all_asked = [at for at, url in asked if "/api/" in url]
    secs = max(all_asked) - min(all_asked)
    assert len(all_asked) <= PER_SECOND_MAX * secs + 3, asked


def shows(reader: Reader, run: str, slider: Locator) -> None:
    assert_at(reader, run, position(slider) * 1_000_000)


def position(slider: Locator) -> int:
    return int(slider.input_value())


def assert_at(reader: Reader, run: str, us: int | None) -> None:
    """Asserts that the page shows the report as of this time."""
    query = "" if us is None else f"?as_of_us={us}"
    report = reader.fetch_json(f"/api/v1/runs/{run}{query}")
    started = f"{report['arrivals']['started']:,}"
    expect(reader.page.locator("[data-figure='arrivals.started']").first).to_have_text(started)


def alerts(page: Page) -> Locator:
    """Visible error messages, apart from that of the measurement quality, which may be INVALID on a
    busy machine."""
    notice = ".notice:not(.invalid):visible"
    return page.locator(f"[role=alert]:visible, {notice}, .failed:visible")


def places(page: Page, width: int) -> list[Any]:
    """Positions of the buttons of a run."""
    page.set_viewport_size({"width": width, "height": 900})
    return [one.bounding_box() for one in page.locator(".steering button").all()]
