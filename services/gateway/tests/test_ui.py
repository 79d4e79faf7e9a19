"""`loadpilot ui` as a user starts it: it serves, takes runs, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from services.gateway.tests.gateways import opened, plan
from tests.e2e.support.command import SCENARIOS, Loadpilot, assert_ended
from tests.e2e.support.processes import Part, command_line, descendants

from loadpilot.control.outcome import FINAL_STATES

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

ENDS_S = 30.0
STORED = Path(__file__).parents[3] / "tests/e2e/results/stored_logs"


@pytest.mark.slow
def test_it_serves_runs_and_leaves_nothing_behind(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a link can be opened twice, if a run that the page started is lost when the command
    ends, if past runs are absent, or if a process outlives the command."""
    past = loadpilot.run(
        """
from loadpilot import VUser, scenario, task
@scenario(rps=20, duration="1s", mode="constant")
class Past(VUser):
    @task
    def look(self, client):
        client.get("/")
""",
        oracle.url,
    )
    assert past.judged == 0, past.stderr
    wanted = {"plan": plan(loadpilot, oracle, 20, 60)}
    with loadpilot.begin("ui", "--no-browser", "--port", "0", "--agents", "2") as running:
        gateway, token, known = opened(running)
        assert gateway.api("/me").status == 401
        again = gateway.tell("/session", {"token": token})
        assert again.status == 401
        me = gateway.api("/me", known).json
        assert (me["can_start"], me["agents"]) == (True, 2)
        below = descendants(running.pid)
        assert all(token not in command_line(one.pid) for one in below)
        answer = gateway.api(f"/runs/{past.run}", known)
        assert answer.json["run"]["id"] == past.run
        before = oracle.counts().received
        started = gateway.tell("/runs", wanted, known)
        assert started.status == 202, started.body
        run = started.json["run"]
        assert oracle.wait_count(before + 20, 60)
        listed = gateway.api("/runs", known).json["runs"]
        assert [one["run"] for one in listed] == [run, past.run]
        # Another command in this directory continues as before.
        beside = loadpilot.call("runs")
        assert (beside.code, past.run in beside.stdout, run in beside.stdout) == (0, True, True)
        running.signal(signal.SIGINT)
        ended = running.end(ENDS_S)
        assert ended.code == 0, ended.stderr
        assert f"stopping run {run}" in ended.stderr
        assert_ended(below, 10.0)
    report = json.loads(loadpilot.call("report", run, "--json").stdout)
    assert report["run"]["ending"] == "stopped"
    assert report["calls"]["attempted"] == oracle.counts().received - before
    assert not list(loadpilot.log.rglob("open-ui.html"))

    # The cached files of a run are removed when the run is deleted.
    cached = loadpilot.log / "cache" / listed[1]["log"] / f"{past.run}.reading"
    cached.parent.mkdir(parents=True, exist_ok=True)
    cached.touch()
    assert loadpilot.call("runs", "prune", past.run).code == 0
    with loadpilot.begin("ui", "--no-browser", "--port", "0") as running:
        gateway, _, known = opened(running)
        assert [one["run"] for one in gateway.api("/runs", known).json["runs"]] == [run]
        assert gateway.api(f"/runs/{past.run}", known).status == 404
        running.signal(signal.SIGINT)
        assert running.end(ENDS_S).code == 0
    assert not cached.exists()


@pytest.mark.slow
def test_pages_outlive_the_commands_of_other_runs(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the pages fail, or show a run as running that is over or killed, after its command
    has ended or was killed. 12 s."""
    load = (SCENARIOS / "weighted.py", oracle.url, "--rps", "20", "--duration", "600s")
    with loadpilot.begin("ui", "--no-browser", "--port", "0") as running:
        gateway, _, known = opened(running)

        def row_of(run: str) -> dict[str, Any]:
            answer = gateway.api("/runs", known)
            assert answer.status == 200, answer.body
            return dict(next(one for one in answer.json["runs"] if one["run"] == run))

        with loadpilot.start(*load) as beside:
            run = beside.run_id()
            row = row_of(run)
            assert (row["state"] in FINAL_STATES, row["is_killed"]) == (False, False)
            assert gateway.api(f"/runs/{run}", known).status == 200
            beside.signal(signal.SIGINT)
            beside.end()
            row = row_of(run)
            assert (row["state"] in FINAL_STATES, row["is_killed"]) == (True, False)
            assert gateway.api(f"/runs/{run}", known).json["run"]["ending"] == "stopped"
        with loadpilot.start(*load) as beside:
            run = beside.run_id()
            with gateway.live(run, known) as live:
                events = live.events()
                next(events)
                below = descendants(beside.pid)
                for process in below:
                    os.kill(process.pid, signal.SIGKILL)
                beside.kill()
                assert_ended(below, 10.0)
                assert [event.kind for event in events][-1] == "fault"
            row = row_of(run)
            assert (row["state"] in FINAL_STATES, row["is_killed"]) == (False, True)
        running.signal(signal.SIGINT)
        assert running.end(ENDS_S).code == 0


def test_a_browser_is_led_there_by_a_page_of_its_user(
    loadpilot: Loadpilot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Broken if a command line, or a file that others can read, contains the token."""
    shown = tmp_path / "kept"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {shown}.part\nmv {shown}.part {shown}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with loadpilot.begin("ui", "--port", "0") as running:
        _, token, _ = opened(running)
        page = next(iter(loadpilot.log.rglob("open-ui.html")))
        assert page.stat().st_mode & 0o077 == 0
        assert token in page.read_text(encoding="utf-8")
        parts = [one.part for one in descendants(running.pid)]
        assert Part.SERVER in parts
        running.signal(signal.SIGTERM)
        assert running.end(ENDS_S).code == 0
    assert shown.read_text(encoding="utf-8").strip() == page.as_uri()
    assert not page.exists()


@pytest.mark.slow
def test_imported_runs_are_shown(loadpilot: Loadpilot) -> None:
    """Broken if the pages lack a run that is in a file only, or if a damaged file hides it. 3 s."""
    whole = STORED / "run_file_v1.lprun"
    assert loadpilot.call("import", str(whole)).code == 0
    report = loadpilot.call("report", "last", "--json").stdout
    (loadpilot.log / "imported" / "damaged.lprun").write_bytes(whole.read_bytes()[:-1])
    with loadpilot.begin("ui", "--no-browser", "--port", "0") as running:
        gateway, _, known = opened(running)
        (listed,) = gateway.api("/runs", known).json["runs"]
        run = listed["run"]
        assert gateway.api(f"/runs/{run}", known).json == json.loads(report)
        series = gateway.api(f"/runs/{run}/series", known).json
        assert series["total"]["finished"] == json.loads(report)["calls"]["attempted"]
        refused = gateway.tell(f"/runs/{run}/stop", {}, known)
        assert refused.status == 409, refused.body
        running.signal(signal.SIGINT)
        assert running.end(ENDS_S).code == 0


def test_what_is_wrong_with_it_is_said(loadpilot: Loadpilot) -> None:
    """Broken if the command starts with contradicting flags."""
    for flags, words in (
        (("--port", "99999"), "--port: must be a whole number from 0 to 65535"),
        (("--agents", "0"), "--agents: must be a whole number from 1 to"),
    ):
        ended = loadpilot.call("ui", *flags)
        assert (ended.code, words in ended.stderr) == (2, True), ended.stderr
