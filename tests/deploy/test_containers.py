"""The compose file on a real engine, as a new user starts it: images, health checks, volumes,
signals. `./dev images` runs these tests. The demo target, which counts its responses, is the
oracle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.deploy.containers import BUILD_S, EVERYTHING, Containers
from tests.e2e.sinks.prometheus import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.long, pytest.mark.timeout(BUILD_S)]

LOGINS = 5
"""Requests of `on_start`, one of each user; they do not count as load."""
SCRIPTED = Path(__file__).with_name("scripted.py")
CATALOGUE = Path(__file__).with_name("catalogue.py")
TARGET = "http://target:8000"
PROMETHEUS = "127.0.0.1:9091"
CHECKED = {"coordinator-1", "coordinator-2", "agent-1", "agent-2", "gateway-1", "nats-1"}
"""Containers with a health check."""


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containers]:
    """A fleet as `docker compose up` starts it."""
    with Containers(tmp_path_factory.mktemp("containers")).up() as containers:
        yield containers


def test_a_fresh_fleet_is_healthy_and_counts_like_its_target(containers: Containers) -> None:
    """Broken if an image lacks something, a volume belongs to another user, or a part needs a
    right that its container lacks."""
    health = {name: one["Health"] for name, one in containers.all().items() if one["Health"]}
    assert health == dict.fromkeys(CHECKED, "healthy")
    run = containers.gateway.submit(CATALOGUE, TARGET, rps=200, secs=5, agents=2)
    report = containers.gateway.report(run)
    calls = report["calls"]["outcomes"]
    assert calls.keys() == {"ok"}
    assert calls["ok"] == containers.answered()
    assert report["arrivals"]["started"] == report["arrivals"]["planned"] > 0


def test_killed_containers_lose_no_finished_call(containers: Containers) -> None:
    """Broken if data that must survive a kill is in no volume, or if a restarted part does not find
    the others."""
    run = containers.gateway.submit(CATALOGUE, TARGET, rps=200, secs=12, agents=2)
    containers.gateway.wait_calls(run, 400)
    containers.compose("kill", "--signal", "KILL", "agent", "nats")
    containers.compose("start", "nats", "agent")
    containers.compose("kill", "--signal", "KILL", "coordinator")
    containers.compose("start", "coordinator")
    report = containers.gateway.report(run)
    calls, arrivals = report["calls"]["outcomes"], report["arrivals"]
    assert calls.get("indeterminate", 0) + calls["ok"] >= containers.answered() >= calls["ok"]
    assert (
        arrivals["started"] + arrivals["lost"] + sum(arrivals["dropped"].values())
        == (arrivals["planned"])
    )


def test_a_scenario_in_python_is_run_by_agents_that_can(containers: Containers) -> None:
    """Broken if the image of the gateway lacks the command or the agent with Python."""
    containers.compose("--profile", "python", "up", "--detach", "--wait", "agent-python")
    # The command, which prepares users itself, runs in the container of the gateway.
    containers.connect("gateway", "target")
    script = (
        "cd /tmp && cat > scripted.py && NATS_TOKEN=$(cat /keys/nats-token)"
        f" loadpilot run scripted.py --target {TARGET} --external-agents 1"
        " --nats-url tls://nats:4222 --nats-cacert /keys/ca.pem --results-json scripted.json >&2"
        " && cat scripted.json"
    )
    scenario = SCRIPTED.read_text(encoding="utf-8")
    containers.compose("up", "--detach", "--force-recreate", "--no-deps", "target")
    printed = containers.compose("exec", "-T", "gateway", "sh", "-ec", script, stdin=scenario)
    report = json.loads(printed)
    assert report["calls"]["outcomes"] == {"ok": 200}
    assert containers.answered() == 200 + LOGINS


def test_prometheus_has_the_runs_of_the_fleet(containers: Containers) -> None:
    """Broken if Prometheus may not read its settings or the token of the gateway, trusts another
    authority, or loses its data when it is killed. Grafana is not started: its image needs a
    registry."""
    containers.compose("--profile", "monitoring", "up", "--detach", "--wait", "prometheus")
    run = containers.gateway.submit(CATALOGUE, TARGET, rps=100, secs=5, agents=2)
    report = containers.gateway.report(run)
    counted = f'sum (max_over_time (loadpilot_calls_total{{run="{run}"}}[1h]))'
    expected = {"": float(report["calls"]["outcomes"]["ok"])}
    prometheus = Server(PROMETHEUS)
    prometheus.until(counted, lambda found: found == expected)
    containers.compose("kill", "--signal", "KILL", "prometheus")
    containers.compose("--profile", "monitoring", "up", "--detach", "--wait", "prometheus")
    assert prometheus.query(counted) == expected
    rules = prometheus.query('count (up{job="loadpilot-gateway"} == 1)')
    assert rules == {"": 1}


def test_every_container_ends_when_it_is_stopped(containers: Containers) -> None:
    """Broken if a part ignores SIGTERM as the first process of its container."""
    containers.compose(*EVERYTHING, "stop")
    assert {one["ExitCode"] for one in containers.all().values()} == {0}
