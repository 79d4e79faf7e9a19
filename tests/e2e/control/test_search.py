"""A search finds the known capacity of a target, survives a kill, and never reports a rate that
fails."""

from __future__ import annotations

import json
import os
import signal
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Finished, Loadpilot, Running
    from tests.e2e.support.fleet import Fleet

SCENE = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=7, duration="1h")
class Shop(VUser):
    @task
    def look(self, client: LoadClient) -> None:
        client.get("/items")
"""
WORKERS, SERVICE_MS = 4, 20.0
CAPACITY = WORKERS / SERVICE_MS * 1_000
"""Requests per second that the target serves: 200."""
SLO = ("--slo", "p95_ms=60")
"""At a load of (1 + e) times the capacity, the response time grows by e in each second: after 95 %
of a probe of 3 s it is 40 ms above the service time at e = 1.4 %."""
PROBES = ("--probe", "3s", "--cooldown", "1s", "--start", "60")
SHORT = ("--probe", "1s", "--cooldown", "0s", "--start", "20")
PRECISION = 0.02


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Oracle]:
    """A server of known capacity."""
    with Oracle(built_binary(), tmp_path / "target.jsonl") as oracle:
        oracle.queue(WORKERS, SERVICE_MS)
        yield oracle


def begin(loadpilot: Loadpilot, url: str, *flags: str, scene: str = SCENE) -> Running:
    path = loadpilot.folder / "scene.py"
    path.write_text(scene, encoding="utf-8")
    return loadpilot.begin("search", str(path), "--target", url, *flags)


def searched(loadpilot: Loadpilot, url: str, *flags: str, scene: str = SCENE) -> Finished:
    with begin(loadpilot, url, *flags, scene=scene) as running:
        return running.end(240.0)


def result(finished: Finished) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


def is_found(found: dict[str, Any]) -> bool:
    """Whether the result is the target's capacity, within the precision."""
    lower, upper = found["lower_rps"], found["upper_rps"]
    is_near = abs(lower / CAPACITY - 1) <= PRECISION and abs(upper / CAPACITY - 1) <= 2 * PRECISION
    return bool(found["state"] == "found" and found["max_rate_rps"] == lower and is_near)


@pytest.mark.long
@pytest.mark.timed
def test_the_capacity_of_a_target_is_found(loadpilot: Loadpilot, target: Oracle) -> None:
    """Broken if the result is not the capacity within 2 %, if a probe is no run that can be
    verified, or if the result files differ. Costs 70 s."""
    junit = loadpilot.folder / "search.xml"
    flags = (*SLO, *PROBES, "--seed", "7", "--output", "json", "--junit", str(junit))
    finished = searched(loadpilot, target.url, *flags, "--at-least", "150")
    found = result(finished)
    assert is_found(found), finished.stderr
    assert finished.code == 0, finished.stderr
    assert found["limited_by"] == "target"
    assert [probe["rate_urps"] // 10**6 for probe in found["probes"][:3]] == [60, 120, 240]
    for probe in found["probes"]:
        assert probe["run"] in finished.stderr
        assert loadpilot.call("verify", probe["run"]).code == 0
    # Each planned arrival of a probe reached the target, unless the slots were full.
    sent = sum(round(probe["rate_urps"] / 1e6 * 3) for probe in found["probes"])
    assert abs(len(target.requests()) - sent) <= len(found["probes"])
    cases = ET.parse(junit).getroot().findall(".//testcase")  # noqa: S314 - our own file
    assert next(case.get("name") for case in cases) == "Maximum working rate"
    assert len(cases) == 1 + len(found["probes"])
    chart = loadpilot.folder / "chart.svg"
    plotted = loadpilot.call("plot", found["id"], "--output", str(chart))
    assert plotted.code in {0, 2}, plotted.stderr
    assert plotted.code == 2 or f"search {found['id']}" in plotted.stderr


@pytest.mark.long
@pytest.mark.timed
def test_a_killed_search_goes_on_with_the_same_result(loadpilot: Loadpilot, target: Oracle) -> None:
    """Broken if a finished probe is repeated, if an interrupted one counts, or if the kill changes
    the result. Costs 75 s."""
    flags = (*SLO, *PROBES, "--seed", "7", "--output", "json")
    with begin(loadpilot, target.url, *flags) as running:
        search = running.until("if it is interrupted").split()[1].rstrip(";")
        for place in range(1, 4):
            running.until(f"{place:>3}  ")
        before = len(target.requests())
        assert target.wait_count(before + 10, 20.0)
        os.kill(running.pid, signal.SIGKILL)
        running.end()
    ended = [line.split()[-1] for line in running.output.splitlines() if " errors " in line]
    assert len(ended) == 3
    refused = searched(loadpilot, target.url, *SLO, *PROBES[:-1], "50", "--resume", search)
    assert refused.code == 2
    assert "--resume" in refused.stderr
    assert "--start was 60/s" in refused.stderr
    other = searched(loadpilot, target.url, "--slo", "p95_ms=61", *PROBES, "--resume", search)
    assert other.code == 2
    assert "another plan" in other.stderr
    finished = searched(loadpilot, target.url, *flags, "--resume", search)
    found = result(finished)
    assert is_found(found), finished.stderr
    assert found["id"] == search
    runs = [probe["run"] for probe in found["probes"]]
    judged = [probe for probe in found["probes"] if probe["verdict"] in {"passed", "failed"}]
    assert [probe["run"] for probe in judged[:3]] == ended
    assert len(set(runs)) == len(runs)
    rates = [probe["rate_urps"] for probe in judged]
    assert rates[:3] == [60_000_000, 120_000_000, 240_000_000]
    assert not set(rates[:3]) & set(rates[3:]), "another rate than the best one was probed again"
    failed = [place for place, probe in enumerate(judged) if probe["verdict"] == "failed"]
    assert not any(rates[place] in rates[place + 1 :] for place in failed)


def test_a_dead_target_ends_the_search_at_once(loadpilot: Loadpilot, target: Oracle) -> None:
    """Broken if an unreachable target is called slow, or is probed again. Costs 3 s."""
    target.refuse()
    finished = searched(loadpilot, target.url, *SLO, *SHORT, "--output", "json")
    found = result(finished)
    assert finished.code == 3, finished.stderr
    assert [probe["verdict"] for probe in found["probes"]] == ["no_server"]
    assert found["state"] == "searching"
    assert found["max_rate_rps"] is None
    assert f"no call reached {target.url}" in finished.stderr
    assert f"--resume {found['id']}" in finished.stderr


@pytest.mark.slow
def test_error_codes_count_as_failure(loadpilot: Loadpilot, target: Oracle) -> None:
    """Broken if a target that answers fast with errors is said to work. Costs 12 s."""
    target.clear()
    target.delay(1)
    target.status(503, fraction=0.5)
    # The lowest rate is a 64th of the first, with just enough calls for a verdict.
    short = ("--probe", "1s", "--cooldown", "0s", "--start", "640")
    finished = searched(loadpilot, target.url, *SLO, *short, "--output", "json")
    found = result(finished)
    assert finished.code == 1, finished.stderr
    assert found["state"] == "no_rate"
    assert found["max_rate_rps"] is None
    # If the gate of the response time fails, too, its reason comes first.
    for probe in found["probes"]:
        assert any("error_rate" in reason for reason in probe["reasons"]), probe


@pytest.mark.timed
def test_the_lines_and_the_limit(loadpilot: Loadpilot, target: Oracle) -> None:
    """Broken if a probe has no line, or the last line is not the result. Costs 8 s."""
    flags = (*SHORT, "--slo", "p50_ms=900", "--limit", "30/s", "--confirm", "1")
    finished = searched(loadpilot, target.url, *flags)
    lines = finished.stdout.splitlines()
    assert finished.code == 0, finished.stderr
    assert [line.split()[3] for line in lines[:3]] == ["20/s", "30/s", "30/s"]
    assert all("p95" in line and "works" in line for line in lines[:3])
    assert lines[-1].startswith("maximum working rate 30/s or more")
    # The newest search is `last`, and it overlaps itself.
    compared = loadpilot.call("compare", "last", "last", "--max-rate")
    assert compared.code == 0, compared.stderr
    assert compared.stdout.splitlines()[-1].startswith("✓")


def test_ctrl_c_stops_the_probe_and_names_the_command(loadpilot: Loadpilot, target: Oracle) -> None:
    """Broken if an interruption loses the result so far, or counts the interrupted probe.
    Costs 6 s."""
    flags = (*SLO, "--probe", "30s", "--start", "20", "--output", "json")
    with begin(loadpilot, target.url, *flags) as running:
        assert target.wait_count(10, 30.0)
        running.signal(signal.SIGINT)
        finished = running.end(30.0)
    found = result(finished)
    assert finished.code == 130, finished.stderr
    assert [probe["verdict"] for probe in found["probes"]] == ["unjudged"]
    assert f"--resume {found['id']}" in finished.stderr.splitlines()[-1]


def test_ctrl_c_twice_does_not_wait_for_answers(loadpilot: Loadpilot, target: Oracle) -> None:
    """Broken if a second interruption waits for a target that never answers. Costs 6 s."""
    target.clear()
    target.silent()
    flags = (*SLO, "--probe", "30s", "--start", "20", "--output", "json")
    with begin(loadpilot, target.url, *flags) as running:
        assert target.wait_count(10, 30.0)
        running.signal(signal.SIGINT)
        running.until("stopping")
        running.signal(signal.SIGINT)
        finished = running.end(15.0)
    assert finished.code == 130, finished.stderr
    assert result(finished)["state"] == "searching"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--slo", "p95_sm=60"), ("--slo", "did you mean 'p95_ms'?")),
        (("--slo", "p95_ms"), ("--slo", "key=value")),
        ((), ("--slo", "p95_ms=200", "has no gates")),
        ((*SLO, "--start", "40", "--limit", "30"), ("--start", "at most --limit, 30")),
        ((*SLO, "--limit", "10000001"), ("--limit", "at most 10,000,000/s")),
        ((*SLO, "--start", "0"), ("--start", "greater than 0")),
        ((*SLO, "--start", "x"), ("--start", "'x'")),
        ((*SLO, "--precision", "0"), ("--precision", "above 0 and at most 50")),
        ((*SLO, "--confirm", "21"), ("--confirm", "20")),
        ((*SLO, "--probe", "0"), ("--probe", "longer than 0")),
        ((*SLO, "--cooldown", "soon"), ("--cooldown", "'soon'")),
        ((*SLO, "--output", "csv"), ("--output", "text or json")),
        ((*SLO, "--tag", "search=mine"), ("--tag", "'search'")),
        ((*SLO, "--resume", "nothing"), ("--resume", "no search 'nothing'")),
        ((*SLO, "--nats-url", "nats://127.0.0.1:1", "--detach"), ("--detach", "drop it")),
    ],
)
def test_what_is_wrong_is_named_before_anything_starts(
    loadpilot: Loadpilot, target: Oracle, flags: tuple[str, ...], said: tuple[str, ...]
) -> None:
    """Broken if a probe starts in spite of a mistake, or if the message does not say what is
    valid."""
    finished = searched(loadpilot, target.url, *flags)
    assert finished.code == 2, finished.stderr
    assert all(text in finished.stderr for text in said), finished.stderr
    assert target.counts().received == 0


def test_a_closed_loop_is_refused(loadpilot: Loadpilot, target: Oracle) -> None:
    """Broken if a scenario without a rate is searched."""
    scene = SCENE.replace('rps=7, duration="1h"', "users=4")
    finished = searched(loadpilot, target.url, *SLO, scene=scene)
    assert finished.code == 2
    assert "closed loop" in finished.stderr
    assert "rps=" in finished.stderr


@pytest.mark.slow
@pytest.mark.timed
def test_a_fleet_is_searched_and_goes_on_from_its_log(
    fleet: Fleet, loadpilot: Loadpilot, target: Oracle
) -> None:
    """Broken if probes on a fleet need a local folder, or if a resumed search does not find them.
    Costs 30 s."""
    fleet.coordinator()
    fleet.agent("a-1")
    flags = (*SHORT, "--slo", "p50_ms=900", "--limit", "40", "--confirm", "0", "--output", "json")
    of_fleet = ("--nats-url", fleet.url, "--external-agents", "1")
    first = searched(loadpilot, target.url, *flags, *of_fleet)
    found = result(first)
    assert (first.code, found["state"], found["max_rate_rps"]) == (0, "at_limit", 40.0)
    again = searched(loadpilot, target.url, *flags, *of_fleet, "--resume", found["id"][:12])
    assert result(again) == found
    assert not loadpilot.log.exists()
    pair = (found["id"], "last", "--max-rate", "--nats-url", fleet.url)
    assert loadpilot.call("compare", *pair).code == 0
    assert fleet.token not in first.stderr


@pytest.mark.long
def test_a_deploy_that_halves_the_maximum_fails_the_gate(
    loadpilot: Loadpilot, target: Oracle
) -> None:
    """Broken if a lower maximum passes, or if files of two searches compare otherwise than their
    logs. Costs 25 s."""
    flags = (*SLO, *SHORT[:-1], "50", "--precision", "20", "--confirm", "0", "--output", "json")
    before = searched(loadpilot, target.url, *flags)
    target.clear()
    target.queue(WORKERS // 2, SERVICE_MS)
    after = searched(loadpilot, target.url, *flags)
    (loadpilot.folder / "old.json").write_text(before.stdout, encoding="utf-8")
    (loadpilot.folder / "new.json").write_text(after.stdout, encoding="utf-8")
    for names in (("new.json", "old.json"), ("last", result(before)["id"]), ("last",)):
        lower = loadpilot.call("compare", *names, "--max-rate", "--threshold", "5")
        assert lower.code == 1, lower.stdout + lower.stderr
        assert lower.stdout.splitlines()[-1].startswith("✗ lower by")
    higher = loadpilot.call("compare", "old.json", "new.json", "--max-rate", "--json")
    assert higher.code == 0
    assert json.loads(higher.stdout)["regressed"] is False
    wrong = loadpilot.call("compare", "old.json", "none.json", "--max-rate")
    assert (wrong.code, "none.json" in wrong.stderr) == (2, True)
