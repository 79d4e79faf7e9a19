"""Coroutines that await more than their client: an event loop runs beside the engine."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.python_tasks import calls_of, routes, task_of

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

HEAD = "import asyncio\nfrom loadpilot import LoadClient, VUser, scenario, task\n"


@pytest.mark.slow
def test_a_coroutine_may_await_whatever_asyncio_offers(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a thread, a lock, a timeout or a task group hangs, or loses a request."""
    scene = (
        HEAD
        + """
def heavy(number):
    return sum(range(number))

@scenario(rps=60, duration="3s", mode="constant", users=8)
class S(VUser):
    async def on_start(self, client: LoadClient) -> None:
        self.lock = asyncio.Lock()
        self.total = await asyncio.to_thread(heavy, 4)
        await client.get("/hello")

    @task
    async def threads(self, client: LoadClient) -> None:
        assert await asyncio.to_thread(heavy, 1000) + self.total == 499506
        (await client.get("/thread")).raise_for_status()

    @task
    async def both(self, client: LoadClient) -> None:
        first, second = await asyncio.gather(client.get("/a"), client.post("/b", json={}))
        assert first.status_code == second.status_code == 200

    @task
    async def guarded(self, client: LoadClient) -> None:
        async with asyncio.timeout(5), self.lock, asyncio.TaskGroup() as group:
            group.create_task(client.get("/group"))
            await asyncio.sleep(0)

    def check_guarded(self, status_code, body):
        assert status_code == 200

    @task
    async def plain(self, client: LoadClient) -> None:
        await client.get("/plain")

    @task
    def stacked(self, client: LoadClient) -> None:
        client.get("/stacked")

    async def on_stop(self, client: LoadClient) -> None:
        await asyncio.to_thread(heavy, 4)
        await client.get("/bye")
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0, finished.stderr
    expected = {"GET /thread", "GET /a", "POST /b", "GET /group", "GET /plain", "GET /stacked"}
    hooks = {"GET /hello": 8, "GET /bye": 8}
    assert routes(oracle.requests()) == dict.fromkeys(expected, 36) | hooks
    assert finished.report["calls"]["attempted"] == 6 * 36
    assert finished.report["calls"]["outcomes"] == {"ok": 6 * 36}
    assert calls_of(task_of(finished, "both")) == {"GET /a": 36, "POST /b": 36}
    raised = {task["name"]: task.get("raised", []) for task in finished.report["tasks"]}
    assert not any(raised.values()), raised


def test_a_stop_ends_what_is_awaited(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a user that awaits for ever prevents the end of the run or its own clean-up."""
    scene = (
        HEAD
        + """
@scenario(rps=20, duration="60s", mode="constant", users=4)
class S(VUser):
    @task
    async def waits(self, client: LoadClient) -> None:
        await client.get("/before")
        try:
            await asyncio.Event().wait()
        finally:
            self.was_cancelled = True

    async def on_stop(self, client: LoadClient) -> None:
        await client.get("/bye", params={"cancelled": self.was_cancelled})
"""
    )
    with loadpilot.start(scene, oracle.url) as running:
        assert oracle.wait_count(4, 30)
        interrupted = time.monotonic()
        running.signal(signal.SIGINT)
        finished = running.end(20)
    assert time.monotonic() - interrupted < 10
    assert finished.code == 130
    seen = oracle.requests()
    assert sum(request.path == "/bye?cancelled=true" for request in seen) == 4
    assert finished.report["tasks"][0].get("raised", []) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", ["pass", "await asyncio.to_thread(int)"], ids=["engine", "loop"])
def test_a_coroutine_that_never_rests_stops_no_other_user(
    loadpilot: Loadpilot, oracle: Oracle, first: str
) -> None:
    """Broken if a busy event loop delays the arrivals of other users."""
    scene = (
        HEAD
        + """
@scenario(
    rps=40, duration="4s", mode="constant", users=10, timeout="300ms", max_wait="10s"
)
class S(VUser):
    spinning = False

    @task
    async def spins(self, client: LoadClient) -> None:
        FIRST
        await client.get("/spin", timeout=5)
        if not S.spinning:
            S.spinning = True
            while True:
                await asyncio.sleep(0)

    @task
    async def calm(self, client: LoadClient) -> None:
        await client.get("/calm", timeout=5)
"""
    )
    finished = loadpilot.run(scene.replace("FIRST", first), oracle.url)
    assert routes(oracle.requests()) == {"GET /spin": 80, "GET /calm": 80}
    assert finished.report["arrivals"]["started"] == 160
    (raised,) = task_of(finished, "spins")["raised"]
    assert raised["count"] == 1
    assert raised["text"] == "took longer than 3 s and was ended"


@pytest.mark.slow
def test_a_step_names_the_requests_in_it(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if requests of a step are counted under another name, or after it has ended."""
    scene = (
        HEAD
        + """
@scenario(rps=20, duration="2s", mode="constant", users=4)
class S(VUser):
    @task
    def buy(self, client: LoadClient) -> None:
        with client.step("checkout"):
            client.get("/cart?n=1")
            with client.step("pay"):
                client.batch([{"path": "/card"}, {"path": "/bank", "name": "bank"}])
        client.get("/done")

    @task
    async def look(self, client: LoadClient) -> None:
        with client.step("browse"):
            await client.get("/list")
        await client.get("/end")
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0, finished.stderr
    assert calls_of(task_of(finished, "buy")) == {
        "checkout / GET /cart": 20,
        "checkout / pay / GET /card": 20,
        "checkout / pay / bank": 20,
        "GET /done": 20,
    }
    assert calls_of(task_of(finished, "look")) == {"browse / GET /list": 20, "GET /end": 20}


@pytest.mark.slow
def test_what_a_task_of_a_loop_adds_and_draws_is_its_own_users(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if metrics and random values of coroutines on a loop are lost, or belong to another
    user."""
    scene = (
        HEAD
        + """
from loadpilot import metrics, rand

@scenario(rps=40, duration="3s", mode="constant", users=4, thresholds={"checks": 100})
class S(VUser):
    @task
    async def t(self, client: LoadClient) -> None:
        await asyncio.to_thread(int)
        drawn = rand.int(1, 10**9)
        metrics.counter("drawn").add(1)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.other(client))
        await client.get(f"/drawn/{drawn}", name="drawn")

    async def other(self, client: LoadClient) -> None:
        await client.get("/other")
        metrics.counter("other").add(1)

    def check_t(self, status_code, body):
        metrics.rate("ok").add(status_code == 200)
"""
    )

    def drawn() -> list[str]:
        return sorted(r.path for r in oracle.requests() if r.path.startswith("/drawn"))

    first = loadpilot.run(scene, oracle.url)
    assert first.judged == 0, first.stdout
    once = drawn()
    assert len(set(once)) == 120
    metrics = first.report["metrics"]
    assert {name: made["count"] for name, made in metrics["counters"].items()} == {
        "drawn": 120,
        "other": 120,
    }
    assert metrics["rates"]["ok"] == {"count": 120, "trues": 120, "rate": 100.0}
    assert loadpilot.run(scene, oracle.url, "--agents", "2").judged == 0
    assert drawn() == sorted(once * 2)


@pytest.mark.slow
def test_a_wait_is_think_time_that_the_seed_repeats(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a wait counts as latency, stops other users, or differs from run to run."""
    scene = (
        HEAD
        + """
@scenario(rps=30, duration="3s", mode="constant", users=60)
class S(VUser):
    @task
    def plain(self, client: LoadClient) -> None:
        self.wait(0.2, 0.6)
        client.get("/plain")

    @task
    async def awaited(self, client: LoadClient) -> None:
        await self.wait(0.3)
        await client.get("/awaited")

    @task
    async def looped(self, client: LoadClient) -> None:
        await asyncio.gather(self.wait(0.3), self.wait(0.3))
        await client.get("/looped")
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0, finished.stdout
    assert routes(oracle.requests()) == {f"GET /{n}": 30 for n in ("plain", "awaited", "looped")}
    assert finished.report["latency"]["response"]["p50_us"] < 150_000
    assert not any(task.get("raised") for task in finished.report["tasks"])
