"""The live view: live figures are called live, and the progress bar shows progress."""

from __future__ import annotations

from sdk.tests.support.snapshots import SCENE, snapshot

from loadpilot.cli.output.live import LineView, PlanInfo, line, progress


def test_the_line_is_one_line_with_live_figures() -> None:
    """Broken if a log of a run without a terminal cannot be read line by line."""
    text = line(SCENE, snapshot())
    assert "\n" not in text
    rates = "96 of 100 arrivals/s planned, 108 requests/s"
    assert f"01:05/04:20 ramp-up  {rates}  total 1,440  errors 2.50 %  live p50 1.0 ms" in text
    assert "5.0" not in text


def test_the_cause_of_failed_calls_stands_beside_their_share() -> None:
    """Broken if the view says that all calls fail, and not that the target does not listen."""
    failing = {"cause": "refused", "why": "connection refused", "calls": 36, "unreached": False}
    failed = snapshot(failing=failing)
    assert "  errors 2.50 %: connection refused  live" in line(SCENE, failed)


def test_calls_that_reach_nothing_have_no_latency() -> None:
    """Broken if a target that is down looks fast."""
    failing = {"cause": "refused", "why": "connection refused", "calls": 36, "unreached": True}
    text = line(SCENE, snapshot(failing=failing))
    assert ": connection refused  live latency not measured  in flight" in text


def test_a_target_that_answers_with_errors_is_a_cause_too() -> None:
    """Broken if the view says that calls fail, and not that the target answers 503."""
    failed = snapshot(most_frequent_failure={"why": "HTTP 503", "count": 30})
    assert "  errors 2.50 %: HTTP 503  live" in line(SCENE, failed)


def test_a_closed_loop_has_no_target() -> None:
    """Broken if a closed loop looks as if it fell short of a rate of 0."""
    scene = PlanInfo("Shop", 64)
    rates = "  96 arrivals/s, 108 requests/s, closed loop, 64 users  "
    assert f"{rates}total 1,440" in line(scene, snapshot(target_rps=0.0))
    staged = PlanInfo("Shop", 64, user_stages=({"duration_us": 1, "from": 0, "to": 64},))
    assert ", closed loop, up to 64 users in 1 stage  " in line(staged, snapshot(target_rps=0.0))


def test_progress_is_progress_through_the_run() -> None:
    """Broken if the bar shows the rate, stands at 100 % from the ramp on, or runs over."""
    assert progress(snapshot(), 65.0) == 0.25
    assert progress(snapshot(), -1.0) == 0
    assert progress(snapshot(), 999.0) == 1
    assert progress(snapshot(duration_secs=0.0), 1.0) == 0


def test_nothing_finished_is_shown_as_nothing() -> None:
    """Broken if a run without a finished call shows 0 ms or 0 % errors."""
    latency = dict.fromkeys(("p50_ms", "p95_ms", "p99_ms", "max_ms"))
    empty = snapshot(latency=latency, requests_total=0, errors_total=0, state="preparing")
    text = line(SCENE, empty)
    assert "preparing" in text
    assert "errors —" in text
    assert "live p50 —" in text


def test_errors_of_tasks_without_a_call_are_among_all_that_finished() -> None:
    """Broken if the error rate exceeds 100 %, or is hidden where no call was made."""
    raised = {"requests_total": 0, "errors_total": 40, "raised_without_call": 40}
    assert "errors 100.00 %" in line(SCENE, snapshot(**raised))


def test_a_plain_view_writes_lines_and_nothing_else() -> None:
    """Broken if control sequences reach a log file."""
    lines: list[str] = []
    plain = LineView(SCENE, lines.append)
    plain.tell("restarted \x1b[31magent-1")
    plain.show(snapshot())
    plain.close()
    assert lines == ["restarted \\x1b[31magent-1", line(SCENE, snapshot())]
