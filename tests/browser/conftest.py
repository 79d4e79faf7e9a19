"""What the tests of the pages may ask for: a browser, and a gateway of a small fleet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import sync_playwright
from services.gateway.tests.gateways import Gateway, Gateways, gateways
from tests.browser.reader import CHROMIUM, FLAGS, Reader, reading
from tests.e2e.support.fixtures import fleet, loadpilot, oracle
from tests.tidy.tracked import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

__all__ = ["fleet", "gateways", "loadpilot", "oracle"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The machine's own. It is closed with each module: while it is open, no other test may have
    an event loop."""
    if not CHROMIUM.exists():
        pytest.skip(f"SKIPPED: the pages were not looked at, {CHROMIUM} is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def gateway(fleet: Fleet, gateways: Gateways) -> Gateway:
    """A gateway whose fleet has one agent."""
    fleet.coordinator()
    fleet.agent("agent-1")
    return gateways.start()


@pytest.fixture
def reader(browser: Browser, gateway: Gateway) -> Iterator[Reader]:
    """Somebody at the gateway's pages."""
    with reading(browser, f"http://127.0.0.1:{gateway.port}") as reader:
        yield reader


class Past:
    """Runs that are over before anybody looks."""

    def __init__(self, fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle) -> None:
        self.fleet = fleet
        self.loadpilot = loadpilot
        self.oracle = oracle

    def run(self, scene: str, *flags: str) -> dict[str, Any]:
        """Runs a scenario to its end; its report as the command wrote it."""
        told = self.fleet.run(
            self.loadpilot, scene, self.oracle.url, "--external-agents", "1", *flags
        )
        return told.report

    def plan(self, scene: str) -> dict[str, Any]:
        """What a scenario compiles to."""
        told = self.loadpilot.run(scene, self.oracle.url, "--dry-run")
        assert told.code == 0, told.stderr
        plan: dict[str, Any] = json.loads(told.stdout)
        return plan


@pytest.fixture
def past(fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle) -> Past:
    """Whoever lets runs happen."""
    return Past(fleet, loadpilot, oracle)


@pytest.fixture(scope="session")
def axe() -> str:
    """The text of axe-core, which judges accessibility."""
    place = ROOT / "services" / "gateway" / "web" / "node_modules" / "axe-core" / "axe.min.js"
    if not place.is_file():
        pytest.skip(f"SKIPPED: accessibility was not judged, {place} is missing: ./dev web")
    return place.read_text(encoding="utf-8")
