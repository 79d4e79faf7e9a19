"""Thousands of idle live views, from many addresses: they take the memory that the documents state,
and other callers do not wait."""

from __future__ import annotations

import os
import resource
import selectors
import socket
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from services.gateway.tests.gateways import API, MANY_REQUESTS, Gateway, Gateways, plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.support.command import Loadpilot, Running
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

STREAMS = int(os.environ.get("LOADPILOT_TEST_STREAMS", "10000"))
VIEW_KIB_MAX = 80
"""Memory of a live view that docs/howto/fleet/use-the-gateway.md states."""
OF_ONE_ADDRESS = 200
"""Streams of one address, below the limit of the gateway."""
AT_A_TIME = 200
"""Streams that are opened before their first bytes are read."""
PATIENCE_S = 60.0
ANSWER_S = 10.0
"""Longest time of a short answer while the streams are open, beside compilers of others."""
HEAD = "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"


def waiting_run(gateway: Gateway, loadpilot: Loadpilot, oracle: Oracle) -> str:
    """A run that waits for an agent that does not come: its live views are idle."""
    wanted = {"plan": plan(loadpilot, oracle, 1, 1), "agents": {"want": 1, "wait_us": 600_000_000}}
    run: str = gateway.tell("/runs", wanted).json["run"]
    return run


def resident_kib(process: Running) -> int:
    """Memory of a process that it does not share with its files."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    (line,) = [one for one in status.splitlines() if one.startswith("RssAnon")]
    return int(line.split()[1])


def opened(gateway: Gateway, run: str, count: int) -> Iterator[socket.socket]:
    """Open live views, from as many loopback addresses as needed, each with its first event."""
    ask = HEAD.format(path=f"{API}/runs/{run}/live").encode()
    for begin in range(0, count, AT_A_TIME):
        views = []
        for number in range(begin, min(begin + AT_A_TIME, count)):
            own = number // OF_ONE_ADDRESS
            view = socket.socket()
            view.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            view.settimeout(PATIENCE_S)
            view.bind((f"127.0.{1 + own // 250}.{1 + own % 250}", 0))
            view.connect(("127.0.0.1", gateway.port))
            view.sendall(ask)
            views.append(view)
        for view in views:
            answer = b""
            while b"event: story" not in answer:
                part = view.recv(65_536)
                assert part, answer
                answer += part
            assert answer.startswith(b"HTTP/1.1 200 "), answer
            yield view


def closed(views: list[socket.socket]) -> int:
    """Number of streams that the gateway has ended."""
    with selectors.DefaultSelector() as ready:
        for view in views:
            ready.register(view, selectors.EVENT_READ)
        readable = [key.fileobj for key, _ in ready.select(0)]
    return sum(not one.recv(65_536) for one in readable if isinstance(one, socket.socket))


@pytest.mark.long
@pytest.mark.timeout(300)
def test_ten_thousand_idle_streams(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if an idle live view takes more memory than stated, if so many of them keep other
    callers from an answer, or if one more is not refused with the limit. Costs 60 s."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = STREAMS + 1_000
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"needs {needed} open files, the hard limit is {hard}: ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    fleet.coordinator()
    gateway = gateways.start(LIVE_VIEWS=str(STREAMS), **MANY_REQUESTS)
    (process,) = gateways.processes
    run = waiting_run(gateway, loadpilot, oracle)
    with ExitStack() as stack:
        first = [stack.enter_context(view) for view in opened(gateway, run, 10)]
        before = resident_kib(process)
        begun = time.monotonic()
        views = first + [
            stack.enter_context(view) for view in opened(gateway, run, STREAMS - len(first))
        ]
        opening_s = time.monotonic() - begun
        grown = resident_kib(process) - before
        each = grown / (STREAMS - len(first))
        slowest = 0.0
        for _ in range(50):
            for path in ("/healthz", f"{API}/me", f"{API}/runs"):
                begun = time.monotonic()
                assert gateway.ask("GET", path).status == 200
                slowest = max(slowest, time.monotonic() - begun)
        refused = gateway.api(f"/runs/{run}/live")
        assert (refused.status, refused.json["code"]) == (503, "busy")
        assert f"{STREAMS}, the limit" in refused.json["detail"]
        assert closed(views) == 0
        print(
            f"{STREAMS} idle live views: {grown / 1024:.0f} MiB more than {before / 1024:.0f}, "
            f"{each:.1f} KiB each; opened in {opening_s:.0f} s; "
            f"slowest of 150 short answers {slowest * 1000:.0f} ms"
        )
        assert slowest < ANSWER_S
        assert each < VIEW_KIB_MAX
    # Their places are free again.
    give_up = time.monotonic() + PATIENCE_S
    while True:
        with gateway.live(run) as live:
            if live.response.status == 200:
                break
        assert time.monotonic() < give_up
    assert gateway.tell(f"/runs/{run}/stop").status == 200


@pytest.mark.slow
def test_a_live_view_beyond_the_limit_is_refused(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the limit of live views is not that of the setting, or if a refused view takes a
    place. Costs 4 s."""
    fleet.coordinator()
    gateway = gateways.start(LIVE_VIEWS="20")
    run = waiting_run(gateway, loadpilot, oracle)
    with ExitStack() as stack:
        views = [stack.enter_context(view) for view in opened(gateway, run, 20)]
        for _ in range(3):
            refused = gateway.api(f"/runs/{run}/live")
            assert (refused.status, refused.json["code"]) == (503, "busy")
            assert "too many live views are open here: 20, the limit" in refused.json["detail"]
        views[0].close()
        give_up = time.monotonic() + PATIENCE_S
        while True:
            with gateway.live(run) as live:
                if live.response.status == 200:
                    break
            assert time.monotonic() < give_up
        assert closed(views[1:]) == 0


def test_more_live_views_than_open_files_are_refused(gateways: Gateways) -> None:
    """Broken if a gateway starts with a limit that it cannot hold. 2 s."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 2_000), hard))
        ended = gateways.process("--check-config", LIVE_VIEWS="10001").end(30)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert ended.code == 2
    assert "LOADPILOT_GATEWAY_LIVE_VIEWS: Input should be less than or equal" in ended.stderr
