"""`loadpilot run` with stand-ins for log and stack."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sdk.tests.support.reports import changed

from loadpilot import _native
from loadpilot._native import Fault
from loadpilot.cli import main
from loadpilot.cli.commands import run as module
from loadpilot.local.stack import Address, Event, EventKind, StackFault

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator, Sequence

RUN = "01k9zzzzzzzzzzzzzzzzzzzzzz"
LATENCY = dict.fromkeys(("p50_ms", "p95_ms", "p99_ms", "max_ms", "min_ms", "mean_ms"), 1.5)
SNAPSHOT = {
    "timestamp_secs": 1.0,
    "elapsed_secs": 5.0,
    "duration_secs": 10.0,
    "state": "running",
    "phase": "steady",
    "current_rps": 99.8,
    "arrivals_per_sec": 98.5,
    "planned_per_sec": 100.0,
    "target_rps": 100.0,
    "arrivals_started": 450,
    "arrivals_dropped": 0,
    "requests_total": 440,
    "errors_total": 4,
    "in_flight": 2,
    "waiting": 0,
    "oldest_ms": 3.0,
    "active_workers": 2,
    "latency": LATENCY,
    "latency_cumulative": LATENCY,
    "tasks": [],
}
SCENE = """
from loadpilot import VUser, scenario, task
@scenario(rps=100, duration="8s", ramp_up="2s", thresholds={"p99_ms": 250})
class Shop(VUser):
    @task
    def browse(self, client): client.get("/", headers={"Authorization": "hunter2"})
"""


class FakeLog:
    """A log whose run goes through a fixed list of changes."""

    judges = True

    def __init__(self) -> None:
        self.changes: list[dict[str, Any] | Callable[[], None]] = [
            {"story": {"at": 1, "seq": 1, "text": "created"}},
            {"snapshot": SNAPSHOT},
            {"sealed": True},
        ]
        self.report_json = json.dumps(changed())
        self.submitted: list[dict[str, Any]] = []
        self.secrets: list[dict[str, str]] = []
        self.commands: list[str] = []
        self.error: Exception | None = None
        self.reading = FakeReading()

    def submit(
        self, request_json: str, secrets: dict[str, str], bodies: dict[str, bytes], run: str
    ) -> str:
        if self.error is not None:
            raise self.error
        self.submitted.append(json.loads(request_json))
        self.secrets.append(secrets)
        assert bodies == {}
        assert len(run) == 26
        return RUN

    def watch(self, run: str, _interval_secs: float, *, gates: bool, hold: bool) -> FakeLog:
        assert not gates, "standard error is no terminal"
        assert not hold, "the plan holds no gate"
        assert run == RUN
        return self

    def next(self, _timeout_secs: float) -> str | None:
        if not self.changes:
            return None
        change = self.changes.pop(0)
        if callable(change):
            change()
            return None
        return json.dumps(change)

    def stop(self, run: str, by: str) -> None:
        assert run == RUN
        self.commands.append(f"stop by {by}")

    def halt(self, run: str) -> None:
        assert run == RUN
        self.commands.append("halt")

    def report(self, run: str) -> str:
        assert run == RUN
        return self.report_json

    def read(self, run: str) -> FakeReading:
        assert run == RUN
        return self.reading

    def close(self) -> None:
        self.commands.append("close")


class FakeReading:
    """Answers of a log, each empty."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def series(self, slice_json: str) -> str:
        assert slice_json == "{}"
        if self.error is not None:
            raise self.error
        return "{}"

    heat = errors = series

    def agents(self) -> str:
        return "{}"

    def verdict(self, question_json: str) -> str:
        assert question_json == "{}"
        return '{"broke_at_us":[null]}'


class FakeStack:
    """A stack that is ready at once."""

    def __init__(self) -> None:
        self.log_dir = Path(".loadpilot/log-1")
        self.events: list[Event] = []
        self.agents = 0
        self.listening = None
        self.stopped = False
        self.error: StackFault | None = None

    def for_run(
        self,
        _root: Path,
        agents: int,
        _listen: Sequence[str],
        _opened: Sequence[str],
        _proxies: Sequence[str],
    ) -> FakeStack:
        if self.error is not None:
            raise self.error
        self.agents = agents
        return self

    def ready(self, interrupted: Callable[[], bool]) -> Address | None:
        return None if interrupted() else Address("nats://x", "t", self.log_dir, 1, 2)

    def next_event(self, _timeout_secs: float = 0) -> Event | None:
        return self.events.pop(0) if self.events else None

    def is_new(self, _restarted: dict[str, Any]) -> bool:
        return True

    def fault(self, event: Event) -> StackFault:
        return StackFault(f"the local stack failed: {event.facts.get('reason')}")

    def stop(self) -> None:
        self.stopped = True


class Scene:
    """One command in a directory of its own."""

    def __init__(self, log: FakeLog, stack: FakeStack) -> None:
        self.log = log
        self.stack = stack

    def run(self, *flags: str) -> int:
        return main(["run", "scene.py", *flags])


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    log, stack = FakeLog(), FakeStack()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOADPILOT_TARGET", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.setattr(module, "LocalStack", stack)
    monkeypatch.setattr(_native, "DEVELOPMENT_BUILD", False)
    monkeypatch.setattr(module, "connect", lambda _address: log)
    (tmp_path / "scene.py").write_text(SCENE, encoding="utf-8")
    yield Scene(log, stack)
    assert not Path(".loadpilot").exists()


def press(*numbers: signal.Signals) -> Callable[[], None]:
    """Send signals to this process, as a terminal or an operator does."""

    def send() -> None:
        for number in numbers:
            os.kill(os.getpid(), number)

    return send


FAULTS: dict[str, Callable[[Scene], None]] = {
    "the local stack failed: nats-server ended": lambda scene: scene.stack.events.append(
        Event(EventKind.FAILED, {"reason": "nats-server ended"})
    ),
    "no nats-server": lambda scene: setattr(scene.stack, "error", StackFault("no nats-server")),
    "cannot store": lambda scene: setattr(scene.log, "error", Fault("cannot store the request")),
}
"""Faults of stack and log by the message that they end in."""
CODES: dict[int, dict[str, Any]] = {
    1: {"verdict__passed": False},
    3: {"certificate__grade": "INVALID"},
    4: {"run__ending": "log_full"},
}
"""Changes of a good report by the exit code that they lead to."""
