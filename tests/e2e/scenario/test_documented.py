"""The documented behaviour of scenario files, in the forms that users have always written. The
target counts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.echo import echo
from tests.e2e.support.python_tasks import calls_of, routes, task_of
from tests.oracle.oracle import Oracle, built_binary

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot

HEAD = "from loadpilot import LoadClient, RequestError, VUser, scenario, task\n"
CLASSIC = '''
"""A file as people have them: types or none, parentheses or none, one login for all."""
import threading

from loadpilot import LoadClient, VUser, scenario, task

lock = threading.Lock()


class Base(VUser):
    session = {}

    def on_start(self, client: LoadClient):
        with lock:
            if not Base.session:
                resp = client.post("/login", json={"user": "test", "pass": "secret"})
                Base.session["id"] = str(resp.status_code)
        self.headers = {"Authorization": f"Bearer {Base.session['id']}"}


@scenario(
    rps=60,
    duration="3s",
    ramp_up="1s",
    mode="constant",
    thresholds={"p99_ms": 5000, "error_rate": 1.0},
)
class CheckoutFlow(Base):
    def on_start(self, client):
        super().on_start(client)
        client.get("warm")

    @task(weight=4)
    def browse(self, client: LoadClient):
        client.get("/products", headers=self.headers)
        client.get("/products/1", headers=self.headers)

    def check_browse(self, status_code: int, body) -> None:
        assert status_code == 200
        assert body["status"] == 200

    @task()
    def purchase(self, client: LoadClient):
        answers = client.batch([
            {"method": "POST", "path": "/orders", "json": {"qty": 1}, "headers": self.headers},
            {"path": "/orders/1"},
        ])
        assert [a.status_code for a in answers] == [200, 200]
        assert answers[0].ok and answers[0].elapsed_ms > 0

    @task
    async def account(self, client: LoadClient):
        resp = client.get("/account", headers=self.headers)
        resp.raise_for_status()

    def on_stop(self, client: LoadClient):
        client.post("/logout", headers=self.headers)


@scenario(rps=5, duration="1s", ramp_up="1s", mode="constant")
class Health(VUser):
    @task
    def ping(self, client):
        client.get("/health")
'''


@pytest.mark.slow
@pytest.mark.parametrize("agents", [1, 3])
def test_a_file_as_people_have_it_runs_unchanged(
    loadpilot: Loadpilot, oracle: Oracle, agents: int
) -> None:
    """Broken if shared state, inheritance, checks, batches or an async def that awaits nothing have
    another meaning than in the file's text, or if each agent logs in by itself."""
    flags = ("--scenario", "CheckoutFlow", "--agents", str(agents))
    finished = loadpilot.run(CLASSIC, oracle.url, *flags)
    assert finished.judged == 0, finished.stdout + finished.stderr
    assert not [task["raised"] for task in finished.report["tasks"] if task.get("raised")]
    assert routes(oracle.requests()) == {
        "POST /login": 1,
        "GET /warm": 5,
        "POST /logout": 5,
        "GET /products": 120,
        "GET /products/1": 120,
        "POST /orders": 30,
        "GET /orders/1": 30,
        "GET /account": 30,
    }
    assert finished.report["calls"]["attempted"] == 330
    assert finished.report["checks"] == {"passed": 120, "failed": 0}


WEIGHTED = (
    HEAD
    + """
@scenario(rps=RATE, duration="6s", mode="constant", users=6, compile=False)
class S(VUser):
    @task(weight=5)
    def often(self, client: LoadClient) -> None:
        client.get("/often")

    @task(weight=1)
    async def rarely(self, client: LoadClient) -> None:
        await client.get("/rarely")
"""
)


@pytest.mark.slow
@pytest.mark.parametrize(("rps", "agents"), [(3, 2), (60, 1), (60, 3)])
def test_weights_hold_in_every_window(
    loadpilot: Loadpilot, oracle: Oracle, rps: int, agents: int
) -> None:
    """Broken if the weights 5 : 1 hold only on average, only for each agent, or not at low
    rates."""
    scene = WEIGHTED.replace("RATE", str(rps))
    finished = loadpilot.run(scene, oracle.url, "--agents", str(agents))
    assert finished.judged == 0, finished.stderr
    by_arrival = {int((one.id or "").split("/")[1]): one.route for one in oracle.requests()}
    assert sorted(by_arrival) == list(range(6 * rps))
    for first in range(0, 6 * rps, 6):
        window = Counter(by_arrival[number] for number in range(first, first + 6))
        assert window == {"/often": 5, "/rarely": 1}, first


@pytest.mark.slow
def test_a_check_sees_the_last_answer_alone(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a check examines another call than the last, or if a 404 without a check is no
    error."""
    oracle.status(500, path="/first")
    oracle.status(404, path="/last")
    scene = (
        HEAD
        + """
@scenario(rps=20, duration="2s", mode="constant", compile=COMPILE)
class S(VUser):
    @task
    def checked(self, client: LoadClient) -> None:
        client.get("/first")
        client.get("/last")

    def check_checked(self, status_code: int, body: object) -> None:
        assert status_code == 404

    @task
    def unchecked(self, client: LoadClient) -> None:
        client.get("/first")
        client.get("/last")
"""
    )
    for compiled in ("True", "False"):
        finished = loadpilot.run(scene.replace("COMPILE", compiled), oracle.url)
        for name, last in (("checked", "ok"), ("unchecked", "http_4xx")):
            calls = {call["name"]: call["counts"] for call in task_of(finished, name)["calls"]}
            assert calls["GET /first"]["outcomes"] == {"http_5xx": 20}
            assert calls["GET /last"]["outcomes"] == {last: 20}
        assert finished.report["checks"] == {"passed": 20, "failed": 0}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "awaited", "looped"])
def test_a_batch_answers_in_its_own_order(loadpilot: Loadpilot, oracle: Oracle, kind: str) -> None:
    """Broken if responses are in the order of their arrival, or if one request waits for
    another."""
    for number in range(5):
        oracle.status(200 + number, path=f"/{number}")
        oracle.delay(400 - 100 * number, path=f"/{number}")
    task = {
        "plain": "def t(self, client):\n        answers = client.batch(BATCH)",
        "awaited": "async def t(self, client):\n        answers = await client.batch(BATCH)",
        "looped": "async def t(self, client):\n        await asyncio.to_thread(int)\n"
        "        answers = await client.batch(BATCH)",
    }[kind]
    scene = f"""{HEAD}import asyncio
BATCH = [{{"path": f"/{{n}}"}} for n in range(5)]

@scenario(rps=5, duration="2s", mode="constant", users=10)
class S(VUser):
    @task
    {task}
        assert [one.status_code for one in answers] == [200, 201, 202, 203, 204]

    def check_t(self, status_code, body):
        assert status_code == 204
"""
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0, finished.stderr
    assert task_of(finished, "t").get("raised") is None
    assert set(routes(oracle.requests()).values()) == {10}
    batches: dict[str, list[int]] = {}
    for request in oracle.requests():
        batches.setdefault((request.id or "").split("/")[1], []).append(request.arrival_us)
    # The slowest takes 400 ms: a request that waited for it would have come after that.
    assert all(max(times) - min(times) < 350_000 for times in batches.values())


@pytest.mark.parametrize("compiled", [True, False], ids=["code", "python"])
def test_hooks_follow_redirects_and_tasks_when_they_say_so(
    loadpilot: Loadpilot, *, compiled: bool
) -> None:
    """Broken if a login behind a redirect fails, or if the engine makes requests of its own."""
    scene = (
        HEAD
        + """
@scenario(rps=10, duration="2s", mode="constant", users=2, compile=COMPILE)
class S(VUser):
    def on_start(self, client: LoadClient) -> None:
        assert client.get("/redirect/302/start").status_code == 200

    @task
    def stays(self, client: LoadClient) -> None:
        assert client.get("/redirect/302/stays").status_code == 302

    @task
    def follows(self, client: LoadClient) -> None:
        assert client.get("/redirect/302/follows", follow_redirects=True).json() == {"ok": True}
"""
    )
    with echo() as (url, received):
        finished = loadpilot.run(scene.replace("COMPILE", str(compiled)), url)
    assert finished.judged == 0, finished.stderr
    assert not [task["raised"] for task in finished.report["tasks"] if task.get("raised")]
    assert Counter(path for _, path, _, _ in received) == {
        "/redirect/302/start": 2,
        "/landed?from=start": 2,
        "/redirect/302/stays": 10,
        "/redirect/302/follows": 10,
        "/landed?from=follows": 10,
    }
    follows = calls_of(task_of(finished, "follows"))
    assert follows == {"GET /redirect/302/follows": 10, "GET /landed": 10}


@pytest.mark.slow
def test_a_time_out_is_the_same_everywhere(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the timeout differs between data, code and Python, or between a scenario and one of
    its requests."""
    oracle.silent(path="/never")
    tasks = {
        "constant": ("", 'client.get("/never")'),
        "code": ("", 'answer = client.get("/never")\n        assert answer.ok'),
        "python": (", compile=False", 'answer = client.get("/never")\n        assert answer.ok'),
        "own": (', timeout="30s"', 'client.get("/never", timeout=0.4)'),
    }
    for name, (said, body) in tasks.items():
        timeout = "" if "timeout" in said else ', timeout="400ms"'
        scene = (
            f'{HEAD}@scenario(rps=10, duration="1s", mode="constant", users=10{said}{timeout})\n'
            "class S(VUser):\n    @task\n    def t(self, client: LoadClient) -> None:\n"
            f"        {body}\n"
        )
        if name in {"constant", "own"}:
            scene = scene.replace(", users=10", "")
        finished = loadpilot.run(scene, oracle.url)
        (call,) = task_of(finished, "t")["calls"]
        assert call["counts"]["outcomes"] == {"timeout": 10}, name
        assert 395_000 <= call["service"]["min_us"] <= call["service"]["p50_us"] < 800_000, name


@pytest.mark.slow
def test_a_host_of_its_own_reaches_the_target(loadpilot: Loadpilot, tmp_path: Path) -> None:
    """Broken if data, code or Python cannot select a virtual host behind one address."""
    scene = (
        HEAD
        + """
@scenario(rps=20, duration="1s", mode="constant")
class Data(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get("/", headers={"Host": "a.example"})

@scenario(rps=20, duration="1s", mode="constant")
class Code(VUser):
    def on_start(self, client: LoadClient) -> None:
        self.host = "a.example"

    @task
    def t(self, client: LoadClient) -> None:
        client.get("/", headers={"Host": self.host})

@scenario(rps=20, duration="1s", mode="constant", compile=False)
class Python(Code):
    pass
"""
    )
    with Oracle(built_binary(), tmp_path / "hosts.jsonl", log_headers=True) as oracle:
        for name in ("Data", "Code", "Python"):
            finished = loadpilot.run(scene, oracle.url, "--scenario", name)
            assert finished.judged == 0, finished.stderr
        assert [one.header("host") for one in oracle.requests()] == ["a.example"] * 60


@pytest.mark.slow
def test_other_threads_run_while_users_wait(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the interpreter is locked while no Python of the scenario runs."""
    oracle.delay(300)
    scene = (
        HEAD
        + """
import threading
import time

ticks = [0]

def tick() -> None:
    while True:
        time.sleep(0.001)
        ticks[0] += 1

@scenario(rps=10, duration="2s", mode="constant", users=10)
class S(VUser):
    def on_start(self, client: LoadClient) -> None:
        if not ticks[0]:
            threading.Thread(target=tick, daemon=True).start()

    @task
    def t(self, client: LoadClient) -> None:
        before = ticks[0]
        client.get("/slow")
        assert ticks[0] - before > 10, ticks[0] - before
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0, finished.stderr
    assert task_of(finished, "t").get("raised") is None
