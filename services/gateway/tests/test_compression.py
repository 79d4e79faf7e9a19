"""Transfer: compressed answers, event streams as they are, changes instead of whole answers. About
12 s: two runs that are stopped."""

from __future__ import annotations

import gzip
import http.client
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from services.gateway.tests.gateways import API, Gateway, Gateways, plan
from services.gateway.tests.test_changes import applied
from tests.e2e.support.http_calls import PATIENCE_S

import loadpilot_gateway
from loadpilot_gateway.runs.changes import MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

ASSETS = Path(loadpilot_gateway.__file__).with_name("static") / "assets"
GZIP = {"Accept-Encoding": "gzip"}
CHANGES = {"Accept": f"{MEDIA_TYPE}, application/json"}


def received(
    gateway: Gateway, path: str, headers: Mapping[str, str], method: str = "GET"
) -> tuple[http.client.HTTPResponse, bytes]:
    """The response to a request, and its body as transferred."""
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE_S)
    connection.request(method, path, headers=dict(headers))
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def test_files_and_answers_are_compressed_for_callers_that_accept_it(
    fleet: Fleet, gateways: Gateways
) -> None:
    """Broken if pages are sent uncompressed, are not cached by browsers, or if a caller without
    gzip receives what it cannot read."""
    fleet.coordinator()
    gateway = gateways.start()
    for file in ASSETS.iterdir():
        packed, body = received(gateway, f"/assets/{file.name}", GZIP)
        assert packed.headers["Content-Encoding"] == "gzip"
        assert packed.headers["Vary"] == "Accept-Encoding"
        assert "immutable" in packed.headers["Cache-Control"]
        assert re.fullmatch(r"text/(javascript|css); charset=utf-8", packed.headers["Content-Type"])
        assert gzip.decompress(body) == file.read_bytes()
        assert len(body) < file.stat().st_size / 2
        head, nothing = received(gateway, f"/assets/{file.name}", GZIP, "HEAD")
        assert (head.headers["Content-Length"], nothing) == (str(len(body)), b"")
        plain, body = received(gateway, f"/assets/{file.name}", {})
        assert plain.headers["Content-Encoding"] is None
        assert body == file.read_bytes()
    answer, body = received(gateway, f"{API}/openapi.json", GZIP)
    assert answer.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(body))["info"]["title"] == "LoadPilot gateway"


@pytest.mark.slow
def test_a_live_view_is_sent_at_once_to_a_caller_that_accepts_gzip(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a compressor holds events back until the run is over."""
    fleet.coordinator()
    fleet.agent("a-1")
    gateway = gateways.start()
    run = gateway.tell("/runs", {"plan": plan(loadpilot, oracle, 20, 300)}).json["run"]
    assert oracle.wait_count(20, PATIENCE_S)
    with gateway.live(run, GZIP) as live:
        assert live.response.headers["Content-Encoding"] is None
        events = live.events()
        snapshots = (event for event in events if event.kind == "snapshot")
        first, second = next(snapshots).data, next(snapshots).data
        assert first["elapsed_secs"] < second["elapsed_secs"]
        assert gateway.api(f"/runs/{run}").json["run"]["state"] == "running"
        assert gateway.tell(f"/runs/{run}/stop").status == 200
        assert list(events)[-1].kind == "sealed"


@pytest.mark.slow
def test_a_caller_that_has_an_answer_receives_what_changed_since(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if changes lead to another answer, or are sent to a caller that does not accept them
    or has another answer."""
    fleet.coordinator()
    fleet.agent("a-1")
    gateway = gateways.start()
    run = gateway.tell("/runs", {"plan": plan(loadpilot, oracle, 50, 60)}).json["run"]
    assert oracle.wait_count(50, PATIENCE_S)
    paths = [f"{API}/runs/{run}{rest}" for rest in ("", "?ticks=false", "/series", "/heat")]
    had = {path: received(gateway, path, CHANGES) for path in paths}
    for first, _ in had.values():
        assert first.headers["Content-Type"] == "application/json"
        assert "Accept" in first.headers["Vary"]
    assert gateway.tell(f"/runs/{run}/stop").status == 200
    gateway.see_end(run)
    for path, (first, body) in had.items():
        etag = {"If-None-Match": first.headers["ETag"]}
        changed, text = received(gateway, path, CHANGES | etag)
        assert changed.headers["Content-Type"] == MEDIA_TYPE
        whole, new = received(gateway, path, etag)
        assert whole.headers["Content-Type"] == "application/json"
        assert whole.headers["ETag"] == changed.headers["ETag"]
        assert applied(json.loads(body), json.loads(text)) == json.loads(new)
        unknown, _ = received(gateway, path, CHANGES | {"If-None-Match": 'W/"other"'})
        assert unknown.headers["Content-Type"] == "application/json"
        known, nothing = received(gateway, path, CHANGES | {"If-None-Match": whole.headers["ETag"]})
        assert (known.status, nothing) == (304, b"")
    report = json.loads(received(gateway, paths[0], {})[1])
    shorter = json.loads(received(gateway, paths[1], {})[1])
    assert shorter == report | {"series": []}
    assert len(report["series"]) > 1
