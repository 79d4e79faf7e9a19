"""A gate that fails stops the run early, and a stopped run never passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot
from tests.e2e.support.stops import LONG, assert_report_of_a_stop

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
SLOW_MS, LIMIT_MS = 60, 30
GATE = ("--threshold", f"p50_ms={LIMIT_MS}", "--threshold", "error_rate=50")
DELAY_SECS = 4


@pytest.mark.slow
def test_a_breach_stops_the_run_and_fails_it(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the run goes on after the breach, passes, or if the log lacks the gate, its limit
    or its figure."""
    oracle.command(f"delay {SLOW_MS}")
    abort = f"p50_ms,after={DELAY_SECS}s"
    finished = loadpilot.run(WEIGHTED, oracle.url, *LONG, *GATE, "--abort-on-breach", abort)
    assert finished.judged == 1, finished.stderr + finished.stdout
    assert "stopping: p50_ms is " in finished.stderr
    assert_report_of_a_stop(finished, oracle)
    report = finished.report
    breach = report["run"]["breach"]
    assert (breach["key"], breach["limit"]) == ("p50_ms", LIMIT_MS)
    assert breach["actual"] >= SLOW_MS
    assert report["run"]["stopped_at_us"] >= DELAY_SECS * 1_000_000
    (reason,) = report["verdict"]["reasons"]
    assert reason.startswith("the run was stopped early: p50_ms was ")
    story = loadpilot.call("report", "last", "--json")
    assert "stop requested by --abort-on-breach: p50_ms was " in story.stdout


@pytest.mark.slow
def test_a_gate_that_holds_or_is_not_named_stops_nothing(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if another gate than the named one stops the run: it is judged at the end, as without
    the flag."""
    oracle.command(f"delay {SLOW_MS}")
    short = ("--rps", "50", "--duration", "4s")
    finished = loadpilot.run(WEIGHTED, oracle.url, *short, *GATE, "--abort-on-breach", "error_rate")
    assert finished.judged == 1, finished.stderr + finished.stdout
    report = finished.report
    assert report["run"]["ending"] == "completed"
    assert "breach" not in report["run"]
    assert report["arrivals"]["started"] == report["arrivals"]["planned"]
    assert report["calls"]["attempted"] == oracle.counts().received


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--abort-on-breach", "p50ms"), "did you mean 'p50_ms'? (got 'p50ms')"),
        (("--abort-on-breach", "checks"), "the gates are p50_ms, error_rate (got 'checks')"),
        (("--abort-on-breach", "p50_ms,after=soon"), "must be a duration such as 500ms"),
        (("--abort-on-breach", "after=3s"), "must name a gate first"),
        (("--abort-on-breach", "p50_ms", "--abort-on-breach", "p50_ms"), "has 'p50_ms' twice"),
        (
            ("--abort-on-breach", "p50_ms", "--nats-url", "nats://127.0.0.1:9", "--detach"),
            "is judged by this command, and --detach leaves",
        ),
    ],
)
def test_a_wrong_value_starts_nothing(
    loadpilot: Loadpilot, oracle: Oracle, flags: tuple[str, ...], says: str
) -> None:
    """Broken if a run starts with a key that has no gate, and so would never stop it."""
    finished = loadpilot.run(WEIGHTED, oracle.url, *LONG, *GATE, *flags)
    assert finished.code == 2
    assert says in finished.stderr
    assert oracle.counts().received == 0
