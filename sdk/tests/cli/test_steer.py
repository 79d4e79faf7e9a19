"""The result of a request to steer, in words and exit codes; and the table of agents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sdk.tests.support.reports import GOOD, parsed
from sdk.tests.support.snapshots import SCENE, snapshot

from loadpilot.cli.commands.agents import table
from loadpilot.cli.output.live import line
from loadpilot.cli.output.summary import summary
from loadpilot.control.identity import author
from loadpilot.control.steering_result import describe, stop_halted

REFUSED = {"answer": "refused", "why": "too_late", "words": "the run ends before"}
PAUSED = {"answer": "refused", "why": "already_paused", "words": "the run is paused already"}
RATE = {"answer": "rate_changed", "was_rps": 500, "rps": 2000.5, "from_secs": 34, "in_secs": 2.61}
STOPS = {"answer": "stopping", "at_secs": 12.34, "because": "asked for by ann@host"}
CASES: list[tuple[dict[str, Any], str, int, str]] = [
    (RATE, "rate", 0, "rate 500 -> 2,000.5/s from second 34 on, in 2.6 s"),
    ({"answer": "paused", "at_secs": 12.34}, "pause", 0, "paused at second 12.3: nothing"),
    ({"answer": "resumed", "at_secs": 20}, "resume", 0, "resumed at second 20: "),
    (STOPS, "stop", 0, "stops: nothing is started after second 12.3 (asked for by ann@host)"),
    (STOPS, "rate", 2, "it stops already (asked for by ann@host); there is nothing to rate"),
    (STOPS | {"at_secs": None}, "stop", 0, "stops: nothing is started (asked for by"),
    (REFUSED, "rate", 2, "the run ends before"),
    (PAUSED, "pause", 0, "the run is paused already; nothing was changed"),
    ({"answer": "not_started", "state": "gathering"}, "pause", 2, "it has not started yet (gath"),
    ({"answer": "over", "ending": "log_full"}, "stop", 2, "it is over (log full)"),
    ({"answer": "over", "ending": None}, "stop", 2, "it is over (refused)"),
    ({"answer": "silent", "no_agent": True}, "rate", 4, "no agent of it is left, or no coord"),
    (
        {"answer": "silent", "no_agent": False},
        "stop",
        4,
        "no coordinator answered within 15 s; the request stands",
    ),
]


@pytest.mark.parametrize(("answer", "wish", "code", "words"), CASES)
def test_each_answer_has_its_words_and_code(
    answer: dict[str, Any], wish: str, code: int, words: str
) -> None:
    """Broken if a script cannot distinguish what was done from what was not."""
    said, exit_code = describe(answer, wish)
    assert said.startswith(words)
    assert exit_code == code


def test_the_author_is_a_user_at_a_host() -> None:
    """Broken if the log does not contain the author of a request."""
    user, _, host = author().partition("@")
    assert user
    assert host


def test_the_roll_call_shows_foreign_text_harmlessly() -> None:
    """Broken if an agent's name can draw on the terminal, or if a silent agent looks present."""
    known = {
        "holder": {"agent": "a-1", "boot_id": "b"},
        "host": "box\x1b[31m",
        "version": "0.1.0",
        "cores": 2,
        "has": ["python", "zone=eu"],
        "cpu_millicores": 1250,
        "ahead_us": -2_000,
        "clock": {"offset_us": 1500, "bound_us": 80},
        "heard": True,
        "holds": [{"run": "01run", "shards": 128, "of": 256, "rps": 12.5, "paused": True}],
    }
    nothing = dict.fromkeys(("host", "version", "cores", "cpu_millicores", "ahead_us", "clock"))
    silent = known | nothing | {"holder": {"agent": "a-2", "boot_id": "b"}, "heard": False}
    idle = known | {"clock": None, "holds": []}
    _, *rows = table([known, silent, idle])
    assert "box\\x1b[31m" in rows[0]
    assert rows[0].endswith(
        "125 %  -1.50 ± 0.08 ms       01run 128 of 256 shards, 12.5/s, paused, python, zone=eu"
    )
    assert "—" in rows[1]
    assert "silent" in rows[1]
    assert "about -2 ms" in rows[2]
    assert "idle" in rows[2]


def test_a_steered_run_says_so_in_its_summary() -> None:
    """Broken if the figures of a steered run can be taken for those of its plan."""
    rate = {"type": "rate", "was": 500_000_000, "rate": 2_000_000_000}
    steered = [
        {"at": 1_780_000_000_000_000, "by": "ann\x07@box", "from_us": 34_000_000, "change": rate},
        {
            "at": 1_780_000_009_000_000,
            "by": "bob@box",
            "from_us": 43_210_000,
            "change": {"type": "paused"},
        },
    ]
    text = summary(parsed(run=GOOD["run"] | {"steered": steered}))
    first = "rate 500 -> 2,000/s from second 34 on, by ann\\x07@box\n"
    assert f"steered      20:26:40 UTC {first}" in text
    assert "             20:26:49 UTC paused at second 43.2, by bob@box\n" in text
    assert "of the run as it was steered, not of its plan" in text
    assert "steered" not in summary(parsed())


def test_the_live_view_shows_a_pause() -> None:
    """Broken if a run that sends nothing looks as if its target were dead."""
    assert " paused " in line(SCENE, snapshot(paused=True))
    assert " paused " not in line(SCENE, snapshot(paused=True, state="stopping"))


class Scripted:
    """A session whose run answers a stop in one way; it keeps the authors of stored requests."""

    def __init__(self, because: str | None) -> None:
        self.because = because
        self.stored: list[str] = []

    def steer(self, _run: str, _wish: str, by: str, _patience: float) -> str:
        if self.because is None:
            self.stored.append(by)
        because = self.because or f"requested by {by}"
        return json.dumps({"answer": "stopping", "at_secs": 1.0, "because": because})

    def stop(self, _run: str, by: str) -> None:
        self.stored.append(by)


def test_the_log_has_the_author_of_a_halt() -> None:
    """Broken if the author of a halt of a run that stops already is named nowhere."""
    for because in (None, "requested by bob"):
        session = Scripted(because)
        answer = stop_halted(session, "r", "ann")  # type: ignore[arg-type]
        assert answer["answer"] == "stopping"
        assert session.stored == ["ann (halt)"]
