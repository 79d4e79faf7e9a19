"""`loadpilot replay` shows, for each instant, the figures of the report as of that instant.

About 30 s one after the other: twelve recorded runs, replayed fast, and two at a terminal.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser.record import FOLDER, KINDS
from tests.e2e.support import live_figures
from tests.e2e.support.command import COMMAND
from tests.e2e.support.files import unpack
from tests.e2e.support.rawlog import read_from, served
from tests.e2e.support.terminal import CTRL_C, Terminal

from loadpilot import _native

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.support.command import Loadpilot

REPLAY_S = 1.0
"""Time of a replay: enough for gates to be judged more than once."""
STEPS_PER_SECOND = 2
"""Snapshots for each second of the run."""
WHOLE = 1 << 60
"""An instant after the end of every run."""
FAILED = {"http_4xx", "http_5xx", "check_failed", "connect", "tls", "timeout", "io", "local"}
DERIVED = {"stopped", "unowned"}
"""Reasons of drops that a report may derive from the plan, without a report of an agent."""


@contextmanager
def recorded(kind: str, folder: Path) -> Iterator[tuple[_native.Session, str, str]]:
    """Opens a recorded run; yields a session on its log, its id, and the address of the server."""
    unpack(FOLDER / f"{kind}.tar.gz", folder / "log")
    with served(folder / "log", folder / "copy") as url:
        session = _native.Session(url, None)
        (listed,) = json.loads(session.runs())
        yield session, listed["run"], url
        session.close()


def replayed(session: _native.Session, run: str, length_us: int) -> list[dict[str, Any]]:
    """All updates of a replay, in steps of half a second of the run."""
    speed = length_us / 1e6 / REPLAY_S
    interval_s = 1 / STEPS_PER_SECOND / speed
    watch = session.replay(run, speed, 0, interval_s, gates=True)
    updates: list[dict[str, Any]] = []
    while not updates or "sealed" not in updates[-1]:
        update = watch.next(60.0)
        assert update is not None
        updates.append(json.loads(update))
    return updates


@pytest.mark.parametrize("kind", KINDS)
def test_a_replay_and_the_report_as_of_each_instant_are_the_log(kind: str, tmp_path: Path) -> None:
    """Broken if a figure of a replay differs from the report as of that instant, or if either
    differs from the sum of the deltas that had been closed by then."""
    with recorded(kind, tmp_path) as (session, run, url):
        entries = live_figures.of(read_from(url), run)
        reading = session.read(run)
        whole = json.loads(reading.report())
        updates = replayed(session, run, whole["run"]["profile_us"])
        gates, judged, most_ticks = None, 0, 0
        for update in updates:
            gates = update.get("gates", gates)
            if "snapshot" not in update:
                continue
            snapshot = update["snapshot"]
            is_last = update is updates[-2]
            us = round(1e6 * snapshot["elapsed_secs"])
            report = whole if is_last else json.loads(reading.report(us))
            sums = live_figures.as_of(entries, WHOLE if is_last else us)
            assert_counts(snapshot, report, sums)
            # Until the run is over, only arrivals of ticks count that its agents reported
            # to their end.
            ticks = WHOLE if is_last else len(report["series"])
            reported = live_figures.arrivals(entries, WHOLE if is_last else us, ticks)
            assert_arrivals(report["arrivals"], reported)
            most_ticks = most_ticks if is_last else max(most_ticks, ticks)
            if whole["warm_up"]["warm_up_us"] == 0:
                assert_measured(snapshot, report)
            if gates is not None:
                assert gates == report["verdict"]["thresholds"]
                judged += 1
            gates = None
        assert updates[-2]["snapshot"]["state"] == "sealed"
        assert judged > 1
        assert most_ticks > 3, "no arrivals of a running run were compared"
        story = [update["story"] for update in updates if "story" in update]
        assert sorted(story, key=lambda line: line["seq"]) == whole["story"]


def assert_counts(
    snapshot: dict[str, Any], report: dict[str, Any], sums: live_figures.Prefix
) -> None:
    """Asserts that the counts of the whole run agree in the view, the report, and the log read by
    `rawlog`."""
    outcomes = report["calls"]["outcomes"].items()
    failed = sum(count for outcome, count in outcomes if outcome in FAILED)
    assert (report["calls"]["attempted"], failed) == sums.counts[2:]
    shown = (
        snapshot["arrivals_started"],
        snapshot["arrivals_dropped"],
        snapshot["requests_total"],
    )
    assert shown == sums.counts[:3]
    assert snapshot["state"] == report["run"]["state"]


def assert_arrivals(arrivals: dict[str, Any], reported: tuple[int, int]) -> None:
    reasons = arrivals["dropped"].items()
    dropped = sum(count for reason, count in reasons if reason not in DERIVED)
    assert (arrivals["started"], dropped) == reported


def assert_measured(snapshot: dict[str, Any], report: dict[str, Any]) -> None:
    """Asserts the figures of the measured time, which is the whole run here."""
    assert snapshot["errors_total"] == report["errors_total"]
    for name in ("p50_ms", "p95_ms", "p99_ms", "max_ms"):
        assert snapshot["latency_cumulative"][name] == report[name], name
    tasks = [(task["errors"], task["latency"]["p99_ms"]) for task in snapshot["tasks"]]
    assert tasks == [(task["errors"], p99_ms(task["response"])) for task in report["tasks"]]


def p99_ms(ladder: dict[str, Any] | None) -> float | None:
    return None if ladder is None else ladder["p99_us"] / 1e3


@pytest.fixture
def past(loadpilot: Loadpilot) -> Loadpilot:
    """A folder with a recorded run of six seconds in which requests failed."""
    unpack(FOLDER / "failing.tar.gz", loadpilot.log / "log-1")
    return loadpilot


@pytest.mark.slow
def test_a_replay_at_a_terminal(past: Loadpilot, tmp_path: Path) -> None:
    """Broken if a terminal shows other frames than during the run, if the last frame lacks a part
    of the run, or if the summary is not that of the run."""
    summary = past.call("report", "last").stdout
    argv = [str(COMMAND), "replay", "last", "--speed", "2"]
    with Terminal(argv, past.folder) as terminal:
        assert terminal.end() == 0
        assert terminal.screen.overflows == 0
        assert terminal.screen.wraps
    run = re.search(r"^run (0\w+)", terminal.all, re.MULTILINE)
    assert run is not None
    entries = live_figures.of_run(past.log / "log-1", tmp_path / "copy", run[1])
    sums = live_figures.prefixes(entries)
    matched = live_figures.matched(terminal.frames, sums)
    assert matched[-1][1].counts == sums[-1].counts
    assert len(matched) >= 5
    assert matched[-1][1].gates
    assert summary.strip() in terminal.all


def test_a_replay_begins_at_an_instant_and_ends_with_ctrl_c(past: Loadpilot) -> None:
    """Broken if `--at` begins at another instant, or if Ctrl-C waits for the end of the run or
    stops anything else."""
    argv = [str(COMMAND), "replay", "last", "--speed", "0.1", "--at", "4"]
    with Terminal(argv, past.folder) as terminal:
        terminal.until_frame("00:04 of 00:06")
        terminal.press(CTRL_C)
        assert terminal.end(20) == 130
        assert terminal.screen.shown[-1].text == ""
    assert not any(" 00:03 of" in row for frame in terminal.frames for row in frame.block)
    assert "verdict" not in terminal.all


@pytest.mark.slow
def test_without_a_terminal_there_are_lines_or_the_summary_of_an_instant(past: Loadpilot) -> None:
    """Broken if a CI job gets control sequences, or cannot print the state of a run at an
    instant."""
    whole = past.call("replay", "last", "--speed", "100")
    assert whole.code == 0
    seconds = re.findall(r"^00:0(\d)/00:06 ", whole.stderr, re.MULTILINE)
    assert [*map(int, seconds)][:7] == [*range(7)]
    assert whole.stdout == past.call("report", "last").stdout
    then = past.call("replay", "last", "--at", "3s")
    assert then.code == 0
    assert "as of 00:03" in then.stderr
    started = re.search(r"^arrivals +(\d+) started of (\d+) planned", then.stdout, re.MULTILINE)
    assert started is not None
    assert started.groups() == ("40", "40"), (
        "not 20 arrivals a second for two seconds: the third second is not reported yet"
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--speed", "fast"), "--speed: must be a number above 0 and at most 1000, such as 10"),
        (("--speed", "0"), "(got '0')"),
        (("--speed", "nan"), "(got 'nan')"),
        (("--speed", "1e9"), "at most 1000"),
        (("--at", "soon"), "--at: must be a duration such as 500ms"),
        (("--at", "7"), "--at: must be at most 6 s, the end of the run (got '7')"),
    ],
)
def test_what_makes_no_sense_is_refused(
    past: Loadpilot, flags: tuple[str, ...], message: str
) -> None:
    """Broken if a typo replays at another speed, or from another instant."""
    refused = past.call("replay", "last", *flags)
    assert (refused.code, refused.stdout) == (2, "")
    assert message in refused.stderr
