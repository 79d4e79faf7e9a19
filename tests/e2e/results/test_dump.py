"""`loadpilot dump`: other tools read the same figures as those of the target and the report."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import resource
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from tests.e2e.support.command import COMMAND, Finished, Loadpilot
from tests.e2e.support.short_run import rerun_until_punctual
from tests.oracle.oracle import Oracle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RPS, SECS = 100, 4
SHOP = f"""
from loadpilot import VUser, scenario, task

@scenario(rps={RPS}, duration="{SECS}s", mode="constant")
class Shop(VUser):
    @task(weight=3)
    def quick(self, client):
        client.get("/quick")

    @task
    def slow(self, client):
        client.get("/slow", name="=cmd()")
"""
RANGE_US = 60_000_000
WRK2_LEVELS = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.775, 0.8, 0.825, 0.85]
"""The first values of the spectrum in wrk2's README."""
VEGETA = 12
"""Number of columns of vegeta's results."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Loadpilot, Finished, Oracle]]:
    """A run of 400 calls by two agents, all sampled. 8 s."""

    def run(loadpilot: Loadpilot, oracle: Oracle) -> Finished:
        oracle.delay(20, path="/slow")
        oracle.status(404, fraction=0.1)
        return loadpilot.run(SHOP, oracle.url, "--agents", "2", "--samples", "calls.csv")

    with rerun_until_punctual(tmp_path_factory.mktemp("dump"), run) as shop:
        yield shop


Shop = tuple[Loadpilot, Finished, Oracle]


def dumped(shop: Shop, *argv: str) -> str:
    """Standard output of a dump that succeeds."""
    loadpilot, finished, _ = shop
    done = loadpilot.call("dump", finished.run, *argv)
    assert done.code == 0, done.stderr
    return done.stdout


def close(figure: float | None, exact: float) -> bool:
    return figure is not None and abs(figure - exact) <= exact / 1000 + 1


def nearest_rank(values: list[int], percent: float) -> int:
    ordered = sorted(values)
    return ordered[max(1, -(-len(ordered) * percent // 100).__int__()) - 1]


def calls(shop: Shop) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in dumped(shop, "--format", "ndjson", "--what", "samples").splitlines()
    ]


@pytest.mark.slow
def test_samples_are_the_calls_of_the_target(shop: Shop) -> None:
    """Broken if a call is missing, doubled, or of another task, in vegeta's columns or as JSON."""
    _, finished, oracle = shop
    rows = list(csv.reader(io.StringIO(dumped(shop, "--what", "samples")), strict=True))
    received = Counter((one.route.strip("/"), str(one.status)) for one in oracle.requests())
    assert {len(row) for row in rows} == {VEGETA}
    assert Counter((row[7], row[1]) for row in rows) == received
    assert {(row[5], row[1]) for row in rows} == {("", "200"), ("http_4xx", "404")}
    assert {(row[9], row[10]) for row in rows} == {
        ("GET", f"{oracle.url}/{task}") for task in ("quick", "slow")
    }
    lines = calls(shop)
    assert Counter((one["task"], str(one["status"])) for one in lines) == received
    start_us = finished.report["run"]["start_at"]
    due = sorted(one["due_us"] - start_us for one in lines)
    assert due == [n * 10**6 // RPS for n in range(RPS * SECS)]
    as_ns = sorted((row[0], row[2]) for row in rows)
    assert as_ns == sorted((f"{one['due_us']}000", f"{one['response_us']}000") for one in lines)
    part = dumped(shop, "--what", "samples", "--task", "slow", "--from", "1s", "--to", "2s")
    wanted = [
        one
        for one in lines
        if one["task"] == "slow" and 10**6 <= one["due_us"] - start_us < 2 * 10**6
    ]
    assert len(part.splitlines()) == len(wanted) > 0


@pytest.mark.slow
def test_calls_that_share_a_connection_are_those_of_the_target(shop: Shop) -> None:
    """Broken if the report or a call says that a connection was reused although the target saw a
    new one. 1 s."""
    _, finished, oracle = shop
    generator = finished.report["generator"]
    reused = sum(one["reused"] for one in calls(shop))
    opened = RPS * SECS - reused
    assert (generator["connections_opened"], generator["connections_reused"]) == (opened, reused)
    assert 0 < opened <= oracle.counts().connections < RPS * SECS // 2


@pytest.mark.slow
def test_a_series_is_the_calls_of_its_intervals(shop: Shop) -> None:
    """Broken if a figure of an interval differs from that computed from its calls. Names that look
    like formulas have no effect."""
    _, finished, _ = shop
    lines, start_us = calls(shop), finished.report["run"]["start_at"]
    flags = ("--by", "task", "--every", "2s", "--percentiles", "50,99.9")
    rows = list(csv.DictReader(io.StringIO(dumped(shop, *flags)), strict=True))
    assert [(row["task"], row["from_us"]) for row in rows] == [
        (task, str(at)) for task in ("quick", "slow") for at in (0, 2 * 10**6)
    ]
    for row in rows:
        begin_us = int(row["from_us"]) + start_us
        mine = [
            one
            for one in lines
            if one["task"] == row["task"] and begin_us <= one["due_us"] < begin_us + 2 * 10**6
        ]
        assert int(row["time_us"]) == begin_us
        assert int(row["started"]) == int(row["finished"]) == len(mine)
        assert (
            int(row["errors"])
            == int(row["http_4xx"])
            == sum(one["outcome"] != "ok" for one in mine)
        )
        for latency in ("response", "service"):
            exact = [one[f"{latency}_us"] for one in mine]
            for percent, name in ((50, "p50"), (99.9, "p99_9"), (100, "max")):
                assert close(float(row[f"{latency}_{name}_us"]), nearest_rank(exact, percent))
    whole = [json.loads(line) for line in dumped(shop, "--format", "ndjson").splitlines()]
    assert sum(row["finished"] for row in whole) == finished.report["requests_total"]
    by_call = csv.DictReader(io.StringIO(dumped(shop, "--by", "call")), strict=True)
    assert {row["call"] for row in by_call} == {"GET /quick", "'=cmd()"}


def test_histograms_open_in_hdrhistogram(shop: Shop, tmp_path: Path) -> None:
    """Broken if HdrHistogram reads another number of calls or another percentile from the log, or
    prints another spectrum than LoadPilot."""
    _, finished, _ = shop
    path = tmp_path / "run.hlog"
    dumped(shop, "-o", str(path))
    reader = HistogramLogReader(str(path), HdrHistogram(1, RANGE_US, 3))
    with reader.input_file:
        whole, intervals = added(reader)
    response = finished.report["latency"]["response"]
    # Some versions of this reader also read lines with tags, so that each call counts once more.
    assert whole.get_total_count() in {response["count"], 2 * response["count"]}
    assert intervals >= SECS
    for percent, name in ((50, "p50_us"), (99, "p99_us"), (100, "max_us")):
        assert close(whole.get_value_at_percentile(percent), response[name])
    tagged = [line for line in path.read_text().splitlines() if line.startswith("Tag=")]
    per_task: Counter[str] = Counter()
    for line in tagged:
        tag, _, _, _, encoded = line.removeprefix("Tag=").split(",")[:1] + line.split(",")[1:]
        per_task[tag] += HdrHistogram.decode(encoded.encode()).get_total_count()
    counted = {task["name"]: task["finished"] for task in finished.report["tasks"]}
    assert per_task == counted

    alone = HdrHistogram.decode(response_histogram(finished))
    text = dumped(shop, "--what", "percentiles")
    spectrum = [line.split() for line in text.split("1/(1-Percentile)\n\n")[1].splitlines()]
    rows = [[float(cell) for cell in row] for row in spectrum if len(row) == 4 and row[0] != "#["]
    assert [row[1] for row in rows][: len(WRK2_LEVELS)] == WRK2_LEVELS
    steps = [
        (step.total_count_to_this_value, step.value_iterated_to)
        for step in alone.get_recorded_iterator()
    ]
    for value_ms, share, count, _ in rows:
        rank = max(1.0, share * response["count"] - 1e-3)
        assert (count, round(value_ms * 1000)) == next(step for step in steps if step[0] >= rank)
    assert rows[-1][1:3] == [1.0, response["count"]]
    assert " 50.000%" in text


def added(reader: HistogramLogReader) -> tuple[HdrHistogram, int]:
    """The merged histogram of all intervals, and the number of intervals."""
    whole, intervals = HdrHistogram(1, RANGE_US, 3), 0
    while reader.add_next_interval_histogram(whole) is not None:
        intervals += 1
    return whole, intervals


def response_histogram(finished: Finished) -> bytes:
    return str(finished.report["latency"]["response_histogram"]).encode()


@pytest.mark.slow
def test_parquet_is_the_same_in_duckdb(shop: Shop, tmp_path: Path) -> None:
    """Broken if a column has another meaning in Arrow."""
    samples, series = tmp_path / "samples.parquet", tmp_path / "series.parquet"
    dumped(shop, "--what", "samples", "-o", str(samples))
    dumped(shop, "--by", "task", "-o", str(series))
    lines = calls(shop)
    found = duckdb.read_parquet(str(samples)).query(
        "calls",
        "SELECT epoch_us(due), task, call, outcome, status, response_us, service_us, bytes_in, "
        "reused, agent FROM calls",
    )
    names = ("task", "call", "outcome", "status", "response_us", "service_us", "bytes_in")
    assert Counter(found.fetchall()) == Counter(
        (one["due_us"], *(one[name] for name in names), one["reused"], one["agent"])
        for one in lines
    )
    total = duckdb.read_parquet(str(series)).query("s", "SELECT sum(finished) FROM s")
    assert total.fetchall() == [(len(lines),)]


@pytest.mark.slow
def test_mistakes_are_named(shop: Shop, tmp_path: Path) -> None:
    """Broken if a flag is ignored, or if a run without samples gives an empty file."""
    loadpilot, finished, oracle = shop
    other = Loadpilot(tmp_path / "other")
    none = other.run(SHOP.replace("4s", "1s"), oracle.url)
    # A run file needs no server; each command would start one for a log.
    whole, empty = str(tmp_path / "whole.lprun"), str(tmp_path / "empty.lprun")
    assert loadpilot.call("export", finished.run, whole).code == 0
    assert other.call("export", none.run, empty).code == 0
    for file, argv, words in (
        (whole, ("--what", "sampels"), "did you mean samples?"),
        (whole, ("--format", "xml"), "--format: must be one of csv, ndjson, parquet"),
        (whole, ("--what", "samples", "--format", "hlog"), "must be csv or ndjson or parquet"),
        (whole, ("-o", "x.xlsx"), "--output: must end in one of .csv"),
        (whole, ("-o", str(tmp_path)), "must be a file"),
        (whole, ("--by", "tasks"), "did you mean task?"),
        (whole, ("--what", "samples", "--by", "task"), "--by: applies to series"),
        (whole, ("--task", "qick"), "--task: must be a task of the scenario (quick, slow)"),
        (whole, ("--every", "1.5s"), "--every: must be a whole number of ticks"),
        (whole, ("--from", "3s", "--to", "2s"), "--from: must be below to_us"),
        (whole, ("--percentiles", "50,x"), "--percentiles: must be numbers"),
        (whole, ("--percentiles", "0"), "--percentiles: must be above 0"),
        (empty, ("--what", "samples"), "must be a run with samples (run with --samples FILE)"),
    ):
        refused = loadpilot.call("dump", file, *argv)
        assert (refused.code, words in refused.stderr) == (2, True), (argv, refused.stderr)
        assert refused.stdout == ""


def test_parquet_is_refused_on_a_terminal(shop: Shop) -> None:
    """Broken if binary data reaches a terminal."""
    loadpilot, finished, _ = shop
    controller, terminal = pty.openpty()
    with os.fdopen(controller, "rb"), os.fdopen(terminal, "wb") as screen:
        done = subprocess.run(
            [COMMAND, "dump", finished.run, "--format", "parquet"],
            cwd=loadpilot.folder,
            stdout=screen,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, b"add -o FILE" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("form", ["csv", "parquet", "hlog"])
def test_a_full_disk_leaves_the_old_file(shop: Shop, tmp_path: Path, form: str) -> None:
    """Broken if a file that cannot be written completely replaces the existing one."""
    loadpilot, finished, _ = shop
    exported = tmp_path / "run.lprun"
    assert loadpilot.call("export", finished.run, str(exported)).code == 0
    path = tmp_path / f"old.{form}"
    path.write_bytes(b"old")
    done = subprocess.run(
        [COMMAND, "dump", str(exported), "-o", str(path)],
        cwd=tmp_path,
        capture_output=True,
        preexec_fn=limited(300),
        check=False,
    )
    assert done.returncode == 4, done.stderr
    assert path.read_bytes() == b"old"
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([path.name, exported.name])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_a_dump(tmp_path: Path, number: signal.Signals) -> None:
    """Broken if an interrupted dump waits for a reader that has stopped reading, as under `timeout
    60`."""
    pipe = tmp_path / "metrics.om"
    os.mkfifo(pipe)
    run = Path(__file__).with_name("stored_logs") / "run_file_v1.lprun"
    dumping = Loadpilot(tmp_path).begin("dump", str(run), "-o", str(pipe))
    with dumping, pipe.open("rb") as reader:
        reader.read(1)
        dumping.signal(number)
        ended = dumping.end(20)
    assert (ended.code, ended.stdout) == (128 + number, "")
    assert list(tmp_path.iterdir()) == [pipe]


def limited(bytes_max: int) -> Callable[[], None]:
    """Limit the size of any file that the process writes; a write beyond it fails."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, bytes_max))

    return limit
