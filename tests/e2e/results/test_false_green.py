"""Runs that look healthy and must fail: each row is such a run.

A row names the exit code and the words in the report with which the command must end. To add one,
append a `Row` to `ROWS`; its `behaviours` are control lines of the oracle. A forged delta needs a
fleet: `tests/faults/log/test_foreign_events.py` tests it.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.support.command import VOID

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.support.command import Loadpilot
    from tests.oracle.oracle import Oracle

HEAD = "from loadpilot import LoadClient, VUser, scenario, task\n\n"
RAISES = """
@scenario(rps=40, duration="1s", mode="constant"{more})
class Shop(VUser):
    @task
    def cart(self, client: LoadClient) -> None:
        {body}
        assert {condition}, "the cart is empty"
        client.get("/after")
"""
CALL = 'answer = client.get("/get")'
NO_CALL = "answer = None"
PLAIN = """
@scenario(rps=40, duration="2s", mode="constant"{more})
class Plain(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get("/get")
"""
NEVER_CHECKED = """
@scenario(rps=40, duration="1s", mode="constant"{more})
class Shop(VUser):
    is_rich = False

    @task
    def get(self, client: LoadClient) -> None:
        client.get("/get")

    @task
    def pay(self, client: LoadClient) -> None:
        if self.is_rich:
            client.get("/pay")

    def check_pay(self, status_code: int, body: object) -> None:
        assert status_code == 200
"""
IN_PYTHON = ", compile=False"
CLOSED = "http://127.0.0.1:1"
"""Port 1 (tcpmux) has no listener."""
SLOW = ', max_in_flight=1, max_wait="100ms"'
"""Settings with which an agent starts two or three arrivals a second, at responses after 400 ms."""


def raises(more: str = "", body: str = CALL, condition: str = "False") -> str:
    return HEAD + RAISES.format(more=more, body=body, condition=condition)


def plain(more: str = "") -> str:
    return HEAD + PLAIN.format(more=more)


@dataclass(frozen=True, slots=True)
class Row:
    """One run that must fail, or that must pass although it is close to a rule that fails runs."""

    name: str
    scene: str
    code: int
    reason: str = ""
    """Part of one of the verdict's reasons; empty: there are none."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Expected figures of the report, by dotted path."""
    behaviours: Sequence[str] = ()
    flags: Sequence[str] = ()
    above: Mapping[str, float] = field(default_factory=dict)
    """Figures of the report that must be greater, by dotted path."""
    stopped_after: int = 0
    """Number of requests after which Ctrl-C follows; 0: the run comes to its end."""
    shows: str = ""
    """Text of the verdict line; empty: the one of the exit code."""
    target: str = ""
    """Target of the load; empty: the oracle."""


RAISED = {"requests_total": 40, "errors_total": 40, "error_rate_pct": 100.0}
ROWS = [
    *(
        row
        for played, more in (("compiled", ""), ("in Python", IN_PYTHON))
        for row in (
            Row(
                f"a task that always raises, {played}",
                raises(more),
                1,
                "40 tasks raised an error",
                RAISED | {"task_raises": {"after_ok": 40}, "calls.outcomes": {"ok": 40}},
            ),
            Row(
                f"a task that always raises under error_rate, {played}",
                raises(f'{more}, thresholds={{"error_rate": 0}}'),
                1,
                figures=RAISED,
            ),
            Row(
                f"a task that raises without a call, {played}",
                raises(more, NO_CALL, "answer"),
                1,
                "40 tasks raised an error",
                {
                    "requests_total": 0,
                    "errors_total": 40,
                    "error_rate_pct": 100.0,
                    "task_raises": {"without_call": 40},
                },
            ),
            Row(
                f"a call that failed before its task raised counts once, {played}",
                raises(more, condition="answer.status_code == 200"),
                1,
                "40 tasks raised an error",
                RAISED | {"task_raises": {"after_failed": 40}, "calls.outcomes": {"http_5xx": 40}},
                ["status 503"],
            ),
        )
    ),
    Row(
        "a gate for task errors that they exceed",
        raises(', thresholds={"task_errors": 39}'),
        1,
        figures={"verdict.thresholds.0.actual": 40.0},
    ),
    Row(
        "green: a gate that allows as many task errors",
        raises(', thresholds={"task_errors": 40}'),
        0,
        figures=RAISED,
    ),
    Row(
        "a target that takes a fraction of the load",
        plain(SLOW),
        1,
        "the latency is that of the requests it let in",
        {"errors_total": 0},
        ["delay 400"],
        above={"rates.shortfall_pct": 50},
    ),
    Row(
        "a shortfall beyond the flag",
        plain(SLOW),
        1,
        behaviours=["delay 400"],
        flags=["--shortfall", "10"],
        figures={"verdict.thresholds.0.key": "shortfall"},
    ),
    Row(
        "green: a shortfall that the flag allows",
        plain(SLOW),
        0,
        behaviours=["delay 400"],
        flags=["--shortfall", "99"],
    ),
    Row(
        "a target that is down",
        plain(),
        3,
        "calls failed to connect",
        {"latency.response_ok": None},
        flags=["--duration", "60s"],
        above={"run.unanswered.calls": 100},
        shows="FAIL",
        target=CLOSED,
    ),
    Row(
        "a latency gate over calls that never reached a server",
        plain(', thresholds={"p99_ms": 1000}'),
        3,
        "no request was answered well",
        {"verdict.thresholds.0.actual": None, "verdict.thresholds.0.passed": False},
        flags=["--no-early-abort"],
        target=CLOSED,
    ),
    Row(
        "a run that was cut short",
        plain(),
        130,
        figures={"run.ending": "stopped"},
        flags=["--duration", "60s"],
        stopped_after=60,
        shows="STOPPED, passing so far",
    ),
    Row(
        "a check that never ran",
        HEAD + NEVER_CHECKED.format(more=""),
        1,
        "no answer was checked of: pay",
    ),
    Row(
        "a check that never ran, in Python",
        HEAD + NEVER_CHECKED.format(more=IN_PYTHON),
        1,
        "no answer was checked of: pay",
    ),
    Row(
        "a check that never ran, under a gate",
        HEAD + NEVER_CHECKED.format(more=', thresholds={"pay:checks": 0}'),
        1,
        "no answer was checked of: pay",
        {"verdict.thresholds.0.actual": None},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_it_is_not_green_by_accident(loadpilot: Loadpilot, oracle: Oracle, row: Row) -> None:
    """Broken if a run that only looks healthy passes, or does not say why it fails."""
    for behaviour in row.behaviours:
        oracle.command(behaviour)
    with loadpilot.start(row.scene, row.target or oracle.url, *row.flags) as running:
        if row.stopped_after:
            assert oracle.wait_count(row.stopped_after, 30)
            running.signal(signal.SIGINT)
        finished = running.end()
    assert finished.judged == row.code, finished.stdout + finished.stderr
    report = finished.report
    verdict = report["verdict"]
    assert verdict["passed"] == (row.code in {0, 130})
    shows = row.shows or ("PASS" if row.code == 0 else "FAIL")
    shows = VOID if finished.is_void else shows
    assert finished.stdout.startswith(f"verdict      {shows}\n")
    if row.reason:
        assert any(row.reason in reason for reason in verdict["reasons"]), verdict
        assert row.reason in " ".join(finished.stdout.split())
    else:
        assert verdict["reasons"] == []
    for path, value in row.figures.items():
        assert at(report, path) == value, (path, report)
    for path, least in row.above.items():
        assert at(report, path) > least, (path, report)
    sent = 0 if row.target else report["calls"]["attempted"]
    assert sent == oracle.counts().received


def at(report: Any, path: str) -> Any:
    """Looks up a value by its dotted path."""
    for part in path.split("."):
        report = report[int(part)] if part.isdigit() else report[part]
    return report
