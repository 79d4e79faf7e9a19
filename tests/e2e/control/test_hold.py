"""A run with ``--hold`` changes its rate by its own gate, counted at the target."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import pytest
from tests.e2e.control.test_steer import assert_exact, assert_steered, per_second
from tests.e2e.support.command import SCENARIOS, Loadpilot

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
SECONDS = 22
FLAGS = ("--rps", "20", "--duration", f"{SECONDS}s")


@pytest.mark.slow
def test_the_rate_doubles_while_the_gate_holds(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a change is not in the log with its reason, or not at the target. 25 s.

    Log, report, summary and the target's own count agree on every rate.
    """
    finished = loadpilot.run(WEIGHTED, oracle.url, *FLAGS, "--hold", "p50_ms=10000")
    assert finished.judged == 0, finished.stderr + finished.stdout
    report = finished.report
    held = report["run"]["held"]
    rates = [step["rate"] / 1e6 for step in held["steps"]]
    assert rates == [20 * 2**step for step in range(len(rates))]
    assert len(rates) >= 3
    assert all(step["passed"] and step["key"] == "p50_ms" for step in held["steps"])
    assert (held["gates"], held["rps"], held["failed_rps"]) == (
        ["p50_ms <= 10000"],
        rates[-1],
        None,
    )
    changes = report["run"]["steered"]
    assert [one["by"] for one in changes] == ["--hold"] * len(rates)
    begins = [(one["from_us"] // 1_000_000, one["change"]["rate"] // 1_000_000) for one in changes]
    assert_exact(report, oracle, assert_steered(oracle, SECONDS, [(0, 20), *begins]))
    story = [line["text"] for line in report["story"]]
    assert any("rate 40 requested by --hold: at 20.0/s p50_ms was " in text for text in story)
    assert f"{rates[-1]:.0f}/s, the highest rate at which p50_ms <= 10000 held" in finished.stdout


@pytest.mark.long  # 120 s, of which the first 60 s may be spent on settling
@pytest.mark.timed  # a busy machine fails its gate below what the target can serve
def test_the_rate_settles_at_the_capacity_of_the_target(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the rate is not within 5 % of the target's computed capacity after 60 s."""
    workers, service_ms = 4, 25
    capacity = workers / service_ms * 1_000
    oracle.queue(workers, service_ms)
    flags = ("--rps", "20", "--duration", "120s", "--hold", "p99_ms=225")
    with loadpilot.start(WEIGHTED, oracle.url, *flags) as running:
        finished = running.end(180)
    assert finished.judged == 0, finished.stderr + finished.stdout
    report = finished.report
    settled = statistics.median(per_second(oracle)[second] for second in range(60, 119))
    assert settled == pytest.approx(capacity, rel=0.05), report["run"]["held"]
    assert report["run"]["held"]["rps"] == pytest.approx(capacity, rel=0.1)
    assert report["calls"]["attempted"] == oracle.counts().received


@pytest.mark.long  # 200 s: it settles, and settles again
@pytest.mark.timed
def test_the_rate_follows_a_target_that_gets_slower(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if the run stays above the new capacity of the target, or settles below it."""
    oracle.queue(4, 20)
    flags = ("--rps", "50", "--duration", "200s", "--hold", "p99_ms=220")
    with loadpilot.start(WEIGHTED, oracle.url, *flags) as running:
        assert oracle.wait_count(8_000, 120)
        oracle.queue(4, 32)
        slower_from = max(per_second(oracle))
        finished = running.end(260)
    assert finished.judged == 0, finished.stderr + finished.stdout
    seen = per_second(oracle)
    settled = statistics.median(seen[second] for second in range(slower_from + 90, 199))
    assert settled == pytest.approx(4 / 32 * 1_000, rel=0.1), finished.report["run"]["held"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "gate", "failed", "least"),
    [
        ("delay 60", "p50_ms=30", "p50_ms", 60),
        ("status 503 fraction=0.5", "p50_ms=10000", "error_rate", 1),
    ],
)
def test_a_run_that_no_rate_brings_to_hold_its_gate_fails(
    loadpilot: Loadpilot, oracle: Oracle, command: str, gate: str, failed: str, least: float
) -> None:
    """Broken if the run passes by accident, or if its rate is raised. 10 s each.

    Errors fail a rate also without a gate for them: a target that rejects requests does so fast.
    """
    oracle.command(command)
    short = ("--rps", "40", "--duration", "8s")
    finished = loadpilot.run(WEIGHTED, oracle.url, *short, "--hold", gate)
    assert finished.judged == 1, finished.stderr + finished.stdout
    report = finished.report
    steps = report["run"]["held"]["steps"]
    assert (steps[0]["key"], steps[0]["passed"]) == (failed, False)
    assert steps[0]["actual"] >= least
    (reason,) = report["verdict"]["reasons"]
    held = gate.replace("=", " <= ")
    assert reason.startswith(f"no rate was found at which {held} holds: at ")
    assert f"{steps[-1]['key']} was {steps[-1]['actual']:.1f}" in reason
    assert all(tick["planned"] <= 40 for tick in report["series"])
    assert report["calls"]["attempted"] == oracle.counts().received


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--hold", "p50ms=3"), "did you mean"),
        (("--hold", "p50_ms"), "--hold: must be key=value such as p99_ms=500"),
        (("--hold", "p50_ms=3", "--users", "4"), "needs a rate to change"),
        (("--hold", "p50_ms=3", "--mode", "ramp"), "--mode constant"),
        (("--hold", "p50_ms=3", "--hold", "p50_ms=4"), "must be given once"),
        (("--hold", "achieved_rps=3"), "a figure that a lower rate improves"),
        (
            ("--hold", "p50_ms=3", "--nats-url", "nats://127.0.0.1:9", "--detach"),
            "is done by this command",
        ),
    ],
)
def test_a_wrong_value_starts_nothing(
    loadpilot: Loadpilot, oracle: Oracle, flags: tuple[str, ...], says: str
) -> None:
    """Broken if a run starts with a gate that cannot be held, or if the message does not name
    it."""
    finished = loadpilot.run(WEIGHTED, oracle.url, "--rps", "20", "--duration", "5s", *flags)
    assert finished.code == 2, finished.stderr
    assert says in finished.stderr
    assert oracle.counts().received == 0
