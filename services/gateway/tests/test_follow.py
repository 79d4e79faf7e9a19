"""Live views, and connections whose caller does not read, tested without a fleet."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import StreamingResponse

from loadpilot_gateway.gateway import Gateway
from loadpilot_gateway.problem import ApiError
from loadpilot_gateway.runs import follow
from loadpilot_gateway.runs.follow import Followed, Hub, Watcher
from loadpilot_gateway.server import listen, serve
from loadpilot_gateway.server.auth import Authenticator, digest
from loadpilot_gateway.server.guard import Guard
from loadpilot_gateway.tenants import Tenants

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from fastapi.sse import ServerSentEvent

PATIENCE_S = 60.0
STEPS = ["line", "line", "snapshot", "connection", "read", "read", "cut"]


def content(event: ServerSentEvent) -> tuple[str, Any]:
    return str(event.event), json.loads(event.raw_data or "null")


async def fed(steps: list[str], after: int) -> tuple[list[tuple[str, Any]], int]:
    """Feeds a follower, and reads or cuts off a view of it, as the steps say."""
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
            case "unstored" | "connection":
                followed._take(f'{{"{step}":"no \\"space\\" left"}}')
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
            seen.append(content(reading.result()))
            reading = None
    followed.finish("sealed", "{}")
    if reading is not None:
        seen.append(content(await reading))
    seen += [content(event) async for event in view]
    return seen, lines


def next_after(seen: list[tuple[str, Any]], after: int) -> int:
    """The position at which a browser reopens a view that was cut off."""
    return max([after, *(data["seq"] for kind, data in seen if kind == "story")])


@given(
    st.lists(st.sampled_from(STEPS), max_size=40),
    st.integers(0, 5),
)
def test_a_watcher_misses_no_line_and_sees_the_newest(steps: list[str], after: int) -> None:
    """Broken if a slow, late or reconnecting watcher misses a line, sees one twice, or an old
    snapshot after a newer one."""
    seen, lines = asyncio.run(fed(steps, after))
    story = [data["seq"] for kind, data in seen if kind == "story"]
    assert story == list(range(after + 1, lines + 1))
    assert seen[-1] == ("sealed", {})
    shown = [data["n"] for kind, data in seen if kind == "snapshot"]
    assert shown == sorted(shown)
    newest = steps.count("snapshot")
    assert (shown[-1] if shown else 0) == newest


def tenants() -> Tenants:
    """One tenant without requested runs."""
    return Tenants({"": Gateway(None)})  # type: ignore[arg-type]


def test_a_refused_view_follows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken if views above the limit leave followers behind, until no run can be watched."""
    started: list[str] = []
    monkeypatch.setattr(Followed, "start", lambda followed: started.append(followed.run))

    async def joined() -> None:
        hub = Hub(views=1)
        view = hub.join("run-1", None, 0, lambda: True, None)  # type: ignore[arg-type]
        for n in range(follow.FOLLOWED_MAX):
            with pytest.raises(ApiError, match="live views are open"):
                hub.join(f"other-{n}", None, 0, lambda: True, None)  # type: ignore[arg-type]
        hub.leave(*view)
        hub.join("run-2", None, 0, lambda: True, None)  # type: ignore[arg-type]

    asyncio.run(joined())
    assert started == ["run-1", "run-2"]


def test_unread_events_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken if a frozen view needs more memory each second."""
    monkeypatch.setattr(follow, "STORY_LINES_MAX", 10)
    steps = ["snapshot"] * 1_000 + ["line"] * 1_000
    seen, _ = asyncio.run(fed(steps, 0))
    assert [kind for kind, _ in seen] == ["story"] * 10 + ["snapshot", "sealed"]
    assert seen[10] == ("snapshot", {"n": 1_000})


def test_a_log_that_stores_nothing_is_reported_once_each_time() -> None:
    """Broken if the view of a run whose figures are not stored does not say so."""
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


USED = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def served(
    app: Any, most: int = 256, head_s: float = 0.5
) -> Iterator[tuple[Any, threading.Semaphore]]:
    """The port of a server, and the event of a connection that is over."""
    lost = threading.Semaphore(0)
    over = serve.TimedProtocol.connection_lost

    def noted(self: serve.TimedProtocol, exc: Exception | None) -> None:
        over(self, exc)
        lost.release()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serve, "STALLED_SECS", 0.5)
        patch.setattr(serve, "HEAD_SECS", head_s)
        patch.setattr(serve.TimedProtocol, "connection_lost", noted)
        listener = listen.bound("127.0.0.1", 0, most)
        server = serve.server(app, lambda: None)
        thread = threading.Thread(
            target=lambda: asyncio.run(server._serve([listener])), daemon=True
        )
        thread.start()
        yield listener.getsockname(), lost
        server.end()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def head_of(caller: socket.socket) -> bytes:
    """Reads the answer up to its body; bodies here are small and come with the head."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        part = caller.recv(65_536)
        assert part, answer
        answer += part
    return answer


def test_who_reads_or_says_nothing_is_cut_off() -> None:
    """Broken if a frozen reader keeps its connection, or a silent one."""
    with served(endless) as (address, lost):
        for said in (USED, b"GET / HT"):
            with socket.create_connection(address) as caller:
                caller.sendall(said)
                assert lost.acquire(timeout=PATIENCE_S), said


def test_who_was_answered_and_says_half_of_more_is_cut_off() -> None:
    """Broken if a used connection can stay for ever: with half a head, with a body that was not
    read (byte by byte or not at all), or with an answer that its caller does not read."""
    guarded = Guard(
        endless, Authenticator(token=digest("0123456789abcdef")), tenants(), is_loopback=True
    )
    refused = b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n"
    unread = b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n"
    chunked = unread.replace(b"Content-Length: 900", b"Transfer-Encoding: chunked") + b"9\r\n"
    with served(guarded) as (address, lost):
        for first, second in (
            (refused, b"GET /api/v1/me HT"),
            (refused, refused + b"GET /api"),
            (unread, b"{"),
            (chunked, b"abc"),
        ):
            with socket.create_connection(address) as caller:
                caller.settimeout(PATIENCE_S)
                caller.sendall(first)
                assert head_of(caller).startswith(b"HTTP/1.1 401"), first
                caller.sendall(second)
                # A byte now and then does not extend the time.
                while not lost.acquire(timeout=0.1):
                    with suppress(OSError):
                        caller.sendall(b"x")


def test_a_body_that_ends_late_leaves_the_connection_of_use() -> None:
    """Broken if a caller whose body comes after its answer is cut off, or is not served again."""
    guarded = Guard(
        endless, Authenticator(token=digest("0123456789abcdef")), tenants(), is_loopback=True
    )
    with served(guarded, head_s=PATIENCE_S) as (address, _):
        caller = http.client.HTTPConnection(*address, timeout=PATIENCE_S)
        caller.connect()
        known = caller.sock
        for _ in range(3):
            caller.putrequest("POST", "/api/v1/runs")
            caller.putheader("Content-Length", "2")
            caller.endheaders()
            answer = caller.getresponse()
            assert (answer.status, bool(answer.read())) == (401, True)
            known.sendall(b"{}")
        assert caller.sock is known
        caller.close()


def test_an_address_has_so_many_connections() -> None:
    """Broken if one caller can take the places of all others, or is refused for ever."""
    with served(endless, 3) as (address, lost), ExitStack() as held:
        for _ in range(3):
            caller = held.enter_context(socket.create_connection(address))
            caller.sendall(USED)
            assert caller.recv(12) == b"HTTP/1.1 200"
        with socket.create_connection(address) as fourth, suppress(ConnectionResetError):
            assert fourth.recv(1) == b""
        with socket.create_connection(address, source_address=("127.0.0.2", 0)) as other:
            other.sendall(USED)
            assert other.recv(12) == b"HTTP/1.1 200"
        for _ in range(4):
            assert lost.acquire(timeout=PATIENCE_S)
        with socket.create_connection(address) as again:
            again.sendall(USED)
            assert again.recv(12) == b"HTTP/1.1 200"


def test_addresses_of_one_owner_are_one() -> None:
    """Broken if a network of IPv6 has as many connections as it has addresses."""
    assert listen.site_of("2001:db8::1") == listen.site_of("2001:db8::ffff:2%eth0")
    assert listen.site_of("2001:db8:0:1::1") != listen.site_of("2001:db8::1")
    assert listen.site_of("::ffff:192.0.2.7") == listen.site_of("192.0.2.7") == "192.0.2.7"
    assert listen.site_of("192.0.2.8") != listen.site_of("192.0.2.7")
