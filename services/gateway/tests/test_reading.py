"""What a gateway tells of runs: the same as the command line, whoever tells it, however often."""

from __future__ import annotations

import json
import shutil
import signal
from typing import TYPE_CHECKING

from services.gateway.tests.gateways import Gateways, cli_report, plan

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.command import Loadpilot
    from tests.e2e.fleet import Fleet
    from tests.oracle.oracle import Oracle


def test_a_run_from_its_request_to_its_report(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if what the gateway tells is not what the target saw, is not what the command line
    tells, or depends on which gateway is asked, or on its cache."""
    fleet.coordinator()
    fleet.agent("a-1")
    gateway, other = gateways.start(), gateways.start()
    asked = gateway.tell("/runs", {"plan": plan(loadpilot, oracle)})
    assert asked.status == 202, asked.body
    run = asked.json["run"]
    events = gateway.see_end(run)
    assert events[-1].kind == "sealed"
    story = [event for event in events if event.kind == "story"]
    assert any("run created" in event.data["text"] for event in story)
    assert [int(event.id or 0) for event in story] == [event.data["seq"] for event in story]
    snapshots = [event.data for event in events if event.kind == "snapshot"]
    assert snapshots
    assert all(event.id is None for event in events if event.kind == "snapshot")

    told = gateway.api(f"/runs/{run}")
    assert told.body.decode() == cli_report(loadpilot, fleet, run)
    assert told.json["arrivals"]["started"] == oracle.counts().received == 150
    asked_for = (
        f"/runs/{run}",
        f"/runs/{run}/story",
        f"/runs/{run}/plan",
        "/runs",
        f"/compare?run={run}&run={run}",
    )
    answers = {path: gateway.api(path) for path in asked_for}
    assert {one.status for one in answers.values()} == {200}
    assert {path: other.api(path).body for path in asked_for} == {
        path: one.body for path, one in answers.items()
    }
    gateways.processes[0].signal(signal.SIGTERM)
    assert gateways.processes[0].end(20).code == 0
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    again = gateways.start()
    assert {path: again.api(path).body for path in asked_for} == {
        path: one.body for path, one in answers.items()
    }
    lines = answers[f"/runs/{run}/story"].json["lines"]
    assert [event.data for event in story] == lines
    resumed = story[2].id or ""
    with again.live(run, {"Last-Event-ID": resumed}) as live:
        rest = [event for event in live.events() if event.kind == "story"]
    assert [event.data for event in rest] == lines[3:]
    (listed,) = answers["/runs"].json["runs"]
    assert (listed["run"], listed["state"], listed["ending"]) == (run, "sealed", "completed")
    assert json.loads(told.body)["run"]["id"] == run
