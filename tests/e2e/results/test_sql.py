"""`loadpilot sql` and `plot`: they show the figures of the reports, and a query reaches no other
data."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.e2e.support.command import Loadpilot
from tests.e2e.support.files import unpack

STORED = Path(__file__).with_name("stored_logs")
LOGS = ("killed_agent", "open_loop", "python")
TREND = """
SELECT run, histogram_quantile_us(response_histogram, 0.99) AS p99_us, sum(finished) AS finished
FROM series JOIN runs USING (run) WHERE scenario = 'Shop' GROUP BY run ORDER BY min(created)
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Loadpilot:
    """A directory with the logs of three runs."""
    loadpilot = Loadpilot(tmp_path_factory.mktemp("sql"))
    for number, log in enumerate(LOGS, 1):
        unpack(STORED / f"{log}.tar.gz", loadpilot.log / f"log-{number}")
    return loadpilot


def report(log: str) -> dict[str, Any]:
    text = (STORED / f"{log}.report.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def asked(stored: Loadpilot, query: str) -> list[dict[str, Any]]:
    done = stored.call("sql", query, "--format", "json")
    assert done.code == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_runs_are_their_reports(stored: Loadpilot) -> None:
    """Broken if a table differs from the report of a run. 4 s."""
    rows = {row["run"]: row for row in asked(stored, "SELECT * FROM runs")}
    assert len(rows) == len(LOGS)
    for log in LOGS:
        known = report(log)
        row, response = rows[known["run"]["id"]], known["latency"]["response"]
        assert row["scenario"] == known["scenario"]
        assert row["certificate"] == known["certificate"]["grade"]
        assert row["requests"] == known["requests_total"]
        assert (row["p50_us"], row["p99_us"]) == (response["p50_us"], response["p99_us"])
    gates = asked(stored, "SELECT threshold, passed FROM thresholds ORDER BY ALL")
    known_gates = [one for log in LOGS for one in report(log)["verdict"]["thresholds"]]
    assert len(gates) == len(known_gates)


@pytest.mark.slow
def test_percentiles_of_a_group_come_from_its_histograms(stored: Loadpilot) -> None:
    """Broken if the percentile of a group is an average of percentiles, or is that of other
    calls."""
    trend = {row["run"]: row for row in asked(stored, TREND)}
    known = report("open_loop")
    row = trend[known["run"]["id"]]
    assert row["p99_us"] == known["latency"]["response"]["p99_us"]
    assert row["finished"] == known["requests_total"]
    exact = asked(
        stored,
        "SELECT run, count(*) AS n, quantile_disc(response_us, 0.99) AS p99_us FROM samples "
        "GROUP BY run",
    )
    by_call = {row["run"]: row for row in exact}[known["run"]["id"]]
    assert by_call["n"] == known["requests_total"]
    assert abs(by_call["p99_us"] - row["p99_us"]) <= row["p99_us"] / 1000 + 1


@pytest.mark.slow
def test_the_forms_of_a_result(stored: Loadpilot) -> None:
    """Broken if an output format loses a row, or if a cell becomes a formula."""
    query = "SELECT scenario, requests, '=1+1' AS f, NULL AS n FROM runs ORDER BY run"
    done = stored.call("sql", query, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout), strict=True))
    assert [row["f"] for row in rows] == ["'=1+1"] * len(LOGS)
    assert [row["n"] for row in rows] == [""] * len(LOGS)
    table = stored.call("sql", query).stdout.splitlines()
    assert table[0].split() == ["scenario", "requests", "f", "n"]
    assert len(table) == 1 + len(LOGS)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT * FROM read_csv('/etc/hostname')", "disabled by configuration"),
        ("COPY (SELECT 1) TO 'written.csv'", "disabled by configuration"),
        ("ATTACH 'written.db'", "disabled by configuration"),
        ("INSTALL httpfs", "disabled"),
        ("SET enable_external_access = true", "locked"),
        ("SET lock_configuration = false", "locked"),
        ("SELECT * FROM past", "past does not exist"),
        ("SELECT * FRM runs", "syntax error"),
        ("", "QUERY: is empty"),
        (" ; -- no statement", "QUERY: is empty"),
    ],
)
def test_a_query_reaches_nothing_else(stored: Loadpilot, query: str, words: str) -> None:
    """Broken if SQL reads or writes a file, or reads a variable of the command. 1 s each."""
    refused = stored.call("sql", query)
    assert (refused.code, words in refused.stderr) == (2, True), refused.stderr
    assert not list(stored.folder.glob("written*"))


@pytest.mark.slow
def test_a_picture_is_whole_and_the_same_again(stored: Loadpilot) -> None:
    """Broken if a chart is missing, or if the format of a file is not that of its name. 6 s."""
    for name in ("one.svg", "two.svg", "one.png"):
        assert stored.call("plot", report("python")["run"]["id"], "-o", name).code == 0
    first, second = ((stored.folder / name).read_text() for name in ("one.svg", "two.svg"))
    assert first == second
    assert ET.fromstring(first).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314
    assert (stored.folder / "one.png").read_bytes().startswith(b"\x89PNG")
    refused = stored.call("plot", "last", "-o", "x.jpg")
    assert (refused.code, "must end in .svg or .png" in refused.stderr) == (2, True)
