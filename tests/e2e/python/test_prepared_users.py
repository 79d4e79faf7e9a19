"""Users that the command prepares once: all agents continue with the same users."""

from __future__ import annotations

import itertools
import os
import secrets
import signal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from tests.e2e.support.command import Loadpilot
from tests.e2e.support.files import files_below, files_with
from tests.e2e.support.processes import Part
from tests.e2e.support.python_tasks import calls_of, routes, task_of
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD = "import threading\nimport time\nfrom loadpilot import LoadClient, VUser, scenario, task\n"
USERS = 8
PLANNED = 120
SCENE = (
    HEAD
    + """
import itertools
import os
NUMBERS = itertools.count()

@scenario(rps=40, duration="3s", mode="constant", users=8, prepare="submitter")
class Shop(VUser):
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seen: list[str] = []

    def on_start(self, client: LoadClient) -> None:
        self.number = next(NUMBERS)
        self.token = os.environ["PREFIX"] + str(self.number)
        client.post("/login", json={"user": self.number}).raise_for_status()
        self.seen.append("login")

    @task
    def t(self, client: LoadClient) -> None:
        with self.lock:
            assert self.seen[0] == "login"
        client.get(f"/of/{self.number}", name="of", headers={"X-Session": self.token})

    def on_stop(self, client: LoadClient) -> None:
        client.delete(f"/login/{self.number}", headers={"X-Session": self.token})
"""
)


@pytest.fixture(autouse=True)
def prefix(monkeypatch: pytest.MonkeyPatch) -> str:
    """The prefix of all tokens of the test."""
    prefix = secrets.token_hex(16)
    monkeypatch.setenv("PREFIX", prefix)
    return prefix


def sessions(requests: list[Any], verb: str) -> set[str]:
    """The tokens in requests of one kind."""
    return {one.header("x-session") for one in requests if one.method == verb}


@pytest.mark.slow
def test_users_log_in_once_for_all_agents(tmp_path: Path, prefix: str) -> None:
    """Broken if agents log in themselves or use other sessions than the prepared ones, or if a
    stored file contains a session."""
    loadpilot = Loadpilot(tmp_path / "work")
    with Oracle(built_binary(), tmp_path / "oracle.jsonl", log_headers=True) as oracle:
        finished = loadpilot.run(SCENE, oracle.url, "--agents", "2")
        requests = oracle.requests()
    assert finished.judged == 0, finished.stdout
    assert "preparing  8 users on this side" in finished.stderr
    seen = routes(requests)
    assert seen["POST /login"] == USERS
    assert [seen[f"DELETE /login/{number}"] for number in range(USERS)] == [1] * USERS
    tokens = {f"{prefix}{number}" for number in range(USERS)}
    assert sessions(requests, "GET") == sessions(requests, "DELETE") == tokens
    served = [one for one in requests if one.method == "GET"]
    assert calls_of(task_of(finished, "t")) == {"of": PLANNED}
    assert len(served) == PLANNED == finished.report["calls"]["attempted"]

    files = [file for file in files_below(loadpilot.folder) if file.suffix != ".py"]
    assert files_with("Shop", files), "the search does not find a stored value"
    assert files_with(prefix, files) == []
    assert prefix not in finished.stdout + finished.stderr


@pytest.mark.slow
def test_prepared_users_clean_up_after_an_interruption(tmp_path: Path) -> None:
    """Broken if sessions stay open after Ctrl-C, or if one is ended twice."""
    loadpilot = Loadpilot(tmp_path / "work")
    with Oracle(built_binary(), tmp_path / "oracle.jsonl") as oracle:
        flags = ("--agents", "2", "--duration", "60s")
        with loadpilot.start(SCENE, oracle.url, *flags) as running:
            assert oracle.wait_count(60, 30)
            running.signal(signal.SIGINT)
            finished = running.end(30)
        seen = routes(oracle.requests())
    assert finished.code == 130
    assert seen["POST /login"] == USERS
    assert [seen[f"DELETE /login/{number}"] for number in range(USERS)] == [1] * USERS
    assert finished.report["arrivals"]["lost"] == 0


@pytest.mark.slow
def test_an_agent_that_comes_back_serves_with_the_same_users(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the successor of a killed agent logs in again, or has no users."""
    flags = ("--agents", "2", "--duration", "12s")
    with loadpilot.start(SCENE, oracle.url, *flags) as running:
        assert oracle.wait_count(60, 30)
        os.kill(running.parts(Part.AGENT)[0].pid, signal.SIGKILL)
        running.end()
    requests = oracle.requests()
    seen = routes(requests)
    assert seen["POST /login"] == USERS
    assert [seen[f"DELETE /login/{number}"] for number in range(USERS)] == [1] * USERS
    served = [one for one in requests if one.method == "GET"]
    late = [one for one in served if one.arrival_us > served[-1].arrival_us - 2_000_000]
    assert {one.route for one in late} == {f"/of/{number}" for number in range(USERS)}


@pytest.mark.slow
def test_one_login_is_shared_by_the_users_of_all_agents(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a lock of the class blocks its users for ever, or if each agent logs in again."""
    oracle.delay(100, path="/login")
    scene = HEAD + (
        """
@scenario(rps=30, duration="2s", mode="constant", users=6)
class Shop(VUser):
    lock = threading.Lock()
    token: str | None = None

    def on_start(self, client: LoadClient) -> None:
        with Shop.lock:
            if Shop.token is None:
                client.post("/login").raise_for_status()
                Shop.token = "t-1"

    @task
    def t(self, client: LoadClient) -> None:
        client.get(f"/{self.token}")
"""
    )
    finished = loadpilot.run(scene, oracle.url, "--agents", "2")
    assert finished.judged == 0, finished.stderr
    assert routes(oracle.requests()) == {"POST /login": 1, "GET /t-1": 60}
    explained = loadpilot.call("explain", "scene_1.py").stdout
    assert (
        "  scene_1.py:14: users are prepared once, on this side: "
        "on_start() sets Shop.token, which all users share"
    ) in explained.splitlines()
    alone = scene.replace("users=6", 'users=6, prepare="agents"')
    finished = loadpilot.run(alone, oracle.url, "--agents", "2")
    assert finished.judged == 0, finished.stderr
    assert routes(oracle.requests()) == {"POST /login": 1 + 2, "GET /t-1": 60 + 60}


def test_a_failed_on_start_on_this_side_lets_no_agent_send_anything(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if users whose login failed put load on the target, or if the reason is lost."""
    oracle.status(401, path="/login", fraction=0.5)
    finished = loadpilot.run(SCENE, oracle.url)
    assert finished.code == 3
    assert "on_start failed for 4 of 8 users: HTTPStatusError" in finished.stderr
    assert "scene_1.py:18: client.post" in finished.stderr
    seen = routes(oracle.requests())
    assert seen.pop("POST /login") == USERS
    assert sum(seen.values()) == 4, "users that had logged in did not log out"
    assert {route.split("/")[0] for route in seen} == {"DELETE "}


@pytest.mark.slow
def test_a_failed_on_stop_on_this_side_is_shown(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if sessions that stay open at the target are not reported."""
    oracle.status(500, path="/login/3")
    ending = 'headers={"X-Session": self.token})\n'
    head, _, _ = SCENE.rpartition(ending)
    scene = head + ending.replace("\n", ".raise_for_status()\n")
    finished = loadpilot.run(scene, oracle.url, "--duration", "1s")
    assert finished.judged == 0, finished.stdout
    error = "error: on_stop failed for 1 of 8 users: HTTPStatusError: the answer has the status 500"
    assert error in finished.stderr


def test_what_cannot_travel_is_refused_by_name(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a user on an agent lacks a value that its `on_start` had stored on it."""
    scene = SCENE.replace('self.seen.append("login")', "self.cart = {1, 2}")
    finished = loadpilot.run(scene, oracle.url)
    assert finished.code == 3
    error = "scene_1.py:15: on_start() cannot be used here: self.cart is a set"
    assert error in finished.stderr
    assert 'prepare="agents"' in finished.stderr
    seen = routes(oracle.requests())
    assert sum(count for route, count in seen.items() if route.startswith("DELETE")) == USERS
    assert not any(route.startswith("GET") for route in seen)


def test_there_are_as_many_prepared_users_as_agents(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a run starts with fewer prepared users than agents."""
    finished = loadpilot.run(SCENE, oracle.url, "--agents", "9")
    assert finished.code == 2
    assert "--agents: must be at most the users that are prepared, 8" in finished.stderr
    assert oracle.counts().received == 0


@pytest.mark.slow
def test_a_closed_loop_takes_its_users_prepared(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a user of a closed loop starts without its prepared state."""
    scene = SCENE.replace('rps=40, duration="3s", mode="constant"', 'duration="2s"')
    scene = scene.replace(
        "        with self.lock", "        time.sleep(0.05)\n        with self.lock"
    )
    finished = loadpilot.run(scene, oracle.url, "--agents", "3")
    assert finished.judged == 0, finished.stdout
    seen = routes(oracle.requests())
    assert seen.pop("POST /login") == USERS
    assert all(seen[f"GET /of/{number}"] > 0 for number in range(USERS))
    assert [seen[f"DELETE /login/{number}"] for number in range(USERS)] == [1] * USERS


class Cookies(BaseHTTPRequestHandler):
    """A target that gives each session a cookie of its own, and records those that come back."""

    protocol_version = "HTTP/1.1"
    numbers: ClassVar[Iterator[int]] = itertools.count(1)
    came: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        number = next(Cookies.numbers)  # one atomic step, since each request has a thread
        self.send_response(200)
        self.send_header("Set-Cookie", f"sid=c-{number}; Path=/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        Cookies.came.append(self.headers.get("Cookie", "none"))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.mark.slow
def test_cookies_travel_with_their_users(loadpilot: Loadpilot) -> None:
    """Broken if a prepared user lacks its cookies on its agent."""
    scene = HEAD + (
        """
@scenario(rps=20, duration="1s", mode="constant", users=4, prepare="submitter")
class S(VUser):
    def on_start(self, client: LoadClient) -> None:
        client.post("/login")

    @task
    def t(self, client: LoadClient) -> None:
        client.get("/")
"""
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), Cookies) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        finished = loadpilot.run(scene, f"http://127.0.0.1:{server.server_port}", "--agents", "2")
        server.shutdown()
    assert finished.judged == 0, finished.stderr
    assert next(Cookies.numbers) == 4 + 1, "a user logged in more than once, or not at all"
    assert set(Cookies.came) == {f"sid=c-{number}" for number in range(1, 5)}
    assert len(Cookies.came) == 20
