"""Latency counts from the due time of a request, so that a frozen target is visible in the
percentiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.oracle import Outcome, Request

if TYPE_CHECKING:
    from tests.e2e.support.command import Finished, Loadpilot
    from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.timed

SCENE = """
from loadpilot import LoadClient, VUser, scenario, task


@scenario(rps={rps}, duration="{secs}s", mode="constant"{more})
class Plain(VUser):
    @task
    def get(self, client: LoadClient) -> None:
        client.get("/get")
"""
RPS, SECS = 200, 10
FREEZE_AFTER_MS, FREEZE_MS = 4000, 2000
TRUTH_US = {"p90_us": 1_000_000, "p95_us": 1_500_000, "p99_us": 1_900_000, "max_us": 2_000_000}
"""Expected percentiles: a fifth of all arrivals is due in the freeze and waits for its end, evenly
from 2 s down to 0."""
BASE_US_MAX = 50_000
"""A response on loopback takes a fraction of a millisecond. This bound also holds on a loaded
machine, and is far below all percentiles above: a latency within it does not contain the freeze."""


def scene(rps: float, secs: float, more: str = "") -> str:
    return SCENE.format(rps=rps, secs=secs, more=f", {more}" if more else "")


def frozen(loadpilot: Loadpilot, oracle: Oracle, more: str = "") -> Finished:
    """A run of ten seconds, in two of which the target does not answer."""
    oracle.freeze(after_first_ms=FREEZE_AFTER_MS, for_ms=FREEZE_MS)
    finished = loadpilot.run(scene(RPS, SECS, more), oracle.url)
    assert finished.judged == 0, finished.stderr
    assert len(oracle.requests()) == finished.report["arrivals"]["started"] == RPS * SECS
    assert "0: every planned arrival was started, nothing was omitted" in finished.stdout
    return finished


def assert_shows_the_freeze(ladder: dict[str, Any]) -> None:
    """Asserts that every percentile that depends on the freeze has the expected value, within
    5 %."""
    for rung, truth_us in TRUTH_US.items():
        assert ladder[rung] == pytest.approx(truth_us, rel=0.05), (rung, ladder)
    assert ladder["p50_us"] < BASE_US_MAX


@pytest.mark.slow
def test_a_freeze_is_seen_in_full_when_nothing_waits_for_a_slot(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the freeze is not in the corrected and in the uncorrected percentiles. With slots
    for all, every request is sent on time."""
    latency = frozen(loadpilot, oracle).report["latency"]
    assert_shows_the_freeze(latency["response"])
    assert_shows_the_freeze(latency["service"])
    assert latency["co_factor"] <= 1.1


@pytest.mark.long
def test_a_freeze_is_seen_in_full_when_all_but_ten_wait(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if ten slots change the corrected percentiles, or if the CO factor does not show the
    difference. Only ten requests meet the freeze, so that the percentiles counted from the dispatch
    do not show it."""
    latency = frozen(loadpilot, oracle, "max_in_flight=10").report["latency"]
    assert_shows_the_freeze(latency["response"])
    assert latency["service"]["p99_us"] < BASE_US_MAX
    assert latency["co_factor"] > 100


def test_a_call_that_times_out_took_as_long_as_its_time_out(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if calls that time out are left out of the percentiles."""
    oracle.silent()
    finished = loadpilot.run(scene(25, 2, 'timeout="2s"'), oracle.url)
    report = finished.report
    assert {k: n for k, n in report["calls"]["outcomes"].items() if n} == {"timeout": 50}
    for ladder in (report["latency"]["response"], report["latency"]["service"]):
        assert ladder["count"] == 50
        assert 2_000_000 <= ladder["p50_us"] <= 2_100_000
    assert report["error_rate_pct"] == 100
    requests = oracle.requests()
    assert len(requests) == 50
    assert {request.outcome for request in requests} == {Outcome.UNANSWERED}


def test_what_is_added_to_the_targets_own_time_is_small(
    loadpilot: Loadpilot, oracle: Oracle
) -> None:
    """Broken if the generator wakes late or reads late: the target would seem slower than it is."""
    oracle.delay(50)
    report = loadpilot.run(scene(50, 4), oracle.url).report
    own_us = sorted(took(request) for request in oracle.requests())
    assert len(own_us) == 200
    median_us = own_us[len(own_us) // 2]
    for ladder in (report["latency"]["response"], report["latency"]["service"]):
        assert 50_000 <= ladder["p50_us"] <= median_us + 3_000


def took(request: Request) -> int:
    assert request.service_us is not None
    return request.service_us
