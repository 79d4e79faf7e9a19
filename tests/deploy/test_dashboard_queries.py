"""The dashboards on a real Prometheus: every query has data, and the figures are the report's."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.deploy.containers import BUILD_S, engine
from tests.deploy.dashboard_queries import DASHBOARDS, ROOT, STARTER, Panels
from tests.e2e.sinks.prometheus import NATIVE, Prometheus, Server, installed
from tests.e2e.support.command import Loadpilot
from tests.e2e.support.fleet import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.oracle.oracle import Oracle

SO_FAR = {"VALID so far", "DEGRADED so far", "INVALID so far"}
BOUNDS = (0.25, 0.5, 1, 2.5, 5, 10)
"""Bounds of classic buckets in seconds that the slow call of the scenario may reach."""
HEAT = "Latency by time, corrected A"
"""A panel that needs native histograms."""
SECS = 16
SHOP = f"""
from loadpilot import VUser, scenario, task

@scenario(rps=50, duration="{SECS}s", mode="constant", max_in_flight=2, max_wait="50ms",
          thresholds={{"error_rate": 90, "p99_ms": 1}})
class Shop(VUser):
    @task(weight=3)
    def quick(self, client):
        client.get("/quick")

    @task
    def slow(self, client):
        client.get("/slow")
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Prometheus, str]]:
    """Prometheus as `loadpilot init` sets it up, and the address that it scrapes."""
    folder, address = tmp_path / "prometheus", f"127.0.0.1:{free_port()}"
    folder.mkdir()
    shipped = yaml.safe_load((STARTER / "prometheus.yml").read_text(encoding="utf-8"))
    (job,) = shipped["scrape_configs"]
    job["static_configs"] = [{"targets": [address]}]
    (folder / "alerts.yml").write_bytes((STARTER / "alerts.yml").read_bytes())
    server = Prometheus(folder, yaml.safe_dump(shipped), NATIVE)
    yield server, address
    server.stop()


def assert_figures(run: Panels, report: dict[str, Any]) -> None:
    """Asserts that the dashboard of a run has the figures of its report."""
    arrivals, outcomes = report["arrivals"], report["calls"]["outcomes"]
    assert run.figure("Planned") == arrivals["planned"]
    assert run.figure("Started") == arrivals["started"]
    assert run.figure("Errors") == outcomes["http_5xx"] > 0
    assert run.figure("Error rate") == pytest.approx(report["error_rate_pct"] / 100)
    scraped_at = run.last_scrape()
    p99 = run.whole_run("p99", scraped_at)
    assert p99 == pytest.approx(report["p99_ms"] / 1e3, rel=0.02)
    uncorrected = report["latency"]["service"]["p99_us"] / 1e6
    p99 = run.whole_run("p99, uncorrected", scraped_at)
    assert p99 == pytest.approx(uncorrected, rel=0.02)
    calls = run.table("Calls of the whole run", "task", "call")
    assert {task: row["calls"] for (task, _), row in calls.items()} == {
        one["name"]: one["finished"] for one in report["tasks"]
    }
    thresholds = {key: row for (key,), row in run.table("Thresholds", "threshold").items()}
    assert {key: (row["value"], bool(row["passed"])) for key, row in thresholds.items()} == {
        f"{one['metric']} <= {one['limit']:g}": (pytest.approx(one["actual"]), one["passed"])
        for one in report["verdict"]["thresholds"]
    }
    states = {
        title: run.asked(run.named(title, "stat"), "A") for title in ("Certificate", "Verdict")
    }
    (certificate,), (verdict,) = states["Certificate"], states["Verdict"]
    assert certificate["metric"]["certificate"] == report["certificate"]["grade"]
    assert verdict["metric"]["verdict"] == "failed"


@pytest.mark.slow
def test_every_query_has_data_and_figures_are_the_reports(
    tmp_path: Path, oracle: Oracle, server: tuple[Prometheus, str]
) -> None:
    """Broken if a panel stays empty, or a figure is not the report's."""
    prometheus, address = server
    loadpilot = Loadpilot(tmp_path / "work")
    oracle.delay(300, path="/slow")
    oracle.status(500, path="/slow", fraction=0.3)
    start = time.time()
    with loadpilot.start(SHOP, oracle.url, "--metrics", address, "--agents", "2") as running:
        name = running.run_id()
        assert oracle.wait_count(100, 30.0)
        assert loadpilot.call("rate", name, "60").code == 0
        live = Panels(DASHBOARDS["run"], prometheus, name, start)
        panel = live.named("Certificate", "stat")
        prometheus.until(live.filled(panel["targets"][0]["expr"]), bool)
        (certificate,) = live.asked(panel, "A")
        assert certificate["metric"]["certificate"] in SO_FAR, (
            "the certificate of a running run is not one `so far`"
        )
        finished = running.end()
    assert finished.judged == 1, finished.stderr
    report = finished.report
    prometheus.until("sum (up)", lambda found: found == {"": 0})
    shown = {
        file: Panels(DASHBOARDS[file], prometheus, name, start)
        for file in ("run", "runs", "generators")
    }
    empty = {file: panels.empty() for file, panels in shown.items()}
    without_data = set()
    if report["certificate"]["grade"] == "VALID":
        assert empty["run"].pop(empty["run"].index("Findings A"))
        without_data = {"loadpilot_run_finding"}
    assert empty == {"run": [], "runs": [], "generators": []}

    read = set(re.findall(r"loadpilot_\w+", (STARTER / "alerts.yml").read_text("utf-8")))
    missing = {name for name in read if not prometheus.query(f"count(last_over_time({name}[15m]))")}
    assert missing == without_data
    fired = 'max_over_time(ALERTS{alertname="LoadPilotArrivalsDropped",alertstate="firing"}[15m])'
    assert prometheus.query(fired)

    assert_figures(shown["run"], report)
    arrivals, events = report["arrivals"], shown["run"].annotations()
    assert arrivals["started"] == len(oracle.requests())
    dropped = sum(arrivals["dropped"].values())
    assert {"start", "rate_changed"} <= events.keys()
    assert events["start"] == [pytest.approx(report["run"]["start_at"] / 1e3, abs=1)]
    ((row,),) = [list(shown["runs"].table("Runs", "run").values())]
    assert row["planned"] == arrivals["planned"] == arrivals["started"] + dropped > dropped
    assert (row["started arrivals"], row["dropped"]) == (arrivals["started"], dropped)
    assert row["started"] == events["start"][0] < row["ended"] <= time.time() * 1e3
    assert row["error rate"] == pytest.approx(report["error_rate_pct"] / 100)


@pytest.mark.slow
def test_a_past_run_is_under_the_same_dashboards(tmp_path: Path, oracle: Oracle) -> None:
    """Broken if a dashboard of a past run needs native histograms, which `loadpilot dump` cannot
    write."""
    promtool = installed("promtool")
    loadpilot = Loadpilot(tmp_path / "work")
    oracle.delay(300, path="/slow")
    oracle.status(500, path="/slow", fraction=0.3)
    start = time.time()
    finished = loadpilot.run(SHOP, oracle.url)
    text = tmp_path / "run.om"
    dumped = loadpilot.call("dump", "last", "--format", "openmetrics", "-o", str(text))
    assert dumped.code == 0, dumped.stderr
    data = tmp_path / "prometheus" / "data"
    data.mkdir(parents=True)
    make = [promtool, "tsdb", "create-blocks-from", "openmetrics", str(text), str(data)]
    subprocess.run(make, check=True, capture_output=True, timeout=120)
    server = Prometheus(tmp_path / "prometheus")
    try:
        run = Panels(DASHBOARDS["run"], server, finished.run, start)
        runs = Panels(DASHBOARDS["runs"], server, finished.run, start)
        assert (set(run.empty()) - {"Findings A"}, runs.empty()) == ({HEAT}, [])
        assert "unfinished" not in str(run.asked(run.named("Findings", "table"), "A"))
        assert run.figure("Started") == finished.report["arrivals"]["started"]
        assert run.figure("Errors") == finished.report["errors_total"]
        p99 = finished.report["p99_ms"] / 1e3
        assert p99 > 0.25
        # The bucket of classic bounds that contains the percentile of the report.
        low = max(bound for bound in BOUNDS if bound < p99)
        top = min(bound for bound in BOUNDS if bound >= p99)
        assert low <= run.figure("p99", "gauge") <= top
    finally:
        server.stop()


def documented() -> str:
    """The command in the how-to that imports a past run into the Prometheus of a project."""
    text = (ROOT / "docs/howto/read/dashboards.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"^docker compose .* exec -T prometheus [^`]*", text, re.MULTILINE)
    return str(found)


@pytest.mark.long
@pytest.mark.timeout(BUILD_S)
def test_prometheus_of_a_project_reads_a_run(tmp_path: Path, oracle: Oracle) -> None:
    """Broken if Prometheus as `loadpilot init` sets it up cannot read its files, or does not reach
    a run on the loopback of this machine, or if the documented command puts no past run into it.
    The ports are those of the files: 9090 and 9091."""
    _, compose = engine()
    loadpilot = Loadpilot(tmp_path / "work")
    assert loadpilot.call("init").code == 0
    file = loadpilot.folder / "monitoring" / "docker-compose.yml"
    words = [*compose, "--project-name", "loadpilot-tried-project", "--file", str(file)]
    environ = {name: value for name, value in os.environ.items() if name != "COMPOSE_FILE"}

    def play(*command: str) -> None:
        subprocess.run([*words, *command], check=True, capture_output=True, env=environ)

    play("down", "--volumes")
    try:
        play("up", "--detach", "prometheus")
        server = Server("127.0.0.1:9091")
        server.wait_ready()
        finished = loadpilot.run(SHOP, oracle.url, "--metrics", "127.0.0.1:9090")
        counted = f'sum (last_over_time (loadpilot_calls_total{{run="{finished.run}"}}[1h]))'
        assert server.query(counted) == {"": finished.report["calls"]["attempted"]}
        past = loadpilot.run(SHOP, oracle.url)
        dumped = loadpilot.folder / "run.om"
        dump = ("dump", past.run, "--format", "openmetrics", "-o", str(dumped))
        assert loadpilot.call(*dump).code == 0
        command = shlex.split(documented(), posix=True)
        copied = command[command.index("prometheus") + 1 : command.index("<")]
        with dumped.open("rb") as text:
            argv = [*words, "exec", "-T", "prometheus", *copied]
            subprocess.run(argv, check=True, capture_output=True, env=environ, stdin=text)
        play("restart")  # Prometheus reads new blocks once a minute, and when it starts
        server.wait_ready()
        attempted = past.report["calls"]["attempted"]
        assert server.query(counted.replace(finished.run, past.run)) == {"": attempted}
        play("stop")
    finally:
        play("down", "--volumes")
