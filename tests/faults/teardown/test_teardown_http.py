"""The teardown of a killed command over HTTP: a coordinator stores it, the next command plays it.

As in `test_teardown`; the commands here use no NATS, and the target counts.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.fleet import free_port
from tests.e2e.support.python_tasks import routes
from tests.faults.teardown.test_teardown import SECRET, SEEDED, key, oracle, torn_down

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

__all__ = ["key", "oracle"]

pytestmark = pytest.mark.case(n=25)
REACHED = 36
"""Requests by which load is sent: two setups and four users come before it."""


@pytest.fixture
def url(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> str:
    """URL of a coordinator with a token. The fleet has one agent; the command knows only the
    URL."""
    port = free_port()
    monkeypatch.setenv("LOADPILOT_COORDINATOR_TOKEN", secrets.token_hex(16))
    fleet.coordinator("--http", f"127.0.0.1:{port}")
    fleet.agent("a-1")
    monkeypatch.delenv("NATS_TOKEN")
    url = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("LOADPILOT_COORDINATOR_URL", url)
    return url


def run_of(oracle: Oracle) -> str:
    """The run of the setup, from the ids of its requests."""
    return (oracle.requests()[0].id or "").partition("/")[0]


@pytest.mark.usefixtures("url")
def test_setup_and_teardown_are_played_once_without_a_crash(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if storing the teardown over HTTP plays anything twice, or leaves it owed."""
    finished = loadpilot.run(SEEDED.replace('"60s"', '"1s"'), oracle.url)
    assert finished.judged == 0, finished.stderr
    counts = routes(oracle.requests())
    assert (counts["POST /seed"], counts["POST /warm"], counts["POST /login"]) == (1, 1, 4)
    assert torn_down(oracle) == [("/seed/i-7", SECRET)]
    resumed = loadpilot.call("resume", finished.run)
    assert resumed.code == 2
    assert f"run {finished.run} owes no teardown" in resumed.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("url")
def test_the_teardown_of_a_killed_command_is_played_by_the_next_one(
    loadpilot: Loadpilot, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a command without NATS leaves at the target what its setup made there, or if its
    teardown is played twice, too early, or without the values that the setup had stored."""
    with loadpilot.start(SEEDED, oracle.url) as running:
        assert oracle.wait_count(REACHED, 30)
        run = running.run_id()
        early = loadpilot.call("resume", run)
        assert (early.code, torn_down(oracle)) == (2, [])
        assert "is not over, and its teardown comes last" in early.stderr
        running.kill()
    monkeypatch.delenv("OWED_KEY")
    # The run is over once its coordinator has noticed that the command is gone.
    while (resumed := loadpilot.call("resume", run)).code == 2:
        assert "is not over" in resumed.stderr, resumed.stderr
    assert resumed.code == 0, resumed.stderr
    assert f"settled    run {run} owes no teardown any more" in resumed.stderr
    assert torn_down(oracle) == [("/seed/i-7", SECRET)]
    assert routes(oracle.requests())["POST /logout"] == 4
    again = loadpilot.call("resume", run)
    assert (again.code, len(torn_down(oracle))) == (2, 1)


@pytest.mark.usefixtures("url")
@pytest.mark.long
@pytest.mark.parametrize(
    ("silent", "reached", "item"), [("/seed", 1, "none"), ("/warm", 2, "i-7"), ("/login", 6, "i-7")]
)
def test_one_that_is_killed_before_its_run_owes_it_too(
    loadpilot: Loadpilot, oracle: Oracle, silent: str, reached: int, item: str
) -> None:
    """Broken if the teardown is owed only from the begin of the run on, or if another command takes
    it while its command is alive."""
    oracle.silent(path=silent)
    with loadpilot.start(SEEDED, oracle.url) as running:
        assert oracle.wait_count(reached, 30)
        run = run_of(oracle)
        resumed = loadpilot.call("resume", run)
        assert "is left to the command that plays it" in resumed.stderr
        assert not torn_down(oracle)
        running.kill()
    resumed = loadpilot.call("resume", run)
    assert resumed.code == 0, resumed.stderr
    assert torn_down(oracle) == [(f"/seed/{item}", SECRET)]


@pytest.mark.slow
def test_a_coordinator_without_a_token_hands_out_no_secret(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a process that reaches a loopback port can read the secrets of a teardown without a
    token."""
    port = free_port()
    fleet.coordinator("--http", f"127.0.0.1:{port}")
    fleet.agent("a-1")
    monkeypatch.setenv("LOADPILOT_COORDINATOR_URL", f"http://127.0.0.1:{port}")
    oracle.silent(path="/warm")
    with loadpilot.start(SEEDED, oracle.url) as running:
        assert oracle.wait_count(2, 30)
        run = run_of(oracle)
        running.kill()
    resumed = loadpilot.call("resume", run)
    assert resumed.code == 4
    assert "only a coordinator with a token gives" in resumed.stderr
    by_nats = loadpilot.call("resume", run, "--nats-url", fleet.url)
    assert by_nats.code == 0, by_nats.stderr
    assert torn_down(oracle) == [("/seed/i-7", SECRET)]
