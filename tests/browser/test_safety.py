"""What came from elsewhere stays text; what is shipped stays small; who is unknown sees nothing."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.browser.reader import PATIENCE_MS, reading
from tests.browser.scenes import steady
from tests.e2e.support.http_calls import JSON
from tests.tidy.tracked import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser
    from services.gateway.tests.gateways import Gateway, Gateways
    from tests.browser.conftest import Past
    from tests.browser.reader import Reader
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

STATIC = ROOT / "services" / "gateway" / "python" / "loadpilot_gateway" / "static"
GZIPPED_MAX = 120_000
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>alert(1)</script>"


def test_hostile_names_stay_text(
    reader: Reader, gateway: Gateway, past: Past, oracle: Oracle
) -> None:
    """Broken if a name in a plan becomes a part of the page."""
    plan = past.plan(steady(rps=20, secs=3))
    plan["tasks"][0]["name"] = HOSTILE
    plan["scenario"] = HOSTILE
    asked = gateway.tell("/runs", {"plan": plan}, JSON)
    assert asked.status == 202, asked.body
    run = asked.json["run"]
    reader.open(f"/runs/{run}/tasks")
    expect(reader.page.get_by_role("button", name=HOSTILE)).to_be_visible(timeout=PATIENCE_MS)
    assert oracle.wait_count(60, PATIENCE_MS / 1000)
    for path in (f"/runs/{run}", f"/runs/{run}/agents", f"/compare?run={run}", "/"):
        reader.open(path)
        reader.sees(HOSTILE)
    assert reader.page.locator("img, main script").count() == 0
    reader.shoot("hostile")


def test_the_pages_are_small() -> None:
    """Broken if what a browser must load grows beyond what a telephone loads at once."""
    packed = {path.name: len(gzip.compress(path.read_bytes(), 9)) for path in files()}
    assert sum(packed.values()) < GZIPPED_MAX, packed


def test_the_pages_ask_nobody_else() -> None:
    """Broken if a page is told to load, or could load, anything from another host."""
    index = (STATIC / "index.html").read_text(encoding="utf-8")
    assert "://" not in index
    assert "style=" not in index
    assert "<script>" not in index


def files() -> list[Path]:
    """What is shipped."""
    found = [path for path in STATIC.rglob("*") if path.is_file()]
    assert len(found) >= 3
    return found


def test_without_a_token_nothing_is_shown_and_with_it_all(
    browser: Browser, fleet: Fleet, gateways: Gateways, tmp_path: Path
) -> None:
    """Broken if the sign-in page leaks a run, or a good token opens nothing."""
    fleet.coordinator()
    (tmp_path / "token").write_text("a-token-of-the-test\n", encoding="utf-8")
    (tmp_path / "token").chmod(0o600)
    gateway = gateways.start(TOKEN_FILE=str(tmp_path / "token"))
    with reading(browser, f"http://127.0.0.1:{gateway.port}") as reader:
        reader.open("/")
        reader.sees("Token")
        reader.page.get_by_label("Token").fill("another one")
        reader.press("Sign in")
        expect(reader.page.get_by_role("alert")).to_contain_text("token")
        reader.shoot("sign-in")
        reader.page.get_by_label("Token").fill("a-token-of-the-test")
        reader.press("Sign in")
        reader.sees("No run yet")
        reader.complaints = [one for one in reader.complaints if "401" not in one]


def test_a_link_with_a_token_opens_the_pages_and_forgets_it(
    browser: Browser, loadpilot: Loadpilot
) -> None:
    """Broken if the one-time token stays in the address bar, or opens nothing."""
    with loadpilot.begin("ui", "--no-browser", "--port", "0") as running:
        link = running.until("LoadPilot at ").split()[-1]
        base = link.partition("/#")[0]
        with reading(browser, base) as reader:
            reader.page.goto(link)
            reader.sees("No run yet")
            assert "token" not in reader.page.url
        with reading(browser, base) as second:
            second.page.goto(link)
            expect(second.page.get_by_role("alert")).to_contain_text("token")
            second.complaints = [one for one in second.complaints if "401" not in one]


def test_a_gateway_that_is_gone_is_said_to_be_so(reader: Reader, gateways: Gateways) -> None:
    """Broken if a page stays silent about what it cannot know any more."""
    reader.open("/")
    reader.sees("No run yet")
    gateways.processes[-1].kill()
    reader.sees("The gateway does not answer")
    # The browser itself tells of whatever it was still fetching, be it an icon cut off half-way.
    reader.complaints = [one for one in reader.complaints if "net::ERR_" not in one]
    assert json.dumps(reader.complaints) == "[]"
