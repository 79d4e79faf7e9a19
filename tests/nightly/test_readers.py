"""Files that `loadpilot dump` writes, opened in other tools.

One run of 8 s, and what each tool reads of it. The tools come from their package registries, at
their newest versions where a script of this file runs them. A tool that cannot be loaded skips its
test with the reason.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from tests.e2e.results.test_dump import RPS, SECS, Shop, calls, dumped, nearest_rank, shop
from tests.e2e.support.fixtures import loadpilot, oracle
from tests.tidy.tracked import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

__all__ = ["loadpilot", "oracle", "shop"]

FETCH_S = 600
"""How long a registry and a first build may take."""
pytestmark = [pytest.mark.long, pytest.mark.timeout(2 * FETCH_S)]

TOOLS = ROOT / "target" / "readers"
HDRHISTOGRAM = "2.2.2"
VEGETA = "github.com/tsenart/vegeta/v12@v12.12.0"
TABLES = """
import json, sys
import pandas, polars

series, calls, samples, parquet = sys.argv[1:]
table = pandas.read_csv(calls)
table.index = pandas.to_datetime(table["due"], unit="ns")
plain = pandas.read_csv(samples, header=None)
ticks = pandas.read_csv(series)
columns = polars.read_parquet(parquet)
print(json.dumps({
    "calls a second": table["response_us"].resample("1s").count().tolist(),
    "median a second": table["response_us"].resample("1s").quantile(0.5).tolist(),
    "calls of a task": table.groupby("task").size().to_dict(),
    "first due": str(pandas.to_datetime(plain[0], unit="ns").min()),
    "latencies in ns": sorted(int(latency) for latency in plain[2]),
    "statuses": {str(key): int(count) for key, count in plain[1].value_counts().items()},
    "first tick": str(pandas.to_datetime(ticks["time_us"], unit="us").min()),
    "finished": int(ticks["finished"].sum()),
    "polars": columns.group_by("task").len().rows(),
    "polars types": {name: str(columns.schema[name]) for name in ("due", "response_us", "reused")},
    "polars sum": columns["response_us"].sum(),
}))
"""

GATED = """
from loadpilot import VUser, scenario, task

@scenario(rps=20, duration="1s", mode="constant", thresholds={"error_rate": 50, "p99_ms": 0.001})
class Gated(VUser):
    @task
    def get(self, client):
        client.get("/<&>")
"""
JUNIT = """
import json, sys
from junitparser import JUnitXml

found = JUnitXml.fromfile(sys.argv[1])
cases = [case for suite in found for case in suite]
print(json.dumps({
    "counts": [sum(getattr(suite, key) for suite in found) for key in ("tests", "failures")],
    "cases": {case.name: [type(one).__name__ for one in case.result] for case in cases},
}))
"""


def tool(name: str, where: str) -> str:
    """The path of a program, or a skipped test."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name}: {where}")
    return found


def fetched(argv: Sequence[str], what: str) -> str:
    """Standard output of a command that downloads the tool that it runs; skips the test if it
    cannot."""
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=FETCH_S, cwd=ROOT
    )
    if done.returncode != 0:
        pytest.skip(f"needs {what}, which cannot be loaded: {done.stderr.strip()[-200:]}")
    return done.stdout


def uv() -> str:
    """The uv of `./dev`."""
    own = sorted(ROOT.glob(".dev/uv-*/bin/uv"))
    return str(own[-1]) if own else tool("uv", "./dev sync installs it")


@pytest.fixture(scope="module")
def files(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run in each format."""
    folder = tmp_path_factory.mktemp("files")
    for name, flags in {
        "series.csv": (),
        "run.hlog": (),
        "samples.csv": ("--what", "samples"),
        "samples.parquet": ("--what", "samples"),
    }.items():
        dumped(shop, *flags, "-o", str(folder / name))
    return folder


def test_tables_open_in_pandas_and_polars(shop: Shop, files: Path) -> None:
    """Broken if times do not parse, calls cannot be resampled, or a column has another type or sum
    than LoadPilot's own reader finds. 20 s."""
    loadpilot, finished, _ = shop
    packages = ("--with", "pandas", "--with", "polars")
    run = [uv(), "run", "--quiet", "--no-project", *packages, "python", "-c"]
    fetched([*run, "import pandas, polars"], "pandas and polars from PyPI")
    names = (files / "series.csv", loadpilot.folder / "calls.csv", files / "samples.csv")
    done = subprocess.run(
        [*run, TABLES, *map(str, names), str(files / "samples.parquet")],
        capture_output=True,
        text=True,
        check=False,
        timeout=FETCH_S,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    lines = calls(shop)
    start_us = finished.report["run"]["start_at"]
    assert read["first due"] == read["first tick"] == as_text(start_us)
    assert sum(read["calls a second"]) == read["finished"] == len(lines) == RPS * SECS
    assert all(0 < median < 60_000_000 for median in read["median a second"])
    of_task = {task["name"]: task["finished"] for task in finished.report["tasks"]}
    assert read["calls of a task"] == dict(read["polars"]) == of_task
    assert read["latencies in ns"] == sorted(one["response_us"] * 1000 for one in lines)
    assert sum(read["statuses"].values()) == len(lines)
    assert read["polars sum"] == sum(one["response_us"] for one in lines)
    assert read["polars types"]["due"].startswith("Datetime(time_unit='us', time_zone='UTC')")
    assert (read["polars types"]["response_us"], read["polars types"]["reused"]) == (
        "Int64",
        "Boolean",
    )


def as_text(us: int) -> str:
    """An instant, as pandas writes it."""
    return datetime.fromtimestamp(us // 10**6, UTC).strftime("%Y-%m-%d %H:%M:%S.") + f"{us:06}"[-6:]


def test_histograms_open_in_java(shop: Shop, files: Path, tmp_path: Path) -> None:
    """Broken if HdrHistogram's own reader finds another percentile, number of calls or task in the
    log than the report has. 15 s."""
    report = shop[1].report
    java = tool("java", "apt-get install default-jre-headless")
    maven = tool("mvn", "apt-get install maven, which loads HdrHistogram from Maven Central")
    name = f"org.hdrhistogram:HdrHistogram:{HDRHISTOGRAM}"
    copy = ("dependency:copy", f"-Dartifact={name}", f"-DoutputDirectory={TOOLS}")
    fetched([maven, "--quiet", "--batch-mode", *copy], f"{name} from Maven Central")
    jar = TOOLS / f"HdrHistogram-{HDRHISTOGRAM}.jar"
    process = ("org.HdrHistogram.HistogramLogProcessor", "-i", str(files / "run.hlog"))

    def read(*flags: str) -> str:
        argv = [java, "-cp", str(jar), *process, "-outputValueUnitRatio", "1", *flags]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    read("-o", str(tmp_path / "whole"))
    *_, last = (tmp_path / "whole").read_text(encoding="utf-8").splitlines()
    count, figures = re.findall(r"T:(\d+) \((.*)\)", last)[0]
    response = report["latency"]["response"]
    names = ("p50_us", "p90_us", "p99_us", "p99_9_us", "p99_99_us", "max_us")
    assert int(count) == response["count"]
    assert [float(figure) for figure in figures.split()] == [response[name] for name in names]
    tags = read("-listtags").splitlines()[1:]
    assert tags == ["[NO TAG (default)]", *(task["name"] for task in report["tasks"])]
    for task in report["tasks"]:
        counts = re.findall(r"Total count +=\s+(\d+)\]", read("-tag", task["name"]))
        assert counts == [str(task["finished"])]


def test_vegeta_reports_what_we_do(shop: Shop, files: Path) -> None:
    """Broken if vegeta reads another number of calls, bytes or statuses from the samples, or other
    latencies. Its percentiles are estimates: they lie between LoadPilot's percentiles of one
    percent less and more. 60 s for the first build."""
    report = shop[1].report
    go = tool("go", "apt-get install golang")
    fetched([go, "run", VEGETA, "-version"], "vegeta from the Go module proxy")
    argv = [go, "run", VEGETA, "report", "-type", "json", str(files / "samples.csv")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    values = [one["response_us"] * 1000 for one in calls(shop)]
    latencies = read["latencies"]
    assert read["requests"] == report["requests_total"] == len(values)
    assert latencies["total"] == sum(values)
    assert (latencies["min"], latencies["max"]) == (min(values), max(values))
    for percent in (50, 90, 95, 99):
        below, above = (nearest_rank(values, percent + off) for off in (-1, 1))
        assert 0.99 * below <= latencies[f"{percent}th"] <= 1.01 * above
    assert read["status_codes"] == report["status"]
    assert read["success"] == 1 - report["error_rate_pct"] / 100
    assert read["errors"] == ["http_4xx"]
    assert read["bytes_in"]["total"] == report["bytes"]["received"]
    assert read["bytes_out"]["total"] == report["bytes"]["sent"]
    # Due times are exact: vegeta's duration lacks only the last interval.
    assert read["duration"] == (SECS * RPS - 1) * 10**9 // RPS


def test_gates_open_in_a_reader_of_junit(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if a reader of JUnit counts other cases, or another one as failed. 10 s."""
    run = [uv(), "run", "--quiet", "--no-project", "--with", "junitparser", "python", "-c"]
    fetched([*run, "import junitparser"], "junitparser from PyPI")
    path = tmp_path / "gates.xml"
    assert loadpilot.run(GATED, oracle.url, "--junit", str(path)).code == 1
    read = json.loads(fetched([*run, JUNIT, str(path)], "junitparser from PyPI"))
    failed = {name: result for name, result in read["cases"].items() if result}
    assert read["counts"] == [len(read["cases"]), 1]
    assert failed == {"p99_ms": ["Failure"]}, read
