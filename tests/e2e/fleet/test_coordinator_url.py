"""`loadpilot run --coordinator-url`: the same command, over HTTP instead of NATS."""

from __future__ import annotations

import secrets
import signal
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.certificates import identity
from tests.e2e.support.command import SCENARIOS, Finished, Loadpilot
from tests.e2e.support.files import files_below, files_with
from tests.e2e.support.fleet import Fleet, free_port
from tests.e2e.support.short_run import PLANNED, SCRIPTED, SHORT, assert_whole, routes
from tests.e2e.support.stops import STOP_US, assert_report_of_a_stop, interrupt
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from pathlib import Path


WEIGHTED = SCENARIOS / "weighted.py"
GUARDED = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(rps=50, duration="2s", mode="constant")
class Guarded(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get("/get", headers={{"Authorization": "Bearer {secret}"}})
"""


def comparable(finished: Finished) -> list[str]:
    """The words that a command prints of a run, without values that differ from run to run.

    The certificate is left out: a busy machine may degrade that of one run.
    """
    quality = ("certificate", "DEGRADED")
    lines = (line.strip() for line in finished.stdout.splitlines())
    keep = [line for line in lines if line and not line.startswith(quality)]
    return ["".join(c for c in line if c.isalpha()) for line in keep]


@pytest.mark.slow
def test_it_does_what_it_does_without(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if runs over HTTP show or count other things than runs over NATS."""
    port = free_port()
    fleet.coordinator("--http", f"127.0.0.1:{port}")
    for name in ("a-1", "a-2"):
        fleet.agent(name)
    url = f"http://127.0.0.1:{port}"
    flags = (*SHORT, "--external-agents", "2")
    by_nats = fleet.run(loadpilot, WEIGHTED, oracle.url, *flags)
    flags = ("-v", *flags)
    token = fleet.token
    monkeypatch.delenv("NATS_TOKEN")
    by_http = loadpilot.run(WEIGHTED, oracle.url, *flags, "--coordinator-url", url)
    for finished in (by_nats, by_http):
        assert_whole(finished, PLANNED)
    monkeypatch.setenv("LOADPILOT_COORDINATOR_URL", url)
    by_environment = loadpilot.run(WEIGHTED, oracle.url, *flags)
    assert_whole(by_environment, PLANNED)
    assert oracle.counts().received == 3 * PLANNED
    assert by_http.report["run"]["plan_hash"] == by_nats.report["run"]["plan_hash"]
    assert f"2 agents of the fleet at {url}" in by_http.stderr
    assert "· run of Weighted requested on 2 agents" in by_http.stderr
    shown, expected = comparable(by_http), comparable(by_nats)
    assert shown[:7] == expected[:7]
    assert not loadpilot.log.exists(), "a stack of its own was started"
    at = ("--nats-url", fleet.url, "--nats-token", token)
    again = loadpilot.call("report", by_http.run, "-v", *at)
    assert again.stdout == by_http.stdout


@pytest.mark.slow
def test_secrets_and_python_travel(
    fleet: Fleet, loadpilot: Loadpilot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a secret is stored anywhere, or if content for the object store is lost on the
    way."""
    port = free_port()
    coordinator = fleet.coordinator("--http", f"127.0.0.1:{port}")
    fleet.agent("able")
    monkeypatch.setenv("LOADPILOT_COORDINATOR_URL", f"http://localhost:{port}")
    secret = secrets.token_hex(16)
    with Oracle(built_binary(), tmp_path / "oracle.jsonl", log_headers=True) as oracle:
        guarded = loadpilot.run(GUARDED.format(secret=secret), oracle.url)
        assert_whole(guarded, PLANNED)
        assert {one.header("authorization") for one in oracle.requests()} == {f"Bearer {secret}"}
        scripted = loadpilot.run(SCRIPTED, oracle.url)
        assert_whole(scripted, PLANNED)
        seen = routes(oracle)
    assert seen == {
        "GET /get": PLANNED,
        "GET /t": PLANNED,
        "POST /login": 4,
        "DELETE /login": 4,
        "POST /tidy": 1,
    }
    coordinator.signal(signal.SIGTERM)
    ended = coordinator.end(20)
    scene = loadpilot.folder / "scene_1.py"
    files = [file for file in files_below(loadpilot.folder) if file != scene]
    assert files_with("Guarded", files_below(fleet.folder)), (
        "the search does not find a stored value"
    )
    assert files_with(secret, [*files, *files_below(fleet.folder)]) == []
    assert secret not in guarded.stdout + guarded.stderr + ended.stderr


@pytest.mark.timed
def test_an_interruption_stops_the_run_in_order(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if Ctrl-C leaves the load running, or no report."""
    port = free_port()
    fleet.coordinator("--http", f"127.0.0.1:{port}")
    fleet.agent("a-1")
    url = f"http://127.0.0.1:{port}"
    flags = ("--rps", "100", "--duration", "60s", "--coordinator-url", url)
    with loadpilot.start(WEIGHTED, oracle.url, *flags) as running:
        assert oracle.wait_count(100, 30)
        at_us, below = interrupt(running, signal.SIGINT)
        finished = running.end(20)
    assert below == []
    last_us = oracle.counts().last_us
    assert last_us is not None
    assert last_us - at_us < STOP_US
    assert finished.code == 130
    assert_report_of_a_stop(finished, oracle)


@pytest.mark.slow
def test_over_tls_and_with_a_token(
    fleet: Fleet,
    loadpilot: Loadpilot,
    oracle: Oracle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken if a run goes to a forged coordinator, or is accepted from any caller."""
    own, other = (identity(tmp_path / name, "IP:127.0.0.1") for name in ("own", "other"))
    token = tmp_path / "token"
    token.write_text(secrets.token_hex(16) + "\n", encoding="utf-8")
    token.chmod(0o600)
    port = free_port()
    fleet.coordinator(
        *("--http", f"0.0.0.0:{port}", "--http-token-file", str(token)),
        *("--http-cert", str(own.cert), "--http-key", str(own.key)),
    )
    fleet.agent("a-1")
    monkeypatch.delenv("NATS_TOKEN")
    flags = (*SHORT, "--coordinator-url", f"https://127.0.0.1:{port}")
    trusted = (*flags, "--coordinator-cacert", str(own.authority))

    def failure(*flags: str) -> str:
        finished = loadpilot.run(WEIGHTED, oracle.url, *flags)
        assert finished.code == 4, finished.stderr
        return finished.stderr

    assert "certificate verify failed" in failure(*flags)
    assert "certificate verify failed" in failure(
        *flags, "--coordinator-cacert", str(other.authority)
    )
    assert "requires a token; give its token in env" in failure(*trusted)
    monkeypatch.setenv("LOADPILOT_COORDINATOR_TOKEN", "0123456789abcdef")
    assert "does not accept this token" in failure(*trusted)
    assert oracle.counts().received == 0
    finished = loadpilot.run(WEIGHTED, oracle.url, *trusted, "--coordinator-token-file", str(token))
    assert_whole(finished, PLANNED)
    assert oracle.counts().received == PLANNED
    assert token.read_text(encoding="utf-8").strip() not in finished.stdout + finished.stderr


def test_an_unreachable_coordinator_is_named(
    loadpilot: Loadpilot, oracle: Oracle, closed_port: int
) -> None:
    """Broken if the command waits for an absent coordinator, or starts half a run."""
    url = f"http://127.0.0.1:{closed_port}"
    ended = loadpilot.run(WEIGHTED, oracle.url, *SHORT, "--coordinator-url", url)
    assert ended.code == 4
    assert f"the coordinator at {url}: " in ended.stderr
    assert "refused" in ended.stderr
    ended = loadpilot.run(WEIGHTED, oracle.url, *SHORT, "--coordinator-url", oracle.url)
    assert ended.code == 4, ended.stderr
    flags = ("--coordinator-url", url, "--samples", "calls.csv")
    ended = loadpilot.run(WEIGHTED, oracle.url, *SHORT, *flags)
    assert ended.code == 2
    assert "--samples: needs the log itself" in ended.stderr
    assert not (loadpilot.folder / "calls.csv").exists()
