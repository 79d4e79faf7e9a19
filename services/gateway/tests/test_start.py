"""Runs started by a form: a past run's plan with another load, and scenario files of a user."""

from __future__ import annotations

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from services.gateway.tests.gateways import LATENESS_US_MAX, Gateway, Gateways, opened, plan
from tests.e2e.support.command import assert_ended
from tests.e2e.support.processes import descendants

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

ENDS_S = 30.0
SHOP = """
import os
from loadpilot import VUser, scenario, task
with open("imported_by", "a") as file:
    file.write(f"{os.getpid()} {os.getppid()}\\n")
@scenario(rps=40, duration="2s", mode="constant")
class Shop(VUser):
    @task
    def look(self, client):
        client.get("/")
"""
PLAYED = """
import loadpilot as lp
from decimal import Decimal
class Money:
    amount = Decimal(1)
@lp.scenario(rps=20, duration="1s", mode="constant", compile=False)
class Played(lp.VUser):
    @lp.task
    def look(self, client):
        client.get("/", headers={"X-Amount": str(Money.amount)})
@lp.scenario(rps=20, duration="1s", mode="constant")
class Hooked(lp.VUser):
    @lp.setup
    def prepare(self, client):
        client.get("/setup")
    @lp.task
    def look(self, client):
        client.get("/")
"""
MIX = """
from loadpilot import VUser, scenario, task
@scenario(share=3, users=4, duration="1s")
class Browse(VUser):
    @task
    def look(self, client):
        client.get("/")
@scenario(share=1, pacing="0.5s")
class Buy(Browse):
    pass
"""
BROKEN = """
from loadpilot import VUser, scenario, task
@scenario(rps=40)
class Broken(VUser):
    @task
    def look(self, client)
        client.get("/")
"""
FAILING = """
from loadpilot import VUser, scenario, task
PRICE = int("free")
@scenario(rps=40)
class Failing(VUser):
    @task
    def look(self, client):
        client.get("/")
"""
HANGING = """
import time
from loadpilot import VUser, scenario, task
with open("hanging", "w") as pipe:
    pipe.write("hangs")
time.sleep(600)
@scenario(rps=40)
class Hanging(VUser):
    @task
    def look(self, client):
        client.get("/")
"""


@pytest.mark.slow
def test_a_past_run_is_started_again_at_half_the_rate(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if half of the load is not half at the target, or if an impossible change starts
    something or its error has no place."""
    fleet.coordinator()
    fleet.agent("a-1")
    gateway = gateways.start()
    run = gateway.tell("/runs", {"plan": plan(loadpilot, oracle, 60, 3)}).json["run"]
    gateway.see_end(run)
    assert oracle.counts().received == 180
    same = gateway.tell("/plans/adjust", {"run": run})
    assert same.status == 200, same.body
    stored = gateway.api(f"/runs/{run}/plan").json["plan"]
    assert json.loads(same.json["plan"]) == stored
    form = same.json["form"]
    assert (form["rate"], form["duration"], form["users"]) == ("60/s", "3s", None)
    assert (same.json["problems"], same.json["facts"]["planned"]) == ([], 180)

    gates = [{"key": "often:p99_ms", "limit": "< 9000"}, {"key": "error_rate", "limit": "1"}]
    changes = {"rate": "50%", "duration": "2s", "thresholds": gates, "agents": "1", "seed": "7"}
    half = gateway.tell("/plans/adjust", {"run": run, **changes}).json
    assert (half["problems"], half["facts"]["planned"]) == ([], 60)
    assert [(gate["key"], gate["operator"]) for gate in half["form"]["thresholds"]] == [
        ("often:p99_ms", "<"),
        ("error_rate", "<="),
    ]
    wanted = {"plan": json.loads(half["plan"]), "agents": half["agents"], "seed": half["seed"]}
    again = gateway.tell("/runs", wanted).json["run"]
    gateway.see_end(again)
    assert oracle.counts().received == 180 + 60
    listed = gateway.api("/scenarios").json
    assert [(one["scenario"], one["run"]) for one in listed["past"]] == [("Weighted", again)]
    assert listed["files"] is None
    elsewhere = gateway.tell("/scenarios/plan", {"file": "shop.py"})
    assert (elsewhere.status, "`loadpilot ui` only" in elsewhere.json["detail"]) == (404, True)

    for change, field, rule in (
        ({"rate": "fast"}, "rate", "must be a rate such as 50"),
        ({"target": "ftp://h"}, "target", "must be http://"),
        ({"agents": "0"}, "agents", "from 1 to"),
        ({"thresholds": [{"key": "p99ms", "limit": "5"}]}, "thresholds[0]", "'p99_ms'"),
        ({"thresholds": [{"key": "p99_ms", "limit": "low"}]}, "thresholds[0]", "must be a number"),
        ({"thresholds": [*gates, gates[0]]}, "thresholds.often:p99_ms", "must be given once"),
    ):
        answer = gateway.tell("/plans/adjust", {"run": run, **change}).json
        (problem,) = answer["problems"]
        assert (problem["field"], answer["facts"]) == (field, None)
        assert rule in problem["rule"]
    unknown = gateway.tell("/plans/adjust", {"run": "01unknown"})
    assert (unknown.status, unknown.json["code"]) == (404, "unknown_run")
    assert gateway.tell("/plans/adjust", {"run": run, "plan": stored}).status == 422
    text = json.dumps(stored)
    twice = f'{{"plan":{text[:-1]},"warm_up_us":0}}}}'.encode()
    assert "stands twice" in str(gateway.tell("/plans/adjust", twice).json["problems"])
    assert len(gateway.api("/runs").json["runs"]) == 2


@pytest.mark.slow
def test_a_run_with_hooks_is_left_to_the_command(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a form starts a run again without its setup."""
    fleet.coordinator()
    fleet.agent("a-1")
    external = ("--external-agents", "1", "--scenario", "Hooked")
    run = fleet.run(loadpilot, PLAYED, oracle.url, *external).run
    gateway = gateways.start()
    assert gateway.tell("/plans/adjust", {"run": run}).json["played_by_command"] is True


def write_files(folder: Path) -> None:
    """Scenario files, and files that must not be listed."""
    scenarios = folder / "scenarios"
    scenarios.mkdir()
    outside = folder.parent / "outside.py"
    outside.write_text(SHOP, encoding="utf-8")
    (scenarios / "linked.py").symlink_to(outside)
    os.mkfifo(scenarios / "pipe.py")
    os.mkfifo(folder / "hanging")
    for name, text in (
        ("shop.py", SHOP),
        ("played.py", PLAYED),
        ("mix.py", MIX),
        ("broken.py", BROKEN),
        ("failing.py", FAILING),
        ("hanging.py", HANGING),
        ("_parts.py", SHOP),
        ("json.py", "print('not a scenario')"),
    ):
        (scenarios / name).write_text(text, encoding="utf-8")
    (folder / "elsewhere.py").write_text(SHOP, encoding="utf-8")


@pytest.mark.slow
def test_scenario_files_are_compiled_by_a_child(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the gateway executes a file, accepts a path from a caller, hides the line of a
    mistake, starts a scenario without its files, or leaves a child behind."""
    write_files(loadpilot.folder)
    with loadpilot.begin("ui", "--no-browser", "--port", "0") as running:
        gateway, _, known = opened(running)
        files = gateway.api("/scenarios", known).json["files"]
        assert {one["file"]: one["scenarios"] for one in files} == {
            "scenarios/broken.py": [],
            "scenarios/failing.py": ["Failing"],
            "scenarios/hanging.py": ["Hanging"],
            "scenarios/mix.py": ["Browse", "Buy"],
            "scenarios/played.py": ["Played", "Hooked"],
            "scenarios/shop.py": ["Shop"],
        }
        types = {one["file"]: one["types"] for one in files if one["types"]}
        assert types == {"scenarios/mix.py": ["Browse", "Buy"]}
        assert not (loadpilot.folder / "imported_by").exists()
        mixed = compile_file(gateway, known, "mix")
        assert json.loads(mixed["plan"])["scenario"] == "Browse+Buy"
        shop, other = {"file": "scenarios/shop.py"}, {"Origin": "http://evil.test"}
        assert gateway.tell("/scenarios/plan", shop).status == 401
        assert gateway.tell("/scenarios/plan", shop, known | other).status == 403

        compiled = compile_file(gateway, known, "shop")
        parents = (loadpilot.folder / "imported_by").read_text(encoding="utf-8").split()
        assert parents[1] == str(running.pid)
        assert parents[0] != str(running.pid)
        assert start(gateway, known, compiled, oracle, rate="50%") == 40
        played = compile_file(gateway, known, "played", "Played")
        assert len(played["bodies"]) == 1
        assert start(gateway, known, played, oracle) == 20
        # A past run has its files in the log.
        newest = gateway.api("/runs", known).json["runs"][0]["run"]
        again = {**gateway.tell("/plans/adjust", {"run": newest}, known).json, "bodies": {}}
        assert again["form"]["objects"]
        assert gateway.tell("/runs", {"plan": json.loads(again["plan"])}, known).status == 422
        assert start(gateway, known, again, oracle, bodies_of=newest) == 20
        hooked = compile_file(gateway, known, "played", "Hooked")
        assert "prepare() runs once, before the users" in hooked["hooks"][0]

        for file, field, rule in (
            ("scenarios/broken.py", "scenarios/broken.py:6", "SyntaxError: expected ':'"),
            ("scenarios/failing.py", "scenarios/failing.py:3", "ValueError while it was imported"),
            ("scenarios/played.py", "scenarios/played.py", "choose one with --scenario"),
            ("scenarios/shops.py", "file", "did you mean scenarios/shop.py?"),
            ("scenarios/linked.py", "file", "must be a scenario file of this directory"),
            ("scenarios/pipe.py", "file", "must be a scenario file of this directory"),
            ("scenarios/../elsewhere.py", "file", "must be a scenario file of this directory"),
            ("../outside.py", "file", "must be a scenario file of this directory"),
            ("/etc/passwd", "file", "must be a scenario file of this directory"),
            ("--help", "file", "must be a scenario file of this directory"),
        ):
            refused = gateway.tell("/scenarios/plan", {"file": file}, known)
            assert refused.status == 422, (file, refused.body)
            problem = refused.json["problems"][0]
            assert (problem["field"], rule in problem["rule"]) == (field, True), problem

        with ThreadPoolExecutor(1) as callers:
            hanging = {"file": "scenarios/hanging.py"}
            left = callers.submit(gateway.tell, "/scenarios/plan", hanging, known)
            # The child writes to this pipe before it hangs.
            assert (loadpilot.folder / "hanging").read_text(encoding="utf-8") == "hangs"
            below = descendants(running.pid)
            assert any("hanging.py" in one.command for one in below)
            running.signal(signal.SIGINT)
            assert running.end(ENDS_S).code == 0
            assert_ended(below, 10.0)
            left.exception(ENDS_S)


def compile_file(
    gateway: Gateway, known: dict[str, str], name: str, scenario: str | None = None
) -> dict[str, Any]:
    """The plan of a file, and the objects beside it."""
    wanted = {"file": f"scenarios/{name}.py", "scenario": scenario}
    answer = gateway.tell("/scenarios/plan", wanted, known)
    assert answer.status == 200, answer.body
    compiled: dict[str, Any] = answer.json
    return compiled


def start(
    gateway: Gateway,
    known: dict[str, str],
    compiled: dict[str, Any],
    oracle: Oracle,
    rate: str = "100%",
    bodies_of: str | None = None,
) -> int:
    """Starts a compiled scenario; returns the number of requests at the target."""
    before = oracle.counts().received
    body = {"plan": json.loads(compiled["plan"]), "target": oracle.url, "rate": rate}
    adjusted = gateway.tell("/plans/adjust", body, known).json
    assert adjusted["problems"] == []
    wanted = {"plan": json.loads(adjusted["plan"]), "bodies": compiled["bodies"]}
    wanted["plan"]["max_lateness_us"] = LATENESS_US_MAX
    path = "/runs" if bodies_of is None else f"/runs?bodies_of={bodies_of}"
    started = gateway.tell(path, wanted, known)
    assert started.status == 202, started.body
    with gateway.live(started.json["run"], known) as live:
        assert list(live.events())[-1].kind == "sealed"
    return oracle.counts().received - before
