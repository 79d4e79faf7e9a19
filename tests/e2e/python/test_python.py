"""Scenarios in Python: the report agrees with the target, including hooks."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot
from tests.e2e.support.python_tasks import HEAD, calls_of, routes, task_of
from tests.oracle.oracle import CountKind

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

SHOP = SCENARIOS / "shop.py"
SECS = 6
RPS = 100
PLANNED = SECS * RPS
USERS = 6
ASIDE = {"/login", "/session"}
"""Paths that hooks request: sent and never counted."""


@pytest.mark.slow
@pytest.mark.parametrize("agents", [1, 3])
def test_every_call_of_python_is_counted_once(
    loadpilot: Loadpilot, oracle: Oracle, agents: int
) -> None:
    """Broken if a call, a check or an error is lost, doubled, or counted for another task."""
    oracle.status(404, path="/items/0")
    oracle.status(503, path="/pay", fraction=0.25)
    finished = loadpilot.run(SHOP, oracle.url, "--agents", str(agents))
    assert finished.judged == 0, finished.stderr
    report = finished.report
    seen = routes(oracle.requests())
    hooks = sum(count for route, count in seen.items() if route.split()[-1] in ASIDE)
    assert report["arrivals"]["started"] == report["arrivals"]["planned"] == PLANNED
    assert report["calls"]["attempted"] == sum(seen.values()) - hooks
    assert seen["POST /login"] == seen["DELETE /session"] == USERS

    browse, pay, classic = (task_of(finished, name) for name in ("browse", "pay", "classic"))
    assert [task["arrivals"]["started"] for task in (browse, pay, classic)] == [300, 200, 100]
    items = {route: count for route, count in seen.items() if route.startswith("GET /items/")}
    assert calls_of(browse) == {"GET /list": 300, "item": 300}
    assert sum(items.values()) == 300
    assert calls_of(pay) == {"POST /pay": 200, "GET /paid": seen["GET /paid"]}
    assert calls_of(classic) == {"GET /classic": 100}

    # The check accepts a 404, and makes all other responses errors.
    (item,) = [call for call in browse["calls"] if call["name"] == "item"]
    assert item["counts"]["outcomes"] == {
        "ok": items["GET /items/0"],
        "check_failed": 300 - items["GET /items/0"],
    }
    failed = 300 - items["GET /items/0"]
    error = "AssertionError: an item that is there (shop.py:27)"
    trace = "shop.py:27 in check_browse"
    assert browse["raised"] == [{"by": "check", "text": error, "count": failed, "trace": trace}]
    assert browse["arrivals"]["task_errors"] == failed

    refused = 200 - seen["GET /paid"]
    assert refused == 50
    error = "LookupError: no till (shop.py:33)"
    trace = "shop.py:33 in pay"
    assert pay["raised"] == [{"by": "task", "text": error, "count": refused, "trace": trace}]
    assert pay["arrivals"]["task_errors"] == refused
    assert report["calls"]["outcomes"]["http_5xx"] == refused

    shown = loadpilot.call("report", "last", "-v").stdout
    example = shown.partition("example of a failed call: browse, item\n")[2].splitlines()
    assert "check_failed after" in example[0]
    assert example[1].startswith("  > GET /items/")
    assert any(line.startswith("  < HTTP/1.1 200 ") for line in example)


def test_a_failed_on_start_fails_the_run_before_it_has_begun(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if users whose login failed put load on the target, or if the reason is lost."""
    oracle.status(401, path="/login")
    finished = loadpilot.run(SHOP, oracle.url)
    assert finished.code == 3
    assert set(routes(oracle.requests())) == {"POST /login"}
    failure = finished.report["run"]["failure"]
    assert failure["cause"] == "scenario"
    error = "on_start failed for 6 of 6 users: HTTPStatusError: the answer has the status 401"
    assert failure["reason"].splitlines() == [
        f"{error} (shop.py:16)",
        '    shop.py:16: client.post("/login", json={"user": "demo"}).raise_for_status()',
    ]
    assert "failed       on_start failed for 6 of 6 users" in finished.stdout


@pytest.mark.slow
def test_an_interrupted_run_still_cleans_up(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the sessions of users stay open at the target after Ctrl-C."""
    with loadpilot.start(SHOP, oracle.url, "--duration", "60s", "--agents", "2") as running:
        assert oracle.wait_count(2 * RPS, 30)
        running.signal(signal.SIGINT)
        finished = running.end(20)
    assert finished.code == 130
    seen = routes(oracle.requests())
    assert seen["POST /login"] == seen["DELETE /session"] == USERS
    report = finished.report
    hooks = seen["POST /login"] + seen["DELETE /session"]
    assert report["calls"]["attempted"] == sum(seen.values()) - hooks
    assert report["arrivals"]["lost"] == 0


@pytest.mark.slow
def test_users_that_rest_stop_no_other_user(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a sleep of one user delays the arrival of another, or counts as latency."""
    scene = (
        HEAD
        + """
@scenario(compile=False, rps=50, duration="4s", mode="constant", users=40)
class S(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get("/before")
        time.sleep(0.5)
        client.get("/after")
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0
    assert routes(oracle.requests()) == {"GET /before": 200, "GET /after": 200}
    calls = {call["name"]: call for call in task_of(finished, "t")["calls"]}
    for name in ("GET /before", "GET /after"):
        assert calls[name]["response"]["p50_us"] < 250_000, name


@pytest.mark.slow
def test_arrivals_that_find_no_user_are_dropped_and_counted(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a user performs two arrivals at a time, or if an arrival without a user is not
    reported."""
    oracle.delay(400)
    scene = (
        HEAD
        + """
@scenario(compile=False, rps=20, duration="4s", mode="constant", users=2, max_wait="500ms")
class S(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        for _ in range(2):
            client.get("/")
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    arrivals = finished.report["arrivals"]
    assert arrivals["planned"] == 80
    assert arrivals["started"] + arrivals["dropped"]["no_user"] == 80
    # Two users, 0.8 s for each arrival, over 4 s and the wait at the end.
    assert 8 <= arrivals["started"] <= 14
    assert len(oracle.requests()) == 2 * arrivals["started"]
    assert len({request.connection for request in oracle.requests()}) <= 3


@pytest.mark.slow
def test_transport_errors_reach_the_task_as_exceptions(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a task gets a response for a failed request, or cannot handle the error."""
    oracle.reset(path="/gone")
    scene = (
        HEAD
        + """
@scenario(compile=False, rps=20, duration="2s", mode="constant")
class S(VUser):
    @task
    def handled(self, client: LoadClient) -> None:
        try:
            client.post("/gone")
        except RequestError as error:
            client.get(f"/seen/{error.outcome}/{error.cause}")

    @task
    def unhandled(self, client: LoadClient) -> None:
        client.post("/gone")
        client.get("/never")
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    seen = routes(oracle.requests())
    assert seen == {"POST /gone": 40, "GET /seen/io/reset": 20}
    assert task_of(finished, "handled").get("raised") is None
    (raised,) = task_of(finished, "unhandled")["raised"]
    assert raised["count"] == 20
    assert raised["text"].startswith("RequestError: io: reset (scene_1.py:")


@pytest.mark.slow
def test_a_closed_loop_runs_python_too(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if users of a closed loop share state, or if their tasks are not counted."""
    scene = (
        HEAD
        + """
@scenario(compile=False, users=3, duration="2s")
class S(VUser):
    def on_start(self, client: LoadClient) -> None:
        self.turns = 0

    @task
    def t(self, client: LoadClient) -> None:
        self.turns += 1
        client.get(f"/turn/{self.turns}", name="turn")
        time.sleep(0.05)
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0
    requests = oracle.requests()
    assert calls_of(task_of(finished, "t")) == {"turn": len(requests)}
    turns = routes(requests)
    assert turns["GET /turn/1"] == 3
    assert set(turns.values()) <= {1, 2, 3}


@pytest.mark.slow
def test_names_beyond_the_limit_go_together(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a task with another path in each request makes the report grow without limit."""
    scene = (
        HEAD
        + """
import itertools
NUMBERS = itertools.count()
@scenario(compile=False, rps=150, duration="2s", mode="constant", users=2)
class S(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get(f"/{next(NUMBERS)}")
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    calls = calls_of(task_of(finished, "t"))
    assert len(calls) == 201
    assert calls["(other calls)"] == 100
    assert sum(calls.values()) == len(oracle.requests()) == 300


def test_agents_hear_of_a_scenario_that_cannot_be_loaded(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a scenario that works only on its author's machine fails without a message."""
    scene = HEAD + (
        "assert 'loadpilot-scenario-' not in __file__, 'works at home only'\n"
        """
@scenario(compile=False, rps=10, duration="1s", mode="constant")
class S(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        answer = client.get("/")
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.code == 3
    reason = finished.report["run"]["failure"]["reason"]
    assert reason == "scene_1.py:3: AssertionError while it was imported: works at home only"
    assert oracle.counts().received == 0


def test_explain_says_what_runs_where(loadpilot: Loadpilot) -> None:
    """Broken if the output does not say why a scenario is not compiled."""
    finished = loadpilot.call("explain", str(SHOP))
    assert finished.code == 0
    assert finished.stdout.startswith("Shop: runs in Python, because\n")
    assert "shop.py:5: the file imports shop_parts, which may do anything" in finished.stdout
    assert "shop.py:21: task browse: changes `self.seen` in place" in finished.stdout
    assert "shop.py:33: task pay: raises `LookupError`; AssertionError, Exc" in finished.stdout
    assert "\n  on_start: could be compiled\n" in finished.stdout
    assert "its agents get shop.py, shop_parts.py" in finished.stdout
    compiled = loadpilot.call("explain", str(SCENARIOS / "weighted.py"))
    assert compiled.stdout.splitlines() == [
        "Weighted: compiled, no Python runs under load",
        "  task often: compiled to GET /often",
        "  task rarely: compiled to POST /rarely",
        "  cookies that the target sets are not sent back: no task reads a response",
    ]


def test_what_is_said_of_python_is_true(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the banner says that a scenario in Python is static."""
    finished = loadpilot.run(SHOP, oracle.url, "--duration", "1s")
    assert "Python: 6 users, each with one arrival at a time" in finished.stderr
    assert oracle.wait_count(1, 1, of=CountKind.ENDED)


@pytest.mark.slow
def test_calls_that_end_when_nothing_else_happens_keep_their_names(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a call that begins in one tick and ends in another makes its delta unreadable."""
    oracle.delay(1_500)
    scene = (
        HEAD
        + """
@scenario(compile=False, rps=0.5, duration="6s", mode="constant")
class S(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        assert client.get("/slow").ok
        time.sleep(1.2)
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0, finished.stdout
    report = finished.report
    assert report["gaps"]["quarantined"] == []
    assert calls_of(task_of(finished, "t")) == {"GET /slow": 3}
    assert len(oracle.requests()) == 3


@pytest.mark.slow
def test_a_rest_before_the_first_request_is_no_latency(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if think time counts as latency of the target, or as a delay of the generator."""
    scene = (
        HEAD
        + """
import asyncio
@scenario(compile=False, rps=20, duration="3s", mode="constant", users=40)
class S(VUser):
    @task
    def plain(self, client: LoadClient) -> None:
        time.sleep(0.4)
        client.get("/plain")

    @task
    async def awaited(self, client: LoadClient) -> None:
        await asyncio.sleep(0.4)
        await client.get("/awaited")

    @task
    async def classic(self, client: LoadClient) -> None:
        await asyncio.sleep(0.4)
        client.get("/classic")
        await asyncio.sleep(0.1)
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0, finished.stdout
    assert [task.get("raised") for task in finished.report["tasks"]] == [None, None, None]
    assert sum(routes(oracle.requests()).values()) == 60
    assert finished.report["latency"]["response"]["p50_us"] < 200_000
    assert finished.report["generator"]["schedule_lag"]["p50_us"] < 200_000


@pytest.mark.slow
def test_nothing_is_counted_after_a_stop_and_users_that_rest_end(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a task sends requests after Ctrl-C, or if its think time delays the end."""
    scene = (
        HEAD
        + """
@scenario(compile=False, rps=30, duration="60s", mode="constant", users=60)
class S(VUser):
    @task
    def before(self, client: LoadClient) -> None:
        time.sleep(3)
        client.get("/rested")

    @task
    def between(self, client: LoadClient) -> None:
        client.get("/first")
        while True:
            time.sleep(20)
            client.get("/next")

    def on_stop(self, client: LoadClient) -> None:
        client.get("/bye")
"""
    )
    with loadpilot.start(scene, oracle.url) as running:
        assert oracle.wait_count(60, 30)
        running.signal(signal.SIGINT)
        at_us = time.time_ns() // 1000
        finished = running.end(12)
    assert finished.code == 130
    late = [r for r in oracle.requests() if r.arrival_us > at_us + 2_000_000]
    assert {request.route for request in late} <= {"/bye"}
    seen = routes(oracle.requests())
    assert seen.pop("GET /bye") == 60
    assert finished.report["calls"]["attempted"] == sum(seen.values())
    assert finished.report["arrivals"]["lost"] == 0


def test_an_abort_still_cleans_up(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if an abort, which cancels the calls in flight, also cancels `on_stop` of the
    users."""
    oracle.silent(path="/stuck")
    scene = (
        HEAD
        + """
@scenario(compile=False, rps=30, duration="60s", mode="constant", users=10, max_wait="1s")
class S(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get("/stuck")

    def on_stop(self, client: LoadClient) -> None:
        client.get("/bye")
"""
    )
    with loadpilot.start(scene, oracle.url) as running:
        assert oracle.wait_count(10, 30)
        running.signal(signal.SIGINT)
        running.until("stopping")
        running.signal(signal.SIGINT)
        running.until("aborting")
        running.end(20)
    assert routes(oracle.requests())["GET /bye"] == 10


@pytest.mark.slow
def test_secret_headers_of_python_are_masked(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the value of a header that the scenario declares as secret is in the log or the
    report."""
    scene = (
        HEAD
        + """
@scenario(compile=False, rps=5, duration="1s", mode="constant", secret_headers=["X-Session"])
class S(VUser):
    def on_start(self, client: LoadClient) -> None:
        self.token = "hunter" + "2"

    @task
    def t(self, client: LoadClient) -> None:
        client.get("/", headers={"X-Session": self.token, "Authorization": self.token})
"""
    )
    finished = loadpilot.run(scene, oracle.url, "--debug-requests", "3")
    assert finished.judged == 0
    exchanges = finished.report["exchanges"]
    assert len(exchanges) == 3
    assert "X-Session: ***" in exchanges[0]["request"]
    assert "hunter2" not in finished.results.read_text(encoding="utf-8")
    assert "hunter2" not in finished.stdout + finished.stderr


def test_what_init_raises_is_shown_with_its_line(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the error of a user that cannot be created lacks its line."""
    scene = (
        HEAD
        + """
@scenario(compile=False, rps=5, duration="1s", mode="constant")
class S(VUser):
    def __init__(self):
        self.rows = open("nowhere.csv").read()

    @task
    def t(self, client: LoadClient) -> None:
        client.get(f"/{self.rows}")
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.code == 3
    reason = finished.report["run"]["failure"]["reason"]
    assert "FileNotFoundError" in reason
    assert "scene_1.py:7" in reason
    assert oracle.counts().received == 0


def test_a_check_that_returns_false_has_failed(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a check that returns False, as checks of other tools do, passes. 2 s."""
    scene = (
        HEAD
        + """
@scenario(rps=10, duration="2s", mode="constant")
class S(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get("/")

    def check_t(self, status_code: int, body: object) -> bool:
        return status_code == 200
"""
    )
    oracle.status(500, fraction=0.5)
    finished = loadpilot.run(scene, oracle.url, "--threshold", "checks=100")
    assert finished.judged == 1, finished.stderr
    assert finished.report["checks"] == {"passed": 10, "failed": 10}
    (raised,) = finished.report["tasks"][0]["raised"]
    assert raised["text"] == "AssertionError: check_t() returned False"
    explained = loadpilot.call("explain", "scene_1.py").stdout
    assert (
        "scene_1.py:11: check_t: returns a value: a check that returns False has failed"
        in explained
    )
