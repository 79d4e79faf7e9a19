"""The cost of following a run for its load, and what the command reports of the run."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from sdk.tests.support.snapshots import snapshot

from loadpilot._native import Fault
from loadpilot.cli.commands.watch import Watcher
from loadpilot.cli.output.live import LineView, PlanInfo
from loadpilot.control import follow
from loadpilot.control.follow import Followed, Follower, shortened

TIMES = chr(0xD7)
"""How the story writes how many shards an agent holds."""

FOLLOWED = """
import json
import sys
from loadpilot.cli.output.live import LineView, PlanInfo
from loadpilot.control.follow import Followed, Follower

class Watch:
    def __init__(self, *changes):
        self.changes = iter(changes)

    def next(self, secs):
        new = sys.modules.keys() - IMPORTED
        assert not new, new
        return json.dumps(next(self.changes))

class Session:
    def watch(self, run, interval_secs, *, gates, hold):
        assert (interval_secs, gates) == (1.0, False)
        return Watch({"snapshot": json.loads(sys.argv[1])}, {"sealed": True})

class Uninterrupted:
    count = 0

lines = []
view = LineView(PlanInfo("Shop"), lines.append)
follower = Follower(session=Session(), run="", view=view, interruptions=Uninterrupted())
IMPORTED = set(sys.modules)
assert follower.follow(None) is Followed.OVER
assert len(lines) == 1, lines
"""


def test_following_a_run_imports_nothing() -> None:
    """Broken if imports take a tenth of a second during the load, which may share the core."""
    done = subprocess.run(
        [sys.executable, "-c", FOLLOWED, json.dumps(snapshot())],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


class LateWatch:
    """Changes that the coordinator stored while the command was not scheduled."""

    def __init__(self, clock: list[float]) -> None:
        self.clock = clock
        self.changes: list[dict[str, Any]] = [
            {"snapshot": snapshot(state="running")},
            {"snapshot": snapshot(state="stopping")},
            {"sealed": True},
        ]

    def next(self, _secs: float) -> str:
        self.clock[0] += follow.HALT_SECS + 1.0
        return json.dumps(self.changes.pop(0))


class LateSession:
    """A session with such a watch."""

    def __init__(self) -> None:
        self.clock = [0.0]
        self.halted: list[str] = []

    def watch(self, *_: object, **__: object) -> LateWatch:
        return LateWatch(self.clock)

    def stop(self, *_: object) -> None:
        """The request is stored."""

    def halt(self, run: str) -> None:
        self.halted.append(run)


def test_a_late_command_reads_the_answer_before_it_halts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken if a stop cuts off calls in flight because the command got no processor for a
    while."""
    session: Any = LateSession()
    monkeypatch.setattr(follow, "monotonic", lambda: session.clock[0])
    interrupted: Any = SimpleNamespace(count=1)
    follower = Follower(session, "r", LineView(PlanInfo("Shop"), lambda _: None), interrupted)
    assert follower.follow(None) is Followed.OVER
    assert session.halted == []


class LostWatch:
    """A watch whose log is lost."""

    def next(self, _secs: float) -> str:
        raise Fault("stream LP_CTL does not exist")


class LostSession(LateSession):
    """A session with such a watch."""

    def watch(self, *_: object, **__: object) -> Any:
        return LostWatch()


def test_a_run_whose_log_is_lost_is_halted_by_its_command_alone() -> None:
    """Broken if agents send on when the log that a stop needs is lost, or if a command that only
    watches halts the run of another."""
    session: Any = LostSession()
    idle: Any = SimpleNamespace(count=0, any=lambda: False)
    lines: list[str] = []
    view = LineView(PlanInfo("Shop"), lines.append)
    with pytest.raises(Fault, match="does not exist"):
        Follower(session, "r", view, idle).follow(None)
    assert session.halted == ["r"]
    assert any("the kill switch is thrown" in line for line in lines)

    one: Any = SimpleNamespace(run="r", log=None)
    with pytest.raises(Fault, match="does not exist"):
        Watcher(session, one, view, idle, verbose=False).follow(None)
    assert session.halted == ["r"]


STORY = {
    "run of Shop requested on 1 agents": None,
    "run created: 256 shards, seed 7, needs python": None,
    "agent-1: offers 7999.5 arrivals per second": None,
    f"generation 1: agent-1 {TIMES} 128, agent-2 {TIMES} 128": None,
    "agent-1: ready, clock +3 µs ± 12 µs": None,
    "start scheduled": None,
    "agent-1: started": None,
    "agent-1: finished: 10 arrivals, 10 calls, 2 deltas": None,
    "run sealed": None,
    "run sealed, 1 holders missing": "run sealed, 1 holders missing",
    "agent-1: failed: on_start: KeyError": "agent-1: failed: on_start: KeyError",
    f"generation 2 from tick 9: agent-2 {TIMES} 256 (lost agent-1 {TIMES} 128: silent)": (
        f"lost agent-1 {TIMES} 128: silent"
    ),
    "stop requested by ada": "stop requested by ada",
    "rate 10 -> 20 by ada, from tick 3 on": "rate 10 -> 20 by ada, from tick 3 on",
}


@pytest.mark.parametrize("line", STORY)
def test_a_run_that_goes_as_it_should_tells_nothing_of_its_machinery(line: str) -> None:
    """Broken if shards, generations and clocks hide what users need, or if a loss is not
    reported."""
    assert shortened(line) == STORY[line]
