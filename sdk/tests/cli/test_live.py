"""The live view: live figures called live, progress that means progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdk.tests.support.snapshots import SCENE, snapshot

from loadpilot.cli.output.live import LineView, PlanInfo, ScreenView, frame, line, progress

if TYPE_CHECKING:
    import pytest


def test_the_block_shows_what_is_promised_and_labels_it() -> None:
    """Broken if a cumulative figure is called live, or the title lacks what people look for."""
    title, requests, live, cumulative, waiting, reuse, bar = frame(SCENE, snapshot())
    assert (
        title == "Sh\\x1bop  01:05  ramp-up  96 of 100 arrivals/s planned, 108 requests/s  2 agents"
    )
    assert requests == "requests    total 1,440  failed 36 (2.50 %)  dropped 3"
    assert live == "live        p50 1.0 ms  p95 2.0 ms  p99 3.0 ms  max 4.0 ms"
    assert cumulative == "cumulative  p50 5.0 ms  p95 6.0 ms  p99 7.0 ms  max 8.0 ms"
    assert waiting.strip() == "in flight 12, waiting 5, oldest 31 ms"
    assert reuse == "connections opened 2.5/s, reused by 97.50 % of the calls"
    assert bar == f"[{'#' * 10}{'.' * 30}]  25 % of the run"


def test_the_line_is_one_line_with_live_figures() -> None:
    """Broken if a log of a run without a terminal cannot be read line by line."""
    text = line(SCENE, snapshot())
    assert "\n" not in text
    rates = "96 of 100 arrivals/s planned, 108 requests/s"
    assert f"01:05/04:20 ramp-up  {rates}  total 1,440  errors 2.50 %  live p50 1.0 ms" in text
    assert "5.0" not in text


def test_the_cause_of_failed_calls_stands_beside_their_share() -> None:
    """Broken if a user sees that all calls fail, and not that the target does not listen."""
    failing = {"cause": "refused", "why": "connection refused", "calls": 36, "unreached": False}
    failed = snapshot(failing=failing)
    assert "  errors 2.50 %: connection refused  live" in line(SCENE, failed)
    assert "failed 36 (2.50 %): connection refused  dropped 3" in frame(SCENE, failed)[1]


def test_a_closed_loop_has_no_target() -> None:
    """Broken if a closed loop looks as if it fell short of a rate of 0."""
    scene = PlanInfo("Shop", 64)
    rates = "  96 arrivals/s, 108 requests/s, closed loop, 64 users  "
    assert f"{rates}total 1,440" in line(scene, snapshot(target_rps=0.0))
    assert frame(scene, snapshot())[0].endswith(f"{rates}2 agents")


def test_progress_is_progress_through_the_run() -> None:
    """Broken if the bar shows the rate, stands at 100 % from the ramp on, or runs over."""
    assert progress(snapshot(current_rps=100.0)) == 0.25
    assert progress(snapshot(elapsed_secs=-1.0)) == 0
    assert progress(snapshot(elapsed_secs=999.0)) == 1
    assert progress(snapshot(duration_secs=0.0)) == 0


def test_nothing_finished_is_shown_as_nothing() -> None:
    """Broken if a run that has not finished anything shows 0 ms or 0 % errors."""
    latency = dict.fromkeys(("p50_ms", "p95_ms", "p99_ms", "max_ms"))
    empty = snapshot(latency=latency, requests_total=0, errors_total=0, state="preparing")
    text = line(SCENE, empty)
    assert "preparing" in text
    assert "errors —" in text
    assert "live p50 —" in text


def test_errors_of_tasks_without_a_call_are_among_all_that_finished() -> None:
    """Broken if the share of errors goes above 100 %, or is hidden where no call was made."""
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


def test_a_screen_view_leaves_the_terminal_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    """Broken if the block stays on the screen, or a story line is lost in it."""
    screen = ScreenView(SCENE)
    screen.show(snapshot())
    screen.tell("agent-1: ready")
    screen.close()
    assert "agent-1: ready" in capsys.readouterr().err
