"""`GET /metrics`: a run of a fleet, scraped by a real Prometheus from gateway, coordinator and
command at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from services.gateway.tests.test_run_list import scene
from tests.e2e.sinks.prometheus import NATIVE, Prometheus, scraping
from tests.e2e.support.fleet import free_port

from loadpilot_gateway.limits import EXPORTED_RUNS_MAX
from loadpilot_gateway.runs.run_export import exported

if TYPE_CHECKING:
    from pathlib import Path

    from services.gateway.tests.gateways import Gateways
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

RPS, SECS = 50, 5
TOKEN = "0123456789abcdef"  # noqa: S105
ONCE = "max without (instance, job, exporter) (max_over_time({}[10m]))"


@pytest.mark.slow
def test_two_exporters_of_a_run_count_once(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path
) -> None:
    """Broken if exporters of one run have other counts than its report, if they cannot be
    distinguished, or if a gateway shows runs to callers without its token."""
    http = f"127.0.0.1:{free_port()}"
    fleet.coordinator("--http", http, "--export-runs")
    fleet.agent("a-1")
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    gateway = gateways.start(TOKEN_FILE=str(token))
    assert gateway.ask("GET", "/metrics").status == 401
    address = f"127.0.0.1:{free_port()}"
    credentials = f"    authorization:\n      credentials_file: {token}\n"
    jobs = {"command": address, "coordinator": http, "gateway": f"127.0.0.1:{gateway.port}"}
    server = Prometheus(tmp_path / "prometheus", scraping(jobs, credentials), NATIVE)
    try:
        flags = ("--external-agents", "1", "--metrics", address)
        finished = fleet.run(loadpilot, scene("Shop", RPS, SECS), oracle.url, *flags)
        run, report = finished.run, finished.report
        assert report["arrivals"]["planned"] == RPS * SECS
        # A busy machine may drop late arrivals.
        count = report["calls"]["attempted"]
        series = f'loadpilot_calls_total{{run="{run}"}}'
        by = ("command", "coordinator", "gateway")
        whole = f"count by (exporter) ({series} == {count})"
        server.until(whole, lambda found: {"coordinator", "gateway"} <= found.keys())
        counts = server.query(f"sum by (exporter) (max_over_time({series}[10m]))")
        assert counts == dict.fromkeys(by, count)
        (once,) = server.query(f"sum({ONCE.format(series)})").values()
        assert once == count == len(oracle.requests())
        name = "loadpilot_request_duration_seconds"
        merged = f'sum({name}{{run="{run}",exporter!="command"}})'
        (p99,) = server.query(f"histogram_quantile(0.99, {merged})").values()
        assert abs(p99 * 1e3 / report["p99_ms"] - 1) < 0.02
        process = server.query('loadpilot_gateway_http_requests_total{route="/metrics",code="200"}')
        assert all(count >= 2 for count in process.values()), process
        assert list(server.query("loadpilot_coordinator_nats_up").values()) == [1]
        for job in ("coordinator", "gateway"):
            shown = server.query(f'sum by (phase) (loadpilot_runs{{job="{job}"}})')
            assert shown == {"sealed": 1}
            assert list(server.query(f'loadpilot_exporter_runs{{job="{job}"}}').values()) == [1]
    finally:
        server.stop()


def test_the_newest_open_and_recent_runs_are_exported() -> None:
    """Broken if an old run is exported, if a running run is not, or if their number has no
    limit."""
    now_us = 10_000_000_000
    hour_us = 3_600_000_000

    def row(number: int, ended_secs: float | None, **more: object) -> dict[str, object]:
        ended_at = None if ended_secs is None else now_us - int(ended_secs * 1e6)
        times = {"ended_at": ended_at, "created_at": now_us - hour_us, "profile_us": 60_000_000}
        return {"run": f"{number:02}", "asked": True, **times, **more}

    rows = [
        row(9, None),
        row(8, 299),
        row(7, 301),
        row(6, None, profile_us=1, created_at=now_us - hour_us - 2),
        row(5, None, profile_us=3 * hour_us, created_at=now_us - 2 * hour_us),
        row(4, None, asked=False),
    ]
    assert exported(rows, now_us) == (["09", "08", "05"], 0)
    many = [row(99 - n, None) for n in range(EXPORTED_RUNS_MAX + 3)]
    chosen, left_out = exported(many, now_us)
    assert (len(chosen), chosen[0], left_out) == (EXPORTED_RUNS_MAX, "99", 3)


def test_the_token_of_metrics_opens_nothing_else(
    fleet: Fleet, gateways: Gateways, tmp_path: Path
) -> None:
    """Broken if a caller who may read metrics may start a run, or needs the token of callers."""
    fleet.coordinator()
    files = {}
    for name, token in (("TOKEN_FILE", TOKEN), ("METRICS_TOKEN_FILE", TOKEN[::-1])):
        files[name] = tmp_path / name
        files[name].write_text(token)
        files[name].chmod(0o600)
    gateway = gateways.start(**{name: str(file) for name, file in files.items()})
    authorized = {"Authorization": f"Bearer {TOKEN[::-1]}"}
    assert gateway.ask("GET", "/metrics", headers=authorized).status == 200
    assert (
        gateway.ask("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status == 200
    )
    for wrong in ({}, {"Authorization": "Bearer "}, {"Authorization": f"Basic {TOKEN[::-1]}"}):
        assert gateway.ask("GET", "/metrics", headers=wrong).status == 401
    assert gateway.api("/runs", authorized).status == 401
    assert gateway.tell("/session", {"token": TOKEN[::-1]}).status == 401
