"""The teardown of a killed command is played by the next command. The target counts."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import Loadpilot, Running, assert_ended
from tests.e2e.support.dropped_arrivals import all_but_late
from tests.e2e.support.processes import descendants
from tests.e2e.support.python_tasks import routes
from tests.faults.support.breakable_fleet import frozen
from tests.faults.support.stack_run import CHILDREN_GONE_S
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.fleet import Fleet

HEAD = "import os\nfrom loadpilot import LoadClient, VUser, env, scenario, setup, task, teardown\n"
SEEDED = (
    HEAD
    + """
KEY = env("OWED_KEY", secret=True)

@scenario(rps=30, duration="60s", mode="constant", users=4, prepare="submitter")
class S(VUser):
    item = "none"

    @setup
    def seed(self, client: LoadClient) -> None:
        client.post("/seed").raise_for_status()
        self.item = "i-7"

    @setup
    def warm(self, client: LoadClient) -> None:
        client.post("/warm").raise_for_status()

    def on_start(self, client: LoadClient) -> None:
        client.post("/login").raise_for_status()

    @task
    def t(self, client: LoadClient) -> None:
        client.get("/load")

    def on_stop(self, client: LoadClient) -> None:
        client.post("/logout").raise_for_status()

    @teardown
    def clear(self, client: LoadClient) -> None:
        headers = {"X-Api-Key": KEY}
        client.delete(f"/seed/{self.item}", headers=headers).raise_for_status()
"""
)
PLAIN = (
    HEAD
    + """
@scenario(rps=20, duration="1s", mode="constant")
class P(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get("/plain")
"""
)
SECRET = "hunter-2-of-the-teardown"  # noqa: S105  (made up)


@pytest.fixture
def oracle(tmp_path: Path) -> Iterator[Oracle]:
    """A target that records the headers of requests."""
    with Oracle(built_binary(), tmp_path / "oracle.jsonl", log_headers=True) as oracle:
        yield oracle


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The secret that the teardown sends to the target."""
    monkeypatch.setenv("OWED_KEY", SECRET)


def kill(running: Running) -> None:
    """Kill the command, and wait until all processes below it have ended."""
    below = descendants(running.pid)
    running.kill()
    assert_ended(below, CHILDREN_GONE_S)


def torn_down(oracle: Oracle) -> list[tuple[str, str | None]]:
    """The teardowns that the target received: path and secret of each."""
    requests = [one for one in oracle.requests() if one.method == "DELETE"]
    return [(one.path, one.header("x-api-key")) for one in requests]


def wait_torn_down(oracle: Oracle, count: int) -> None:
    """Wait until the target has received this number of teardowns."""
    deadline = time.monotonic() + 30
    while len(torn_down(oracle)) < count:
        assert time.monotonic() < deadline, "the teardown was not played in time"
        time.sleep(0.05)


def states(loadpilot: Loadpilot) -> list[str]:
    """The lines of the directory's runs, and of the notes beneath them."""
    return loadpilot.call("runs").stdout.splitlines()[1:]


PLAYED = 2 + 4 + 30
"""Requests of a run in its first second."""
PHASES = {
    # where the command is killed: path that never answers, number of requests before, value on self
    "the first setup": ("/seed", 1, "none"),
    "the second setup": ("/warm", 2, "i-7"),
    "the preparation": ("/login", 6, "i-7"),
    "the run": (None, 30, "i-7"),
}


@pytest.mark.slow
@pytest.mark.case(n=25)
@pytest.mark.parametrize(
    ("phase", "next_one"),
    [
        pytest.param("the first setup", "run", marks=pytest.mark.long),
        pytest.param("the second setup", "resume", marks=pytest.mark.long),
        pytest.param("the preparation", "run", marks=pytest.mark.long),
        ("the run", "run"),
    ],
)
def test_a_teardown_is_played_by_the_next_one(
    loadpilot: Loadpilot, oracle: Oracle, phase: str, next_one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if a killed command leaves at the target what its setup made there, if a setup is
    played again, or if a secret has to be given twice."""
    silent, reached, item = PHASES[phase]
    if silent is not None:
        oracle.silent(path=silent)
    with loadpilot.start(SEEDED, oracle.url) as running:
        assert oracle.wait_count(reached, 30)
        kill(running)
    before = routes(oracle.requests())
    assert not torn_down(oracle)
    owed = "teardown owed" in "".join(states(loadpilot))
    assert owed == (phase != "the run"), "only a run that cannot be resumed owes its teardown"
    monkeypatch.delenv("OWED_KEY")
    if next_one == "run":
        finished = loadpilot.run(PLAIN, oracle.url)
        assert finished.judged == 0, finished.stderr
        assert routes(oracle.requests())["GET /plain"] == all_but_late(finished.report, 20, 1)
    else:
        finished = loadpilot.call("resume", "last")
        assert finished.code == 0, finished.stderr
    assert "owed       the teardown of run 0" in finished.stderr
    assert torn_down(oracle) == [(f"/seed/{item}", SECRET)]
    after = routes(oracle.requests())
    assert after["POST /seed"] == 1
    assert after["POST /warm"] == before["POST /warm"]
    assert after["POST /logout"] == (4 if phase == "the run" else 0)
    assert "teardown owed" not in "".join(states(loadpilot))
    again = loadpilot.run(PLAIN, oracle.url)
    assert "owed" not in again.stderr
    assert len(torn_down(oracle)) == 1


@pytest.mark.slow
@pytest.mark.case(n=25)
def test_a_teardown_that_was_cut_short_is_played_again(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a teardown stays half done because its command was killed, or because the next one
    was."""
    oracle.silent(path="/seed/*")
    scene = SEEDED.replace("60s", "1s")
    with loadpilot.start(scene, oracle.url) as running:
        wait_torn_down(oracle, 1)
        kill(running)
    assert len(torn_down(oracle)) == 1
    with loadpilot.begin("resume", "last") as running:
        wait_torn_down(oracle, 2)
        kill(running)
    oracle.clear()
    finished = loadpilot.call("resume", "last")
    assert finished.code == 0, finished.stderr
    assert torn_down(oracle)[-1] == ("/seed/i-7", SECRET)
    assert len(torn_down(oracle)) == 3
    over = loadpilot.call("resume", "last")
    assert over.code == 2
    assert len(torn_down(oracle)) == 3
    run = states(loadpilot)[0].split()[0]
    verified = loadpilot.call("verify", run, "--json")
    assert json.loads(verified.stdout)["holds"], verified.stdout


@pytest.mark.case(n=25)
@pytest.mark.long
def test_a_run_that_goes_on_is_torn_down_at_its_end(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the teardown is played while load goes on, or not at all."""
    with loadpilot.start(SEEDED.replace("60s", "8s"), oracle.url) as running:
        assert oracle.wait_count(30, 30)
        kill(running)
    finished = loadpilot.call("resume", "last")
    assert "goes on" in finished.stderr
    assert torn_down(oracle) == [("/seed/i-7", SECRET)]
    assert max(oracle.requests(), key=lambda one: one.arrival_us).method == "DELETE"
    seen = routes(oracle.requests())
    assert (seen["POST /seed"], seen["POST /login"], seen["POST /logout"]) == (1, 4, 4)


@pytest.mark.slow
@pytest.mark.case(n=25)
def test_what_a_living_command_owes_is_left_to_it(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a second command in the directory plays the teardown of a run that is under way."""
    oracle.silent(path="/warm")
    with loadpilot.start(SEEDED, oracle.url) as running:
        assert oracle.wait_count(2, 30)
        resumed = loadpilot.call("resume", "last")
        assert resumed.code == 2
        assert "is left to the command that plays it" in resumed.stderr
        other = loadpilot.run(PLAIN, oracle.url)
        assert other.judged == 0, other.stderr
        assert not torn_down(oracle)
        kill(running)


@pytest.mark.case(n=25)
def test_nothing_of_it_can_be_read_on_disk(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a file contains, as plain text, the value of a secret or a value that a setup set
    on self, once no teardown is owed any more."""
    scene = SEEDED.replace('"i-7"', '"state-of-the-setup"')
    oracle.silent(path="/warm")
    with loadpilot.start(scene, oracle.url) as running:
        assert oracle.wait_count(2, 30)
        kill(running)
    found = b"".join(path.read_bytes() for path in loadpilot.log.rglob("*") if path.is_file())
    assert b"state-of-the-setup" not in found
    assert loadpilot.call("resume", "last").code == 0
    found = b"".join(path.read_bytes() for path in loadpilot.log.rglob("*") if path.is_file())
    assert SECRET.encode() not in found
    assert torn_down(oracle) == [("/seed/state-of-the-setup", SECRET)]


@pytest.mark.case(n=25)
@pytest.mark.long
def test_of_two_that_come_to_a_fleet_one_plays_it(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if two commands on two machines both play a teardown, or if one takes it from a
    command that is alive. A fleet detects life by heartbeats alone, and the machines share no
    file."""
    coordinator = fleet.coordinator()
    fleet.agent("a-1")
    with fleet.start(loadpilot, SEEDED, oracle.url) as running:
        assert oracle.wait_count(PLAYED, 30)
        run = running.run_id()
        early = loadpilot.call("resume", run, "--teardown", "--nats-url", fleet.url)
        assert (early.code, torn_down(oracle)) == (2, [])
        assert "is not over, and its teardown comes last" in early.stderr
        running.kill()
        coordinator.until("RunSealed")
    monkeypatch.delenv("OWED_KEY")
    flags = ("resume", run, "--nats-url", fleet.url)
    with loadpilot.begin(*flags) as one, loadpilot.begin(*flags) as two:
        ended = [one.end(60), two.end(60)]
    assert torn_down(oracle) == [("/seed/i-7", SECRET)], ended[0].stderr + ended[1].stderr
    assert routes(oracle.requests())["POST /logout"] == 4
    assert 0 in {one.code for one in ended}
    listed = loadpilot.call("runs", "--nats-url", fleet.url).stdout
    assert "teardown owed" not in listed


@pytest.mark.case(n=25)
@pytest.mark.long
def test_a_command_whose_teardown_was_taken_asks_for_nothing(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a command that was frozen during its setup sends load when it wakes, although
    another command has torn down meanwhile what it had set up."""
    fleet.coordinator()
    fleet.agent("a-1")
    oracle.delay(25_000, path="/seed")
    with fleet.start(loadpilot, SEEDED, oracle.url) as running:
        assert oracle.wait_count(1, 30)
        with frozen(running.pid):
            resumed = loadpilot.call("resume", "last", "--nats-url", fleet.url)
            assert resumed.code == 0, resumed.stderr
            assert len(torn_down(oracle)) == 1
        finished = running.end(60)
    assert finished.code in {2, 3, 4}, finished.stderr
    assert "claimed its teardown" in finished.stderr
    assert "GET /load" not in routes(oracle.requests())
    assert len(torn_down(oracle)) == 1


@pytest.mark.slow
@pytest.mark.case(n=25)
def test_files_of_a_log_are_executed_only_where_they_were_submitted(
    fleet: Fleet, loadpilot: Loadpilot, oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken if the log of a fleet can make a command execute files that its user never saw."""
    fleet.coordinator()
    oracle.silent(path="/warm")
    loaded = loadpilot.folder / "loaded"
    scene = f"{SEEDED}\nopen({str(loaded)!r}, 'a').close()\n"
    with fleet.start(loadpilot, scene, oracle.url) as running:
        assert oracle.wait_count(2, 30)
        running.kill()
    own = loadpilot.folder / ".state/loadpilot/submitted"
    assert own.stat().st_mode & 0o777 == 0o600
    loaded.unlink()
    flags = ("resume", "last", "--nats-url", fleet.url)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_STATE_HOME", str(loadpilot.folder / "elsewhere"))
        refused = loadpilot.call(*flags)
        assert refused.code == 2, refused.stderr
        assert (torn_down(oracle), loaded.exists()) == ([], False)
        found = own.read_text(encoding="ascii").split()[0]
        for shown in (found, "author     ", "files      scene_1.py", f"target     {oracle.url}"):
            assert shown in refused.stderr, refused.stderr
        wrong = loadpilot.call(*flags, "--trust", "0" * 64)
        assert (wrong.code, loaded.exists()) == (2, False)
        trusted = loadpilot.call(*flags, "--trust", found)
    assert trusted.code == 0, trusted.stderr
    assert torn_down(oracle) == [("/seed/i-7", SECRET)]
