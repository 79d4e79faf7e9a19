"""The live view on a terminal: each frame fits, and the terminal is as it was afterwards."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import sys
import termios
from contextlib import contextmanager
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sdk.tests.support.screen import Screen
from sdk.tests.support.snapshots import GATED, SCENE, gates, snapshot, tasks

from loadpilot.cli.output.live import PlanInfo, line, view
from loadpilot.cli.output.screen import cells
from loadpilot.cli.output.screen.cells import Tone, painted, text_of, width_of
from loadpilot.cli.output.screen.frame import COLUMNS_MIN, ROWS_MIN, Size, frame
from loadpilot.cli.output.screen.rows import Moment
from loadpilot.cli.output.screen.trend import Second, bars, extended
from loadpilot.cli.output.screen.view import ScreenView

if TYPE_CHECKING:
    from collections.abc import Iterator

Items = tuple[tuple[str, Any], ...]
"""Items of a dict."""
LARGE = Size(100, 50)
HUGE = {
    "arrivals_per_sec": 123_456.7,
    "planned_per_sec": 123_456.7,
    "arrivals_started": 9_876_543_210,
    "arrivals_dropped": 1_234_567_890,
    "requests_total": 9_876_543_210,
    "errors_total": 9_876_543_210,
    "most_frequent_failure": {
        "why": "no TLS version, cipher or protocol in common",
        "count": 9_876_543_210,
    },
    "oldest_ms": 9_999_999.0,
    "in_flight": 1_000_000,
    "waiting": 1_000_000,
    "latency": {"p50_ms": 9e6, "p95_ms": 9e6, "p99_ms": 9e6, "max_ms": 9e6},
}
NOTHING = dict.fromkeys(("p50_ms", "p95_ms", "p99_ms", "max_ms"))
GATHERING = {"ready": 1, "want": 2, "min": 1, "left_secs": 12.0}
PLACE = "waiting: place 2 of 3 of tenant shop; 3 of 3 runs at a time"
FAILURE = {"why": "HTTP 503", "count": 30}
KINDS: dict[str, dict[str, Any]] = {
    "good": {},
    "failing": {"most_frequent_failure": FAILURE},
    "stalling": {"waiting": 900, "oldest_ms": 12_000.0, "current_rps": 0.0},
    "not started": {"state": "preparing", "elapsed_secs": 0.0, "latency": NOTHING},
    "waiting": {"state": "gathering", "gathering": GATHERING},
    "queued": {"state": "waiting", "queued": PLACE},
    "paused": {"paused": True},
    "stopping": {"state": "stopping", "phase": "done"},
    "huge": HUGE,
    "many tasks": {"tasks": tasks(40, task_30=4)},
    "old coordinator": {"service": None},
}


def of_kind(kind: str) -> dict[str, Any]:
    shown = snapshot(**{k: v for k, v in KINDS[kind].items() if v is not None})
    for absent in (k for k, v in KINDS[kind].items() if v is None):
        del shown[absent], shown[f"{absent}_cumulative"]
    return shown


def moment(shown: dict[str, Any], judged: list[dict[str, Any]] | None = None) -> Moment:
    elapsed_secs = shown["elapsed_secs"]
    judged_now = None if judged is None else tuple(judged)
    return Moment(shown, elapsed_secs, judged_now, elapsed_secs, trend_of(shown))


def trend_of(shown: dict[str, Any]) -> tuple[Second, ...]:
    """The trend of a run with constant figures, in which one snapshot came late."""
    figures = {key: shown[key] for key in ("arrivals_started", "current_rps")}
    latency = tuple(shown["latency"].items())
    return _trend(int(shown["elapsed_secs"]), tuple(figures.items()), latency)


@lru_cache
def _trend(secs: int, figures: Items, latency: Items) -> tuple[Second, ...]:
    trend: tuple[Second, ...] = ()
    shown: Any = {**dict(figures), "latency": dict(latency)}
    for second in range(secs + 1):
        if second != 60:
            trend = extended(trend, shown | {"elapsed_secs": second + 0.5})
    return trend


def texts(info: PlanInfo, shown: Moment, size: Size = LARGE) -> list[str]:
    return [text_of(row).rstrip() for row in frame(info, shown, size)]


def test_a_frame_shows_what_is_promised() -> None:
    """Broken if a figure is missing, or has the wrong label."""
    failed = snapshot(most_frequent_failure=FAILURE, tasks=tasks(2, task_1=36))
    shown = moment(failed, gates(error_rate=2.5, checks=None))
    full = " " * 3
    assert texts(GATED, shown) == [
        "",
        "Shop → http://127.0.0.1:8000" + " " * 44 + "ramp-up · 2 load generators",
        "━" * 19 + "─" * 58 + "  25 %  01:05 of 04:20",
        "",
        "Arrivals         96 of 100 planned/s · 450 started · 3 dropped",
        "Requests         108/s · 1,440 in total",
        "Failed requests  36 (2.50 %) · mostly HTTP 503 (30)",
        "In flight        12 · 5 waiting · oldest 31 ms",
        "Connections      2.5 opened/s · reused by 97.50 % of the requests",
        "",
        "Latency in ms                                  p50      p95      p99      max",
        "Response time (including waiting)  so far     5.00     6.00     7.00     8.00",
        f"{full:35}now        1.00     2.00     3.00     4.00",
        "Service time                       so far     9.10     9.20     9.30     9.40",
        f"{full:35}now        0.50     0.60     0.70     0.80",
        "",
        f"Last 52 s        requests/s    {'█' * 46} {'█' * 5}  up to 108",
        f"{full:17}response p99  {'█' * 46} {'█' * 5}  up to 3.00 ms",
        "",
        "Gates so far     1 passed · 1 failing · 1 not measured",
        "  ✓ Passed  p99_ms          31.2 <= 200",
        "  ✗ Failing error_rate       2.5 <= 1",
        "  · No data checks             — >= 99",
        "",
        "Tasks so far            requests   failed      p50      p95      p99      max",
        "task_0                     1,000        0     1.00     2.00     3.00     4.00",
        "task_1                     1,000       36     1.00     2.00     3.00     4.00",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_never_wider_or_taller_than_its_terminal(kind: str) -> None:
    """Broken if a row wraps, or a block that is too tall scrolls away and cannot be redrawn."""
    shown = of_kind(kind)
    for judged, columns, rows in product(
        (None, gates(error_rate=2.5, checks=None)),
        range(COLUMNS_MIN, 201),
        (ROWS_MIN, 11, 14, 17, 20, 24, 30, 50),
    ):
        block = frame(GATED, moment(shown, judged), Size(columns, rows))
        assert len(block) < rows, (columns, rows)
        assert max(map(width_of, block)) < columns, (columns, rows)
        text = "\n".join(text_of(row) for row in block)
        assert "Shop" in text
        is_waiting = shown["state"] in {"gathering", "waiting"}
        assert is_waiting or "Failed requests" in text, (columns, rows)


def test_a_run_that_waits_for_its_admission_shows_its_place() -> None:
    """Broken if a terminal shows figures of a run that waits, or does not show what it waits
    for."""
    shown = of_kind("queued")
    assert line(GATED, shown) == PLACE
    text = texts(GATED, moment(shown))
    assert PLACE.capitalize() in text
    assert not [row for row in text if "Failed requests" in row]


NAMES = st.text(st.characters(codec="utf-8"), max_size=80)


@given(NAMES, NAMES, st.integers(COLUMNS_MIN, 200), st.integers(ROWS_MIN, 40))
def test_no_name_breaks_a_frame(name: str, target: str, columns: int, rows: int) -> None:
    """Broken if the name of a task or a target moves the cursor, or takes more cells than it may:
    wide characters take two."""
    named = tasks(3)
    named[1]["name"] = name
    info = PlanInfo(name, target=target)
    failure = {"why": target, "count": 1}
    shown = moment(snapshot(tasks=named, most_frequent_failure=failure))
    block = frame(info, shown, Size(columns, rows))
    screen = Screen(columns, rows)
    screen.feed("\x1b[?7l" + "".join(f"{text_of(row)}\r\n" for row in block))
    assert screen.overflows == 0
    assert len(screen.text) == len(block) + 1 <= rows


def test_what_does_not_fit_is_counted() -> None:
    """Broken if tasks are missing and no row says so, if a failing task is left out before others,
    or if all tasks of a plan push the gates off the screen."""
    shown = moment(snapshot(tasks=tasks(40, task_30=4)), gates())
    rows = texts(GATED, shown, Size(100, 30))
    assert len(rows) == 29
    listed = [row.split()[0] for row in rows if row.startswith("task_")]
    assert listed == [*(f"task_{k}" for k in range(len(listed) - 1)), "task_30"]
    assert len(listed) > 5
    assert rows[-1] == f"  and {40 - len(listed)} more tasks"
    short = texts(GATED, shown, Size(100, 16))
    assert "Tasks" not in "\n".join(short)
    assert sum("Passed" in row for row in short) == 3
    many = gates(error_rate=2.5) * 10
    few = texts(GATED, moment(snapshot(), many), Size(100, 18))
    assert not any("Passed" in row for row in few)
    failing = sum("✗ Failing" in row for row in few)
    assert 0 < failing < 10
    assert few[-1] == f"  and {30 - failing} more gates"
    assert any("20 passed · 10 failing" in row for row in few)


def test_the_trend_is_of_the_last_minute() -> None:
    """Broken if a spike is hidden, a pause of the snapshots looks like a rate, or a long run slows
    its view down."""
    trend: tuple[Second, ...] = ()
    for tenths in (0, *range(2, 1_000, 2), 1_200, 1_204):
        trend = extended(trend, snapshot(elapsed_secs=tenths / 10, current_rps=float(tenths)))
    assert [second.number for second in trend] == [*range(61, 100), 120]
    assert [second.requests_per_sec for second in trend][-2:] == [998.0, 1_204.0]
    assert bars([0.0, 1.0, None, 7.0, 3.5]) == "▁▂ █▅"
    assert bars([0.0, None]) == "▁ "
    assert bars([]) == ""


def test_a_target_that_was_never_reached_has_no_latency() -> None:
    """Broken if a target that is down looks fast: a refused connection takes no time."""
    unreached = {"cause": "refused", "why": "connection refused", "calls": 36, "unreached": True}
    rows = texts(SCENE, moment(snapshot(failing=unreached, tasks=tasks(1, task_0=36))))
    assert "Latency          not measured: no call reached the target" in rows
    assert "Tasks so far            requests   failed" in rows
    assert not any("p99" in row for row in rows)


def test_a_closed_loop_has_no_plan_and_one_latency() -> None:
    """Broken if a closed loop looks as if its rate were too low, or its latency as if it were
    corrected."""
    rows = texts(PlanInfo("Shop", 64, "http://t"), moment(snapshot(planned_per_sec=0.0)))
    text = "\n".join(rows)
    assert "96/s, closed loop, 64 users · 450 started" in text
    assert "planned" not in text
    assert "Service time" not in text
    assert "including waiting" not in text


def test_gates_say_when_they_are_judged() -> None:
    """Broken if gates without a verdict look passed, or an old verdict looks new."""
    waiting = texts(GATED, moment(snapshot()))
    assert "Gates so far     3 gates, not judged yet" in waiting
    assert "  ·         p99_ms             — <= 200" in waiting
    over_http = PlanInfo("Shop", None, "http://t", GATED.gates, judges=False)
    assert "Gates so far     3 gates, judged at the end" in texts(over_http, moment(snapshot()))
    old = Moment(snapshot(), 65.0, tuple(gates()), 31.0)
    assert "Gates so far     3 passed · as of 00:31" in texts(GATED, old)
    assert not any("Gates" in row for row in texts(SCENE, moment(snapshot())))


def test_colours_have_a_meaning() -> None:
    """Broken if red is anything but a failure, or a failure is not red."""
    failed = snapshot(most_frequent_failure=FAILURE, paused=True, tasks=tasks(2, task_1=36))
    block = frame(GATED, moment(failed, gates(error_rate=2.5, checks=None)), LARGE)
    toned: dict[Tone, list[str]] = {tone: [] for tone in Tone}
    for text, tone in (span for row in block for span in row):
        toned[tone].append(text.strip())
    assert toned[Tone.BAD] == [
        "36 (2.50 %)",
        "mostly HTTP 503 (30)",
        "1 failing",
        "✗ Failing",
        "36",
    ]
    assert toned[Tone.GOOD] == ["✓ Passed"]
    assert toned[Tone.WARN] == ["paused", "3 dropped", "1 not measured", "· No data"]
    short = snapshot(arrivals_per_sec=94.0)
    assert ("94 of 100 planned/s", Tone.WARN) in frame(SCENE, moment(short), LARGE)[4]
    assert "\x1b" not in painted(block[0], colour=False)


@pytest.mark.parametrize(("text", "room", "cut"), [("日本語", 5, "日本…"), ("a日本", 3, "a…")])
def test_a_wide_character_is_never_halved(text: str, room: int, cut: str) -> None:
    """Broken if a row is one cell longer than its terminal."""
    assert cells.cut(text, room) == cut
    assert cells.width(cells.left(text, room)) == room


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def terminal(size: Size) -> Iterator[tuple[Any, Any, Any]]:
    """A pseudo-terminal: its stream, what was written to it, and its size."""
    master, slave = pty.openpty()
    os.set_blocking(master, False)

    def written() -> str:
        text = b""
        while True:
            try:
                text += os.read(master, 65_536)
            except BlockingIOError:
                return text.decode()

    def resize(columns: int, rows: int) -> None:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    resize(*size)
    with os.fdopen(slave, "w", encoding="utf-8", newline="\n") as stream:
        try:
            yield stream, written, resize
        finally:
            os.close(master)


def drawn(screen: Screen) -> list[str]:
    return [row.text for row in screen.shown]


def test_frames_are_drawn_over_each_other_and_removed() -> None:
    """Broken if frames pile up, if a printed line is lost, or if the block stays on the screen."""
    clock = Clock()
    with terminal(LARGE) as (stream, written, _):
        shown = ScreenView(GATED, stream, clock)
        screen = Screen(*LARGE)
        screen.feed("$ loadpilot run\r\n")
        expected = ["$ loadpilot run"]
        for step in range(20):
            clock.now += 0.25
            shown.show(snapshot(requests_total=1_000 + step))
            if step % 5 == 0:
                shown.judge(gates())
            if step % 7 == 0:
                shown.tell(f"agent-{step}: restarted \x1b[2J")
                expected.append(f"agent-{step}: restarted \\x1b[2J")
            screen.feed(written())
            rows = drawn(screen)
            assert rows[: len(expected)] == expected
            assert rows[len(expected) + 1].startswith("Shop → ")
            assert sum("in total" in row for row in rows) == 1
            assert any(f"{1_000 + step:,} in total" in row for row in rows)
        shown.close()
        screen.feed(written())
        assert drawn(screen) == [*expected, ""]
        assert screen.wraps
        assert screen.cursor_is_visible
        assert screen.overflows == 0


def test_frames_are_four_a_second_and_move_by_themselves() -> None:
    """Broken if a coordinator that sends a snapshot a second has a clock that jumps, or a burst of
    snapshots makes the terminal busy."""
    clock = Clock()
    with terminal(LARGE) as (stream, written, _):
        shown = ScreenView(SCENE, stream, clock)
        frames = 0
        for _ in range(100):
            clock.now += 0.05
            shown.refresh()
            if (text := written()) and "04:20" in text:
                frames += 1
            if frames == 0:
                shown.show(snapshot())
                frames += "04:20" in written()
        assert 20 <= frames <= 22
        screen = Screen(*LARGE)
        clock.now += 0.25
        shown.refresh()
        screen.feed(written())
        assert "01:10 of 04:20" in "\n".join(drawn(screen))


def sizes(rows_min: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    size = st.tuples(st.integers(40, 200), st.integers(rows_min, 60))
    return st.lists(size, min_size=1, max_size=8)


def resized(steps: list[tuple[int, int]]) -> Iterator[tuple[Screen, int, list[str]]]:
    """Draws one frame at each size: the screen, the total that it shows, and its rows."""
    clock = Clock()
    with terminal(LARGE) as (stream, written, resize):
        shown = ScreenView(GATED, stream, clock)
        screen = Screen(*LARGE)
        shown.tell("told first")
        for total, size in enumerate([LARGE, *steps], 1_000):
            screen.resize(*size)
            resize(*size)
            clock.now += 1.25
            shown.show(snapshot(requests_total=total, tasks=tasks(3)))
            screen.feed(written())
            yield screen, total, drawn(screen)
        shown.close()
        screen.feed(written())
        assert screen.text.count("told first") == 1
        assert drawn(screen)[-1] == ""
        assert screen.wraps


@pytest.mark.slow
@given(sizes(ROWS_MIN - 4))
def test_a_terminal_may_change_its_size_at_any_time(steps: list[tuple[int, int]]) -> None:
    """Broken if a terminal of any size lacks the newest figures, if one that is too small gets
    frames, or if a printed line is overwritten."""
    for screen, total, rows in resized(steps):
        if Size(screen.columns, screen.height).is_enough:
            assert any(f"{total:,} in total" in row for row in rows)
        else:
            assert line(GATED, snapshot(requests_total=total)) in "\n".join(screen.text)


@pytest.mark.slow
@given(sizes(48))
def test_a_narrower_terminal_keeps_no_pieces_of_old_frames(steps: list[tuple[int, int]]) -> None:
    """Broken if an old frame, which a narrower terminal wraps, stays above the new one. If a block
    no longer fits the screen, its first rows cannot be reached."""
    for screen, total, rows in resized(steps):
        is_enough = Size(screen.columns, screen.height).is_enough
        found = [row for row in rows if "in total" in row]
        assert len(found) == is_enough
        assert rows[0] == "told first" or not is_enough
        assert not found or f"{total:,} in total" in found[0]


def test_a_terminal_that_takes_no_output_stops_no_one() -> None:
    """Broken if Ctrl-S at a terminal holds up the command, which then obeys no Ctrl-C."""
    clock = Clock()
    with terminal(LARGE) as (stream, written, _):
        shown = ScreenView(GATED, stream, clock)
        for step in range(1_000):
            clock.now += 0.25
            shown.show(snapshot(requests_total=step))
        assert "in total" in written()
        clock.now += 0.25
        shown.show(snapshot(requests_total=12_345))
        assert "12,345 in total" in written()
        shown.close()


def test_a_terminal_that_is_gone_ends_nothing() -> None:
    """Broken if closing a window makes the command fail before its report is written."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", encoding="utf-8", newline="\n") as stream:
        shown = ScreenView(GATED, stream)
        os.close(master)
        shown.show(snapshot())
        shown.tell("still here")
        shown.close()


@pytest.mark.parametrize(
    ("term", "encoding", "is_screen"),
    [
        ("xterm", "utf-8", True),
        ("dumb", "utf-8", False),
        (None, "utf-8", False),
        ("xterm", "iso-8859-1", False),
    ],
)
def test_only_a_capable_terminal_gets_frames(
    monkeypatch: pytest.MonkeyPatch, term: str | None, encoding: str, *, is_screen: bool
) -> None:
    """Broken if control sequences reach a log file or a terminal that cannot obey them."""
    if term is None:
        monkeypatch.delenv("TERM", raising=False)
    else:
        monkeypatch.setenv("TERM", term)
    assert not isinstance(view(SCENE), ScreenView), "standard error is a file"
    with terminal(LARGE) as (stream, _, _):
        stream.reconfigure(encoding=encoding)
        monkeypatch.setattr(sys, "stderr", stream)
        assert isinstance(view(SCENE), ScreenView) is is_screen
