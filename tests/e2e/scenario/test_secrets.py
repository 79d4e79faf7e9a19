"""A secret reaches only the target: it is in no file that stays, no output and no command line."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import Loadpilot, assert_ended
from tests.e2e.support.files import files_below, files_with
from tests.e2e.support.processes import PROC, command_line, descendants
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from pathlib import Path

SCENE = """
from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=50, duration="2s", mode="constant", secret_headers=["X-Own"])
class Guarded(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get(
            "/get",
            headers={{"Authorization": "Bearer {bearer}", "X-Own": "{own}", "X-Plain": "{plain}"}},
        )
"""


@pytest.mark.slow
def test_secrets_stay_in_memory_and_on_the_wire(tmp_path: Path) -> None:
    """Broken if a secret is in a file, an output or a command line. The header that is no secret,
    and the examples of failed requests, show that the search finds stored values."""
    bearer, own, plain = (secrets.token_hex(16) for _ in range(3))
    loadpilot = Loadpilot(tmp_path / "work")
    with (
        Oracle(built_binary(), tmp_path / "oracle.jsonl", log_headers=True) as oracle,
        loadpilot.start(
            SCENE.format(bearer=bearer, own=own, plain=plain), oracle.url, "--agents", "2"
        ) as running,
    ):
        assert oracle.wait_count(25, 30)
        oracle.status(503)
        commands = "".join(command_line(int(p.name)) for p in PROC.iterdir() if p.name.isdigit())
        finished = running.end()
        requests = oracle.requests()
    assert finished.judged == 0, finished.stderr
    full = loadpilot.call("report", "last", "-v").stdout
    for line in ("example of a failed call: get, GET /get", "Authorization: ***", "< HTTP/1.1 503"):
        assert line in full
    assert len(requests) == 100
    assert {request.header("authorization") for request in requests} == {f"Bearer {bearer}"}
    assert {request.header("x-own") for request in requests} == {own}
    assert "import agent" in commands
    for stored in (plain, "Authorization: ***"):
        assert files_with(stored, files_below(loadpilot.log)), (
            "the search does not find a stored value"
        )
    scene = loadpilot.folder / "scene_1.py"
    files = [file for file in files_below(loadpilot.folder) if file != scene]
    for secret in (bearer, own):
        assert files_with(secret, files) == []
        assert secret not in finished.stdout + finished.stderr + commands + full


@pytest.mark.slow
def test_secrets_of_a_killed_run_are_shredded_by_the_next_one(tmp_path: Path) -> None:
    """Broken if secrets of a killed run stay. The coordinator that seals it deletes them."""
    bearer, later = (secrets.token_hex(16) for _ in range(2))
    loadpilot = Loadpilot(tmp_path / "work")
    with Oracle(built_binary(), tmp_path / "oracle.jsonl") as oracle:
        scene = SCENE.format(bearer=bearer, own="own", plain="plain")
        with loadpilot.start(scene, oracle.url, "--duration", "60s") as running:
            assert oracle.wait_count(25, 30)
            below = descendants(running.pid)
            running.kill()
            assert_ended(below, 5.0)
        assert files_with(bearer, files_below(loadpilot.log)), (
            "the search does not find a stored value"
        )
        finished = loadpilot.run(
            SCENE.format(bearer=later, own="own", plain="plain"), oracle.url, "--duration", "1s"
        )
    assert finished.judged == 0, finished.stderr
    assert files_with(bearer, files_below(loadpilot.log)) == []


ASKING = """
from loadpilot import LoadClient, VUser, env, scenario, task

BASE = env("BASE", "/get")
OWN = env("OWN", secret=True)


@scenario(rps=50, duration="2s", mode="constant")
class Guarded(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get(BASE, headers={"X-Own": OWN, "X-Size": env("SIZE", "1")})
"""
TELLING = """
        client.get(f"/seen/{OWN}", params={"key": OWN})
        raise LookupError(f"no {OWN}")
"""


@pytest.mark.parametrize("more", ["", TELLING], ids=["compiled", "python"])
def test_secret_parameters_reach_the_target_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    """Broken if a secret parameter is stored or shown, also inside of a text that Python builds, or
    if an agent does not get the value that was read where the run was submitted."""
    token = secrets.token_hex(16)
    # Characters that a path must encode show whether the encoded value is hidden, too.
    own = f'{token}/+ %"{token}'
    monkeypatch.setenv("OWN", own)
    loadpilot = Loadpilot(tmp_path / "work")
    flags = ("--agents", "2", "-e", "SIZE=8", "--debug-requests", "1")
    flags += ("--threshold", "error_rate=100")
    with (
        Oracle(built_binary(), tmp_path / "oracle.jsonl", log_headers=True) as oracle,
        loadpilot.start(ASKING + more, oracle.url, *flags) as running,
    ):
        assert oracle.wait_count(25, 30)
        commands = "".join(command_line(int(p.name)) for p in PROC.iterdir() if p.name.isdigit())
        finished = running.end()
        requests = oracle.requests()
    assert finished.judged == 0, finished.stderr
    gets = [request for request in requests if request.route == "/get"]
    assert {(r.header("x-own"), r.header("x-size")) for r in gets} == {(own, "8")}
    assert len(requests) == (200 if more else 100)
    parameters = finished.report["run"]["parameters"]
    handle = parameters.pop("OWN")
    assert list(handle) == ["secret"]
    assert parameters == {"BASE": "/get", "SIZE": "8"}
    assert "BASE=/get, OWN=(secret), SIZE=8" in finished.stdout
    assert files_with(token, files_below(loadpilot.folder)) == []
    assert token not in finished.stdout + finished.stderr + commands
    if more:
        (task,) = finished.report["tasks"]
        assert [call["name"] for call in task["calls"]] == ["GET /get", "GET /seen/***"]
        assert task["raised"][0]["text"].startswith("LookupError: no *** (")
