"""Credentials that are replaced or expire while a run goes on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.deploy.local_processes import PROGRAMS
from tests.e2e.cloud.cloud_server import HostedFleet, account, user
from tests.e2e.cloud.operator_keys import Operator
from tests.e2e.support.command import SCENARIOS, Running
from tests.e2e.support.http_calls import Caller

from loadpilot import _native

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

SCENE = SCENARIOS / "weighted.py"
RPS, SECS = 50, 6
LOAD = ("--rps", str(RPS), "--duration", f"{SECS}s", "--external-agents", "2")
PLANNED = RPS * SECS
LOST = "NATS connection lost"


def replace(file: Path, text: str) -> None:
    """Replace a secret file atomically, as rotating programs do."""
    new = file.with_suffix(".new")
    new.touch(mode=0o600)
    new.write_text(text, encoding="utf-8")
    new.replace(file)


@contextmanager
def gateway(fleet: HostedFleet, tmp_path: Path, kind: str, file: Path) -> Iterator[Caller]:
    """Starts a gateway that logs in with the same file."""
    settings = {"NATS_URL": fleet.url, f"NATS_{kind}": file, "PORT": 0}
    for name, value in settings.items():
        fleet.environ.setenv(f"LOADPILOT_GATEWAY_{name}", str(value))
    fleet.environ.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with Running([str(PROGRAMS["loadpilot-gateway"])], tmp_path, tmp_path / "no") as started:
        yield Caller(int(started.until("listening on").split(":")[2].split(",")[0]))


@pytest.mark.slow
def test_a_user_is_rotated_mid_run(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a program keeps the token that it started with, or the run loses an arrival.

    The file changes first, then the server, which ends all connections of the old password."""
    fleet = HostedFleet(tmp_path, monkeypatch, account(user("first")))
    token = tmp_path / "token"
    replace(token, "fleet:first\n")
    fleet.set(NATS_TOKEN_FILE=token)
    with fleet:
        coordinator = fleet.coordinator()
        agents = [fleet.agent(name) for name in ("a-1", "a-2")]
        with (
            gateway(fleet, tmp_path, "TOKEN_FILE", token) as caller,
            fleet.start(loadpilot, SCENE, oracle.url, *LOAD) as running,
        ):
            run = running.run_id()
            assert oracle.wait_count(PLANNED // 4, 30)
            assert caller.ask("GET", f"/api/v1/runs/{run}").json["run"]["id"] == run
            replace(token, "fleet:second\n")
            fleet.reload(account(user("second")))
            for one in (coordinator, *agents):
                one.until(LOST)
            finished = running.end()
            assert finished.judged == 0, finished.stderr
            report = caller.ask("GET", f"/api/v1/runs/{run}")
            assert report.json["calls"] == finished.report["calls"]
    assert oracle.counts().received == PLANNED
    assert finished.report["calls"]["outcomes"] == {"ok": PLANNED}


@pytest.mark.slow
def test_a_key_is_rotated_and_the_file_comes_late(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a refused login is not repeated with the new content of the file."""
    (first, known), (second, other) = (_native.new_nats_key() for _ in range(2))
    fleet = HostedFleet(tmp_path, monkeypatch, account(f"{{ nkey: {known} }}"))
    creds = tmp_path / "user.nk"
    replace(creds, f"{first}\n")
    fleet.set(NATS_CREDS=creds)
    with fleet:
        coordinator = fleet.coordinator()
        agents = [fleet.agent(name) for name in ("a-1", "a-2")]
        with fleet.start(loadpilot, SCENE, oracle.url, *LOAD) as running:
            assert oracle.wait_count(PLANNED // 4, 30)
            fleet.reload(account(f"{{ nkey: {other} }}"))
            for one in (coordinator, *agents):
                one.until("it is tried again until there is a connection")
            replace(creds, f"{second}\n")
            finished = running.end()
    assert finished.judged == 0, finished.stderr
    assert oracle.counts().received == PLANNED
    assert finished.report["calls"]["outcomes"] == {"ok": PLANNED}
    said = "".join(one.output for one in (coordinator, *agents)) + finished.stderr
    assert first not in said
    assert second not in said


@pytest.mark.slow
def test_a_jwt_expires_mid_run(
    loadpilot: Loadpilot, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a run ends with the JWT that it began with. 25 s.

    The server itself ends each connection when its JWT expires. The run begins a few seconds after
    the JWT was made, and a busy machine may add ten."""
    operator = Operator.new()
    fleet = HostedFleet(tmp_path, monkeypatch, operator.access())
    creds = tmp_path / "user.creds"
    fleet.set(NATS_CREDS=creds)
    planned = RPS * 15
    load = ("--rps", str(RPS), "--duration", "15s", "--external-agents", "2")
    with fleet:
        replace(creds, operator.creds(expires_s=16))
        coordinator = fleet.coordinator()
        agents = [fleet.agent(name) for name in ("a-1", "a-2")]
        with fleet.start(loadpilot, SCENE, oracle.url, *load) as running:
            assert oracle.wait_count(RPS, 30)
            replace(creds, operator.creds())
            for one in (coordinator, *agents):
                one.until("User Authentication Expired")
            assert oracle.counts().received < planned, "the JWT expired only after the run"
            finished = running.end()
    assert finished.judged == 0, finished.stderr
    assert oracle.counts().received == planned
    assert finished.report["calls"]["outcomes"] == {"ok": planned}
