"""From an empty directory to a first run, by the commands that are printed."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

DEFAULT = "http://localhost:8000"


def test_the_printed_commands_work(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a newcomer's first run fails."""
    made = loadpilot.call("init")
    assert made.code == 0
    printed = [line.partition("#")[0].strip() for line in made.stdout.splitlines()]
    commands = [shlex.split(line) for line in printed if line.startswith("loadpilot run ")]
    assert len(commands) == 3
    (loadpilot.folder / ".env").write_text(f"LOADPILOT_TARGET={oracle.url}\n", encoding="utf-8")
    checked, run, low = (
        loadpilot.call(*[oracle.url if word == DEFAULT else word for word in command[1:]], *more)
        for command, more in zip(
            commands,
            ([], ["--duration", "2s"], ["--duration", "2s", "--results-json", "low.json"]),
            strict=True,
        )
    )
    assert checked.code == 0, checked.stderr
    for finished in (run, low):
        assert "verdict      PASS" in finished.stdout, finished.stdout + finished.stderr
    report = json.loads((loadpilot.folder / "low.json").read_text(encoding="utf-8"))
    # One arrival in the ramp of 2 s from 0 to 1/s, two in the 2 s after it; ten times that before.
    assert report["arrivals"]["planned"] == 3
    assert len(oracle.requests()) == 3 + 30


def test_a_healthy_machine_and_its_fleet_pass(loadpilot: Loadpilot, fleet: Fleet) -> None:
    """Broken if the doctor finds fault with what works, or calls a dead fleet alive."""
    fleet.coordinator()
    fleet.agent("one")
    found = loadpilot.call("doctor", "--json", "--nats-url", fleet.url)
    result = json.loads(found.stdout)
    states = {one["check"]: (one["state"], one["what"]) for one in result["findings"]}
    assert (found.code, result["ok"]) == (0, True), found.stdout
    assert states["local stack"][0] == "ok"
    assert states["fleet log"][0] == "ok"
    assert states["fleet agents"] == ("ok", "1, of this version")
    assert fleet.token not in found.stdout
