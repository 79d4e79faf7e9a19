"""Foreign text is never markup, the built files are small, and pages need a session."""

from __future__ import annotations

import gzip
import json
from http.server import ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.browser.reader import TIMEOUT_MS, reading
from tests.browser.scenes import steady
from tests.e2e.support.echo import Echo
from tests.e2e.support.http_calls import JSON
from tests.tidy.tracked import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser
    from services.gateway.tests.gateways import Gateway, Gateways
    from tests.browser.conftest import RunMaker
    from tests.browser.reader import Reader
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

STATIC = ROOT / "services" / "gateway" / "python" / "loadpilot_gateway" / "static"
GZIPPED_MAX = 120_000
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>alert(1)</script>"


@pytest.mark.slow
def test_hostile_names_stay_text(
    reader: Reader, gateway: Gateway, run_maker: RunMaker, oracle: Oracle
) -> None:
    """Broken if a name in a plan becomes markup."""
    plan = run_maker.plan(steady(rps=20, secs=3))
    plan["tasks"][0]["name"] = HOSTILE
    plan["scenario"] = HOSTILE
    started = gateway.tell("/runs", {"plan": plan}, JSON)
    assert started.status == 202, started.body
    run = started.json["run"]
    reader.open(f"/runs/{run}/tasks")
    expect(reader.page.get_by_role("button", name=HOSTILE)).to_be_visible()
    assert oracle.wait_count(60, TIMEOUT_MS / 1000)
    for path in (f"/runs/{run}", f"/runs/{run}/agents", f"/compare?run={run}", "/"):
        reader.open(path)
        reader.sees(HOSTILE)
    assert reader.page.locator("img, main script").count() == 0
    reader.take_screenshots("hostile")


class Refusal(Echo):
    """Refuses each request with a body that contains markup and secrets."""

    def answer(self) -> None:
        self.send_response(503)
        self.send_header("Set-Cookie", "sid=s3cret")
        self.send_header("X-Note", HOSTILE)
        body = f'{HOSTILE}</script>\x1b[2J\0"session": {{"id": "s3cret", "csrf": ["s3cret"]}}'
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


@pytest.mark.slow
def test_hostile_answers_stay_text_without_secrets(
    reader: Reader, run_maker: RunMaker, tmp_path: Path
) -> None:
    """Broken if the answer in an example of a failed request becomes markup, in the pages or in a
    report file, or shows a secret of its head or body. 8 s."""
    file = tmp_path / "report.html"
    scene = steady(rps=20, secs=2)
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Handler", (Refusal,), {"received": []})
    ) as one:
        Thread(target=one.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{one.server_port}"
        flags = ("--external-agents", "1", "--report", str(file))
        run = run_maker.fleet.run(run_maker.loadpilot, scene, url, *flags).report["run"]["id"]
        one.shutdown()
    reader.open(f"/runs/{run}/tasks")
    found = reader.fetch_json(f"/api/v1/runs/{run}/errors")["examples"]
    assert {example["call"] for example in found} == {"GET /browse", "GET /cart", "POST /buy"}
    for example in found:
        head, body = example["exchange"]["answer"], example["exchange"]["body"]
        assert {"Set-Cookie: ***", f"X-Note: {HOSTILE}"} <= set(head)
        assert body == f'{HOSTILE}</script>\x1b[2J\0"session":"***"'
    assert "s3cret" not in file.read_text(encoding="utf-8")
    for page in (f"{reader.base}/runs/{run}/tasks", file.as_uri()):
        reader.page.goto(page)
        panel = reader.page.get_by_role("region", name="Examples of failed requests")
        expect(panel.locator("details")).to_have_count(len(found))
        expect(panel).to_contain_text(HOSTILE)
        assert reader.page.locator("img, main script").count() == 0
        assert reader.page.title() != "taken"


def test_the_pages_are_small() -> None:
    """Broken if the built files grow beyond the limit for phones."""
    packed = {path.name: len(gzip.compress(path.read_bytes(), 9)) for path in built_files()}
    assert sum(packed.values()) < GZIPPED_MAX, packed


def test_the_pages_load_from_no_other_host() -> None:
    """Broken if the index refers to another host, or has inline styles or scripts."""
    index = (STATIC / "index.html").read_text(encoding="utf-8")
    assert "://" not in index
    assert "style=" not in index
    assert "<script>" not in index


def built_files() -> list[Path]:
    """The built files."""
    found = [path for path in STATIC.rglob("*") if path.is_file()]
    assert len(found) >= 3
    return found


@pytest.mark.slow
def test_the_pages_need_a_token(
    browser: Browser, fleet: Fleet, gateways: Gateways, tmp_path: Path
) -> None:
    """Broken if a wrong token opens the pages, or the right one does not."""
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
        reader.take_screenshots("sign-in")
        reader.page.get_by_label("Token").fill("a-token-of-the-test")
        reader.press("Sign in")
        reader.sees("No runs yet")
        reader.console_errors = [one for one in reader.console_errors if "401" not in one]


@pytest.mark.slow
def test_a_one_time_token_works_once_and_leaves_the_address(
    browser: Browser, loadpilot: Loadpilot
) -> None:
    """Broken if the token stays in the address bar, does not sign in, or works twice."""
    with loadpilot.begin("ui", "--no-browser", "--port", "0") as running:
        link = running.until("LoadPilot at ").split()[-1]
        base = link.partition("/#")[0]
        with reading(browser, base) as reader:
            reader.page.goto(link)
            reader.sees("No runs yet")
            assert "token" not in reader.page.url
        with reading(browser, base) as second:
            second.page.goto(link)
            expect(second.page.get_by_role("alert")).to_contain_text("token")
            second.console_errors = [one for one in second.console_errors if "401" not in one]


@pytest.mark.slow
def test_an_unreachable_gateway_shows_an_error(reader: Reader, gateways: Gateways) -> None:
    """Broken if a page does not report that the gateway is gone."""
    reader.open("/")
    reader.sees("No runs yet")
    gateways.processes[-1].kill()
    reader.sees("The gateway does not answer")
    # The browser itself logs requests that were cut off, such as that of the icon.
    reader.console_errors = [one for one in reader.console_errors if "net::ERR_" not in one]
    assert json.dumps(reader.console_errors) == "[]"
