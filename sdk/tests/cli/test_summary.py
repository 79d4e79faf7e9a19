"""The summary: the same report always gives the same text, and the text is true."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sdk.tests.support.reports import (
    GOOD,
    changed,
    closed,
    empty,
    measured,
    parsed,
    troubled,
    valid,
)

from loadpilot.cli.output.summary import failed_calls, summary
from loadpilot.control.figures import clock, millis, number, percent, seconds, size
from loadpilot.control.terminal import coloured, safe

EXPECTED = Path(__file__).with_name("expected")
SCREEN_LINES = 50
"""Rows of an ordinary terminal window."""
RAISED = {"by": "task", "count": 40, "text": "AssertionError\n  shop.py:7 in browse"}
REPORTS = {"good": GOOD, "troubled": troubled(), "empty": empty(), "closed": closed()} | {
    "measured": measured()
}


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("name", REPORTS)
def test_the_summary_is_as_committed(name: str, verbose: bool) -> None:  # noqa: FBT001
    """Broken if the text changes without a review.

    UPDATE_EXPECTED=1 writes the files again; look at the difference before committing it.
    """
    text = summary(valid(REPORTS[name]), verbose=verbose)
    path = EXPECTED / f"summary-{name}{'-in-full' if verbose else ''}.txt"
    if os.environ.get("UPDATE_EXPECTED"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("verbose", [False, True])
def test_what_decides_comes_first(verbose: bool) -> None:  # noqa: FBT001
    """Broken if a reader has to search for the verdict, the certificate, or what failed."""
    lines = [line for line in summary(parsed(), verbose=verbose).splitlines() if line]
    labels = [line.split()[0] for line in lines if not line.startswith(" ")]
    first = ["verdict", "certificate", "thresholds", "requests", "outcomes", "status", "errors"]
    assert labels[:8] == [*first, "latency"]
    assert labels.index("latency") < labels.index("achieved") < labels.index("run")


@pytest.mark.parametrize("name", REPORTS)
def test_the_summary_fits_a_screen(name: str) -> None:
    """Broken if the verdict has scrolled away when the run ends, or if the rest cannot be found."""
    report = valid(REPORTS[name])
    short, full = (summary(report, verbose=verbose).splitlines() for verbose in (False, True))
    assert len(short) <= SCREEN_LINES
    assert short[-1].split()[-4:] == ["loadpilot", "report", report["run"]["id"], "-v"]
    assert set(short[:-1]) <= set(full)


def test_errors_of_tasks_come_before_latencies() -> None:
    """Broken if a task that raised each time appears only after the figures of its calls."""
    report = changed(tasks=[{**GOOD["tasks"][0], "raised": [RAISED]}])
    text = summary(valid(report))
    assert text.index("task failed  browse, 40 times") < text.index("corrected")


def test_the_longest_call_is_shown_once() -> None:
    """Broken if four percentiles of forty calls look like four measurements."""
    ladder = {**GOOD["latency"]["response"], "p99_us": 9e3, "p99_9_us": 9e3, "p99_99_us": 9e3}
    ladder["max_us"] = 9_000
    latency = {**GOOD["latency"], "response": ladder, "service": ladder}
    lines = summary(valid(changed(latency=latency))).splitlines()
    assert [line.split()[:3] for line in lines if "9.000 ms" in line] == [["p99", "=", "max"]]


def test_an_invalid_run_is_no_pass_at_first_sight() -> None:
    """Broken if the first line of a run that proves nothing reads as a pass."""
    first = summary(parsed(certificate__grade="INVALID")).splitlines()[0]
    assert first.split()[:2] == ["verdict", "VOID:"]
    assert summary(parsed(certificate__grade="DEGRADED")).splitlines()[0].endswith("PASS")


def test_a_run_that_was_cut_short_is_no_pass_at_first_sight() -> None:
    """Broken if the first line of a stopped run reads as a pass, or hides a failure."""
    first = summary(parsed(run__ending="stopped")).splitlines()[0]
    assert first == "verdict      STOPPED, passing so far"
    first = summary(parsed(run__ending="stopped", verdict__passed=False)).splitlines()[0]
    assert first == "verdict      FAIL"


def test_tasks_that_raised_are_shown_beside_the_outcomes() -> None:
    """Broken if errors are shown beside outcomes that are all ok, and nothing explains them."""
    raised = changed() | {"task_raises": {"after_ok": 38, "without_call": 2}}
    text = summary(valid(raised))
    line = "40 tasks raised an error: after an ok request 38, without a request 2"
    assert f"task_error   {line}" in text


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({"redirects": 1230}, "redirects    followed: 1,230\n"),
        (
            {"redirects_not_followed": 5},
            "followed: 0; 5 not followed, beyond the limit or to another origin",
        ),
        ({}, None),
    ],
)
def test_redirects_are_counted_where_there_are_any(
    figures: dict[str, int], said: str | None
) -> None:
    """Broken if requests that no row counts are not explained, or if others are."""
    text = summary(valid(changed(generator=GOOD["generator"] | figures)))
    assert (said in text) if said else "redirects" not in text


def test_a_closed_loop_claims_no_plan_and_no_correction() -> None:
    """Broken if the latency of a closed loop could be taken for what users would wait."""
    text = summary(valid(closed()))
    for part in ("closed loop, 64 users", "coordinated omission", "not counted from a schedule"):
        assert part in text
    for part in ("started of", "shortfall", "CO factor", "uncorrected", OMITTED):
        assert part not in text


OMISSION = {
    "percentile": 90.0,
    "factor": 49.9,
    "response_us": 434_000,
    "service_us": 8_700,
    "schedule_lag_pct": 0.4,
    "queue_pct": 99.6,
    "origin": "target",
}


@pytest.mark.parametrize(
    ("changes", "said", "unsaid"),
    [
        ({}, ["largest at p90: 49.9 (434", "queue for a slot 99.60 %", "coordinated omission"], []),
        (
            {"percentile": 99.0, "schedule_lag_pct": 97.0, "queue_pct": 3.0, "origin": "generator"},
            ["schedule lag 97.00 %", "no coordinated omission"],
            ["largest at", "the target was slow"],
        ),
        (
            {"percentile": 50.0, "factor": 4.0, "origin": "negligible"},
            ["largest at p50: 4", "less than 1 ms apart"],
            ["coordinated omission", "queue for a slot"],
        ),
    ],
)
def test_coordinated_omission_is_said_of_the_target_only(
    changes: dict[str, object], said: list[str], unsaid: list[str]
) -> None:
    """Broken if the lag of the generator is reported as coordinated omission, or the reverse."""
    latency = summary(parsed(latency__omission=OMISSION | changes))
    assert "CO factor    1.09 (corrected p99 / uncorrected p99)" in latency
    assert all(part in latency for part in said), latency
    assert not any(part in latency for part in unsaid), latency


def test_calls_that_reached_no_server_have_no_latency() -> None:
    """Broken if a target that is down looks like a fast one."""
    text = summary(parsed(latency__unconnected=1_045))
    assert "latency      not measured: no call reached a server" in text
    assert "CO factor" not in text


def test_what_the_test_itself_was_stands_in_the_full_summary() -> None:
    """Broken if the summary does not say that connections were reused, where production opens new
    ones, or that a full accept queue is in the latency."""
    generator = {**GOOD["generator"], "retransmits_max": 3, "listen_overflows_max": 1_200}
    text = summary(valid(changed(generator=generator)), verbose=True)
    assert "connections  12 opened, reused 1,033 times\n" in text
    assert "3 TCP segments sent again" in text
    assert "1,200 connections found a listener's queue full" in text
    assert "TCP segments" not in summary(parsed(), verbose=True)


OMITTED = "nothing was omitted"


def test_nothing_was_omitted_is_said_only_when_it_is_true() -> None:
    """Broken if a run with holes claims to be complete."""
    assert OMITTED in summary(parsed())
    for holes in (
        {"arrivals__started": 949, "arrivals__lost": 1},
        {"arrivals__started": 949, "arrivals__dropped": {"no_slot": 1}},
        {"arrivals__started": 949, "arrivals__waiting": 1},
    ):
        assert OMITTED not in summary(parsed(**holes))


def test_foreign_text_cannot_reach_the_terminal() -> None:
    """Broken if a task's name moves the cursor or colours the verdict green."""
    text = summary(valid(troubled()))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "ev\\x1b[31mil\\u202e" in text


def failed(call: str, outcome: str, body: str = "") -> dict[str, Any]:
    answer = ["HTTP/1.1 503 Service Unavailable"] if body else []
    sent = {"request": [f"GET /{call} HTTP/1.1"], "request_body_bytes": 0, "arrival": 7, "call": 0}
    example = {"answer": answer, "body": body, "received_bytes": 40, "response_us": 1_500}
    return {"task": "shop", "call": call, "exchange": {**sent, **example, "outcome": outcome}}


def test_failed_calls_are_shown_once_for_each_outcome() -> None:
    """Broken if an outcome has no example, many examples hide it, or a target's text reaches the
    terminal as it is."""
    hostile = "\x1b[31mred\n" + "x" * 500 + "\n" * 50
    examples = [
        failed("pay", "http_5xx", hostile),
        failed("pay", "http_5xx"),
        failed("pay", "connect"),
    ]
    text = failed_calls(parsed(), examples)
    assert text.count("example of a failed call: shop, pay") == 2
    assert "arrival 7: http_5xx after 1.500 ms\n  > GET /pay HTTP/1.1\n" in text
    assert "1 more example" in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) < 210
    assert len(text.splitlines()) < 30
    assert failed_calls(parsed(), []) == ""


def test_lines_fit_and_have_no_trailing_blanks() -> None:
    """Broken if the summary wraps in a log of 100 columns."""
    for report in (GOOD, empty(), changed(scenario="Shop")):
        for line in summary(valid(report)).splitlines():
            assert len(line) <= 100
            assert line == line.rstrip()


def test_colour_changes_nothing_but_colour() -> None:
    """Broken if the coloured text has other words."""
    text = summary(valid(troubled()))
    painted = coloured(text)
    assert "\x1b[31mFAIL" in painted
    assert "\x1b[33mDEGRADED" in painted
    for code in ("\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"):
        painted = painted.replace(code, "")
    assert painted == text


def test_a_figure_just_beyond_its_limit_does_not_look_equal_to_it() -> None:
    """Broken if a failed gate reads 250 <= 250."""
    report = changed()
    report["verdict"]["thresholds"][0] |= {"actual": 250.0004, "passed": False}
    assert "250.0004 <= 250" in summary(valid(report))


@given(st.text())
def test_safe_text_is_printable_and_safe_again(text: str) -> None:
    """Broken if some control or format character reaches the output."""
    shown_text = safe(text)
    assert shown_text.isprintable()
    assert "\x1b" not in shown_text
    assert "\n" not in shown_text
    assert safe(shown_text) == shown_text


def test_figures_read_as_people_expect() -> None:
    """Broken if a figure loses significant digits."""
    assert [number(v) for v in (0, 0.25, 99.7, 1234.5, 1_000_000, 0.0004)] == [
        "0",
        "0.25",
        "99.7",
        "1,234.5",
        "1,000,000",
        "0.0004",
    ]
    assert [percent(v) for v in (0, 0.001, 1.5)] == ["0.00 %", "<0.01 %", "1.50 %"]
    assert [millis(us) for us in (1, 1_234, 123_456, 2_000_123)] == [
        "0.001",
        "1.234",
        "123.46",
        "2000.1",
    ]
    assert [seconds(us) for us in (0, 500_000, 90_000_000)] == ["0 s", "0.5 s", "90 s"]
    assert [size(v) for v in (0, 999, 1_500, 2_500_000)] == ["0 B", "999 B", "1.5 kB", "2.5 MB"]
    assert [clock(s) for s in (-1, 0, 65.9, 3_725)] == ["00:00", "00:00", "01:05", "62:05"]


def _level(rate: int, **changes: Any) -> dict[str, Any]:
    """A level that held for ten seconds."""
    latency = {"p50_us": 2_000, "p99_us": 5_000}
    return {
        "from_us": rate * 100_000,
        "to_us": rate * 100_000 + 10_000_000,
        "rate_rps": float(rate),
        "planned": rate * 10,
        "started": rate * 10,
        "planned_rps": float(rate),
        "achieved_rps": float(rate),
        "finished": rate * 10,
        "errors": 0,
        "error_rate_pct": 0.0,
        "response": latency,
        "service": latency,
        "exceeded": [],
    } | changes


SLOW = {"p50_us": 20_000, "p99_us": 180_000}
BROKEN = _level(
    300,
    achieved_rps=250.0,
    response=SLOW,
    error_rate_pct=4.0,
    exceeded=["achieved", "latency", "errors"],
)
LEVELS = [_level(100), _level(200), BROKEN]


def with_curve(**changes: Any) -> dict[str, Any]:
    """A run whose third level failed."""
    curve = {"levels": LEVELS, "knee": {"held": 1, "broke": 2}, "no_knee": None}
    return {**GOOD, "load_curve": curve | changes}


def test_the_knee_is_a_line_of_the_short_summary() -> None:
    """Broken if a reader has to find the knee in the JSON, or does not see which limit failed."""
    text = summary(valid(with_curve()))
    line = next(line for line in text.splitlines() if line.startswith("knee"))
    assert line.split(maxsplit=1)[1] == (
        "200/s held, 300/s did not: 250/s achieved, p99 180.00 ms, 4.00 % errors"
    )
    assert "level, ms" not in text


def test_the_full_summary_has_a_row_for_each_level() -> None:
    """Broken if a level is missing, or is not marked as not held."""
    lines = summary(valid(with_curve()), verbose=True).splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("level, ms"))
    rows = lines[at + 1 : at + 4]
    assert [row.split()[0] for row in rows] == ["100/s", "200/s", "300/s"]
    assert [row.endswith("not held") for row in rows] == [False, False, True]
    assert all(len(row) <= 100 for row in rows)


@pytest.mark.parametrize(
    ("reason", "levels", "text"),
    [
        ("few_levels", LEVELS[:2], "fewer than three"),
        ("all_held", LEVELS[:2], "up to 200/s"),
        ("lowest_broke", LEVELS, "100/s, did not hold"),
        ("steered", [], "steered"),
    ],
)
def test_no_knee_says_why(reason: str, levels: list[dict[str, Any]], text: str) -> None:
    """Broken if a missing knee reads like a target that holds any load."""
    line = (
        summary(valid(with_curve(knee=None, no_knee=reason, levels=levels)))
        .split("\nknee", 1)[1]
        .split("\n", 1)[0]
    )
    assert line.strip().startswith("none: ")
    assert text in line


def test_a_run_of_one_rate_has_no_line_of_a_knee() -> None:
    """Broken if every run with a constant rate mentions a knee."""
    assert "\nknee" not in summary(parsed(), verbose=True)


def test_a_run_that_a_feed_ended_says_so() -> None:
    """Broken if a shorter run looks like a whole one."""
    used_up = {"feed": "accounts", "rows": 420, "at_us": 42_000_000, "profile_us": 120_000_000}
    report = changed(run=GOOD["run"] | {"rows_used_up": used_up})
    lines = summary(valid(report)).splitlines()
    assert "stopped      feed accounts has no row left at 42 s of 120 s" in lines
