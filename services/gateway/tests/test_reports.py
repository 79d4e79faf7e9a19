"""Answers about runs equal those of the command line, from any gateway, however often."""

from __future__ import annotations

import asyncio
import http.client
import json
import shutil
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from services.gateway.tests.gateways import API, Gateway, Gateways, cli_report, plan
from tests.e2e.support.http_calls import PATIENCE_S

from loadpilot_gateway.routes.compare import compare

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle


@pytest.mark.timed  # its certificate has to be VALID
def test_a_run_from_its_request_to_its_report(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if an answer differs from the counts of the target or from the command line, or
    depends on the gateway or its cache."""
    fleet.coordinator()
    fleet.agent("a-1")
    gateway, other = gateways.start(), gateways.start()
    started = gateway.tell("/runs", {"plan": plan(loadpilot, oracle)})
    assert started.status == 202, started.body
    run = started.json["run"]
    events = gateway.see_end(run)
    assert events[-1].kind == "sealed"
    story = [event for event in events if event.kind == "story"]
    assert any("run created" in event.data["text"] for event in story)
    assert [int(event.id or 0) for event in story] == [event.data["seq"] for event in story]
    snapshots = [event.data for event in events if event.kind == "snapshot"]
    assert snapshots
    assert all(event.id is None for event in events if event.kind == "snapshot")

    answer = gateway.api(f"/runs/{run}")
    assert answer.body.decode() == cli_report(loadpilot, fleet, run)
    assert answer.json["arrivals"]["started"] == oracle.counts().received == 150
    asked_for = (
        f"/runs/{run}",
        f"/runs/{run}/story",
        f"/runs/{run}/plan",
        "/runs",
        f"/compare?run={run}&run={run}",
        f"/runs/{run}/series?percentiles=50&percentiles=99.9&tasks=often",
        f"/runs/{run}/heat?bucket_us=1000000",
        f"/runs/{run}/errors?outcomes=ok&outcomes=timeout",
        f"/runs/{run}/agents",
        f"/runs/{run}?as_of_us=1000000",
        f"/runs/{run}/series?as_of_us=1000000",
    )
    report = answer.json
    assert outcome_of(gateway) == outcome_of(other)
    assert outcome_of(gateway) == {
        "verdict": "PASS",
        "p99_us": report["latency"]["response"]["p99_us"],
        "requests_per_sec": oracle.counts().received * 1e6 / report["rates"]["measured_us"],
        "errors_total": 0,
        "error_rate_pct": 0.0,
        "quality": "VALID",
        "quality_reason": None,
    }
    answers = {path: gateway.api(path) for path in asked_for}
    assert {one.status for one in answers.values()} == {200}
    assert {path: other.api(path).body for path in asked_for} == {
        path: one.body for path, one in answers.items()
    }
    gateways.processes[0].signal(signal.SIGTERM)
    assert gateways.processes[0].end(20).code == 0
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    again = gateways.start()
    assert outcome_of(again)
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
    assert json.loads(answer.body)["run"]["id"] == run


@pytest.mark.slow
def test_any_part_of_a_run_can_be_asked_for(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if parts do not add up to the counts of the target, if another verdict uses other
    figures, or if an answer is sent to a caller that already has it."""
    fleet.coordinator()
    fleet.agent("a-1")
    gateway = gateways.start()
    oracle.delay(20)
    run = gateway.tell("/runs", {"plan": plan(loadpilot, oracle)}).json["run"]
    gateway.see_end(run)
    report = gateway.api(f"/runs/{run}").json

    series = gateway.api(f"/runs/{run}/series").json
    assert sum(series["finished"]) == series["total"]["finished"] == oracle.counts().received
    assert series["total"]["response"] == report["latency"]["response"]
    by_task = [
        gateway.api(f"/runs/{run}/series?tasks={task['name']}").json["finished"]
        for task in report["tasks"]
    ]
    assert [sum(tick) for tick in zip(*by_task, strict=True)] == series["finished"]
    heat = gateway.api(f"/runs/{run}/heat").json
    assert sum(map(sum, heat["counts"])) == oracle.counts().received
    (agent,) = gateway.api(f"/runs/{run}/agents").json["agents"]
    assert (agent["agent"], sum(agent["started"])) == ("a-1", 150)

    own = gateway.tell(f"/runs/{run}/verdict", {})
    assert own.json["verdict"] == report["verdict"]
    assert own.json["latency"] == report["latency"]
    for gates in (
        {"p99_ms": 10, "error_rate": "< 1"},
        [{"metric": "p99_ms", "limit": 10}, {"metric": "error_rate", "limit": 1, "operator": "<"}],
    ):
        judged = gateway.tell(f"/runs/{run}/verdict", {"thresholds": gates}).json
        assert judged["verdict"]["passed"] is False
        first, second = judged["verdict"]["thresholds"]
        assert (first["passed"], second["passed"]) == (False, True)
        assert judged["broke_at_us"][0] is not None
        assert judged["broke_at_us"][1] is None
    assert gateway.api(f"/runs/{run}").json == report, "a question changed the run"
    for question, place in (
        ({"thresholds": {"p99": 10}}, "unknown metric"),
        ({"thresholds": {"p99_ms": "fast"}}, "must be a number"),
        ({"thresholds": {"unknown:p99_ms": 10}}, "unknown task"),
        ({"thresholds": {f"t{n}:p99_ms": 1 for n in range(201)}}, "at most 200"),
        ({"thresholds": [{"metric": "fast"}]}, ""),
        ({"warm_up_us": -1}, ""),
        ({"from_us": 2, "to_us": 1}, ""),
        ({"nonsense": 1}, ""),
    ):
        refused = gateway.tell(f"/runs/{run}/verdict", question)
        assert refused.status == 422, (question, refused.body)
        assert place in refused.problems, (question, refused.body)
    for path in (
        "series?tasks=unknown",
        "series?from_us=5",
        "series?from_us=2000000&to_us=1000000",
        "series?bucket_us=0",
        "series?bucket_us=99999999999999999999",
        "series?percentiles=101",
        "series?percentiles=nan",
        "series?outcomes=fine",
        "heat?agents=unknown",
        "errors?nonsense=1",
        "agents?as_of_us=-1",
    ):
        refused = gateway.api(f"/runs/{run}/{path}")
        assert refused.status == 422, (path, refused.body)
        assert refused.json["problems"], path

    path = f"{API}/runs/{run}/series?bucket_us=1000000"
    tag = tag_of(gateway, path)
    for held in (f'"other", {tag}', tag.removeprefix("W/")):
        known = gateway.ask("GET", path, headers={"If-None-Match": held})
        assert (known.status, known.body) == (304, b"")
    assert tag_of(gateway, path + "&tasks=often") != tag
    assert tag_of(gateways.start(), path) == tag


def test_a_comparison_of_another_version_is_another_answer() -> None:
    """Broken if a page keeps a comparison that a gateway judged before an upgrade."""

    class Stored:
        """A gateway that has compared two runs."""

        def __init__(self, version: str) -> None:
            self.version = version

        async def of_reading(self, run: str, _: object) -> str:
            return run

        async def asking(self, _: object) -> list[str]:
            return []

    async def tag(version: str) -> str:
        here: Any = Stored(version)
        return (await compare(here, ["run-1", "run-2"])).headers["ETag"]

    assert asyncio.run(tag("1.0")) == asyncio.run(tag("1.0")) != asyncio.run(tag("1.1"))


@pytest.mark.long
@pytest.mark.timed  # the first run must not be slow by chance
def test_runs_are_compared_as_by_the_command(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the gateway finds another change than `loadpilot compare`, or compares with another
    run."""
    fleet.coordinator()
    fleet.agent("a-1")
    gateway = gateways.start()
    runs = []
    for delay_ms in (2, 2, 60):
        oracle.delay(delay_ms)
        runs.append(gateway.tell("/runs", {"plan": plan(loadpilot, oracle)}).json["run"])
        gateway.see_end(runs[-1])
    first, *others = runs
    query = "&".join(f"run={run}" for run in runs)
    answer = gateway.api(f"/compare?{query}&threshold_pct=25").json
    printed = [
        loadpilot.call(
            "compare", run, first, "--threshold", "25", "--json", "--nats-url", fleet.url
        )
        for run in others
    ]
    assert answer["baseline"] == first
    assert answer["comparisons"] == [json.loads(one.stdout) for one in printed]
    slower = {
        (figure["task"], figure["figure"])
        for figure in answer["comparisons"][1]["figures"]
        if figure["change"] == "worse"
    }
    assert {(None, "p50_ms"), ("often", "p95_ms")} <= slower
    assert printed[1].code == 1
    assert gateway.api(f"/compare?{query}&threshold_pct=-1").status == 422


@pytest.mark.slow
def test_a_run_is_saved_as_files(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if a saved file is not that of the run, if a browser would display it instead of
    saving it, or if it stays on the gateway's disk."""
    fleet.coordinator()
    fleet.agent("a-1")
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    gateways.environ.setenv("TMPDIR", str(downloads))
    gateway = gateways.start()
    gateways.environ.delenv("TMPDIR")
    run = gateway.tell("/runs", {"plan": plan(loadpilot, oracle)}).json["run"]
    gateway.see_end(run)
    printed = cli_report(loadpilot, fleet, run)

    page = gateway.api(f"/runs/{run}/page")
    data = json.loads(page.body.decode().split('id="run-data">')[1].split("</script>")[0])
    assert data["report"] == json.loads(printed) | {"series": []}
    assert data["answers"]["series"] == gateway.api(f"/runs/{run}/series").json
    kept = header_of(gateway, f"{API}/runs/{run}/page", "Content-Disposition")
    assert kept == f'attachment; filename="{run}.html"'

    file = tmp_path / "saved.lprun"
    file.write_bytes(gateway.api(f"/runs/{run}/file").body)
    shown = loadpilot.call("report", str(file), "--json")
    assert shown.stdout.removesuffix("\n") == printed
    for part in ("bytes=9999999999-", "bytes=x", "bytes=0-1"):
        whole = gateway.api(f"/runs/{run}/file", {"Range": part})
        # The gateway removes it after sending it, which may be after it has been read here.
        deadline = time.monotonic() + PATIENCE_S / 2
        while list(downloads.glob("*.lprun")):
            assert time.monotonic() < deadline, part
        assert (whole.status, len(whole.body)) == (200, file.stat().st_size), part
    for path in ("page", "file"):
        assert gateway.api(f"/runs/01unknown/{path}").status == 404


def outcome_of(gateway: Gateway) -> object:
    """The outcome of the only run, once its log was read."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        (listed,) = gateway.api("/runs").json["runs"]
        if listed["outcome"] is not None:
            return listed["outcome"]
    raise AssertionError(listed)


def tag_of(gateway: Gateway, path: str) -> str:
    return header_of(gateway, path, "ETag")


def header_of(gateway: Gateway, path: str, name: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE_S)
    connection.request("GET", path)
    response = connection.getresponse()
    response.read()
    connection.close()
    assert response.status == 200
    return response.headers[name]
