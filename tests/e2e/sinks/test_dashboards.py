"""The dashboards on a real Prometheus: every query has data, and the figures are the report's.

Prometheus has the configuration that `loadpilot init` writes, and scrapes the run twice, as where
two exporters show it.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.e2e.support.prometheus import NATIVE, Prometheus, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

ROOT = Path(__file__).parents[3]
STARTER = ROOT / "sdk/python/loadpilot/cli/starter/monitoring"
DASHBOARDS = {
    "run": STARTER / "grafana-dashboard.json",
    "runs": ROOT / "deploy/grafana/runs.json",
    "generators": ROOT / "deploy/grafana/generators.json",
}
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
VARIABLES = {
    "$__rate_interval": "8s",
    "$__range": "15m",
    "$scenario": ".*",
    "$task": ".*",
    "$agent": ".*",
}
"""As Grafana fills them in: four scrapes, and what is chosen at first."""
STEP_S = 2


class Panels:
    """The panels of a dashboard, as Grafana asks Prometheus for them."""

    def __init__(self, file: Path, server: Prometheus, run: str, start: float) -> None:
        self._dashboard = json.loads(file.read_text(encoding="utf-8"))
        self._server = server
        self._variables = {**VARIABLES, "$run": run}
        self._start = start
        self.all = [panel for panel in self._dashboard["panels"] if panel["type"] != "row"]

    def asked(self, panel: dict[str, Any], letter: str) -> list[dict[str, Any]]:
        """The series of a query."""
        (target,) = [one for one in panel["targets"] if one["refId"] == letter]
        expression = self.filled(target["expr"])
        if target["instant"]:
            return self._server.series("query", query=expression, time=str(time.time()))
        end = str(time.time())
        return self._server.series(
            "query_range", query=expression, start=str(self._start), end=end, step=str(STEP_S)
        )

    def filled(self, text: str) -> str:
        """A text with the values of variables."""
        for name, value in self._variables.items():
            text = text.replace(name, value)
        assert "$" not in text, text
        return text

    def empty(self) -> list[str]:
        """Title and letter of each query without data."""
        return [
            f"{panel['title']} {target['refId']}"
            for panel in self.all
            for target in panel["targets"]
            if not self.asked(panel, target["refId"])
        ]

    def named(self, title: str, kind: str) -> dict[str, Any]:
        (found,) = [one for one in self.all if (one["title"], one["type"]) == (title, kind)]
        return dict(found)

    def figure(self, title: str, kind: str = "stat") -> float:
        """The number that a panel shows."""
        (found,) = self.asked(self.named(title, kind), "A")
        return float(found["value"][1])

    def table(self, title: str, *keys: str) -> dict[tuple[str, ...], dict[str, float]]:
        """Rows of a table by the values of labels, each with its columns."""
        panel = self.named(title, "table")
        _, organize = panel["transformations"]
        names = organize["options"]["renameByName"]
        rows: dict[tuple[str, ...], dict[str, float]] = {}
        for value, column in names.items():
            for found in self.asked(panel, value.rpartition("#")[2]):
                key = tuple(found["metric"].get(label, "") for label in keys)
                rows.setdefault(key, {})[column] = float(found["value"][1])
        return rows

    def annotations(self) -> dict[str, list[float]]:
        """Times of the annotations in ms since 1970, by title."""
        (query,) = self._dashboard["annotations"]["list"]
        found = self._server.series("query", query=self.filled(query["expr"]))
        times: dict[str, list[float]] = {}
        for one in found:
            times.setdefault(one["metric"]["event"], []).append(float(one["value"][1]))
        return times


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Prometheus, str]]:
    """Prometheus as `loadpilot init` sets it up, and the address that it scrapes."""
    folder, address = tmp_path / "prometheus", f"127.0.0.1:{free_port()}"
    folder.mkdir()
    shipped = yaml.safe_load((STARTER / "prometheus.yml").read_text(encoding="utf-8"))
    (job,) = shipped["scrape_configs"]
    job["static_configs"] = [{"targets": [address]}]
    shipped["scrape_configs"].append({**job, "job_name": "another"})
    (folder / "alerts.yml").write_bytes((STARTER / "alerts.yml").read_bytes())
    server = Prometheus(folder, yaml.safe_dump(shipped), NATIVE)
    yield server, address
    server.stop()


def test_every_query_has_data_and_figures_are_the_reports(
    loadpilot: Loadpilot, oracle: Oracle, server: tuple[Prometheus, str]
) -> None:
    """Broken if a panel stays empty, a figure is not the report's, or a run that is scraped twice
    counts twice."""
    prometheus, address = server
    oracle.delay(300, path="/slow")
    oracle.status(500, path="/slow", fraction=0.3)
    start = time.time()
    with loadpilot.start(SHOP, oracle.url, "--metrics", address, "--agents", "2") as running:
        name = running.run_id()
        assert oracle.wait_count(100, 30.0)
        assert loadpilot.call("rate", name, "60").code == 0
        live = Panels(DASHBOARDS["run"], prometheus, name, start)
        findings = live.named("Findings", "table")
        prometheus.until(
            live.filled(findings["targets"][0]["expr"]), lambda found: "unfinished" in str(found)
        )
        finished = running.end()
    assert finished.judged == 1, finished.stderr
    report = finished.report
    shown = {file: Panels(path, prometheus, name, start) for file, path in DASHBOARDS.items()}
    empty = {file: panels.empty() for file, panels in shown.items()}
    if report["certificate"]["grade"] == "VALID":
        assert empty["run"].pop(empty["run"].index("Findings A"))
    assert empty == {"run": [], "runs": [], "generators": []}

    run, arrivals, outcomes = shown["run"], report["arrivals"], report["calls"]["outcomes"]
    dropped = sum(arrivals["dropped"].values())
    assert run.figure("Planned") == arrivals["planned"]
    assert run.figure("Started") == arrivals["started"] == len(oracle.requests())
    assert run.figure("Errors") == outcomes["http_5xx"] > 0
    assert run.figure("Error rate") == pytest.approx(report["error_rate_pct"] / 100)
    assert run.figure("p99", "gauge") == pytest.approx(report["p99_ms"] / 1e3, rel=0.02)
    uncorrected = report["latency"]["service"]["p99_us"] / 1e6
    assert run.figure("p99, uncorrected", "gauge") == pytest.approx(uncorrected, rel=0.02)
    calls = run.table("Calls of the whole run", "task", "call")
    assert {task: row["calls"] for (task, _), row in calls.items()} == {
        one["name"]: one["calls"]["attempted"] for one in report["tasks"]
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
    events = run.annotations()
    assert {"start", "rate_changed"} <= events.keys()
    assert events["start"] == [pytest.approx(report["run"]["start_at"] / 1e3, abs=1)]

    ((row,),) = [list(shown["runs"].table("Runs", "run").values())]
    assert row["planned"] == arrivals["planned"] == arrivals["started"] + dropped
    assert (row["started arrivals"], row["dropped"]) == (arrivals["started"], dropped)
    assert row["started"] == events["start"][0] < row["ended"] <= time.time() * 1e3
    assert row["p99"] == pytest.approx(report["p99_ms"] / 1e3, rel=0.02)
    assert row["error rate"] == pytest.approx(report["error_rate_pct"] / 100)
