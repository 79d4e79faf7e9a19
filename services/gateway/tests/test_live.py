"""Live views: many of them, some not read, cost the run nothing and the gateway little."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from services.gateway.tests.gateways import API, MANY_REQUESTS, Gateways, plan

if TYPE_CHECKING:
    from tests.e2e.support.command import Loadpilot
    from tests.e2e.support.fleet import Fleet
    from tests.oracle.oracle import Oracle

WATCHERS = 200
FROZEN = 100
SECS = 8
FOLLOWED = 32
"""As many runs as a gateway follows at a time."""
MEMORY_KIB_MAX = 400_000


def frozen(port: int, run: str) -> socket.socket:
    """A caller that opens a live view and reads nothing, with a small receive buffer."""
    watcher = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    watcher.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    watcher.connect(("127.0.0.1", port))
    ask = f"GET {API}/runs/{run}/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    watcher.sendall(ask.encode())
    return watcher


@pytest.mark.slow
def test_frozen_watchers_delay_no_other(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a watcher that does not read takes memory, or delays other watchers or the run."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft > WATCHERS * 3, (soft, hard)
    fleet.coordinator()
    fleet.agent("a-1")
    gateway = gateways.start()
    run = gateway.tell("/runs", {"plan": plan(loadpilot, oracle, 50, SECS)}).json["run"]
    with ExitStack() as held:
        for _ in range(FROZEN):
            held.enter_context(frozen(gateway.port, run))
        views = [held.enter_context(gateway.live(run)) for _ in range(WATCHERS - FROZEN)]
        assert {view.response.status for view in views} == {200}
        story: list[list[str]] = []
        for view in views:
            events = list(view.events())
            assert events[-1].kind == "sealed"
            assert [event for event in events if event.kind == "snapshot"]
            story.append([event.data["text"] for event in events if event.kind == "story"])
        assert all(lines == story[0] for lines in story)
        status = Path(f"/proc/{gateways.processes[0].pid}/status").read_text(encoding="utf-8")
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        assert int(peak.split()[1]) < MEMORY_KIB_MAX
        report = gateway.api(f"/runs/{run}").json
    assert report["run"]["ending"] == "completed"
    assert report["arrivals"]["started"] == oracle.counts().received == 50 * SECS
    assert story[0] == [line["text"] for line in report["story"]]


@pytest.mark.slow
def test_many_live_views_leave_readiness_stop_and_halt(
    fleet: Fleet, gateways: Gateways, loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if live views use up the connections that a stop needs."""
    fleet.coordinator()
    gateway = gateways.start(**MANY_REQUESTS)
    # Without an agent each run waits, and is followed for as long as it waits.
    wanted = {
        "plan": plan(loadpilot, oracle),
        "agents": {"want": 1, "wait_us": 600_000_000},
    }
    runs = [gateway.tell("/runs", wanted).json["run"] for _ in range(FOLLOWED + 1)]
    with ExitStack() as held:
        views = [held.enter_context(gateway.live(run)) for run in runs[:FOLLOWED]]
        for view in views:
            assert next(view.events()).kind in {"story", "snapshot"}
        assert gateway.ask("GET", "/readyz").status == 200
        with gateway.live(runs[FOLLOWED]) as refused:
            assert refused.response.status == 503
        for wish, run in (("stop", runs[0]), ("halt", runs[1])):
            answer = gateway.tell(f"/runs/{run}/{wish}")
            assert answer.status == 200, (wish, answer.body)
            assert answer.json["answer"]["answer"] in {"stopping", "over"}
        halted = gateway.api(f"/runs/{runs[1]}").json["story"]
        assert "stop requested by a caller of the gateway (halt)" in str(halted)
        for view in views[:2]:
            assert list(view.events())[-1].kind == "sealed"
        assert gateway.api(f"/runs/{runs[0]}").status == 200
    assert oracle.counts().received == 0
