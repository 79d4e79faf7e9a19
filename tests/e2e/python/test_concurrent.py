"""Requests that a coroutine has in flight at the same time: each returns when its response is
there."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.python_tasks import calls_of, routes, task_of

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

HEAD = "import asyncio\nfrom loadpilot import LoadClient, VUser, scenario, task\n"
SLOW_MS = 1_500


@pytest.mark.slow
def test_an_answer_does_not_wait_for_a_slower_one(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if gathered coroutines continue only when all of their responses are there."""
    oracle.delay(SLOW_MS, path="/slow")
    scene = (
        HEAD
        + """
@scenario(rps=4, duration="3s", mode="constant", users=12)
class S(VUser):
    @task
    async def both(self, client: LoadClient) -> None:
        answers = await asyncio.gather(client.get("/slow"), self.chain(client))
        assert [answer.status_code for answer in answers] == [200, 200]

    async def chain(self, client: LoadClient):
        for place in "abc":
            answer = await client.get(f"/{place}")
        batch = await client.batch([{"path": "/d"}, {"path": "/e"}])
        assert len(batch) == 2 and await client.batch([]) == []
        return answer
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0, finished.stdout
    assert calls_of(task_of(finished, "both")) == {
        f"GET /{place}": 12 for place in ("slow", "a", "b", "c", "d", "e")
    }
    assert not task_of(finished, "both").get("raised")
    # In nearly all pairs the chain had ended before the slow response was sent.
    slow = sorted(request.end_us or 0 for request in oracle.requests() if request.path == "/slow")
    last = sorted(request.arrival_us for request in oracle.requests() if request.path == "/e")
    assert sum(e < s for e, s in zip(last, slow, strict=True)) >= 10


@pytest.mark.slow
def test_a_time_out_of_its_own_ends_a_wait_and_not_the_count(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if asyncio's timeout waits for the response, or if a request that is no longer awaited
    is not counted."""
    oracle.delay(SLOW_MS, path="/slow")
    scene = (
        HEAD
        + """
@scenario(rps=4, duration="2s", mode="constant", users=8)
class S(VUser):
    @task
    async def impatient(self, client: LoadClient) -> None:
        try:
            await asyncio.wait_for(client.get("/slow"), 0.05)
        except TimeoutError:
            await client.get("/instead")

    def check_impatient(self, status_code, body):
        assert status_code == 200
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert finished.judged == 0, finished.stdout
    assert routes(oracle.requests()) == {"GET /slow": 8, "GET /instead": 8}
    assert calls_of(task_of(finished, "impatient")) == {"GET /slow": 8, "GET /instead": 8}
    assert finished.report["calls"]["outcomes"] == {"ok": 16}
    assert finished.report["checks"]["passed"] == 8


def test_a_stop_counts_what_is_under_way(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if Ctrl-C loses requests in flight, or if a request is sent after it."""
    oracle.delay(SLOW_MS, path="/slow*")
    scene = (
        HEAD
        + """
@scenario(rps=8, duration="60s", mode="constant", users=16)
class S(VUser):
    @task
    async def three(self, client: LoadClient) -> None:
        await asyncio.gather(*(client.get(f"/slow/{n}") for n in range(3)))
        await client.get("/after")
"""
    )
    with loadpilot.start(scene, oracle.url) as running:
        assert oracle.wait_count(12, 30)
        running.signal(signal.SIGINT)
        finished = running.end(30)
    assert finished.code == 130
    seen = routes(oracle.requests())
    assert calls_of(task_of(finished, "three")) == seen
    assert finished.report["calls"]["attempted"] == len(oracle.requests())


@pytest.mark.slow
def test_a_task_that_leaves_asyncio_tasks_running_is_an_error(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if requests of an asyncio task that is not awaited are lost without an error, or if
    its clean-up is not part of the arrival. An asyncio task of `on_start` may go on. 8 s."""
    scene = (
        HEAD
        + """
@scenario(rps=10, duration="2s", mode="constant", users=4)
class S(VUser):
    async def on_start(self, client: LoadClient) -> None:
        self.ticks = 0
        self.ticker = asyncio.create_task(self.tick())

    async def tick(self) -> None:
        while True:
            await asyncio.sleep(0.01)
            self.ticks += 1

    @task
    async def leaves(self, client: LoadClient) -> None:
        self.late = asyncio.create_task(self.send_late(client))
        await client.get("/leaves")

    async def send_late(self, client: LoadClient) -> None:
        try:
            await asyncio.sleep(30)
            await client.get("/late")
        finally:
            await client.get("/cleanup")

    @task
    async def ends(self, client: LoadClient) -> None:
        tasks = [asyncio.create_task(self.wait_long()) for _ in range(2)]
        await client.get("/ends")
        assert not self.ticker.done()
        for each in tasks:
            each.cancel()

    async def wait_long(self) -> None:
        await asyncio.sleep(30)
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    seen = {"GET /leaves": 10, "GET /cleanup": 10, "GET /ends": 10}
    assert routes(oracle.requests()) == seen
    assert calls_of(task_of(finished, "leaves")) == {"GET /leaves": 10, "GET /cleanup": 10}
    (raised,) = task_of(finished, "leaves")["raised"]
    assert raised["count"] == 10
    assert raised["text"] == (
        "RuntimeError: ended with 1 asyncio task still running: await or cancel what "
        "asyncio.create_task() returned"
    )
    assert not task_of(finished, "ends").get("raised")


@pytest.mark.slow
def test_a_request_between_arrivals_is_an_error(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a request that an asyncio task makes while its user has no arrival is lost without
    an error. 9 s."""
    scene = (
        HEAD
        + """
@scenario(rps=4, duration="2s", mode="constant", users=1)
class S(VUser):
    async def on_start(self, client: LoadClient) -> None:
        self.beat = asyncio.create_task(self.send_soon(client))

    async def send_soon(self, client: LoadClient) -> None:
        await asyncio.sleep(0.1)
        await client.get("/beat")

    @task
    async def t(self, client: LoadClient) -> None:
        await asyncio.to_thread(int)
        await client.get("/t")
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert routes(oracle.requests()) == {"GET /t": 8}
    (raised,) = task_of(finished, "t")["raised"]
    assert raised["count"] == 1
    assert "a request was made while its user had no arrival" in raised["text"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "use",
    [
        "t = threading.Thread(target=get, args=(client,)); t.start(); t.join()",
        "with ThreadPoolExecutor(1) as pool: pool.submit(get, client).result()",
    ],
    ids=["thread", "pool"],
)
def test_a_client_in_another_thread_is_an_error(
    loadpilot: Loadpilot, oracle: Oracle, use: str
) -> None:
    """Broken if a request on a thread of the scenario's own is lost without an error, or if its
    error is another one each time. 8 s each."""
    scene = (
        HEAD
        + f"""
import threading
from concurrent.futures import ThreadPoolExecutor

def get(client):
    client.get("/lost")

@scenario(rps=4, duration="2s", mode="constant", users=4)
class S(VUser):
    @task
    def t(self, client: LoadClient) -> None:
        client.get("/t")
        {use}
"""
    )
    finished = loadpilot.run(scene, oracle.url)
    assert routes(oracle.requests()) == {"GET /t": 8}
    (raised,) = task_of(finished, "t")["raised"]
    assert raised["count"] == 8
    assert raised["text"].startswith(
        "RuntimeError: the client belongs to the thread of its user: use client.batch(), or "
        "asyncio.gather() in an async task"
    )
