"""From an empty directory to a first run, with the printed commands."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

DEFAULT = "http://localhost:8000"
PASSED = re.compile(r"^verdict {6}(PASS|VOID)\b", re.MULTILINE)
"""The gates hold. VOID: on a busy machine the certificate may be INVALID."""
SHOP = """
from loadpilot import LoadClient, VUser, env, scenario, task

SERVER = env("SERVER", "v1")


@scenario
class Reader(VUser):
    @task
    def read(self, client: LoadClient) -> None:
        client.get(f"/{SERVER}/read")


@scenario
class Buyer(VUser):
    @task
    def buy(self, client: LoadClient) -> None:
        client.get(f"/{SERVER}/buy")
"""
LOADS = """
file = "shop.py"
duration = "1s"

[profiles.low]
scenario = "Reader"
users = 1
wait = "100ms"
agents = 1

[profiles.high]
scenario = "Buyer"
users = 8
wait = 0
agents = 2

[profiles.high.env]
SERVER = "v2"
"""


@pytest.mark.slow
def test_the_printed_commands_work(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a newcomer's first run fails."""
    made = loadpilot.call("init")
    assert made.code == 0
    printed = [line.partition("#")[0].strip() for line in made.stdout.splitlines()]
    commands = [shlex.split(line) for line in printed if line.startswith("loadpilot run ")]
    assert len(commands) == 4
    (loadpilot.folder / ".env").write_text(f"LOADPILOT_TARGET={oracle.url}\n", encoding="utf-8")
    checked, run, low, exported = (
        loadpilot.call(*[oracle.url if word == DEFAULT else word for word in command[1:]], *more)
        for command, more in zip(
            commands,
            (
                [],
                ["--duration", "2s"],
                ["--duration", "2s", "--results-json", "low.json"],
                ["--duration", "2s"],
            ),
            strict=True,
        )
    )
    assert checked.code == 0, checked.stderr
    for finished in (run, low, exported):
        assert PASSED.search(finished.stdout), finished.stdout + finished.stderr
    report = json.loads((loadpilot.folder / "low.json").read_text(encoding="utf-8"))
    # One arrival in the ramp of 2 s from 0 to 1/s, two in the 2 s after it; ten times that before.
    assert report["arrivals"]["planned"] == 3
    assert len(oracle.requests()) == 3 + 30 + 30


@pytest.mark.slow
def test_one_command_starts_all_of_a_named_load(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if users, waits, agents, class or parameters of a named load differ from its table in
    the file. 6 s."""
    (loadpilot.folder / "shop.py").write_text(SHOP, encoding="utf-8")
    (loadpilot.folder / "loads.toml").write_text(LOADS, encoding="utf-8")
    sent = {}
    for name, users, agents, route in (("low", 1, 1, "/v1/read"), ("high", 8, 2, "/v2/buy")):
        flags = ("--config", "loads.toml", "--profile", name, "--results-json", f"{name}.json")
        finished = loadpilot.call("run", *flags, "--target", oracle.url)
        report = json.loads((loadpilot.folder / f"{name}.json").read_text(encoding="utf-8"))
        run = report["run"]
        assert (run["users"], len(run["holders"]), run["profile_us"]) == (users, agents, 10**6)
        assert PASSED.search(finished.stdout), finished.stdout + finished.stderr
        routes = [one.route for one in oracle.requests()][sum(sent.values()) :]
        assert set(routes) == {route}
        sent[name] = len(routes)
    assert sent["low"] <= 11, "a user with a wait of 100 ms began more than ten times a second"
    assert sent["high"] > 11


def test_a_healthy_machine_and_its_fleet_pass(loadpilot: Loadpilot, fleet: Fleet) -> None:
    """Broken if `doctor` reports a fault of a healthy machine, or calls a dead fleet alive."""
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
