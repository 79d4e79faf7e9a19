"""Limits of an account on a real server: a run works, or a message names the limit with numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.deploy.local_processes import PROGRAMS
from tests.e2e.cloud.cloud_server import HostedFleet, account, user
from tests.e2e.cloud.test_leaf_nodes import SHOP
from tests.e2e.support.command import COMMAND, SCENARIOS, Running
from tests.e2e.support.http_calls import Caller

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

SCENE = SCENARIOS / "weighted.py"
LOAD = ("--rps", "20", "--duration", "2s", "--external-agents", "1")
PLANNED = 40


def hosted(
    tmp_path: Path, environ: pytest.MonkeyPatch, limits: str = "", jetstream: str = "enabled"
) -> HostedFleet:
    """A fleet whose account has these limits."""
    fleet = HostedFleet(tmp_path, environ, account(user("made-up"), limits, jetstream))
    fleet.set(NATS_TOKEN="fleet:made-up")
    return fleet


def refused(fleet: HostedFleet, *words: str) -> str:
    """Start a program that the account does not allow; return its message."""
    argv = [str(COMMAND), *words, "--nats-url", fleet.url]
    with Running(argv, fleet.folder, fleet.folder / "no") as started:
        ended = started.end(20)
    assert ended.code == 4, ended.stderr
    return ended.stderr


@pytest.mark.slow
def test_a_small_plan_works(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a small service plan is not enough: few connections, streams, consumers and bytes,
    a limit on each stream, and messages of 1 MiB."""
    fleet = hosted(
        tmp_path,
        monkeypatch,
        "max_connections: 5, max_payload: 1MiB, max_subscriptions: 30",
        "{ max_memory: 0, max_file: 1GiB, max_streams: 10, max_consumers: 20, "
        "max_bytes_required: true }",
    )
    with fleet:
        fleet.coordinator("--log-storage", "1GiB")
        fleet.agent("a-1")
        finished = fleet.run(loadpilot, SCENE, oracle.url, *LOAD)
        assert finished.judged == 0, finished.stderr
        assert oracle.counts().received == PLANNED
        said = loadpilot.call("doctor", "--nats-url", fleet.url, "--nats-connections", "5").stdout
    assert "1023.9 MiB of storage of 1.0 GiB; 4 streams of 10; messages of 1.0 MiB" in said
    assert "the account allows 20 consumers of a stream" in said
    assert "3 of 5 in use, this command's too: enough for 2 more agents and one command" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("jetstream", "named"),
    [
        ("max_file: 2GiB, max_streams: 3", "3 more streams, and the log needs 4"),
        ("max_file: 2GiB", "2.0 GiB more of storage in files, and the log needs 2.5 GiB"),
        (
            "max_file: 3GiB, disk_max_stream_bytes: 1GiB",
            "1.0 GiB for a stream, and the largest of the log takes 2.0 GiB",
        ),
    ],
)
def test_a_log_that_does_not_fit_is_refused_before_a_part_exists(
    jetstream: str,
    named: str,
    loadpilot: Loadpilot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if a refusal has only the message of the server, or if half a log is left behind."""
    fleet = hosted(tmp_path, monkeypatch, "", f"{{ max_memory: 0, {jetstream} }}")
    with fleet:
        assert named in refused(fleet, "coordinator")
        said = loadpilot.call("doctor", "--nats-url", fleet.url)
        assert named in said.stdout
        assert said.code == 4
        assert not list((fleet.folder / "store").rglob("streams/*/meta.inf"))


def test_a_server_without_room_for_the_log_says_what_to_raise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a coordinator on a server whose storage is reserved only repeats the server's
    message."""
    access = account(user("made-up"))
    fleet = HostedFleet(tmp_path, monkeypatch, access, store="max_file: 1GiB")
    fleet.set(NATS_TOKEN="fleet:made-up")
    with fleet:
        said = refused(fleet, "coordinator")
    assert "no room for stream LP_DATA, which reserves 2.0 GiB: raise `max_file`" in said


@pytest.mark.slow
def test_connections_are_counted_before_a_run_and_explained_when_refused(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a program for which the account has no connection does not say what to change."""
    fleet = hosted(tmp_path, monkeypatch, "max_connections: 2")
    with fleet:
        fleet.coordinator()
        fleet.agent("a-1")
        run = fleet.run(loadpilot, SCENE, oracle.url, *LOAD)
        assert run.code == 4, run.stderr
        for text in (run.stderr, refused(fleet, "agent", "--id", "a-2")):
            assert "maximum account active connections exceeded" in text
            assert "let agents connect to a leaf node" in text
        fleet.set(NATS_CONNECTIONS=10)
        many = fleet.run(loadpilot, SCENE, oracle.url, *LOAD[:4], "--external-agents", "9")
    assert many.code == 2, many.stderr
    assert "needs 11 connections to NATS: 9 agents, a coordinator and this command" in many.stderr
    assert "allows 10 (--nats-connections), which is enough for 8" in many.stderr
    assert oracle.counts().received == 0


@pytest.mark.slow
def test_a_gateway_refuses_more_agents_than_the_account_connects(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a page starts a run with more agents than the account allows connections."""
    fleet = hosted(tmp_path, monkeypatch)
    compiled = loadpilot.run(SCENE, oracle.url, *LOAD[:4], "--dry-run")
    plan = json.loads(compiled.stdout)
    with fleet:
        fleet.coordinator()
        fleet.agent("a-1")
        settings = {"NATS_URL": fleet.url, "NATS_CONNECTIONS": "3", "PORT": "0"}
        for name, value in settings.items():
            monkeypatch.setenv(f"LOADPILOT_GATEWAY_{name}", value)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        program = [str(PROGRAMS["loadpilot-gateway"])]
        with Running(program, tmp_path, tmp_path / "no") as started:
            port = int(started.until("listening on").split(":")[2].split(",")[0])
            gateway = Caller(port)
            many = gateway.ask("POST", "/api/v1/runs", {"plan": plan, "agents": {"want": 2}})
            assert many.status == 422, many.json
            assert "needs 4 connections to NATS" in many.problems
            assert "allows 3 (LOADPILOT_GATEWAY_NATS_CONNECTIONS)" in many.problems
            deep = b'{"agents":' + b"[" * 100_000
            assert gateway.ask("POST", "/api/v1/runs", deep).status == 422
            few = gateway.ask("POST", "/api/v1/runs", {"plan": plan, "agents": {"want": 1}})
            assert few.status == 202, few.json
            assert oracle.wait_count(PLANNED, 30)
    assert oracle.counts().received == PLANNED


@pytest.mark.slow
def test_a_server_with_small_messages_is_told_at_the_start(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a message limit below the default of NATS is noticed only when a plan does not
    fit."""
    fleet = HostedFleet(tmp_path, monkeypatch, "max_payload: 64KB\n" + account(user("made-up")))
    fleet.set(NATS_TOKEN="fleet:made-up")
    small = "NATS accepts messages of 64.0 KiB only"
    with fleet:
        coordinator = fleet.coordinator()
        assert "raise max_payload to 1 MB" in coordinator.output
        fleet.agent("a-1")
        finished = fleet.run(loadpilot, SCENE, oracle.url, *LOAD)
        said = loadpilot.call("doctor", "--nats-url", fleet.url).stdout
    assert finished.judged == 0, finished.stderr
    assert oracle.counts().received == PLANNED
    assert small in said, said


@pytest.mark.slow
def test_an_account_with_smaller_messages_than_its_server_is_told(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a limit that the server does not report looks like a dead server."""
    fleet = hosted(tmp_path, monkeypatch, "max_payload: 32KB")
    fleet.set(SHOP_KEY="hush")
    with fleet:
        fleet.coordinator()
        fleet.agent("a-1")
        large = fleet.run(loadpilot, SHOP, oracle.url, "--external-agents", "1")
        assert large.code == 4, large.stderr
        assert "the account allows smaller messages than its server" in large.stderr
        assert oracle.counts().received == 0
        small = fleet.run(loadpilot, SCENE, oracle.url, *LOAD)
    assert small.judged == 0, small.stderr
    assert oracle.counts().received == PLANNED


def test_an_account_without_jetstream_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if an account without a log looks like an absent server."""
    fleet = hosted(tmp_path, monkeypatch, "", "disabled")
    with fleet:
        assert "JetStream is not available" in refused(fleet, "coordinator")
