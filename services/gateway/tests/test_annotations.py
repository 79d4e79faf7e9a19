"""Notes over HTTP equal those of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.short_run import SCRIPTED

if TYPE_CHECKING:
    from services.gateway.tests.gateways import Gateways
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle


@pytest.mark.slow
def test_a_note_and_a_mark_over_http(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a note differs between the two, or if a report changes."""
    fleet.coordinator()
    fleet.agent("a-1")
    scene = SCRIPTED.replace(", compile=False", "")
    run = fleet.run(loadpilot, scene, oracle.url, "--external-agents", "1").run
    gateway = gateways.start()
    path = f"/runs/{run}/annotations"
    before = gateway.api(f"/runs/{run}").body
    assert gateway.api(path).json == {"notes": [], "baseline": None}
    answer = gateway.tell(path, {"text": "<b>slow</b> disk", "baseline": True})
    assert answer.status == 200, answer.body
    assert [one["text"] for one in answer.json["notes"]] == ["<b>slow</b> disk"]
    assert answer.json["baseline"]["by"] == "a caller of the gateway"
    assert gateway.api(path).json == answer.json
    assert gateway.api(f"/runs/{run}").body == before
    (row,) = gateway.api("/runs").json["runs"]
    assert (row["notes"], row["is_baseline"]) == (1, True)
    printed = loadpilot.call("note", run, "--nats-url", fleet.url).stdout
    assert "<b>slow</b> disk" in printed

    for wanted in ({}, {"text": ""}, {"text": "x" * 2001}, {"note": "x"}):
        assert gateway.tell(path, wanted).status == 422
    assert gateway.tell("/runs/01k0000000000000000000000a/annotations", {"text": "x"}).status == 404
    assert gateway.api(path).json == answer.json
