"""The queries of dashboards, as Grafana sends them to a real Prometheus."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.e2e.sinks.prometheus import Prometheus

ROOT = Path(__file__).parents[2]
STARTER = ROOT / "sdk/python/loadpilot/cli/starter/monitoring"
DASHBOARDS = {
    "run": STARTER / "grafana-dashboard.json",
    **{name: ROOT / f"deploy/grafana/{name}.json" for name in ("runs", "generators", "fleet")},
}
VARIABLES = {
    "$__rate_interval": "8s",
    "$__range": "15m",
    "$scenario": ".*",
    "$task": ".*",
    "$agent": ".*",
}
"""Values that Grafana sets: the interval of four scrapes, and the first choices of the
dashboard."""
STEP_S = 2
NEWEST = re.compile(r"last_over_time\((loadpilot_\w+\{[^}]*\})\[15m\]\)")


class Panels:
    """The panels of a dashboard, queried as Grafana queries Prometheus."""

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
        return self._range(expression)

    def filled(self, text: str) -> str:
        """A text in which the variables are replaced by their values."""
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

    def whole_run(self, title: str, at: float) -> float:
        """The percentile that a gauge shows, from the last scrape before an instant.

        Before Prometheus 3, functions over time leave native histograms out, so the query is sent
        without `last_over_time`. The result is the same.
        """
        (target,) = self.named(title, "gauge")["targets"]
        query = NEWEST.sub(r"\1", self.filled(target["expr"]))
        assert query != self.filled(target["expr"])
        (found,) = self._server.query(query, at=at).values()
        return found

    def last_scrape(self) -> float:
        """The instant of the last scrape of a run whose exporter is gone."""
        scraped = self.filled('timestamp(loadpilot_run_certificate{run="$run"})')
        (at,) = self._server.query(f"max (max_over_time({scraped}[15m:200ms]))").values()
        return at

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
        times: dict[str, list[float]] = {}
        for one in self._range(self.filled(query["expr"])):
            times.setdefault(one["metric"]["event"], []).append(float(one["values"][-1][1]))
        return times

    def _range(self, expression: str) -> list[dict[str, Any]]:
        start, end = str(self._start), str(time.time())
        return self._server.series(
            "query_range", query=expression, start=start, end=end, step=str(STEP_S)
        )
