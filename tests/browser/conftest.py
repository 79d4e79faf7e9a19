"""Fixtures of the browser tests: a browser, a gateway of a small fleet, ended runs."""

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
    """The installed Chromium. Closed after each module: while it is open, no other test can run
    an event loop."""
    if not CHROMIUM.exists():
        pytest.skip(f"needs {CHROMIUM}: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def gateway(fleet: Fleet, gateways: Gateways) -> Gateway:
    """A gateway of a fleet with one agent."""
    fleet.coordinator()
    fleet.agent("agent-1")
    return gateways.start()


@pytest.fixture
def reader(browser: Browser, gateway: Gateway) -> Iterator[Reader]:
    """A tab at the pages of the gateway."""
    with reading(browser, f"http://127.0.0.1:{gateway.port}") as reader:
        yield reader


class RunMaker:
    """Makes runs that have ended before a page is opened."""

    def __init__(self, fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle) -> None:
        self.fleet = fleet
        self.loadpilot = loadpilot
        self.oracle = oracle

    def run(self, scene: str, *flags: str) -> dict[str, Any]:
        """Runs a scenario to its end; returns the report that the command wrote."""
        result = self.fleet.run(
            self.loadpilot, scene, self.oracle.url, "--external-agents", "1", *flags
        )
        return result.report

    def plan(self, scene: str) -> dict[str, Any]:
        """The plan of a scenario."""
        result = self.loadpilot.run(scene, self.oracle.url, "--dry-run")
        assert result.code == 0, result.stderr
        plan: dict[str, Any] = json.loads(result.stdout)
        return plan


@pytest.fixture
def run_maker(fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle) -> RunMaker:
    """Makes runs on the fleet of this test."""
    return RunMaker(fleet, loadpilot, oracle)


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which checks accessibility."""
    path = ROOT / "services" / "gateway" / "web" / "node_modules" / "axe-core" / "axe.min.js"
    if not path.is_file():
        pytest.skip("needs axe-core: ./dev web")
    return path.read_text(encoding="utf-8")
