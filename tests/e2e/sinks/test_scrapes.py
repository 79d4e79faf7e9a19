"""`loadpilot run --metrics HOST:PORT`, scraped by a real Prometheus; past runs in blocks of
Prometheus."""

from __future__ import annotations

import http.client
import math
import signal
import socket
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.e2e.sinks.prometheus import NATIVE, Prometheus, installed, scraping
from tests.e2e.support.fleet import free_port

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

RPS, SECS = 100, 6
SHOP = f"""
from loadpilot import VUser, scenario, task

@scenario(rps={RPS}, duration="{SECS}s", mode="constant", thresholds={{"error_rate": 50}})
class Shop(VUser):
    @task(weight=3)
    def quick(self, client):
        client.get("/quick")

    @task
    def slow(self, client):
        client.get("/slow")
"""
SHORT = ("--duration", "2s")
LONG = ("--duration", "60s")
"""The duration keeps the endpoint until the test interrupts the run."""
LAST = "max_over_time({}[10m])"
"""Query of the last value of a counter: the endpoint is gone once the command has ended."""


def scraped(address: str, accept: str = "", host: str | None = None) -> tuple[int, str, str]:
    """Status, media type and text of a scrape."""
    connection = http.client.HTTPConnection(address, timeout=10)
    connection.request("GET", "/metrics", headers={"Accept": accept, "Host": host or address})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers["Content-Type"], text


def close_to(value: float, expected: float, ratio: float) -> bool:
    return math.isclose(value, expected, rel_tol=ratio)


@pytest.mark.slow
def test_a_scraped_run_has_the_counts_of_report_and_target(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if a scraped count differs from the report and the target, or if a percentile of
    native buckets differs from the report's by more than 2 %."""
    oracle.delay(30, path="/slow")
    oracle.status(500, path="/slow", fraction=0.3)
    address = f"127.0.0.1:{free_port()}"
    server = Prometheus(tmp_path / "prometheus", scraping({"loadpilot": address}), NATIVE)
    try:
        # Prometheus may begin to scrape as late as six seconds after it is ready.
        server.until("up", bool)
        finished = loadpilot.run(SHOP, oracle.url, "--metrics", address, "--agents", "2")
        assert finished.judged in {0, 1}, finished.stderr
        report, run = finished.report, f'run="{finished.run}",exporter="command"'

        def last(name: str, by: str) -> dict[str, float]:
            return server.query(f"sum by ({by}) ({LAST.format(f'{name}{{{run}}}')})")

        calls = last("loadpilot_calls_total", "outcome")
        assert calls == {name: n for name, n in report["calls"]["outcomes"].items() if n}
        assert sum(calls.values()) == RPS * SECS == len(oracle.requests())
        received = Counter(one.route for one in oracle.requests())
        found = last("loadpilot_calls_total", "call")
        assert found == {f"GET {route}": n for route, n in received.items()}
        for family, key in {"planned": "planned", "started": "started"}.items():
            found = last(f"loadpilot_arrivals_{family}_total", "task")
            assert found == {one["name"]: one["arrivals"][key] for one in report["tasks"]}
        assert last("loadpilot_requests_total", "scenario") == {"Shop": RPS * SECS}
        assert last("loadpilot_errors_total", "scenario") == {"Shop": report["errors_total"]}
        found = last("loadpilot_task_errors_total", "task")
        assert found == {one["name"]: one["errors"] for one in report["tasks"]}
        # Functions over time leave native histograms out in this version of Prometheus.
        scraped_at = f"timestamp(loadpilot_run_end_timestamp_seconds{{{run}}})"
        (end,) = server.query(f"max_over_time({scraped_at}[10m:200ms])").values()
        merged = f"sum(loadpilot_request_duration_seconds{{{run}}})"
        (count,) = server.query(f"histogram_count({merged})", at=end).values()
        assert count == RPS * SECS
        for quantile, key in ((0.5, "p50_ms"), (0.99, "p99_ms")):
            (value,) = server.query(f"histogram_quantile({quantile}, {merged})", at=end).values()
            assert close_to(value * 1e3, report[key], 0.02), (key, value, report[key])
        grade = f"last_over_time(loadpilot_run_certificate{{{run}}}[10m]) == 1"
        assert list(server.query(f"sum by (certificate) ({grade})")) == [
            report["certificate"]["grade"]
        ]
        verdict = f"last_over_time(loadpilot_run_verdict{{{run}}}[10m]) == 1"
        assert list(server.query(f"sum by (verdict) ({verdict})")) == ["passed"]
        (threshold,) = server.query(
            f"last_over_time(loadpilot_threshold_value{{{run}}}[10m])"
        ).values()
        assert threshold == pytest.approx(report["verdict"]["thresholds"][0]["actual"])
        phases = server.query(
            f"sum by (phase) ({LAST.format(f'loadpilot_run_phase{{{run}}}')}) == 1"
        )
        assert {"running", "sealed"} <= set(phases)
    finally:
        server.stop()


@pytest.mark.slow
def test_texts_pass_promtool(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a text violates its format, or if a page of another origin can read it."""
    promtool = installed("promtool")
    address = f"127.0.0.1:{free_port()}"
    with loadpilot.start(SHOP, oracle.url, "--metrics", address, *LONG) as running:
        running.run_id()
        assert oracle.wait_count(RPS, 30.0)
        text = ""
        while "loadpilot_calls_total{" not in text:
            status, kind, text = scraped(address)
            assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        checked = subprocess.run(
            [promtool, "check", "metrics"],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        # Names of earlier versions have units that new names would not have.
        complaints = [line for line in checked.stderr.splitlines() if "_ms " not in line]
        assert complaints == [], checked.stderr
        status, kind, text = scraped(address, "application/openmetrics-text;version=1.0.0")
        assert (status, kind.split(";")[0]) == (200, "application/openmetrics-text")
        assert text.endswith("# EOF\n")
        status, _, text = scraped(address, host="evil.example")
        assert (status, text) == (403, "Host must be a loopback address\n")
        running.signal(signal.SIGINT)
        finished = running.end()
    assert finished.code == 130, finished.stderr


@pytest.mark.slow
def test_a_taken_port_is_a_warning(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a port in use fails a run, or is not reported."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        finished = loadpilot.run(SHOP, oracle.url, "--metrics", address, *SHORT)
    assert finished.judged in {0, 1}, finished.stderr
    lines = [line for line in finished.stderr.splitlines() if "warning: --metrics" in line]
    why = "Address already in use; the run goes on without"
    assert [line.partition(": ")[2] for line in lines] == [f"--metrics {address}: {why}"]
    assert len(oracle.requests()) == 2 * RPS


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("0.0.0.0:9090", "must be on loopback such as 127.0.0.1:9090"),
        ("example.com:9090", "use --out prometheus=URL, or the gateway"),
        ("9090", "must be HOST:PORT such as 127.0.0.1:9090"),
        ("127.0.0.1:0", "must be HOST:PORT such as 127.0.0.1:9090"),
    ],
)
def test_an_address_off_loopback_is_refused(
    loadpilot: Loadpilot, oracle: Oracle, address: str, words: str
) -> None:
    """Broken if other machines can read figures without a password."""
    refused = loadpilot.run(SHOP, oracle.url, "--metrics", address)
    assert (refused.code, words in refused.stderr) == (2, True), refused.stderr
    assert not oracle.requests()


@pytest.mark.parametrize(
    "command",
    [
        ("search", "shop.py"),
        ("versus", "shop.py", "--target-a", "http://127.0.0.1:1", "--target-b", "http://[::1]:1"),
        ("attack", "http://127.0.0.1:1"),
        ("watch", "last"),
        ("resume", "last"),
    ],
)
def test_each_command_that_follows_a_run_reads_the_flag(
    loadpilot: Loadpilot, command: tuple[str, ...]
) -> None:
    """Broken if a command that has the flag ignores it."""
    (loadpilot.folder / "shop.py").write_text(SHOP, encoding="utf-8")
    refused = loadpilot.call(*command, "--metrics", "0.0.0.0:9090")
    assert refused.code == 2, refused.stderr
    assert "--metrics: must be on loopback" in refused.stderr


@pytest.mark.slow
def test_a_past_run_is_in_blocks(loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path) -> None:
    """Broken if a past run cannot be imported into Prometheus, or has other counts or times
    there."""
    promtool = installed("promtool")
    oracle.status(500, path="/slow", fraction=0.3)
    finished = loadpilot.run(SHOP, oracle.url, "--metrics", f"127.0.0.1:{free_port()}")
    assert finished.judged in {0, 1}, finished.stderr
    text = tmp_path / "run.om"
    dumped = loadpilot.call("dump", "last", "--format", "openmetrics", "-o", str(text))
    assert dumped.code == 0, dumped.stderr
    assert text.read_text(encoding="utf-8").endswith("# EOF\n")
    blocks = tmp_path / "prometheus" / "data"
    blocks.mkdir(parents=True)
    made = subprocess.run(
        [promtool, "tsdb", "create-blocks-from", "openmetrics", str(text), str(blocks)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    server = Prometheus(tmp_path / "prometheus")
    try:
        report, run = finished.report, f'run="{finished.run}"'
        start = report["run"]["start_at"] / 1e6
        (end,) = server.query(
            f"max_over_time(loadpilot_run_end_timestamp_seconds{{{run}}}[10m])"
        ).values()
        calls = server.query(f"sum by (outcome) (loadpilot_calls_total{{{run}}})", at=end)
        assert calls == {name: n for name, n in report["calls"]["outcomes"].items() if n}
        assert sum(calls.values()) == len(oracle.requests())
        (half,) = server.query(
            f"sum(loadpilot_arrivals_started_total{{{run}}})", at=start + SECS / 2
        ).values()
        # An agent reports a second a little after its end.
        assert RPS * (SECS / 2 - 1) <= half <= RPS * SECS / 2 + 1
        buckets = f'loadpilot_request_duration_seconds_bucket{{{run},le="+Inf"}}'
        assert list(server.query(f"sum({buckets})", at=end).values()) == [RPS * SECS]
        begun = server.query(f"loadpilot_run_start_timestamp_seconds{{{run}}}", at=end)
        assert list(begun.values()) == [pytest.approx(start)]
        phases = server.query(f"loadpilot_run_phase{{{run},phase='running'}} == 1", at=start + 2)
        assert len(phases) == 1
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--format", "openmetrics", "--task", "quick"), "--task: applies to series"),
        (("--format", "openmetrics", "--what", "series"), "--format: must be csv or ndjson"),
    ],
)
def test_a_wrong_dump_of_metrics_is_refused(
    loadpilot: Loadpilot, flags: tuple[str, ...], words: str
) -> None:
    """Broken if a flag for other contents is accepted and ignored."""
    refused = loadpilot.call("dump", "last", *flags)
    assert (refused.code, words in refused.stderr) == (2, True), refused.stderr
