"""How an agent classifies a scenario before it plays it, and how it reads responses."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from asyncio import sleep
from typing import Any

import pytest

from loadpilot import VUser
from loadpilot.play.execution_mode import ExecutionMode, execution_mode
from loadpilot.play.response_text import Event, events


class Ways(VUser):
    """Coroutines of all kinds."""

    def plain(self, client: Any) -> None:
        client.get("/")

    async def answers_at_once(self, client: Any) -> None:
        assert client.get("/").ok

    async def answers_and_rests(self, client: Any) -> None:
        await asyncio.sleep(1)
        assert client.get("/").ok

    async def mixes(self, client: Any) -> None:
        await asyncio.to_thread(print)
        assert client.get("/").ok

    async def awaits_its_client(self, client: Any) -> None:
        await client.get("/")
        await asyncio.sleep(1)
        await sleep(1)
        await self.wait(1, 2)

    async def lets_another_do_it(self, client: Any) -> None:
        await self.awaits_its_client(client)

    async def awaits_a_thread(self, client: Any) -> None:
        await client.get("/")
        await asyncio.to_thread(print)

    async def gathers(self, client: Any) -> None:
        await asyncio.gather(client.get("/a"), client.get("/b"))

    async def lets_another_await(self, client: Any) -> None:
        await self.awaits_a_thread(client)

    async def awaits_what_it_was_given(self, client: Any) -> None:
        call = client.get("/")
        await call

    async def spawns(self, client: Any) -> None:
        asyncio.create_task(self.awaits_its_client(client))  # noqa: RUF006
        await client.get("/")

    async def iterates(self, client: Any) -> None:
        await client.get("/")
        async for _ in self.rows():
            pass

    async def comprehends(self, client: Any) -> None:
        await client.get("/")
        [row async for row in self.rows()]

    async def rows(self) -> Any:
        yield 1


@pytest.mark.parametrize("bounds", [(-1,), (2, 1), (0, float("inf")), (float("nan"),)])
def test_a_wait_of_no_time_is_refused(bounds: tuple[float, ...]) -> None:
    """Broken if an invalid wait is taken for no wait, or for an endless one."""
    with pytest.raises(ValueError, match="seconds from 0 on"):
        Ways().wait(*bounds)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("plain", ExecutionMode.STACK),
        ("answers_at_once", ExecutionMode.STACK),
        ("answers_and_rests", ExecutionMode.STACK),
        ("awaits_its_client", ExecutionMode.ENGINE),
        ("lets_another_do_it", ExecutionMode.ENGINE),
        ("awaits_a_thread", ExecutionMode.LOOP),
        ("gathers", ExecutionMode.LOOP),
        ("lets_another_await", ExecutionMode.LOOP),
        ("awaits_what_it_was_given", ExecutionMode.LOOP),
        ("spawns", ExecutionMode.LOOP),
        ("iterates", ExecutionMode.LOOP),
        ("comprehends", ExecutionMode.LOOP),
    ],
)
def test_what_a_coroutine_awaits_says_how_it_is_moved_on(name: str, way: ExecutionMode) -> None:
    """Broken if a task that needs an event loop gets none, or if one that does not need it pays for
    it."""
    assert execution_mode(Ways, getattr(Ways, name)) is way


def test_a_coroutine_on_a_loop_has_to_await_its_client() -> None:
    """Broken if a task whose client can only block the loop is detected only under load."""
    with pytest.raises(TypeError, match=r"mixes\(\) awaits .*: await client.get"):
        execution_mode(Ways, Ways.mixes)


def test_events_are_read_as_browsers_read_them() -> None:
    """Broken if an event is lost, joined wrongly, or made of the incomplete end of a stream."""
    stream = (
        "\ufeff: a comment\ndata: one\ndata:two\n\n"
        "event: end\nid: 7\ndata:  spaced\r\n\r\nretry: 5\n\ndata\n\ndata: broken off\n"
    )
    assert list(events(stream)) == [
        Event("one\ntwo"),
        Event(" spaced", "end", "7"),
        Event("", "message", "7"),
    ]


LOADED = """
import io
import sys
import zipfile

from loadpilot.play import sleep_patch
from loadpilot.play.scenario import load

packed = io.BytesIO()
with zipfile.ZipFile(packed, "w") as archive:
    archive.writestr("s.py", "from loadpilot import VUser, scenario, task" + MORE + SCENARIO)
given = {"parameters": {}, "feeds": [], "shared": None, "users": None}
played = load(packed.getvalue(), "s.py", "S", ["t"], "http://127.0.0.1", **given)
names = played.tasks[0][0].__globals__
"""
SCENARIO = """

@scenario(rps=1, duration="1s", mode="constant")
class S(VUser):
    @task
    async def t(self, client):
        await client.get("/")
        await self.wait(1)
"""


@pytest.mark.parametrize(
    ("more", "then"),
    [
        ("", "assert 'asyncio' not in sys.modules"),
        ("\nfrom asyncio import sleep", "assert names['sleep'] is sleep_patch._asyncio_sleep"),
        (
            "\nimport unittest.mock",
            "import asyncio; assert asyncio.sleep is sleep_patch._asyncio_sleep",
        ),
    ],
)
def test_asyncio_is_imported_only_where_it_is_used(more: str, then: str) -> None:
    """Broken if every agent spends time to import asyncio, or if a scenario that uses it has no
    event loop for think time."""
    program = f"MORE = {more!r}\nSCENARIO = {SCENARIO!r}\n{LOADED}\n{then}\n"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
