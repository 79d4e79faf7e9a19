"""A target that does not answer: the cause is named at once, the run ends early, and no latency
counts."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.support.command import Finished, Loadpilot
    from tests.oracle.oracle import Oracle

SCENE = """
from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps=20, duration="{secs}s", mode="constant", thresholds={{"p99_ms": 1000}})
class Plain(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get("/get")
"""
PLANNED_SECS = 60
ENDED_EARLY_SECS = 40
"""Maximum time of an early end, which comes some 6 s after the start; a busy machine may take
longer."""
AWAY_SECS = 6


def assert_ended_early(finished: Finished, target: str, cause: str) -> None:
    """Asserts exit code 3, and the cause in the timeline, the verdict and the report."""
    assert finished.code == 3, finished.stderr
    report = finished.report
    calls = report["run"]["unanswered"]["calls"]
    assert 5_000_000 <= report["run"]["stopped_at_us"] < ENDED_EARLY_SECS * 1_000_000
    reason = f"nothing answers at {target}: {cause}; all {calls} calls failed to connect"
    assert calls >= 80
    assert report["verdict"]["reasons"][0] == reason
    assert reason in finished.stdout
    assert f"stop scheduled: {reason}" in finished.stderr
    gate = report["verdict"]["thresholds"][0]
    assert (gate["actual"], gate["passed"]) == (None, False)
    assert gate["reason"] == "no call reached a server"
    assert "✗ p99_ms" in finished.stdout


def assert_cause_before(finished: Finished, cause: str, second: str) -> None:
    """Asserts that a line names the cause before the live line of this second."""
    lines = finished.stderr.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("no call has reached"))
    assert lines[at].endswith(cause), lines[at]
    later = [n for n, line in enumerate(lines) if line.startswith(second)]
    assert all(at < n for n in later), finished.stderr


def test_a_closed_port_ends_the_run_with_the_cause(loadpilot: Loadpilot, closed_port: int) -> None:
    """Broken if a run against a target that is down goes on, or reports the latency of refused
    connections."""
    target, begun = f"http://127.0.0.1:{closed_port}", monotonic()
    finished = loadpilot.run(SCENE.format(secs=PLANNED_SECS), target)
    assert monotonic() - begun < PLANNED_SECS
    assert_ended_early(finished, target, "connection refused")
    assert_cause_before(finished, "connection refused", "00:03/")


@pytest.mark.slow
def test_a_name_that_is_not_known_ends_the_run_with_the_cause(loadpilot: Loadpilot) -> None:
    """Broken if a typo in the target's name looks like a slow or failing target."""
    target = "http://no-such-host.invalid"
    finished = loadpilot.run(SCENE.format(secs=PLANNED_SECS), target)
    assert_ended_early(finished, target, "name not known")


@pytest.mark.slow
def test_a_run_that_is_to_go_on_goes_on(loadpilot: Loadpilot, closed_port: int) -> None:
    """Broken if a run cannot be told to wait until its target is up."""
    target = f"http://127.0.0.1:{closed_port}"
    finished = loadpilot.run(SCENE.format(secs=7), target, "--no-early-abort")
    report = finished.report
    assert report["run"]["ending"] == "completed"
    assert "unanswered" not in report["run"]
    assert report["calls"]["outcomes"] == {"connect": 7 * 20}
    assert report["verdict"]["passed"] is False
    assert report["verdict"]["thresholds"][0]["actual"] is None


@pytest.mark.slow
def test_a_target_that_goes_away_aborts_nothing(loadpilot: Loadpilot, oracle: Oracle) -> None:
    """Broken if a run ends early although its target has answered once."""
    with loadpilot.start(SCENE.format(secs=AWAY_SECS + 2), oracle.url) as running:
        assert oracle.wait_count(10, timeout_s=30.0)
        # Open connections end, and new ones are refused.
        oracle.close_after()
        oracle.refuse()
        finished = running.end()
    report = finished.report
    assert report["run"]["ending"] == "completed"
    assert "unanswered" not in report["run"]
    assert report["calls"]["outcomes"]["ok"] >= 10
    assert report["calls"]["outcomes"]["connect"] > 0
    assert report["verdict"]["thresholds"][0]["actual"] is not None
