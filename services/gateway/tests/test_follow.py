"""The laws of live views, and of connections that nobody reads, without a fleet."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import StreamingResponse

from loadpilot_gateway import follow, serve
from loadpilot_gateway.follow import Followed, Watcher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest
    from fastapi.sse import ServerSentEvent

PATIENCE_S = 60.0


def told(event: ServerSentEvent) -> tuple[str, Any]:
    return str(event.event), json.loads(event.raw_data or "null")


async def fed(steps: list[str], after: int) -> tuple[list[tuple[str, Any]], int]:
    """Feeds a follower, and reads a view of it, or cuts it off, whenever a step says so."""
    followed = Followed("run", None, asyncio.get_running_loop())  # type: ignore[arg-type]
    view = Watcher(followed, after).events()
    reading: asyncio.Task[ServerSentEvent] | None = None
    seen: list[tuple[str, Any]] = []
    lines = snapshots = 0
    for step in steps:
        match step:
            case "line":
                lines += 1
                story = {"story": {"seq": lines, "at": 0, "text": f"line {lines}"}}
                followed._take(json.dumps(story, separators=(",", ":")))
            case "snapshot":
                snapshots += 1
                followed._take(f'{{"snapshot":{{"n":{snapshots}}}}}')
            case "unstored":
                followed._take('{"unstored":"no \\"space\\" left"}')
            case "read":
                reading = reading or asyncio.ensure_future(anext(view))
            case _:
                if reading is not None:
                    reading.cancel()
                    reading = None
                await asyncio.sleep(0)
                await view.aclose()
                view = Watcher(followed, next_after(seen, after)).events()
        for _ in range(3):
            await asyncio.sleep(0)
        if reading is not None and reading.done():
            seen.append(told(reading.result()))
            reading = None
    followed.finish("sealed", "{}")
    if reading is not None:
        seen.append(told(await reading))
    seen += [told(event) async for event in view]
    return seen, lines


def next_after(seen: list[tuple[str, Any]], after: int) -> int:
    """A view that was cut off is opened again where it was, as a browser does."""
    return max([after, *(data["seq"] for kind, data in seen if kind == "story")])


@given(
    st.lists(st.sampled_from(["line", "line", "snapshot", "read", "read", "cut"]), max_size=40),
    st.integers(0, 5),
)
def test_a_watcher_misses_no_line_and_sees_the_newest(steps: list[str], after: int) -> None:
    """Broken if somebody slow, late or cut off misses a line, sees one twice, or an old snapshot
    after a newer one."""
    seen, lines = asyncio.run(fed(steps, after))
    story = [data["seq"] for kind, data in seen if kind == "story"]
    assert story == list(range(after + 1, lines + 1))
    assert seen[-1] == ("sealed", {})
    shown = [data["n"] for kind, data in seen if kind == "snapshot"]
    assert shown == sorted(shown)
    newest = steps.count("snapshot")
    assert (shown[-1] if shown else 0) == newest


def test_what_nobody_reads_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken if a frozen view costs more with every second."""
    monkeypatch.setattr(follow, "STORY_LINES_MAX", 10)
    steps = ["snapshot"] * 1_000 + ["line"] * 1_000
    seen, _ = asyncio.run(fed(steps, 0))
    assert [kind for kind, _ in seen] == ["story"] * 10 + ["snapshot", "sealed"]
    assert seen[10] == ("snapshot", {"n": 1_000})


def test_a_log_that_stores_nothing_is_told_once_for_each_time() -> None:
    """Broken if a page showed a load as well of which nothing is stored."""
    seen, _ = asyncio.run(fed(["line", "unstored", "read", "read", "snapshot", "unstored"], 0))
    why = ("unstored", 'no "space" left')
    assert [kind for kind, _ in seen] == ["story", "unstored", "snapshot", "unstored", "sealed"]
    assert [event for event in seen if event[0] == "unstored"] == [why, why]


async def endless(scope: Any, receive: Any, send: Any) -> None:
    """An application whose one answer never ends."""
    if scope["type"] == "lifespan":
        for part in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{part}.complete"})
        return

    async def zeros() -> AsyncIterator[bytes]:
        while True:
            yield bytes(65_536)
            await asyncio.sleep(0)

    await StreamingResponse(zeros())(scope, receive, send)


def test_who_reads_or_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken if a frozen reader keeps its connection, or a silent one."""
    monkeypatch.setattr(serve, "STALLED_SECS", 0.5)
    monkeypatch.setattr(serve, "HEAD_SECS", 0.5)
    lost = threading.Semaphore(0)
    over = serve.Door.connection_lost

    def noted(self: serve.Door, exc: Exception | None) -> None:
        over(self, exc)
        lost.release()

    monkeypatch.setattr(serve.Door, "connection_lost", noted)
    listener = serve.bound("127.0.0.1", 0)
    server = serve.server(endless, lambda: None)
    thread = threading.Thread(target=lambda: asyncio.run(server._serve([listener])), daemon=True)
    thread.start()
    for said in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET / HT"):
        with socket.create_connection(listener.getsockname()) as caller:
            caller.sendall(said)
            assert lost.acquire(timeout=PATIENCE_S), said
    server.end()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
