"""Ctrl-C and SIGTERM to the command alone end the load within two seconds."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from tests.e2e.support.command import SCENARIOS, Loadpilot, assert_ended
from tests.e2e.support.stops import LONG, RPS, STOP_US, assert_report_of_a_stop, interrupt
from tests.oracle.oracle import CountKind, Outcome

if TYPE_CHECKING:
    from tests.oracle.oracle import Oracle

WEIGHTED = SCENARIOS / "weighted.py"
ENDINGS = {signal.SIGINT: 130, signal.SIGTERM: 143}
ATTEMPTS = 5
"""On a busy machine, the load may begin before this process can send the signal."""


@pytest.mark.timed
@pytest.mark.parametrize("number", ENDINGS)
def test_one_interruption_stops_the_load_and_still_reports(
    loadpilot: Loadpilot, oracle: Oracle, number: signal.Signals
) -> None:
    """Broken if requests in flight are cut, if later arrivals start, or if any of them is not
    counted."""
    with loadpilot.start(WEIGHTED, oracle.url, *LONG) as running:
        assert oracle.wait_count(RPS, 30)
        at_us, below = interrupt(running, number)
        finished = running.end(20)
    assert_ended(below, 0.5)
    last_us = oracle.counts().last_us
    assert last_us is not None
    assert last_us - at_us < STOP_US
    assert finished.code == ENDINGS[number]
    assert finished.stdout.startswith("verdict")
    assert_report_of_a_stop(finished, oracle)


@pytest.mark.timed
def test_a_second_interruption_does_not_wait_for_answers(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the command waits for responses that never come: their timeout is thirty
    seconds."""
    oracle.silent()
    with loadpilot.start(WEIGHTED, oracle.url, *LONG) as running:
        assert oracle.wait_count(RPS, 30)
        at_us, below = interrupt(running, signal.SIGINT)
        running.until("stopping")
        running.signal(signal.SIGINT)
        running.until("aborting")
        finished = running.end(10)
    assert_ended(below, 0.5)
    counts = oracle.counts()
    assert counts.last_us is not None
    assert counts.last_us - at_us < STOP_US
    assert finished.code == 130
    assert finished.stdout.startswith("verdict      FAIL\n")
    calls = finished.report["calls"]
    # A request may be aborted while it still connects: attempted, and never received.
    assert calls["attempted"] - counts.received in {0, 1}
    assert calls["outcomes"]["cancelled"] == calls["attempted"]
    assert oracle.wait_count(counts.received, 10, CountKind.ENDED), "connections were left open"
    assert {request.outcome for request in oracle.requests()} == {Outcome.UNANSWERED}


def test_tasks_that_the_end_of_the_run_cuts_off_have_no_error(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if a user who ends a run fails it: tasks that are cut off raise an error, which is
    none of theirs. 4 s."""
    scene = """
from loadpilot import LoadClient, VUser, scenario, task

@scenario(users=4, duration="60s")
class S(VUser):
    def on_start(self, client: LoadClient) -> None:
        self.token = client.get("/login").headers.get("X-Token")

    @task
    def t(self, client: LoadClient) -> None:
        client.get("/fast")
        client.get("/slow").raise_for_status()
"""
    oracle.silent(path="/slow")
    for compiled in (True, False):
        text = scene.replace(
            "@scenario(", "@scenario(" if compiled else "@scenario(compile=False, "
        )
        before = oracle.counts().received
        with loadpilot.start(text, oracle.url) as running:
            assert oracle.wait_count(before + 12, 30)
            running.signal(signal.SIGINT)
            running.until("stopping")
            running.signal(signal.SIGINT)
            finished = running.end(10)
        assert finished.stdout.startswith("verdict      STOPPED"), finished.stdout
        report = finished.report
        assert report["calls"]["outcomes"]["cancelled"] == report["arrivals"]["started"] == 4
        assert report.get("task_raises") is None


def test_an_interruption_before_the_start_starts_nothing(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if Ctrl-C is lost while the stack starts."""
    for _ in range(ATTEMPTS):
        before = oracle.counts().received
        with loadpilot.start(WEIGHTED, oracle.url, *LONG) as running:
            running.until("LoadPilot")
            running.signal(signal.SIGINT)
            finished = running.end(20)
        assert finished.code == 130
        if oracle.counts().received == before:
            return
    pytest.fail(f"the load began in each of {ATTEMPTS} attempts")
